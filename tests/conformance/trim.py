"""Trims a recording to what conformance reads of a partition: `python -m tests.conformance.trim FROM TO [NUMBER]`; with
`groups` instead of the number, to what it reads of consumer groups.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leadline.brokers.conformance.frames import CONTROLLER, ZOOKEEPER, Seen, seen_frames
from leadline.brokers.conformance.groups.reading import FOLLOWED
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.reading import metadata_of, read_partition
from leadline.brokers.recording import read_recording

OF_THE_CONTROLLER = {
    *("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "BrokerRegistrationChangeRecord"),
    *("ConfigRecord", "FeatureLevelRecord"),
}
WITHOUT_THE_PARTITION = {"BrokerRegistration", "ControlledShutdown", "ElectLeaders"}
LEFT_OUT = {
    *("Listeners", "LiveLeaders", "Features", "NodeEndpoints", "ClusterId", "LogDirs", "RackId", "IsolationLevel"),
    *("MaxWaitMs", "MinBytes", "MaxBytes", "PartitionMaxBytes", "AbortedTransactions", "PreferredReadReplica"),
}
OF_A_LINE = {"correlation", "client_id", "size", "undecoded"}
OF_A_BODY = {"ThrottleTimeMs", "RetentionTimeMs", "ErrorMessage", "Reason", "RackId", "ClientHost"}
"""Fields of requests of consumers that are not read."""
UNANSWERED = {"BrokerHeartbeat", "CreateTopics"}
"""Requests whose responses are not read."""


def trim(source: Path, target: Path, partition: int = 0) -> None:
    """Write a recording with the frames and events that are needed to follow a partition of the topic ``t``."""
    recording = read_recording(source)
    read = read_partition(recording, "t", partition)
    needed = {frame.number for frame in seen_frames(recording) if _needed(read, frame)}
    answers = [frame for frame in seen_frames(recording) if frame.answers in needed and frame.api not in UNANSWERED]
    refused = {each.answers for each in answers if each.api == "BrokerRegistration" and each.body["ErrorCode"]}
    needed |= {frame.number for frame in answers if frame.answers not in refused}
    needed -= {number for number in refused if number is not None}
    lines = [line for line in recording.events() if "node" in line or line.get("number") in needed]
    for line in lines:
        for name in OF_A_LINE:
            line.pop(name, None)
        if line.get("body"):
            line["body"] = _without(line["body"], metadata=line["source"] == CONTROLLER)
    first = {name: value for name, value in recording.about.items() if name != "bounds"}
    last = {"event": "end", "time": read.end, "lines": len(lines) + 2, "interrupted_by": None}
    text = "".join(json.dumps(line) + "\n" for line in (first, *lines, last))
    target.write_text(text, encoding="utf-8")


def trim_groups(source: Path, target: Path) -> None:
    """Write a recording with the requests of consumers that are followed, and without what they read and commit."""
    recording, lines = read_recording(source), list[dict[str, Any]]()
    for line in recording.events():
        if line["event"] in ("killed", "terminated", "started"):
            lines.append(line)
        elif line["event"] == "frame" and line["api"] in FOLLOWED:
            body = {name: each for name, each in line["body"].items() if name not in OF_A_BODY}
            if line["api"] == "OffsetCommit":
                body["Topics"] = [_committed(each) for each in body["Topics"]]
            lines.append({name: each for name, each in line.items() if name not in OF_A_LINE} | {"body": body})
    first = {name: value for name, value in recording.about.items() if name != "bounds"}
    repeated = _repeated(lines)
    lines = [each for each in lines if each.get("answers") or each.get("number") not in repeated]
    lines = [each for each in lines if each.get("answers") not in repeated]
    last = {"event": "end", "time": lines[-1]["time"], "lines": len(lines) + 2, "interrupted_by": None}
    text = "".join(json.dumps(line) + "\n" for line in (first, *lines, last))
    target.write_text(text, encoding="utf-8")


def _repeated(lines: list[dict[str, Any]]) -> set[int]:
    """Return the numbers of heartbeats that say the same as one less than a second before."""
    answers = {line["answers"]: line["body"] for line in lines if line.get("answers")}
    known: dict[str, tuple[Any, float]] = {}
    found = set()
    for line in lines:
        if line.get("api") == "Heartbeat" and line["request"]:
            member, says = line["body"]["MemberId"], (line["body"], answers.get(line["number"]))
            before = known.get(member)
            if before is not None and before[0] == says and line["arrived"] < before[1] + 1:
                found.add(line["number"])
            else:
                known[member] = says, line["arrived"]
    return found


def _committed(topic: Mapping[str, Any]) -> dict[str, Any]:
    """Return a topic of an offset commit without the offsets."""
    kept = "PartitionIndex", "ErrorCode"
    return {
        **topic,
        "Partitions": [{name: each[name] for name in kept if name in each} for each in topic["Partitions"]],
    }


def _needed(read: PartitionRecording, frame: Seen) -> bool:
    if frame.target == ZOOKEEPER:
        paths = [each.get("path") or "" for each in frame.body.get("operations") or [frame.body]]
        writes = frame.api in ("create", "setData", "multi")
        return writes and any(path.startswith("/brokers/ids/") or path.endswith("partitions/0/state") for path in paths)
    if frame.api == "LeaderAndIsr":
        return frame.request and any(True for _ in read.states(frame))
    if frame.source == CONTROLLER and frame.api == "Fetch":
        return any(name in OF_THE_CONTROLLER for _, _, name, _ in metadata_of(frame.body))
    if frame.api == "BrokerHeartbeat":
        shows = frame.request and not frame.body["WantFence"]
        return shows and (frame.body["WantShutDown"] or _is_first(read, frame))
    if frame.api == "AssignReplicasToDirs":
        return frame.request and read.concerns(frame)
    if frame.api == "CreateTopics" or frame.api in WITHOUT_THE_PARTITION:
        return frame.request
    of_the_partition = frame.api in ("Fetch", "AlterPartition", "OffsetForLeaderEpoch", "Produce")
    reads = frame.api == "Fetch" and frame.source == "client"
    return of_the_partition and frame.request and not reads and read.part(frame.body) is not None


def _is_first(read: PartitionRecording, heartbeat: Seen) -> bool:
    """Return whether a heartbeat is the first one that shows that its broker has applied so much of the log."""
    shown = read.applied.get(heartbeat.source, ())  # type: ignore[arg-type]
    return (heartbeat.arrived, heartbeat.body["CurrentMetadataOffset"]) in shown


def _without(value: Any, *, metadata: bool) -> Any:
    """Return a body without what depends on the machine, and without other records of the metadata log."""
    if isinstance(value, Mapping):
        kept = {name: _without(each, metadata=metadata) for name, each in value.items() if name not in LEFT_OUT}
        if metadata and "batches" in kept:
            kept["batches"] = list(_batches(kept["batches"]))
        return kept
    return [_without(each, metadata=metadata) for each in value] if isinstance(value, list) else value


def _batches(batches: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        records = [
            record
            for record in batch["records"] or ()
            if isinstance(record["value"], Mapping) and record["value"].get("record") in OF_THE_CONTROLLER
        ]
        if records:
            yield {**batch, "records": records}


if __name__ == "__main__":
    if sys.argv[3:] == ["groups"]:
        trim_groups(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        trim(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
