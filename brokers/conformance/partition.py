"""Extract the part of a recording about one partition, with brokers, epochs and records numbered as in the model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.recording import Recording
from leadline.checker.errors import LeadlineError, error_line

NONE = -1
CONTROLLER, ZOOKEEPER = "controller", "zookeeper"
Body = Mapping[str, Any]


class NotFollowed(LeadlineError):
    """Raised when a recording cannot be converted to observations, for example because information is missing."""


@contextmanager
def expecting_the_format(path: Path) -> Iterator[None]:
    """Return a context manager that raises NotFollowed if a line of a recording lacks a field, or has a field of the
    wrong type.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise NotFollowed(
            f"{path}: a line is not in the format of brokers/recording.md: {error_line(error)}"
        ) from error


@attrs.frozen
class Seen:
    """A frame of a recording. `leadline.brokers.frame.Frame` describes the fields.

    Attributes:
        number, source, target, request, api, version, body, connection: the recorded values.
        answers: the number of the request to which a response belongs, or None.
        arrived: the time when the frame arrived at the proxy.
        passed: the time when the frame was forwarded, or None if it was not forwarded.
    """

    number: int
    source: int | str
    target: int | str
    request: bool
    api: str
    version: int
    body: Body
    connection: int
    answers: int | None
    arrived: float
    passed: float | None


@attrs.define(eq=False)
class PartitionRecording:
    """The part of a recording that is about one partition.

    Attributes:
        path: the path of the file.
        topic, partition: the topic and the number of the partition.
        about: the content of the recording's first line.
        frames: the decoded frames, in order of arrival.
        events: the events, other than frames, that name a process.
        end: the time of the last line.
        assignment: the ids of the brokers with a replica, beginning with the preferred leader.
        topic_ids: all ids that the recording contains for the topic.
        configs: the configuration with which the topic was created.
    """

    path: Path
    topic: str
    partition: int
    about: Body
    frames: list[Seen]
    events: list[Body]
    end: float
    assignment: tuple[int, ...] = ()
    topic_ids: frozenset[str] = frozenset()
    configs: dict[str, str] = attrs.field(factory=dict)
    _values: dict[str, int] = attrs.field(factory=dict)
    _epochs: dict[int, int] = attrs.field(factory=dict)
    answer: dict[int, Seen] = attrs.field(factory=dict)

    @property
    def kraft(self) -> bool:
        """Whether the controller is a KRaft controller."""
        return any(CONTROLLER in (frame.source, frame.target) for frame in self.frames)

    # --- the model's numbers --------------------------------------------------------------------------------------

    def replica(self, node: object) -> int | None:
        """Return the model's number for a broker, or None if the process has no replica of the partition."""
        return self.assignment.index(node) if node in self.assignment else None

    def isr(self, ids: list[int]) -> frozenset[int]:
        """Convert the broker ids in an ISR to the broker numbers of the model."""
        for broker in ids:
            if broker not in self.assignment:
                raise NotFollowed(
                    f"an ISR names broker {broker}, which has no replica: reassignments are not supported"
                )
        return frozenset(self.assignment.index(broker) for broker in ids)

    def number_epochs(self, epochs: list[int]) -> None:
        """Number the epochs in which the partition has a leader, in order. Other epochs have no number in the model."""
        self._epochs = {epoch: number for number, epoch in enumerate(sorted(set(epochs)))}

    def epoch(self, epoch: int | None) -> int | None:
        """Return the model's number for a leader epoch, or None if there is no epoch."""
        if epoch is None or epoch == NONE:
            return None
        return self._epochs.get(epoch, -2)  # an epoch that never had a leader agrees with nothing

    def value(self, record: Body) -> int:
        """Return the model's value for a record. Equal records have equal values."""
        text = json.dumps([record.get("key"), record.get("value")], sort_keys=True)
        return self._values.setdefault(text, len(self._values))

    def records(self, batches: Body | None) -> tuple[tuple[int | None, int | None], ...]:
        """Return a (value, epoch) pair for each record in the given batches. A value or epoch that was not recorded is
        None.
        """
        if not batches:
            return ()
        if "batches" not in batches:
            raise NotFollowed(
                f"the recording contains record batches that were not decoded: {batches.get('undecoded', 'no batches')}"
            )
        found: list[tuple[int | None, int | None]] = []
        for batch in batches["batches"]:
            epoch = self.epoch(batch["leader_epoch"])
            if batch["records"] is None:
                found += [(None, epoch)] * (batch["last"] - batch["first"] + 1)
            else:
                found += [(self.value(record), epoch) for record in batch["records"]]
        return tuple(found)

    def records_from(
        self, batches: Body | None, offset: int
    ) -> tuple[int | None, tuple[tuple[int | None, int | None], ...]]:
        """Return the offset of the first record at or after `offset`, and all records from there on. If there is no
        such record, return None and no records.

        A response contains whole batches, so it can begin with records before `offset`.
        """
        records = self.records(batches)
        if not batches or not records:
            return None, ()
        first: int = batches["batches"][0]["first"]
        before = max(0, offset - first)
        return (first + before, records[before:]) if records[before:] else (None, ())

    # --- parts of bodies ------------------------------------------------------------------------------------------

    def part(self, body: Body) -> Body | None:
        """Return the part of a request or response that is about the partition, or None if there is none."""
        for field in ("Topics", "Responses", "TopicData"):
            for topic in body.get(field) or ():
                if self.names(topic):
                    for inner in ("Partitions", "PartitionData", "PartitionResponses"):
                        for partition in topic.get(inner) or ():
                            if self._index(partition) == self.partition:
                                found: Body = partition
                                return found
        return None

    def names(self, topic: Body) -> bool:
        """Return whether a part of a frame's body refers to the topic, by its name or id."""
        name = topic.get("Topic") or topic.get("TopicName") or topic.get("Name")
        return name == self.topic if name else topic.get("TopicId") in self.topic_ids

    @staticmethod
    def _index(partition: Body) -> object:
        return next((partition[name] for name in ("Partition", "PartitionIndex", "Index") if name in partition), None)

    def states(self, frame: Seen) -> Iterator[Body]:
        """Yield each state of the partition that a LeaderAndIsr request contains."""
        for topic in frame.body.get("TopicStates") or ():
            if topic["TopicName"] == self.topic:
                yield from (each for each in topic["PartitionStates"] if each["PartitionIndex"] == self.partition)
        for state in frame.body.get("UngroupedPartitionStates") or ():
            if (state["TopicName"], state["PartitionIndex"]) == (self.topic, self.partition):
                yield state

    def metadata(self, frame: Seen) -> Iterator[tuple[int, str, Body]]:
        """Yield the offset, name and body of each metadata record in a response from the KRaft controller."""
        for topic in frame.body.get("Responses") or ():
            for partition in topic.get("Partitions") or ():
                for batch in (partition.get("Records") or {}).get("batches") or ():
                    for record in batch["records"] or ():
                        value = record["value"]
                        if isinstance(value, Mapping) and "record" in value:
                            yield record["offset"], value["record"], value["body"]

    def is_fetch(self, frame: Seen) -> bool:
        """Return whether a frame is a follower's fetch request for the partition."""
        between = self.replica(frame.source) is not None and self.replica(frame.target) is not None
        return frame.api == "Fetch" and frame.request and between and self.part(frame.body) is not None


def partitions_of(recording: Recording) -> list[tuple[str, int]]:
    """Return a (topic, partition number) pair for each partition that was created during a recording, in order."""
    found: dict[tuple[str, int], None] = {}
    names: dict[str, str] = {}
    for line in recording.events():
        body = line.get("body")
        if line["event"] != "frame" or not body:
            continue
        if line["api"] == "LeaderAndIsr" and line["request"]:
            for topic in body.get("TopicStates") or ():
                for state in topic["PartitionStates"]:
                    found.setdefault((topic["TopicName"], state["PartitionIndex"]))
            for state in body.get("UngroupedPartitionStates") or ():
                found.setdefault((state["TopicName"], state["PartitionIndex"]))
        elif line["api"] == "Fetch" and line["source"] == CONTROLLER:
            for name, told in _metadata(body):
                if name == "TopicRecord":
                    names[told["TopicId"]] = told["Name"]
                elif name == "PartitionRecord" and told["TopicId"] in names:
                    found.setdefault((names[told["TopicId"]], told["PartitionId"]))
    return [each for each in found if not each[0].startswith("__")]


def _metadata(body: Body) -> Iterator[tuple[str, Body]]:
    for topic in body.get("Responses") or ():
        for partition in topic.get("Partitions") or ():
            for batch in (partition.get("Records") or {}).get("batches") or ():
                for record in batch["records"] or ():
                    if isinstance(record["value"], Mapping) and "record" in record["value"]:
                        yield record["value"]["record"], record["value"]["body"]


def read_partition(recording: Recording, topic: str, partition: int) -> PartitionRecording:
    """Return the part of a recording that is about one partition.

    Raises:
        NotFollowed: if the recording does not include the creation of the partition.
        RecordingError: if the file is not a complete recording.
    """
    frames: list[Seen] = []
    events: list[Body] = []
    end = 0.0
    for line in recording.events():
        end = max(end, line["time"])
        if line["event"] != "frame":
            if "node" in line:
                events.append(line)
        elif line["body"] is not None:
            frames.append(Seen(**{field.name: line[field.name] for field in attrs.fields(Seen)}))
    frames.sort(key=lambda frame: frame.number)
    read = PartitionRecording(recording.path, topic, partition, recording.about, frames, events, end)
    read.answer = {frame.answers: frame for frame in frames if frame.answers is not None}
    _find_topic(read)
    return read


def _find_topic(read: PartitionRecording) -> None:
    ids = set()
    for frame in read.frames:
        if frame.api == "CreateTopics" and frame.request:
            for topic in frame.body["Topics"]:
                if topic["Name"] == read.topic:
                    read.configs |= {config["Name"]: config["Value"] for config in topic.get("Configs") or ()}
        elif frame.api == "LeaderAndIsr" and frame.request:
            for topic in frame.body.get("TopicStates") or ():
                if topic["TopicName"] == read.topic and topic.get("TopicId"):
                    ids.add(topic["TopicId"])
            if not read.assignment:
                for state in read.states(frame):
                    read.assignment = tuple(state["Replicas"])
        elif frame.api == "Fetch" and frame.source == CONTROLLER:
            for _, name, body in read.metadata(frame):
                if name == "TopicRecord" and body["Name"] == read.topic:
                    ids.add(body["TopicId"])
                elif name == "PartitionRecord" and body["TopicId"] in ids and body["PartitionId"] == read.partition:
                    read.assignment = read.assignment or tuple(body["Replicas"])
        read.topic_ids = frozenset(ids)
    if not read.assignment:
        raise NotFollowed(
            f"the recording does not include the creation of {read.topic}-{read.partition}: start recording before the "
            f"topic is created, or choose another partition"
        )


NEVER = math.inf
