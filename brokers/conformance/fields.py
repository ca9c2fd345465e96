"""Check that the fields that are read from a line of a recording have the types that recording.md says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leadline.brokers.recording import RecordingError, name_of_line

_FIELDS = (
    *("number", "connection", "source", "target", "request", "api"),
    *("version", "answers", "arrived", "passed", "body"),
)
"""The fields of a frame, besides its time."""

_EVENTS = {
    "killed": ("node",),
    "terminated": ("node",),
    "started": ("node",),
    "runs": ("node", "stage"),
    "upgrade": ("node", "stage"),
    "log_cut": ("node", "topic", "partition", "to_offset"),
    "checkpoint_set": ("node", "topic", "partition", "high_watermark"),
}
"""The fields of each other event that is read, besides its time."""

_PROCESSES = ("controller", "zookeeper", "client", "unknown")
_READ = {
    *("AlterPartition", "AssignReplicasToDirs", "BrokerHeartbeat", "BrokerRegistration", "CreateTopics", "Fetch"),
    *("ConsumerGroupHeartbeat", "Heartbeat", "JoinGroup", "LeaveGroup", "OffsetCommit", "SyncGroup"),
    *("LeaderAndIsr", "OffsetForLeaderEpoch", "Produce", "create", "create2", "multi", "setData"),
}
"""The names of requests with numbers that are read."""

_NUMBERS = {
    *(
        "Acks",
        "BaseOffset",
        "BrokerEpoch",
        "BrokerId",
        "CurrentLeaderEpoch",
        "CurrentMetadataOffset",
        "EndOffset",
        "Epoch",
        "ErrorCode",
        "FetchOffset",
    ),
    *("HighWatermark", "Index", "LastFetchedEpoch", "Leader", "LeaderEpoch", "LeaderId", "Partition", "PartitionEpoch"),
    *("GenerationId", "GenerationIdOrMemberEpoch", "HeartbeatIntervalMs", "MemberEpoch"),
    *("RebalanceTimeoutMs", "SessionTimeoutMs"),
    *("PartitionId", "PartitionIndex", "ResourceType", "SessionEpoch", "SessionId", "error"),
    *("first", "last", "offset", "to_offset", "high_watermark", "partition"),
}
_LISTS = {
    *("AddingReplicas", "EligibleLeaderReplicas", "Isr", "LastKnownElr", "NewIsr", "RemovingReplicas", "Replicas"),
}
"""Lists of broker ids. In a PartitionChangeRecord, null says that nothing changes."""

_PARTS = {
    *("Assignments", "Members", "Protocols"),
    *("Configs", "ForgottenTopicsData", "NewIsrWithEpochs", "PartitionData", "PartitionResponses", "PartitionStates"),
    *(
        "Partitions",
        "Responses",
        "TopicData",
        "TopicStates",
        "Topics",
        "UngroupedPartitionStates",
        "batches",
        "operations",
        "records",
    ),
}
"""Lists of parts. Some can be null."""
_WITH_NUMBERS = {"ForgottenTopicsData", "TopicPartitions"}
"""Lists of parts whose partitions are numbers."""
_PART = {"DivergingEpoch", "Records", "ReplicaState"}
"""Single parts. Some can be null."""
_TEXTS = {"GroupId", "MemberId", "Name", "Topic", "TopicId", "TopicName", "path"}
"""Texts. Some can be null."""


def check_fields(path: Path, line: Mapping[str, Any]) -> None:
    """Check that a frame has all its fields, and the types of the fields that `leadline conform` reads. Fields that are
    missing in bodies are not noticed.

    Parameters:
        line: an event of the recording.

    Raises:
        RecordingError: if a field is missing, or has another type than recording.md says.
    """
    place = name_of_line(line)
    for name in _FIELDS if line["event"] == "frame" else _EVENTS.get(line["event"], ()):
        if name not in line:
            raise RecordingError(f"{path}: {place}: {name} is missing")
    for name, value, expected in _wrong(line):
        told = json.dumps(value)
        raise RecordingError(f"{path}: {place}: {name} is {told if len(told) < 40 else 'invalid'}; expected {expected}")


def _wrong(line: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield the name and value of each field with a wrong type, and what was expected."""
    if line["event"] != "frame":
        if "node" in line:
            yield from _wrong_ends(line, "node")
            yield from _wrong_fields({name: each for name, each in line.items() if name != "node"})
        return
    for name in ("number", "connection", "version"):
        if not _is_number(line[name]):
            yield name, line[name], "a whole number"
    if not (line["answers"] is None or _is_number(line["answers"])):
        yield "answers", line["answers"], "a whole number or null"
    if not isinstance(line["request"], bool):
        yield "request", line["request"], "true or false"
    if not isinstance(line["api"], str):
        yield "api", line["api"], "the name of a request"
    if not (line["body"] is None or isinstance(line["body"], Mapping)):
        yield "body", line["body"], "an object or null"
    yield from _wrong_ends(line, "source", "target")
    for name, nullable in (("arrived", False), ("passed", True)):
        value = line.get(name)
        if not (isinstance(value, float) or _is_number(value) or (nullable and value is None)):
            yield name, value, "a time in seconds" + (" or null" if nullable else "")
    if line.get("api") == "JoinGroup" and line["body"]:  # its leader is a member id
        yield from _wrong_fields({name: each for name, each in line["body"].items() if name != "Leader"})
    elif line.get("api") in _READ:
        yield from _wrong_fields(line.get("body"))


def _wrong_ends(line: Mapping[str, Any], *names: str) -> Iterator[tuple[str, Any, str]]:
    for name in names:
        if not _is_number(line.get(name)) and line.get(name) not in _PROCESSES:
            yield name, line.get(name), f"the id of a broker, or one of {', '.join(_PROCESSES)}"


def _wrong_fields(value: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the name and value of each field of a body, or of a part, with a wrong type, and what was expected."""
    if isinstance(value, list):
        for each in value:
            yield from _wrong_fields(each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name in _NUMBERS:
                if not _is_number(each):
                    yield name, each, "a whole number"
            elif name == "leader_epoch":
                if each is not None and not _is_number(each):  # there is none before magic 2
                    yield name, each, "a whole number or null"
            elif name in _LISTS:
                if each is not None and not (isinstance(each, list) and all(map(_is_number, each))):
                    yield name, each, "a list of broker ids"
            elif name in _PARTS and each is not None and not _are_parts(each):
                yield name, each, "a list of objects"
            elif name in _TEXTS and not (each is None or isinstance(each, str)):
                yield name, each, "text"
            elif name in _PART and each is not None and not isinstance(each, Mapping):
                yield name, each, "an object"
            elif isinstance(each, list | Mapping) and name not in _WITH_NUMBERS:
                yield from _wrong_fields(each)


def _are_parts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
