"""Replays KRaft's metadata log, which contains the decisions of the controllers in order.

The fields of its records are defined by the schemas in Apache Kafka's `metadata/src/main/resources/common/metadata`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import attrs
import numpy as np

from leadline.model.disk.batches import CODEC, CONTROL, HEADER, Tail, read_headers, read_records
from leadline.model.disk.directory import LogDirectory
from leadline.model.disk.files import Files, Source, Unreadable
from leadline.model.disk.wire import Malformed, Wire

LARGEST_BATCH = 256 * 2**20
"""The size of the largest batch of metadata records that is read, in bytes."""

NO_LEADER_CHANGE = -2

HOLDS_BACK = 15
"""The level of ``metadata.version`` 3.7-IV0. See `Metadata.holds_back_high_watermarks`."""

TOPIC, BROKER = 2, 4
"""The types of resources in a ConfigRecord. The broker with an empty name stands for all brokers."""

_SETS = {
    "isr": "Isr",
    "elr": "EligibleLeaderReplicas",
    "last_known": "LastKnownElr",
    "adding": "AddingReplicas",
    "removing": "RemovingReplicas",
}
"""The sets of brokers in a `PartitionState`, with the fields of records."""

_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


@attrs.frozen
class PartitionState:
    """The state of a partition according to the controllers.

    Attributes:
        replicas: the brokers with a replica, starting with the preferred leader.
        isr, elr: the in-sync replicas, and the eligible leader replicas (KIP-966).
        leader: the broker that leads, or None if the partition has no leader.
        leader_epoch, partition_epoch: the leader epoch and the partition epoch.
        recovering: whether the leader was elected uncleanly and has not recovered yet.
        adding, removing: the replicas that the reassignment in progress adds and removes. `replicas` contains all of
            them.
        last_known: the last known members of the ELR (KIP-966).
    """

    replicas: tuple[int, ...] = ()
    isr: frozenset[int] = frozenset()
    elr: frozenset[int] = frozenset()
    leader: int | None = None
    leader_epoch: int = -1
    partition_epoch: int = -1
    recovering: bool = False
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()
    last_known: frozenset[int] = frozenset()

    def after(self, record: Mapping[str, Any]) -> PartitionState:
        """Return the state after a PartitionRecord or a PartitionChangeRecord, whose fields are given by name.

        A field of a PartitionChangeRecord that is missing or null does not change (`PartitionRegistration.merge`).
        """
        leader, recovery = record.get("Leader", NO_LEADER_CHANGE), record.get("LeaderRecoveryState", -1)
        is_same, epoch = leader == NO_LEADER_CHANGE, self.leader_epoch + (leader != NO_LEADER_CHANGE)
        sets = {name: frozenset(record[field]) for name, field in _SETS.items() if record.get(field) is not None}
        return attrs.evolve(
            self,
            **sets,
            replicas=self.replicas if record.get("Replicas") is None else tuple(record["Replicas"]),
            leader=self.leader if is_same else leader if leader >= 0 else None,
            leader_epoch=record.get("LeaderEpoch", epoch),
            partition_epoch=record.get("PartitionEpoch", self.partition_epoch + 1),
            recovering=self.recovering if recovery < 0 else recovery == 1,
        )

    @property
    def electable(self) -> frozenset[int]:
        """The brokers that can be elected without losing data."""
        return self.isr | self.elr

    @property
    def sets(self) -> str:
        """The names of the sets to which the electable brokers belong: ``ISR``, ``ELR`` or ``ISR and ELR``."""
        return " and ".join(name for name, members in (("ISR", self.isr), ("ELR", self.elr)) if members)


@attrs.frozen
class UncleanElection:
    """The election of a leader that was not in the ISR or ELR, or that had just left them after an unclean shutdown.

    Attributes:
        offset: the offset of the election in the metadata log.
        before, after: the states of the partition before and after the election.
        since: the offset in the metadata log at which the set of electable brokers last changed before the election.
    """

    offset: int
    before: PartitionState
    after: PartitionState
    since: int


@attrs.frozen
class FencedElection:
    """The election of a leader that the controllers considered fenced.

    Attributes:
        offset: the offset of the election in the metadata log.
        leader, leader_epoch: the broker that was elected, and its leader epoch.
        electable: whether the broker could be elected without losing data.
    """

    offset: int
    leader: int
    leader_epoch: int
    electable: bool


def unclean_elections(history: Iterable[tuple[int, PartitionState]]) -> Iterator[UncleanElection]:
    """Yield the unclean elections of a partition. Only states with successive partition epochs are compared.

    An unclean election makes the leader the only member of the ISR and, since 3.2, begins its recovery. When a
    reassignment completes, the leader can be a broker that joins the ISR at the same time. Such an election is not
    unclean. Source: Apache Kafka's PartitionChangeBuilder.

    Parameters:
        history: an (offset, state) pair for each state of the partition. The state began at this offset in the metadata
            log.
    """
    since, electable = 0, None
    for (began, before), (offset, after) in itertools.pairwise(history):
        since, electable = (since if before.electable == electable else began), before.electable
        elected = after.leader is not None and after.leader_epoch > before.leader_epoch
        elected = elected and after.partition_epoch == before.partition_epoch + 1
        elected = elected and after.isr == {after.leader}
        reassigned = set(after.replicas) != set(before.replicas) and not after.recovering
        outsider = after.leader not in before.electable and not reassigned
        if elected and (outsider or _begins_recovery(before, after)):
            yield UncleanElection(offset, before, after, since)


def _begins_recovery(before: PartitionState, after: PartitionState) -> bool:
    """Return whether the leader begins to recover from an unclean election (KIP-704)."""
    return after.recovering and not before.recovering


@attrs.frozen
class Topic:
    """A topic in the metadata log.

    Attributes:
        name: the name of the topic.
        created: the offset of the record that created the topic.
        removed: the offset of the record that removed the topic, or None if the topic still exists.
    """

    name: str
    created: int
    removed: int | None = None


@attrs.frozen
class Registration:
    """A registration of a broker: its offset in the metadata log, and the ids of the broker's log directories."""

    offset: int
    directories: frozenset[UUID]


@attrs.define(eq=False)
class Metadata:
    """The content of a metadata log.

    Attributes:
        begins: the offset at which reading began: 0, or the offset of a snapshot.
        end: the offset after the last record that was read.
        topics: every topic, keyed by topic id.
        ids: for each topic name, the ids of the topics with this name, oldest first.
        partitions: for each partition, an (offset, state) pair for each of its states. The state began with the record
            at this offset. The keys are the topic id and the partition number.
        registrations: the registrations of each broker, keyed by broker id.
        compacted: the names of topics whose cleanup policy has ever included compaction.
        fenced_elections: the elections of fenced brokers, keyed by topic id and partition number.
        minima: for each topic name, an (offset, value) pair for each value of ``min.insync.replicas``. The record at
            this offset set the value. An empty name stands for the default of all topics. The value None means that the
            setting was removed.
        levels: an (offset, level) pair for each level of ``metadata.version``. The record at this offset set the level.
        problems: errors from reading the log, one line each.
    """

    begins: int = 0
    end: int = 0
    topics: dict[UUID, Topic] = attrs.field(factory=dict)
    ids: dict[str, list[UUID]] = attrs.field(factory=dict)
    partitions: dict[tuple[UUID, int], list[tuple[int, PartitionState]]] = attrs.field(factory=dict)
    registrations: dict[int, list[Registration]] = attrs.field(factory=dict)
    compacted: set[str] = attrs.field(factory=set)
    fenced_elections: dict[tuple[UUID, int], list[FencedElection]] = attrs.field(factory=dict)
    minima: dict[str, list[tuple[int, int | None]]] = attrs.field(factory=dict)
    levels: list[tuple[int, int]] = attrs.field(factory=list)
    problems: list[str] = attrs.field(factory=list)

    def state(self, topic_id: UUID, partition: int, before: int | None = None) -> PartitionState | None:
        """Return the state of a partition at an offset of the metadata log.

        Parameters:
            topic_id, partition: the topic id and number of the partition.
            before: the offset below which records are used. If it is None, all records are used.

        Returns:
            The state, or None if the partition did not exist at that offset.
        """
        found = None
        for offset, state in self.partitions.get((topic_id, partition), ()):
            if before is None or offset < before:
                found = state
        topic = self.topics.get(topic_id)
        gone = topic is not None and topic.removed is not None and (before is None or topic.removed < before)
        return None if gone else found

    def topic_id(self, name: str, before: int | None = None) -> UUID | None:
        """Return the id of the topic with the given name, or None if there was no such topic. For `before`, see
        `state`.
        """
        for topic_id in reversed(self.ids.get(name, ())):
            topic = self.topics[topic_id]
            created = before is None or topic.created < before
            gone = topic.removed is not None and (before is None or topic.removed < before)
            if created and not gone:
                return topic_id
        return None

    def min_insync_replicas(self, topic: str, since: int, until: int) -> int | None:
        """Return a topic's smallest value of ``min.insync.replicas`` between two offsets of the metadata log.

        Parameters:
            since, until: the first offset, and the offset after the last one.

        Returns:
            The value, or None if the metadata log has no value for at least one of these offsets. The value is then in
            the configuration files of the brokers.
        """
        own, default = self.minima.get(topic, ()), self.minima.get("", ())
        changes = {since, *(offset for offset, _ in (*own, *default) if since < offset < until)}
        values = [_value_at(own, at) or _value_at(default, at) for at in changes]
        known = [value for value in values if value is not None]
        return min(known) if len(known) == len(values) else None

    def holds_back_high_watermarks(self, at: int) -> bool:
        """Return whether, at the given offset, leaders hold back their high watermark while the ISR is smaller than
        ``min.insync.replicas`` (KAFKA-15583).

        They do so if ``metadata.version`` is 3.7 or later, because the cluster then contains no older broker.
        """
        return (_value_at(self.levels, at) or 0) >= HOLDS_BACK

    def existing(self) -> Iterator[tuple[str, int]]:
        """Yield the topic name and number of each partition that exists at the end of the log."""
        for topic_id, number in self.partitions:
            topic = self.topics.get(topic_id)
            if topic is not None and topic.removed is None:
                yield topic.name, number


def _value_at(changes: Sequence[tuple[int, int | None]], at: int) -> int | None:
    """Return the value that is in force at an offset of the metadata log. The changes must be sorted by offset."""
    return next((value for offset, value in reversed(changes) if offset <= at), None)


def read_metadata(files: Files, directory: LogDirectory) -> Metadata:
    """Read a metadata log from its beginning, or from its oldest snapshot.

    Parameters:
        files: the file system.
        directory: the directory of the log.

    Returns:
        The content of the log. If the log cannot be read completely, `problems` contains the reason.
    """
    metadata = Metadata()
    replay = _Replay(metadata)
    first = directory.segments[0][0] if directory.segments else 0
    try:
        if first or not directory.segments:
            usable = [(offset, path) for offset, path in snapshots(files, directory) if offset >= first]
            if usable:
                metadata.begins, path = usable[0]
                _read(files, path, lambda _, value: replay.add(metadata.begins - 1, value), metadata)
            else:
                what = f"begins at offset {first}" if directory.segments else "has no segment"
                metadata.problems.append(f"{directory.path} {what}, and there is no snapshot of the records before it")
                return metadata
        metadata.end = metadata.begins
        for _, path in directory.segments:
            _read(files, path, replay.record, metadata)
    except Unreadable as error:
        metadata.problems.append(str(error))
    return metadata


def snapshots(files: Files, directory: LogDirectory) -> list[tuple[int, str]]:
    """Return the end offset and the path of each snapshot of a metadata log, sorted by offset.

    Raises:
        Unreadable: if the directory cannot be listed.
    """
    return sorted(
        (int(found[1]), f"{directory.path}/{entry.name}")
        for entry in files.listed(directory.path)
        if (found := _SNAPSHOT.fullmatch(entry.name)) is not None
    )


def _read(files: Files, path: str, take: Callable[[int, bytes], None], metadata: Metadata) -> None:
    """Call `take` with the offset and the value of each record in a file. Add errors to the problems of `metadata`."""
    with files.opened(path) as source:
        headers = read_headers(source)
        for batch in headers.batches:
            if not batch["intact"] or batch["magic"] != 2:
                metadata.problems.append(f"{path} is damaged at byte {int(batch['position'])}")
                return
            if batch["attributes"] & CODEC:
                metadata.problems.append(f"{path} has compressed records, which are not read")
                return
            if not batch["attributes"] & CONTROL:
                try:
                    for offset, value in _records(source, batch):
                        take(offset, value)
                except Malformed as error:
                    metadata.problems.append(f"{path} is damaged at byte {int(batch['position'])}: {error}")
                    return
            metadata.end = max(metadata.end, int(batch["last"]) + 1)
        if headers.tail is Tail.GARBAGE:
            metadata.problems.append(f"{path} is damaged at byte {headers.end}")


def _records(source: Source, batch: np.void) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the value of each record in a batch."""
    size = int(batch["size"])
    if size > LARGEST_BATCH:
        raise Malformed(f"invalid batch size: {size:,} bytes")
    buffer = bytearray(size)
    source.read_into(memoryview(buffer), int(batch["position"]))
    for record in read_records(bytes(buffer[HEADER.itemsize :]), int(batch["records"]), int(batch["first"])):
        if record.value is not None:
            yield record.offset, record.value


def _brokers(wire: Wire) -> list[int] | None:
    return wire.nullable_array(wire.int32)


_OF_PARTITION = {
    0: ("LeaderRecoveryState", Wire.int8),
    1: ("EligibleLeaderReplicas", _brokers),
    2: ("LastKnownElr", _brokers),
}
_OF_CHANGE = {
    0: ("Isr", _brokers),
    1: ("Leader", Wire.int32),
    2: ("Replicas", _brokers),
    3: ("RemovingReplicas", _brokers),
    4: ("AddingReplicas", _brokers),
    5: ("LeaderRecoveryState", Wire.int8),
    6: ("EligibleLeaderReplicas", _brokers),
    7: ("LastKnownElr", _brokers),
}
"""The tagged fields of a PartitionRecord and of a PartitionChangeRecord: the name, and a function that reads it."""


def _tagged(wire: Wire, known: Mapping[int, tuple[str, Callable[[Wire], Any]]]) -> dict[str, Any]:
    """Return the tagged fields of a record by name, without unknown ones."""
    return {known[tag][0]: known[tag][1](field) for tag, field in wire.tagged() if tag in known}


class _Replay:
    """Replays metadata records. The records of a transaction (KIP-868) are applied when the transaction ends."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._transaction: list[tuple[int, bytes]] | None = None
        self._fenced: set[int] = set()
        self._apply: dict[int, Callable[[int, int, Wire], None]] = {
            0: self._register_broker,
            1: self._unregister_broker,
            2: self._topic,
            3: self._partition,
            4: self._config,
            5: self._partition_change,
            7: self._fence,
            8: self._unfence,
            9: self._remove_topic,
            12: self._feature_level,
            17: self._broker_change,
        }

    def record(self, offset: int, value: bytes) -> None:
        """Apply a record of the log, unless it is already part of the snapshot that was read."""
        if offset >= self._metadata.begins:
            self.add(offset, value)

    def add(self, offset: int, value: bytes) -> None:
        """Apply a record of the log or of a snapshot. A record of a transaction is stored until the transaction
        ends.
        """
        wire = Wire(value)
        frame, kind, version = wire.unsigned(), wire.unsigned(), wire.unsigned()
        if frame != 1:
            raise Malformed(f"the frame version of a record must be 1, not {frame}")
        if kind in (23, 24, 25):
            begun, self._transaction = self._transaction or [], [] if kind == 23 else None
            for earlier, postponed in begun if kind == 24 else ():
                self.add(earlier, postponed)
        elif self._transaction is not None and kind in self._apply:
            self._transaction.append((offset, value))
        elif kind in self._apply:
            self._apply[kind](offset, version, wire)

    def _unknown(self, what: str, version: int) -> None:
        self._metadata.problems.append(f"the metadata log has version {version} of {what}, which is unknown")

    def _topic(self, offset: int, version: int, wire: Wire) -> None:
        name, topic_id = wire.string(), wire.uuid()
        self._metadata.topics[topic_id] = Topic(name, offset)
        self._metadata.ids.setdefault(name, []).append(topic_id)

    def _remove_topic(self, offset: int, version: int, wire: Wire) -> None:
        topic_id = wire.uuid()
        topic = self._metadata.topics.get(topic_id)
        if topic is not None:
            self._metadata.topics[topic_id] = attrs.evolve(topic, removed=offset)
            self._metadata.minima.setdefault(topic.name, []).append((offset, None))

    def _partition(self, offset: int, version: int, wire: Wire) -> None:
        if version > 2:
            self._unknown("PartitionRecord", version)
            return
        number, topic_id = wire.int32(), wire.uuid()
        lists = ("Replicas", "Isr", "RemovingReplicas", "AddingReplicas")
        record: dict[str, Any] = {name: wire.array(wire.int32) for name in lists}
        record |= {name: wire.int32() for name in ("Leader", "LeaderEpoch", "PartitionEpoch")}
        if version >= 1:
            wire.array(wire.uuid)
        record |= _tagged(wire, _OF_PARTITION)
        self._metadata.partitions.setdefault((topic_id, number), []).append((offset, PartitionState().after(record)))

    def _partition_change(self, offset: int, version: int, wire: Wire) -> None:
        if version > 2:
            self._unknown("PartitionChangeRecord", version)
            return
        number, topic_id = wire.int32(), wire.uuid()
        history = self._metadata.partitions.get((topic_id, number))
        if not history:
            raise Malformed(f"partition {number} of {topic_id} is changed before it is created")
        state = history[-1][1]
        changed = state.after(_tagged(wire, _OF_CHANGE))
        history.append((offset, changed))
        if changed.leader is not None and changed.leader != state.leader and changed.leader in self._fenced:
            electable = changed.leader in state.electable and not _begins_recovery(state, changed)
            election = FencedElection(offset, changed.leader, changed.leader_epoch, electable)
            self._metadata.fenced_elections.setdefault((topic_id, number), []).append(election)

    def _config(self, offset: int, version: int, wire: Wire) -> None:
        resource, name, key, value = wire.int8(), wire.string(), wire.string(), wire.nullable_string()
        if resource == TOPIC and key == "cleanup.policy" and "compact" in (value or ""):
            self._metadata.compacted.add(name)
        if key == "min.insync.replicas" and (resource == TOPIC or (resource, name) == (BROKER, "")):
            number = int(value) if value is not None and value.strip().isdecimal() else None
            self._metadata.minima.setdefault(name, []).append((offset, number))

    def _feature_level(self, offset: int, version: int, wire: Wire) -> None:
        if wire.string() == "metadata.version":
            self._metadata.levels.append((offset, wire.int16()))

    def _register_broker(self, offset: int, version: int, wire: Wire) -> None:
        broker = wire.int32()
        if version >= 2:
            wire.boolean()  # whether the broker is migrating from ZooKeeper
        wire.uuid()
        wire.int64()
        wire.array(lambda: self._endpoint(wire))
        wire.array(lambda: self._feature(wire))
        wire.nullable_string()
        (self._fenced.add if wire.boolean() else self._fenced.discard)(broker)
        if version >= 1:
            wire.boolean()  # whether the broker is shutting down
        directories = next((field.array(field.uuid) for tag, field in wire.tagged() if tag == 0), [])
        found = Registration(offset, frozenset(directories))
        self._metadata.registrations.setdefault(broker, []).append(found)

    def _broker_change(self, offset: int, version: int, wire: Wire) -> None:
        broker = wire.int32()
        wire.int64()
        known = self._metadata.registrations.get(broker)
        for tag, field in wire.tagged():
            if tag == 0 and (change := field.int8()):
                (self._fenced.add if change > 0 else self._fenced.discard)(broker)
            elif tag == 2 and known:
                known[-1] = attrs.evolve(known[-1], directories=frozenset(field.array(field.uuid)))

    def _unregister_broker(self, offset: int, version: int, wire: Wire) -> None:
        broker = wire.int32()
        self._metadata.registrations.pop(broker, None)
        self._fenced.discard(broker)

    def _fence(self, offset: int, version: int, wire: Wire) -> None:
        self._fenced.add(wire.int32())

    def _unfence(self, offset: int, version: int, wire: Wire) -> None:
        self._fenced.discard(wire.int32())

    @staticmethod
    def _endpoint(wire: Wire) -> None:
        wire.string()
        _Replay._feature(wire)

    @staticmethod
    def _feature(wire: Wire) -> None:
        wire.string()
        wire.int16()
        wire.int16()
        wire.skip_tagged()
