"""The part of a recording about one partition, with brokers, epochs and records numbered as in the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from leadline.brokers.conformance.frames import NONE, ZOOKEEPER, Body, Seen
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.messages.leader_and_isr import partition_errors, partition_states
from leadline.brokers.messages.shutdown import asks_to_stop
from leadline.brokers.messages.topics import number_of, partitions_in, topics_in
from leadline.brokers.recording import Recording
from leadline.model.kafka.conformance.errors import DONE, said
from leadline.model.kafka.conformance.seen import NO_SUCH_EPOCH
from leadline.model.kafka.mixes import STAGES

WRITES = ("create", "create2", "multi", "setData")
"""The names of requests that write to ZooKeeper."""
LEFT_OUT = -2
"""The value for an offset that has no record. No record of the model has it."""
FIRST_WITH_EPOCHS = 2
"""The first format of batches with leader epochs (magic 2, KIP-98)."""
MOST_NUMBERED = 100_000
"""The number of different records that get small numbers."""


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
        last_sent: for each event that names a killed or terminated process, the arrival time of the last frame that the
            process sent. If it was terminated, this includes responses to its requests, and can be after the event.
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

    def stage_of(self, node: object, at: float) -> int:
        """Return the stage of a broker or the controller of a mix of releases at a time, as the run says that has
        started it.

        Raises:
            NotFollowed: if the recording does not say this.
        """
        said = (
            each
            for each in self.events
            if each["time"] <= at and (each["event"], each["node"]) in (("runs", node), ("upgrade", "client"))
        )
        last = max(said, key=lambda each: float(each["time"]), default=None)
        if last is None or last["stage"] not in STAGES:
            raise NotFollowed(
                f"{self.path}: no event 'runs' says which release node {node} runs: see brokers/recording.md"
            )
        return STAGES.index(last["stage"])

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
        return self._epochs.get(epoch, NO_SUCH_EPOCH)

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

    def records(self, batches: Body | None, *, has_offsets: bool = False) -> tuple[tuple[int | None, int | None], ...]:
        """Return a (value, epoch) pair for each record in the given batches. A value or epoch that was not recorded is
        None. If `has_offsets`, a broker has given the records their offsets; then `LEFT_OUT` is the value for an offset
        without a record, since no log is compacted.
        """
        if not batches:
            return ()
        if "batches" not in batches:
            raise NotFollowed(
                f"the recording contains record batches that were not decoded: {batches.get('undecoded', 'no batches')}"
            )
        found: list[tuple[int | None, int | None]] = []
        following: int | None = None
        for batch in batches["batches"]:
            first, last, epoch = batch["first"], batch["last"], self._epoch_of(batch)
            if has_offsets and following is not None and first != following:
                found.append((LEFT_OUT, epoch))
            following = last + 1
            if batch["records"] is None:
                found += [(None, epoch)] * (last - first + 1)
                continue
            if not has_offsets:
                found += [(self.value(record), epoch) for record in batch["records"]]
                continue
            values = {record["offset"]: self.value(record) for record in batch["records"]}
            if len(values) < len(batch["records"]) or not values.keys() <= set(range(first, last + 1)):
                found.append((LEFT_OUT, epoch))
            found += [(values.get(offset, LEFT_OUT), epoch) for offset in range(first, last + 1)]
        return tuple(found)

    def _epoch_of(self, batch: Body) -> int | None:
        """Return the model's number for the leader epoch of a batch. A leader writes its epoch into each batch, so a
        batch without one, in a format that has epochs, is of no epoch. Producers do not know the epoch.
        """
        without = batch["leader_epoch"] == NONE and batch.get("magic", 0) >= FIRST_WITH_EPOCHS
        return NO_SUCH_EPOCH if without else self.epoch(batch["leader_epoch"])

    def records_from(
        self, batches: Body | None, offset: int
    ) -> tuple[int | None, tuple[tuple[int | None, int | None], ...]]:
        """Return the offset of the first record at or after `offset`, and all records from there on. If there is no
        such record, return None and no records.

        A response contains whole batches, so it can begin with records before `offset`.
        """
        records = self.records(batches, has_offsets=True)
        if not batches or not records:
            return None, ()
        first: int = batches["batches"][0]["first"]
        before = max(0, offset - first)
        return (first + before, records[before:]) if records[before:] else (None, ())

    # --- parts of bodies ------------------------------------------------------------------------------------------

    def part(self, body: Body) -> Body | None:
        """Return the part of a request or response that is about the partition, or None if there is none."""
        for topic in topics_in(body):
            if self.names(topic):
                for partition in partitions_in(topic):
                    if number_of(partition) == self.partition:
                        return partition
        return None

    def names(self, topic: Body) -> bool:
        """Return whether a part of a frame's body refers to the topic, by its name or id."""
        name = topic.get("Topic") or topic.get("TopicName") or topic.get("Name")
        return name == self.topic if name else topic.get("TopicId") in self.topic_ids

    def states(self, frame: Seen) -> Iterator[Body]:
        """Yield each state of the partition that a LeaderAndIsr request contains."""
        for state in partition_states(frame.body):
            if (state["TopicName"], state["PartitionIndex"]) == (self.topic, self.partition):
                yield state

    def refuses(self, answer: Seen) -> bool:
        """Return whether the response to a LeaderAndIsr request says that the broker did not obey it."""
        mine = (
            error["ErrorCode"]
            for error in partition_errors(answer.body)
            if self.names(error) and error["PartitionIndex"] == self.partition
        )
        codes = (answer.body.get("ErrorCode", 0), *mine)
        return any(said("LeaderAndIsr", code) != DONE for code in codes)

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
            return frame.api in WRITES and any(each.get("path") in own for each in operations)
        match frame.api:
            case "LeaderAndIsr":
                return any(True for _ in self.states(frame))
            case "OffsetForLeaderEpoch":
                return self.part(frame.body) is not None
            case "AssignReplicasToDirs":
                return self._assigns(frame.body)
            case "BrokerHeartbeat" | "ControlledShutdown":
                return asks_to_stop(frame.api, frame.body)
        # a leader sends an AlterPartition request only after the answer to the one before, whatever it is about
        return frame.api in ("AlterPartition", "BrokerRegistration", "ElectLeaders")

    def _assigns(self, body: Body) -> bool:
        """Return whether an AssignReplicasToDirs request is about the partition."""
        topics = [topic for each in body.get("Directories") or () for topic in each["Topics"] if self.names(topic)]
        return any(each["PartitionIndex"] == self.partition for topic in topics for each in topic["Partitions"])
