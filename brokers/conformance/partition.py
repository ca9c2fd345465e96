"""Extract the part of a recording about one partition, with brokers, epochs and records numbered as in the model."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.conformance.fields import check_fields
from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.recording import Recording
from leadline.checker.errors import LeadlineError, error_line

NONE = -1
OF_A_TOPIC = 2
"""The type of a topic in a ConfigRecord (`ConfigResource.Type.TOPIC`)."""
MIN_ISR = "min.insync.replicas"
CONTROLLER, ZOOKEEPER = "controller", "zookeeper"
Body = Mapping[str, Any]
_WRITES = ("create", "create2", "multi", "setData")
_ANSWERED = (
    *(
        "AlterPartition",
        "AssignReplicasToDirs",
        "BrokerRegistration",
        "Fetch",
        "LeaderAndIsr",
        "OffsetForLeaderEpoch",
        "Produce",
    ),
    *_WRITES,
)
"""The names of requests whose responses are read."""

MOST_NUMBERED = 100_000
"""The number of different records that get small numbers."""


class NotFollowed(LeadlineError):
    """Raised when a recording cannot be converted to observations, for example because information is missing."""


class LacksField(NotFollowed):
    """Raised when a line of a recording lacks a field. To find out which line, read a recording with `names_lines`."""


@contextmanager
def expecting_the_format(path: Path) -> Iterator[None]:
    """Return a context manager that raises LacksField if a line of a recording lacks a field, and NotFollowed if a
    field has the wrong type.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, KeyError) and isinstance(error.args[0], str):
            raise LacksField(f"{path}: a line lacks the field {error}, see brokers/recording.md") from error
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

    @property
    def begins(self) -> float:
        """The earliest time at which the receiver may have received the frame. In a recording that was not made by a
        proxy, times can be bounds, so `passed` may be before `arrived`.
        """
        return self.arrived if self.passed is None else min(self.arrived, self.passed)


@attrs.frozen
class Announcement:
    """A record of the metadata log that the KRaft controller sent to a broker.

    Attributes:
        frame: the response that contains the record. The body of the response is omitted.
        offset: the offset of the record.
        leader_epoch: the leader epoch of the metadata log in which the record was written, or None if it is not known.
        name: the name of the record, such as PartitionChangeRecord.
        body: the body of the record. Empty if the record is not about the partition, its brokers, or
            `min.insync.replicas` of the topic.
    """

    frame: Seen
    offset: int
    leader_epoch: int | None
    name: str
    body: Body


@attrs.define(eq=False)
class PartitionRecording:
    """The part of a recording that is about one partition.

    Fetch and produce requests are not kept in memory. `leadline.brokers.conformance.exchanges` reads them from the
    file.

    Attributes:
        recording: the recording.
        topic, partition: the topic and the number of the partition.
        kraft: whether the controller is a KRaft controller.
        frames: the decoded frames that concern the partition or its brokers, except fetch and produce requests and
            their responses, in order of arrival.
        answer: the responses in `frames`, keyed by the number of the request.
        metadata: the records that the KRaft controller sent to brokers that have a replica, in order of arrival.
        events: the events, other than frames, that name a process.
        end: the time of the last line.
        assignment: the ids of the brokers that have a replica at any time. The first ones are those that have one at
            first, beginning with the preferred leader.
        first_replicas: the number of brokers that have a replica at first.
        is_reassigned: whether the replicas change (only with KRaft).
        replicas_of_first: the number of replicas of the topic's first partition, keyed by the offset of the record of
            the metadata log that says so.
        applied: the times at which heartbeats show that a broker has applied more of the metadata log, and the offsets
            up to which it has. Keyed by the id of the broker.
        topic_ids: all ids that the recording contains for the topic.
        configs: the configuration with which the topic was created.
        acks: the values of acks in the produce requests for the partition.
        last_sent: for each event that names a killed process, the arrival time of the last frame that the process sent.
            Keyed by the position in `events`.
        delay: the longest time from the arrival of a fetch or produce request until it, or its response, was written to
            the recording.
    """

    recording: Recording
    topic: str
    partition: int
    kraft: bool = False
    frames: list[Seen] = attrs.field(factory=list)
    answer: dict[int, Seen] = attrs.field(factory=dict)
    metadata: list[Announcement] = attrs.field(factory=list)
    events: list[Body] = attrs.field(factory=list)
    end: float = 0.0
    assignment: tuple[int, ...] = ()
    first_replicas: int = 0
    is_reassigned: bool = False
    replicas_of_first: dict[int, int] = attrs.field(factory=dict)
    applied: dict[int, list[tuple[float, int]]] = attrs.field(factory=dict)
    topic_ids: frozenset[str] = frozenset()
    configs: dict[str, str] = attrs.field(factory=dict)
    acks: set[int] = attrs.field(factory=set)
    last_sent: dict[int, float] = attrs.field(factory=dict)
    delay: float = 0.0
    _values: dict[str, int] = attrs.field(factory=dict)
    _epochs: dict[int, int] = attrs.field(factory=dict)

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.recording.path

    @property
    def about(self) -> Body:
        """The content of the recording's first line."""
        return self.recording.about

    # --- the model's numbers --------------------------------------------------------------------------------------

    def replica(self, node: object) -> int | None:
        """Return the model's number for a broker, or None if the process has no replica of the partition."""
        return self.assignment.index(node) if node in self.assignment else None

    def is_mine(self, body: Body) -> bool:
        """Return whether a record of the metadata log is about the partition."""
        return body.get("TopicId") in self.topic_ids and body.get("PartitionId") == self.partition

    def isr(self, ids: list[int]) -> frozenset[int]:
        """Convert the broker ids in an ISR to the broker numbers of the model."""
        for broker in ids:
            if broker not in self.assignment:
                raise NotFollowed(
                    f"an ISR names broker {broker}, which has no replica: reassignments are supported only with KRaft"
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
        """Return the model's value for a record. Equal records have equal values.

        The first `MOST_NUMBERED` different records are numbered from 0. The value of any later record is a hash, so
        that memory does not grow.
        """
        text = json.dumps([record.get("key"), record.get("value")], sort_keys=True)
        known = self._values.get(text)
        if known is not None:
            return known
        if len(self._values) < MOST_NUMBERED:
            return self._values.setdefault(text, len(self._values))
        return MOST_NUMBERED + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

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
        for state in partition_states(frame.body):
            if (state["TopicName"], state["PartitionIndex"]) == (self.topic, self.partition):
                yield state

    def is_fetch(self, frame: Seen) -> bool:
        """Return whether a frame is a fetch request from one replica of the partition to another."""
        between = self.replica(frame.source) is not None and self.replica(frame.target) is not None
        return frame.api == "Fetch" and frame.request and between

    def concerns(self, frame: Seen) -> bool:
        """Return whether a request, other than a fetch or produce request, is about the partition or its brokers."""
        if frame.target == ZOOKEEPER:
            own = {f"/brokers/topics/{self.topic}/partitions/{self.partition}/state"}
            own |= {f"/brokers/ids/{broker}" for broker in self.assignment}
            operations = frame.body.get("operations") or [frame.body]
            return frame.api in _WRITES and any(each.get("path") in own for each in operations)
        match frame.api:
            case "LeaderAndIsr":
                return any(True for _ in self.states(frame))
            case "OffsetForLeaderEpoch":
                return self.part(frame.body) is not None
            case "AssignReplicasToDirs":
                return self._assigns(frame.body)
            case "BrokerHeartbeat":
                return bool(frame.body.get("WantShutDown"))
        # a leader sends an AlterPartition request only after the answer to the one before, whatever it is about
        return frame.api in ("AlterPartition", "BrokerRegistration", "ControlledShutdown", "ElectLeaders")

    def _assigns(self, body: Body) -> bool:
        """Return whether an AssignReplicasToDirs request is about the partition."""
        topics = [topic for each in body.get("Directories") or () for topic in each["Topics"] if self.names(topic)]
        return any(each["PartitionIndex"] == self.partition for topic in topics for each in topic["Partitions"])


def partitions_of(recording: Recording) -> list[tuple[str, int]]:
    """Return a (topic, partition number) pair for each partition that was created during a recording, in order."""
    found: dict[tuple[str, int], None] = {}
    names: dict[str, str] = {}
    for line in recording.events():
        body = line.get("body")
        if line["event"] != "frame" or not body:
            continue
        if line["api"] == "LeaderAndIsr" and line["request"]:
            check_fields(recording.path, line)
            for state in partition_states(body):
                found.setdefault((state["TopicName"], state["PartitionIndex"]))
        elif line["api"] == "Fetch" and line["source"] == CONTROLLER:
            check_fields(recording.path, line)
            for name, told in _metadata(body):
                if name == "TopicRecord":
                    names[told["TopicId"]] = told["Name"]
                elif name == "PartitionRecord" and told["TopicId"] in names:
                    found.setdefault((names[told["TopicId"]], told["PartitionId"]))
    return [each for each in found if not each[0].startswith("__")]


def _metadata(body: Body) -> Iterator[tuple[str, Body]]:
    yield from ((name, told) for _, _, name, told in metadata_of(body))


def metadata_of(body: Body) -> Iterator[tuple[int, int | None, str, Body]]:
    """Yield the offset, leader epoch, name and body of each metadata record in a response from the KRaft controller."""
    for topic in body.get("Responses") or ():
        for partition in topic.get("Partitions") or ():
            for batch in (partition.get("Records") or {}).get("batches") or ():
                for record in batch["records"] or ():
                    if isinstance(record["value"], Mapping) and "record" in record["value"]:
                        told = record["value"]
                        yield record["offset"], batch.get("leader_epoch"), told["record"], told["body"]


def seen_frame(line: Mapping[str, Any]) -> Seen | None:
    """Return the frame in a line of a recording, or None if the line is another event or was not decoded."""
    if line["event"] != "frame" or line["body"] is None:
        return None
    return Seen(**{field.name: line[field.name] for field in attrs.fields(Seen)})


def seen_frames(recording: Recording) -> Iterator[Seen]:
    """Yield the decoded frames of a recording, in the order of their lines. The file is read while iterating."""
    yield from filter(None, map(seen_frame, recording.events()))


def frames_around(
    recording: Recording, numbers: Collection[int], at: float, near: int, without: Collection[str]
) -> list[Seen]:
    """Return frames of a recording, and the frames just before and after each of them, in order of arrival.

    Parameters:
        recording: the recording.
        numbers: the numbers of the frames. If there is no such frame, the last frame that arrived before `at` is used.
        at: a time.
        near: the number of frames before and after each frame.
        without: names of requests that are left out, with their responses.
    """
    found = array("q")
    before = -1
    for frame in seen_frames(recording):
        if frame.api not in without:
            found.append(frame.number)
            before = max(before, frame.number) if frame.arrived < at else before
    ordered = sorted(found)
    places = [place for place, number in enumerate(ordered) if number in numbers]
    places = places or [place for place, number in enumerate(ordered) if number == before]
    shown = {ordered[i] for place in places for i in range(max(0, place - near), min(len(ordered), place + near + 1))}
    return sorted((each for each in seen_frames(recording) if each.number in shown), key=lambda each: each.number)


def read_partition(recording: Recording, topic: str, partition: int) -> PartitionRecording:
    """Return the part of a recording that is about one partition.

    Raises:
        NotFollowed: if the recording does not include the creation of the partition.
        RecordingError: if the file is not a complete recording, or a field has another type than recording.md says.
    """
    read = PartitionRecording(recording, topic, partition)
    _find_topic(read)
    _read_frames(read)
    return read


def _find_topic(read: PartitionRecording) -> None:
    """Find the replicas of the partition, and the events that are not frames."""
    ids = set()
    for line in read.recording.events():
        check_fields(read.path, line)
        read.end = max(read.end, line["time"])
        if line["event"] != "frame" and "node" in line:
            read.events.append(line)
        frame = seen_frame(line)
        if frame is None:
            continue
        read.kraft = read.kraft or CONTROLLER in (frame.source, frame.target)
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
                    _expect_different(read, state["Replicas"])
                    read.assignment = tuple(state["Replicas"])
        elif frame.api == "Fetch" and frame.source == CONTROLLER:
            for offset, _, name, body in metadata_of(frame.body):
                if name == "TopicRecord" and body["Name"] == read.topic:
                    ids.add(body["TopicId"])
                elif name in ("PartitionRecord", "PartitionChangeRecord") and body["TopicId"] in ids:
                    _find_replicas(read, offset, name, body)
    read.topic_ids = frozenset(ids)
    read.first_replicas = read.first_replicas or len(read.assignment)
    if not read.assignment:
        raise NotFollowed(
            f"the recording does not include the creation of {read.topic}-{read.partition}: start recording before the "
            f"topic is created, or choose another partition"
        )


def _find_replicas(read: PartitionRecording, offset: int, name: str, body: Body) -> None:
    """Note the replicas that a record of the metadata log names. A record that changes no replicas names none."""
    replicas = body.get("Replicas")
    if replicas is None:
        return
    if body["PartitionId"] == 0:
        read.replicas_of_first[offset] = len(replicas)
    if body["PartitionId"] != read.partition:
        return
    _expect_different(read, replicas)
    if name == "PartitionChangeRecord":
        read.is_reassigned = True
    else:
        read.first_replicas = read.first_replicas or len(replicas)
    read.assignment += tuple(broker for broker in replicas if broker not in read.assignment)


def _expect_different(read: PartitionRecording, replicas: list[int]) -> None:
    if len(set(replicas)) < len(replicas):
        raise NotFollowed(f"{read.path}: {read.topic}-{read.partition} has two replicas on one broker: {replicas}")


def _read_frames(read: PartitionRecording) -> None:
    """Read the frames, and keep those about the partition and its brokers. Fetch and produce requests are not kept."""
    kills = [(place, event) for place, event in enumerate(read.events) if event["event"] == "killed"]
    read.last_sent = dict.fromkeys((place for place, _ in kills), 0.0)
    unanswered: dict[int, Seen | float] = {}
    early: set[int] = set()
    numbers = _Numbers()
    now = 0.0
    for line in read.recording.events():
        now = max(now, line["time"])
        frame = seen_frame(line)
        if frame is None:
            continue
        if not numbers.add(frame.number):
            raise NotFollowed(f"{read.path}: frame {frame.number} is on two lines")
        for place, event in kills:
            if frame.source == event["node"] and read.last_sent[place] < frame.arrived <= event["time"]:
                read.last_sent[place] = frame.arrived
        if frame.api == "BrokerHeartbeat" and frame.request:
            _read_heartbeat(read, frame)
        if frame.request:
            if frame.number in early:
                raise NotFollowed(f"{read.path}: the response to frame {frame.number} is on an earlier line")
            _read_request(read, frame, now, unanswered)
        elif frame.answers is not None:
            asked = unanswered.pop(frame.answers, None)
            if asked is None and frame.api in _ANSWERED:
                early.add(frame.answers)
            elif asked is None:
                pass
            elif isinstance(asked, float):
                read.delay = max(read.delay, now - asked)
            else:
                read.frames.append(frame)
                read.answer[frame.answers] = frame
            if frame.source == CONTROLLER and frame.api == "Fetch" and read.replica(frame.target) is not None:
                _read_metadata(read, frame)
    read.frames.sort(key=lambda frame: frame.number)
    read.metadata.sort(key=lambda each: each.frame.number)


def _read_heartbeat(read: PartitionRecording, frame: Seen) -> None:
    """Note up to which offset a broker has applied the metadata log, if it has applied more than before."""
    applied = frame.body.get("CurrentMetadataOffset")
    if read.replica(frame.source) is None or applied is None or frame.body.get("WantFence"):
        return
    known = read.applied.setdefault(frame.source, [])  # type: ignore[arg-type]
    if not known or known[-1][1] != applied:
        known.append((frame.arrived, applied))


class _Numbers:
    """A set of numbers, stored as one bit per number."""

    def __init__(self) -> None:
        self._bits: dict[int, int] = {}

    def add(self, number: int) -> bool:
        """Add a number. Return whether the number is new."""
        block, bit = number >> 10, 1 << (number & 1023)
        known = self._bits.get(block, 0)
        self._bits[block] = known | bit
        return not known & bit


def _read_request(read: PartitionRecording, frame: Seen, now: float, unanswered: dict[int, Seen | float]) -> None:
    """Keep a request if it concerns the partition. `unanswered` contains the requests that were kept, and the arrival
    times of fetch and produce requests.
    """
    if frame.api in ("Fetch", "Produce"):
        read.delay = max(read.delay, now - frame.arrived)
        if frame.api == "Produce" and read.part(frame.body) is not None:
            read.acks.add(frame.body["Acks"])
        if frame.api == "Fetch" or frame.body["Acks"] != 0:
            unanswered[frame.number] = frame.arrived
    elif read.concerns(frame):
        read.frames.append(frame)
        unanswered[frame.number] = frame


def _read_metadata(read: PartitionRecording, frame: Seen) -> None:
    without_body = attrs.evolve(frame, body={})
    for offset, epoch, name, body in metadata_of(frame.body):
        partition = read.is_mine(body)
        broker = read.replica(body.get("BrokerId")) is not None
        setting = name == "ConfigRecord" and _is_min_isr_of(read, body)
        read.metadata.append(
            Announcement(without_body, offset, epoch, name, dict(body) if partition or broker or setting else {})
        )


def _is_min_isr_of(read: PartitionRecording, body: Body) -> bool:
    named = body.get("ResourceType"), body.get("ResourceName"), body.get("Name")
    return named == (OF_A_TOPIC, read.topic, MIN_ISR)


NEVER = math.inf
