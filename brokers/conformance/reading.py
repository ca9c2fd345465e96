"""Read from a recording what is about one partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from leadline.brokers.conformance.fields import check_fields
from leadline.brokers.conformance.frames import CONTROLLER, NEVER, ZOOKEEPER, Body, Seen, seen_frame
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import WRITES, Announcement, PartitionRecording
from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.recording import Recording

OF_A_TOPIC = 2
"""The type of a topic in a ConfigRecord (`ConfigResource.Type.TOPIC`)."""
MIN_ISR = "min.insync.replicas"
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
    *WRITES,
)
"""The names of requests whose responses are read."""


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
    ends = [(place, event) for place, event in enumerate(read.events) if event["event"] in ("killed", "terminated")]
    read.last_sent = dict.fromkeys((place for place, _ in ends), 0.0)
    begun: dict[int, float] = {}  # the arrival of the first frame of each connection
    unanswered: dict[int, Seen | float] = {}
    early: set[int] = set()
    numbers, with_answer = _Numbers(), _Numbers()
    correlations: dict[int, _Numbers] = {}
    now = 0.0
    for line in read.recording.events():
        now = max(now, line["time"])
        frame = seen_frame(line)
        if frame is None:
            continue
        if not numbers.add(frame.number):
            raise NotFollowed(f"{read.path}: frame {frame.number} is on two lines")
        if frame.answers is not None and not frame.request and not with_answer.add(frame.answers):
            raise NotFollowed(f"{read.path}: frame {frame.number} answers frame {frame.answers}, which has an answer")
        sent = line.get("correlation")
        if sent is not None and sent >= 0 and frame.request and ZOOKEEPER not in (frame.source, frame.target):
            known = correlations.setdefault(frame.connection, _Numbers())
            if not known.add(sent):
                raise NotFollowed(
                    f"{read.path}: frame {frame.number} has the correlation id {sent}, which an earlier request on its "
                    f"connection has"
                )
        began = begun.setdefault(frame.connection, frame.arrived)
        for place, event in ends:
            last = event["time"] if event["event"] == "killed" else NEVER
            answered = not frame.request and frame.target == event["node"]
            if event["node"] != frame.source and not (answered and last == NEVER):
                continue
            if began <= event["time"] and read.last_sent[place] < frame.arrived <= last:
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
    for applied in read.applied.values():
        applied.sort()


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
        setting = name == "FeatureLevelRecord" or (name == "ConfigRecord" and _is_min_isr_of(read, body))
        read.metadata.append(
            Announcement(without_body, offset, epoch, name, dict(body) if partition or broker or setting else {})
        )


def _is_min_isr_of(read: PartitionRecording, body: Body) -> bool:
    named = body.get("ResourceType"), body.get("ResourceName"), body.get("Name")
    return named == (OF_A_TOPIC, read.topic, MIN_ISR)
