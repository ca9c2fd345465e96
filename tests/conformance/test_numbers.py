"""Every number in the recordings changed once: how many changes are noticed, and why the others are not.

A change is noticed if the recording no longer conforms to the model of its release, or cannot be followed any more.
`LEADLINE_ALL_NUMBERS=1` changes every number, which takes some minutes. Without it, two recordings have every number
changed that `leadline conform` reads, and all have a sample changed.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.reading import partitions_of, read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.model.kafka.mixes import mix_of
from leadline.model.kafka.releases import column_of
from tests.conformance.checking import check
from tests.conformance.test_recordings import RECORDINGS

ALL = bool(os.environ.get("LEADLINE_ALL_NUMBERS"))
READ_IN_FULL = "KAFKA-13141-2.8.0", "KAFKA-14617-3.5.0"
SAMPLE, SAMPLE_OF_WALKS = 25, 8

UNREAD = {
    "sizes, encodings and versions of formats": "*.size *.magic *.attributes *response.version *.flags *.Type",
    "limits, time-outs and clocks": "*.MaxBytes *.MaxWaitMs *.MinBytes *.PartitionMaxBytes *.ThrottleTimeMs"
    " *.TimeoutMs *.timeoutMs *.timestamp *.LogAppendTimeMs",
    "the model has no transactions, no idempotent producers and no retention": "*.IsolationLevel *.LastStableOffset"
    " *.LogStartOffset *.producer *.producer_epoch *.sequence",
    "consumers read from leaders in the model": "*.PreferredReadReplica",
    "the brokers of a connection are known from the recording": "*.ReplicaId BrokerRegistration*.BrokerId"
    " ControlledShutdown*.BrokerId BrokerHeartbeat*.BrokerId AssignReplicasToDirs*.BrokerId *.ControllerId",
    "epochs of brokers, partitions and controllers: what was accepted with them shows in the answers": "LeaderAndIsr"
    " request.BrokerEpoch BrokerHeartbeat*.BrokerEpoch metadata*.BrokerEpoch AssignReplicasToDirs*.BrokerEpoch"
    " LeaderAndIsr*.PartitionEpoch metadata*.PartitionEpoch *.ReplicaEpoch *.PreviousBrokerEpoch *.ControllerEpoch"
    " *.LeaderRecoveryState multi*.version setData*.version *.zxid",
    "of a batch of the metadata log, or of a producer, only the records are read": "metadata*.last Produce request.last"
    " Produce request.offset",
    "offsets and epochs in a producer's request are the client's": "Produce request.first Produce request.leader_epoch",
    "topics are created as their first leader epoch says": "CreateTopics*.*",
    "what an operator asked for shows in the decision": "ElectLeaders*.*",
    "the answer says only that the broker has received the request": "LeaderAndIsr response.PartitionIndex"
    " Produce response.Index"
    " BrokerRegistration request.* BrokerRegistration response.ErrorCode ControlledShutdown*.*"
    " AssignReplicasToDirs response.*",
    "the metadata log has its own replication": "metadata*.HighWatermark metadata*.first metadata*.leader_epoch"
    " metadata*.ErrorCode metadata*.LeaderId metadata*.PartitionIndex",
    "the leader that an error names shows in the follower's next request": "Fetch response.LeaderId"
    " Fetch response.LeaderEpoch",
    "a broker that shuts down says so to the controller": "*.InControlledShutdown",
    "the decision of the controller shows that a session has ended, or begun": "session_closed.node",
    "the log of this broker was cut to nothing, so that its checkpoint is 0 in any case": "checkpoint_set.*",
}
"""Why numbers are not read, or say nothing in these recordings: the fields of each reason."""

SOMETIMES = {
    "without the epoch of a session, a fetch request names all partitions": "*.SessionEpoch *.SessionId",
    "a frame of another partition is left out, and a recording without it can conform": "Fetch*.Partition"
    " Produce request.Index *.PartitionIndex OffsetForLeaderEpoch*.Partition",
    "of another partition of the topic, only the number of replicas is read": "metadata*.Isr metadata*.Leader"
    " metadata*.Replicas",
    "the error of the whole answer is not read, and with an error of the partition nothing else is": "Fetch*.ErrorCode"
    " AlterPartition response.* OffsetForLeaderEpoch response.* multi response.error setData response.error",
    "what a broker refuses teaches it nothing, and the same may be announced twice": "LeaderAndIsr response.ErrorCode",
    "a request that changes nothing has no record, and -1 is no epoch": "AlterPartition request.PartitionEpoch"
    " AlterPartition request.BrokerEpoch",
    "a broker that no request names, and that sends none": "BrokerRegistration response.BrokerEpoch",
    "of another partition, or of a broker that has no replica, nothing is read": "metadata*.EligibleLeaderReplicas"
    " metadata*.LastKnownElr",
    "the id of the sender is not read": "AlterPartition request.BrokerId",
    "a record of the metadata log at another offset than in the other brokers' copies contradicts none of them, unless"
    " they have a record there": "metadata*.offset",
    "a record about a broker that has no replica is not read": "metadata*.BrokerId",
    "of a response's leader of the metadata log, nothing is read": "metadata*.LeaderEpoch",
    "other settings than min.insync.replicas of the topic are not read": "metadata*.ResourceType",
    "the ISR was so earlier or later in this epoch, or it names a broker twice": "LeaderAndIsr request.Isr",
    "the request never reached the broker, and the next epoch had the same leader and ISR": "LeaderAndIsr"
    " request.LeaderEpoch",
    "a question that never arrived, or was refused, has no effect": "OffsetForLeaderEpoch request.LeaderEpoch",
    "acks=1 and acks=all are told apart by the answer, and other values are refused": "Produce request.Acks",
    "only a broker's registrations after its starts are read, and its path says which node is created": "create*.error",
    "0 says that a broker remains fenced or unfenced": "metadata*.Fenced",
    "with a later offset, a record may have been applied earlier": "BrokerHeartbeat request.CurrentMetadataOffset",
    "a broker that sends nothing more may be slow instead of killed, and one that starts may be up": "killed.node"
    " started.node",
    "a former leader may know its epoch without records (KAFKA-10706)": "Fetch request.LastFetchedEpoch",
    "a broker that is not registered yet may fetch from anywhere": "Fetch request.FetchOffset"
    " Fetch request.CurrentLeaderEpoch",
    "errors of records that were appended, and of records that were not": "Produce response.ErrorCode",
    "an answer with an error has none, or a leader has counted a request that waits": "Fetch response.HighWatermark",
}
"""Why changes of numbers that are read are not always noticed: the fields of each reason."""

NOTICED = {
    "KAFKA-13141-2.8.0": (111, 418),
    "KAFKA-13141-2.8.2": (88, 373),
    "KAFKA-14617-3.4.1": (120, 708),
    "KAFKA-14617-3.5.0": (123, 720),
    "KAFKA-15495-3.9.1": (128, 714),
    "KAFKA-15495-4.0.2": (134, 739),
    "KAFKA-15495-4.1.1": (138, 846),
    "KIP-101-0.10.2.2": (236, 814),
    "KIP-101-0.11.0.3": (155, 542),
    "walk-3.9.1": (344, 1926),
    "walk-4.1.1": (116, 849),
}
"""How many changes are noticed in each recording, of how many. Those of `walks` and `findings` are not counted."""
NAMES = sorted(str(path.relative_to(RECORDINGS).with_suffix("")) for path in RECORDINGS.rglob("*.jsonl"))


@attrs.frozen
class Number:
    """A number in a recording: the number of its line from 0, its place in the line, and the name of its field."""

    line: int
    place: tuple[str | int, ...]
    field: str

    def is_in(self, reasons: dict[str, str]) -> bool:
        return any(fnmatch.fnmatchcase(self.field, each) for each in _patterns(reasons))


def _patterns(reasons: dict[str, str]) -> Iterator[str]:
    """Yield the fields of the reasons. A field is `<kind of line>.<name>`, so that only its kind has spaces."""
    for fields in reasons.values():
        words: list[str] = []
        for word in fields.split():
            words.append(word)
            if "." in word:
                yield " ".join(words)
                words = []


def numbers(lines: list[str]) -> list[Number]:
    found = []
    for number, text in enumerate(lines):
        line = json.loads(text)
        if number == 0 or line["event"] == "end":
            continue
        is_frame = line["event"] == "frame"
        part = {"body": line["body"]} if is_frame else {name: value for name, value in line.items() if name != "time"}
        for place in _places(part):
            name = [each for each in place if isinstance(each, str)][-1]
            found.append(Number(number, place, f"{_kind(line)}.{name}"))
    return found


def _kind(line: dict[str, Any]) -> str:
    if line["event"] != "frame":
        return str(line["event"])
    kind = f"{line['api']} {'request' if line['request'] else 'response'}"
    is_metadata = line["api"] == "Fetch" and "controller" in (line["source"], line["target"])
    return f"metadata {kind}" if is_metadata else kind


def _places(value: Any) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            for place in _places(inner):
                yield (key, *place)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield ()


def is_noticed(lines: list[str], number: Number, release: str, partition: int, file: Path) -> bool:
    """Return whether the recording is noticed to be wrong once the number is one higher."""
    line = json.loads(lines[number.line])
    *path, last = number.place
    part = line
    for key in path:
        part = part[key]
    part[last] += 1
    changed = [*lines[: number.line], json.dumps(line), *lines[number.line + 1 :]]
    file.write_text("\n".join(changed) + "\n", encoding="utf-8")
    column = mix_of(release) if ".." in release else column_of(release)
    assert column is not None
    try:
        read = read_partition(read_recording(file), "t", partition)
        return check(read, column).conformance.answer is not Answer.CONFORMS
    except NotFollowed:
        return True


def lines_of(name: str) -> tuple[list[str], str, int]:
    """Return the lines of a recording, its release, and the number of its last partition, which is observed."""
    path = RECORDINGS / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines, json.loads(lines[0])["spec"], partitions_of(read_recording(path))[-1][1]


def tried(name: str) -> Iterable[Number]:
    found = numbers(lines_of(name)[0])
    if ALL:
        return found
    read = [number for number in found if not number.is_in(UNREAD)] if name in READ_IN_FULL else []
    return {*read, *random.Random(name).sample(found, SAMPLE if name in NOTICED else SAMPLE_OF_WALKS)}


@pytest.mark.parametrize("name", NAMES)
def test_every_change_of_a_number_is_noticed_or_explained(name: str, tmp_path: Path) -> None:
    lines, release, partition = lines_of(name)
    results = [(each, is_noticed(lines, each, release, partition, tmp_path / "changed.jsonl")) for each in tried(name)]
    unexplained = [each for each, noticed in results if not (noticed or each.is_in(UNREAD) or each.is_in(SOMETIMES))]
    assert unexplained == []
    unread = [each for each, noticed in results if noticed and each.is_in(UNREAD)]
    assert unread == []
    noticed = sum(noticed for _, noticed in results)
    assert noticed > 0 or name not in READ_IN_FULL
    if ALL and name in NOTICED:
        assert (noticed, len(results)) == NOTICED[name]


@pytest.mark.skipif(not ALL, reason="changes every number: set LEADLINE_ALL_NUMBERS=1")
def test_every_explanation_is_needed(tmp_path: Path) -> None:
    """Each field of `UNREAD` is in a recording, and changes of each field of `SOMETIMES` are noticed and are not."""
    seen: Counter[tuple[str, bool]] = Counter()
    for name in NAMES:
        lines, release, partition = lines_of(name)
        for number in numbers(lines):
            if number.is_in(SOMETIMES):
                seen[number.field, is_noticed(lines, number, release, partition, tmp_path / "changed.jsonl")] += 1
            elif number.is_in(UNREAD):
                seen[number.field, False] += 1
    fields = {field for field, _ in seen}
    for pattern in (*_patterns(UNREAD), *_patterns(SOMETIMES)):
        assert fnmatch.filter(fields, pattern), pattern
    for pattern in _patterns(SOMETIMES):
        assert {noticed for field, noticed in seen if fnmatch.fnmatchcase(field, pattern)} == {True, False}, pattern
