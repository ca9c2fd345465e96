"""Data directories, written as Kafka writes them: batches and records with `kio`, checkpoints as text."""

from __future__ import annotations

import base64
import datetime
import io
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
from google_crc32c import value as crc32c
from kio.records.schema import Record, RecordBatch
from kio.records.writers import write_batch
from kio.serial import writers as kio
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64, u32, uvarint

from leadline.model.disk.batches import CONTROL, DELETE_HORIZON, TRANSACTIONAL

EPOCH_BEGINS = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
NOBODY = (-1, -1, -1)
METADATA_TOPIC_ID = UUID(int=1)


@attrs.frozen
class Batch:
    """The bytes of a batch, with the values that tests need."""

    data: bytes
    first: int
    last: int
    epoch: int
    producer: tuple[int, int, int] = NOBODY
    records: int = 1
    keys: tuple[int, ...] = ()
    control: bool = False

    def with_epoch(self, epoch: int) -> Batch:
        """The batch with another leader epoch, which its checksum does not cover."""
        data = self.data[:12] + struct.pack(">i", epoch) + self.data[16:]
        return attrs.evolve(self, data=data, epoch=epoch)

    def broken(self) -> Batch:
        """The batch with a wrong checksum."""
        return attrs.evolve(self, data=self.data[:-1] + bytes([self.data[-1] ^ 0x55]))


def batch(
    first: int,
    count: int = 1,
    epoch: int = 0,
    *,
    producer: tuple[int, int, int] = NOBODY,
    keys: Sequence[int] | None = None,
    values: Sequence[bytes] | None = None,
    control: bool = False,
    transactional: bool = False,
    kept: Iterable[int] | None = None,
    attributes: int = 0,
    at: int = 0,
    size: int = 8,
) -> Batch:
    """A batch.

    Parameters:
        first, count: its base offset, and how many offsets it has.
        epoch: the leader epoch.
        producer: the producer's id, epoch and base sequence.
        keys, values: of its records; by default something different in each batch.
        control, transactional: whether it is a control batch, or one of a transaction.
        kept: which of its records compaction has left; by default all.
        attributes: more of them.
        at: its timestamp, in milliseconds after the beginning of all.
        size: bytes in a value.
    """
    keys = tuple(range(first, first + count)) if keys is None else tuple(keys)
    left = range(count) if kept is None else sorted(kept)
    time = TZAwareMicros.parse(EPOCH_BEGINS + datetime.timedelta(seconds=at // 1000))
    stamp = i64(int(EPOCH_BEGINS.timestamp() * 1000) + at // 1000 * 1000)
    made = RecordBatch(
        base_offset=i64(first),
        batch_length=i32(0),
        partition_leader_epoch=i32(epoch),
        crc=u32(0),
        attributes=i16(attributes | CONTROL * control | TRANSACTIONAL * (control or transactional)),
        last_offset_delta=i32(count - 1),
        base_timestamp=stamp,
        max_timestamp=stamp,
        producer_id=i64(producer[0]),
        producer_epoch=i16(producer[1]),
        base_sequence=i32(-1 if control else producer[2]),
        records=tuple(
            Record(
                attributes=i8(0),
                timestamp=time,
                offset=i64(first + place),
                key=str(keys[place]).encode(),
                value=values[place] if values is not None else f"{first + place}@{epoch}".encode().ljust(size),
                headers=(),
            )
            for place in left
        ),
    )
    buffer = io.BytesIO()
    write_batch(buffer, made)
    data = buffer.getvalue()
    data = data[:8] + struct.pack(">i", len(data) - 12) + data[12:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]
    return Batch(data, first, first + count - 1, epoch, producer, len(left), keys, control)


def cleaned(old: Batch, kept: Iterable[int], *, horizon: bool = False) -> Batch:
    """A batch after compaction: some of its records. The first record has number 0."""
    again = batch(
        old.first,
        old.last - old.first + 1,
        old.epoch,
        producer=old.producer,
        keys=old.keys,
        kept=kept,
        attributes=DELETE_HORIZON * horizon,
    )
    return attrs.evolve(again, keys=old.keys)


def marker(offset: int, epoch: int, producer: int, producer_epoch: int = 0) -> Batch:
    """The marker that ends a transaction."""
    value = struct.pack(">hi", 0, 0)
    return batch(offset, 1, epoch, producer=(producer, producer_epoch, -1), control=True, values=[value])


def text_of(value: UUID) -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def lines(*rows: Sequence[object], version: int = 0) -> str:
    """A checkpoint file."""
    return "".join(f"{line}\n" for line in (version, len(rows), *(" ".join(map(str, row)) for row in rows)))


@attrs.define
class Log:
    """The log of a replica, to be written to disk.

    Attributes:
        segments: the base offset of each segment, with its batches.
        epochs: the entries of the leader epoch checkpoint; None to make them from the batches, as Kafka does.
        topic_id: the topic's id.
        tail: bytes after the last batch.
        high_watermark, recovery_point, log_start, cleaned_to: what the checkpoints say; None: nothing.
    """

    segments: list[tuple[int, list[Batch]]]
    topic_id: UUID | None
    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start: int | None = None
    cleaned_to: int | None = None
    epochs: list[tuple[int, int]] | None = None
    tail: bytes = b""

    @property
    def batches(self) -> list[Batch]:
        """All batches."""
        return [each for _, held in self.segments for each in held]

    @property
    def end(self) -> int:
        """The log end offset."""
        held = self.batches
        return max(held[-1].last + 1 if held else 0, self.segments[-1][0])

    def epoch_entries(self) -> list[tuple[int, int]]:
        """The entries of the leader epoch checkpoint that its batches make."""
        entries: list[tuple[int, int]] = []
        for each in self.batches:
            if not entries or each.epoch > entries[-1][0]:
                entries.append((each.epoch, each.first))
        start = max(self.log_start or 0, self.segments[0][0])
        return [(epoch, max(first, start)) for epoch, first in entries]


@attrs.define
class Disk:
    """A broker's data directory, to be written to disk.

    Attributes:
        path: where.
        node: the broker.
        logs: its logs, by topic and number; the metadata log among them.
        clean: whether it was stopped cleanly.
        cluster, directory: the ids in `meta.properties`. With an empty cluster, there is only the broker's.
        quorum: the content of the `quorum-state` file; None: there is no such file.
    """

    path: Path
    node: int
    logs: dict[tuple[str, int], Log] = attrs.field(factory=dict)
    clean: bool = True
    cluster: str = "the-cluster"
    directory: str = ""
    quorum: str | None = None

    def write(self) -> Path:
        """Write it."""
        self.path.mkdir(parents=True, exist_ok=True)
        ids = {"node.id": self.node, "cluster.id": self.cluster, "directory.id": self.directory or f"d{self.node}"}
        ids = ids if self.cluster else {"broker.id": self.node}  # before 2.4, KAFKA-7335
        about = "".join(f"{name}={value}\n" for name, value in {"version": 1, **ids}.items())
        (self.path / "meta.properties").write_text(f"#\n#Wed May 01 00:00:00 UTC 2024\n{about}")
        if self.clean:
            (self.path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        checkpoints = {
            "replication-offset-checkpoint": "high_watermark",
            "recovery-point-offset-checkpoint": "recovery_point",
            "log-start-offset-checkpoint": "log_start",
            "cleaner-offset-checkpoint": "cleaned_to",
        }
        for name, field in checkpoints.items():
            rows = [
                (*partition, getattr(log, field))
                for partition, log in self.logs.items()
                if getattr(log, field) is not None
            ]
            (self.path / name).write_text(lines(*rows))
        for (topic, number), log in self.logs.items():
            self._write_log(self.path / f"{topic}-{number}", log)
        if self.quorum is not None:
            (self.path / "__cluster_metadata-0" / "quorum-state").write_text(self.quorum)
        return self.path

    @staticmethod
    def _write_log(folder: Path, log: Log) -> None:
        folder.mkdir()
        for base, held in log.segments:
            (folder / f"{base:020d}.log").write_bytes(b"".join(each.data for each in held))
            (folder / f"{base:020d}.index").write_bytes(bytes(16))
            (folder / f"{base:020d}.timeindex").write_bytes(bytes(12))
        last = folder / f"{log.segments[-1][0]:020d}.log"
        last.write_bytes(last.read_bytes() + log.tail)
        entries = log.epoch_entries() if log.epochs is None else log.epochs
        (folder / "leader-epoch-checkpoint").write_text(lines(*entries))
        if log.topic_id is not None:
            (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {text_of(log.topic_id)}")


class Metadata:
    """A metadata log that grows record by record, as the controllers write it."""

    def __init__(self, epoch: int = 1) -> None:
        self.epoch = epoch
        self.batches: list[Batch] = []
        self._leader_change()

    @property
    def end(self) -> int:
        """Its log end offset."""
        return self.batches[-1].last + 1 if self.batches else 0

    def elect(self) -> None:
        """The next controller leads."""
        self.epoch += 1
        self._leader_change()

    def _leader_change(self) -> None:
        value = struct.pack(">hi", 0, 1) + b"\x01\x01\x00"
        made = batch(self.end, 1, self.epoch, values=[value])
        data = made.data[:21] + struct.pack(">h", CONTROL) + made.data[23:]
        data = data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]
        self.batches.append(attrs.evolve(made, data=data))

    def add(self, *values: bytes) -> int:
        """Write records in one batch; the offset of the first."""
        first = self.end
        self.batches.append(batch(first, len(values), self.epoch, values=values, at=1000 * first))
        return first

    def log(self, end: int | None = None) -> Log:
        """The log, up to an offset."""
        held = [each for each in self.batches if end is None or each.last < end]
        return Log([(0, held)], METADATA_TOPIC_ID)


def _framed(kind: int, version: int, write: Any) -> bytes:
    buffer = io.BytesIO()
    for number in (1, kind, version):
        kio.write_unsigned_varint(buffer, uvarint(number))
    write(buffer)
    return buffer.getvalue()


def _tags(buffer: io.BytesIO, fields: dict[int, bytes]) -> None:
    kio.write_unsigned_varint(buffer, uvarint(len(fields)))
    for tag, data in sorted(fields.items()):
        kio.write_unsigned_varint(buffer, uvarint(tag))
        kio.write_unsigned_varint(buffer, uvarint(len(data)))
        buffer.write(data)


def _ints(values: Iterable[int]) -> bytes:
    buffer, held = io.BytesIO(), list(values)
    kio.write_unsigned_varint(buffer, uvarint(len(held) + 1))
    for value in held:
        kio.write_int32(buffer, i32(value))
    return buffer.getvalue()


def _uuids(values: Iterable[UUID]) -> bytes:
    buffer, held = io.BytesIO(), list(values)
    kio.write_unsigned_varint(buffer, uvarint(len(held) + 1))
    for value in held:
        kio.write_uuid(buffer, value)
    return buffer.getvalue()


def topic_record(name: str, topic_id: UUID) -> bytes:
    """A TopicRecord."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_compact_string(buffer, name)
        kio.write_uuid(buffer, topic_id)
        _tags(buffer, {})

    return _framed(2, 0, write)


def remove_topic_record(topic_id: UUID) -> bytes:
    """A RemoveTopicRecord."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_uuid(buffer, topic_id)
        _tags(buffer, {})

    return _framed(9, 0, write)


def config_record(topic: str, key: str, value: str | None) -> bytes:
    """A ConfigRecord of a topic, or of all brokers if the name of the topic is empty."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_int8(buffer, i8(2 if topic else 4))
        kio.write_compact_string(buffer, topic)
        kio.write_compact_string(buffer, key)
        kio.write_nullable_compact_string(buffer, value)
        _tags(buffer, {})

    return _framed(4, 0, write)


def partition_record(
    topic_id: UUID,
    number: int,
    replicas: Sequence[int],
    isr: Iterable[int],
    leader: int | None,
    *,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    elr: Iterable[int] | None = None,
    version: int = 1,
) -> bytes:
    """A PartitionRecord."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_int32(buffer, i32(number))
        kio.write_uuid(buffer, topic_id)
        for values in (replicas, sorted(isr), (), ()):
            buffer.write(_ints(values))
        for value in (-1 if leader is None else leader, leader_epoch, partition_epoch):
            kio.write_int32(buffer, i32(value))
        if version >= 1:
            buffer.write(_uuids([UUID(int=100 + replica) for replica in replicas]))
        _tags(buffer, {} if elr is None else {1: _ints(sorted(elr))})

    return _framed(3, version if elr is None else 2, write)


def partition_change_record(
    topic_id: UUID,
    number: int,
    *,
    isr: Iterable[int] | None = None,
    leader: int | None = -2,
    elr: Iterable[int] | None = None,
    replicas: Iterable[int] | None = None,
    recovering: bool | None = None,
) -> bytes:
    """A PartitionChangeRecord; a leader None means that there is none, -2 that it does not change."""
    fields: dict[int, bytes] = {}
    if isr is not None:
        fields[0] = _ints(sorted(isr))
    if leader != -2:
        fields[1] = struct.pack(">i", -1 if leader is None else leader)
    if replicas is not None:
        fields[2] = _ints(replicas)
    if recovering is not None:
        fields[5] = struct.pack(">b", recovering)
    if elr is not None:
        fields[6] = _ints(sorted(elr))

    def write(buffer: io.BytesIO) -> None:
        kio.write_int32(buffer, i32(number))
        kio.write_uuid(buffer, topic_id)
        _tags(buffer, fields)

    return _framed(5, 2 if elr is not None else 0, write)


def broker_change_record(broker: int, *, fenced: bool) -> bytes:
    """A BrokerRegistrationChangeRecord that fences or unfences a broker."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_int32(buffer, i32(broker))
        kio.write_int64(buffer, i64(1))
        _tags(buffer, {0: struct.pack(">b", 1 if fenced else -1)})

    return _framed(17, 0, write)


def feature_level_record(name: str, level: int) -> bytes:
    """A FeatureLevelRecord."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_compact_string(buffer, name)
        kio.write_int16(buffer, i16(level))
        _tags(buffer, {})

    return _framed(12, 0, write)


def register_broker_record(broker: int, epoch: int, directories: Iterable[UUID] = (), *, fenced: bool = False) -> bytes:
    """A RegisterBrokerRecord with one endpoint and one feature."""

    def write(buffer: io.BytesIO) -> None:
        kio.write_int32(buffer, i32(broker))
        kio.write_boolean(buffer, False)
        kio.write_uuid(buffer, UUID(int=broker + 1))
        kio.write_int64(buffer, i64(epoch))
        kio.write_unsigned_varint(buffer, uvarint(2))
        kio.write_compact_string(buffer, "PLAINTEXT")
        kio.write_compact_string(buffer, "localhost")
        buffer.write(struct.pack(">Hh", 9092, 0))
        _tags(buffer, {})
        kio.write_unsigned_varint(buffer, uvarint(2))
        kio.write_compact_string(buffer, "metadata.version")
        buffer.write(struct.pack(">hh", 1, 25))
        _tags(buffer, {})
        kio.write_nullable_compact_string(buffer, None)
        kio.write_boolean(buffer, fenced)
        kio.write_boolean(buffer, False)
        _tags(buffer, {0: _uuids(directories)})

    return _framed(0, 3, write)


def no_op_record() -> bytes:
    """A NoOpRecord, which controllers write all the time."""
    return _framed(20, 0, lambda buffer: _tags(buffer, {}))


def transaction_records(kind: str) -> bytes:
    """A BeginTransactionRecord, EndTransactionRecord or AbortTransactionRecord (KIP-868)."""
    return _framed({"begin": 23, "end": 24, "abort": 25}[kind], 0, lambda buffer: _tags(buffer, {}))
