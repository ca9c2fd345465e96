"""Read and write batches of records, in the formats of Kafka 0.10 and later.

Magic 0 and 1 are message sets, whose messages are read one by one. Magic 2 is the record batch that 0.11 introduced
(KIP-98). `leadline.model.disk.batches` reads the headers of batches in files; this module reads whole batches in
messages. The library kio supports only magic 2.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

import attrs

from leadline.brokers.messages.compression import GZIP, GZIP_FORMAT, Undecodable, decompress
from leadline.brokers.messages.fields import signed
from leadline.model.disk.batches import (
    ATTRIBUTES_AT,
    BEFORE_LENGTH_COUNTS,
    CODEC,
    CONTROL,
    MAGIC_AT,
    NO_PRODUCER,
    TRANSACTIONAL,
    Record,
    crc32c,
    read_records,
)
from leadline.model.disk.wire import Malformed, Wire

_FRONT = struct.Struct(">qi")
_CHECKSUM = struct.Struct(">I")
_HEADER = struct.Struct(">qiibIhiqqqhii")
_MESSAGE = {0: struct.Struct(">qiIbb"), 1: struct.Struct(">qiIbbq")}
NO_TIMESTAMP = -1


@attrs.frozen
class Batch:
    """A batch of records, or a single message of magic 0 or 1.

    Attributes:
        magic: the version of the format.
        first, last: the offsets of the first and the last record. For a compressed message of magic 0 or 1, both are
            the offset in its header.
        leader_epoch: the leader epoch, or None before magic 2.
        attributes: the attribute bits of the header.
        producer, producer_epoch, sequence: the producer id, producer epoch and base sequence, or -1 if the producer
            is not idempotent.
        size: the number of bytes.
        intact: whether the checksum is correct.
        records: the records, or None if they were not requested, cannot be decompressed, or are not intact. Compressed
            messages of magic 0 and 1 are not decompressed.
    """

    magic: int
    first: int
    last: int
    leader_epoch: int | None
    attributes: int
    producer: int
    producer_epoch: int
    sequence: int
    size: int
    intact: bool
    records: tuple[Record, ...] | None

    @property
    def control(self) -> bool:
        """Whether the batch contains control records, which consumers skip."""
        return self.magic == 2 and bool(self.attributes & CONTROL)


def read_batches(data: bytes, *, records: bool = True) -> list[Batch]:
    """Read the batches of a field of type "records".

    A Fetch response may end with an incomplete batch, which is ignored. The sizes of the returned batches then add up
    to less than the size of the data.

    Parameters:
        records: whether to read records as well as headers.

    Raises:
        Malformed: if the data does not consist of batches.
    """
    return list(_batches(data, records))


def _batches(data: bytes, records: bool) -> Iterator[Batch]:
    at = 0
    while len(data) - at > MAGIC_AT:
        _, length = _FRONT.unpack_from(data, at)
        size = BEFORE_LENGTH_COUNTS + length
        magic = data[at + MAGIC_AT]
        header = _HEADER if magic == 2 else _MESSAGE.get(magic)
        if header is None or size < header.size:
            raise Malformed(f"invalid batch header: magic {magic}, {size} bytes")
        if size > len(data) - at:
            return
        one = data[at : at + size]
        yield _batch(one, records) if magic == 2 else _message(one, magic, records)
        at += size


def _batch(data: bytes, records: bool) -> Batch:
    fields = _HEADER.unpack_from(data)
    first, _, epoch, magic, checksum, attributes, delta, begun, _, producer, producer_epoch, sequence, count = fields
    intact = crc32c(data[ATTRIBUTES_AT:]) == checksum
    found = None
    if records and intact:
        with suppress(Undecodable):
            body = decompress(data[_HEADER.size :], attributes & CODEC)
            found = tuple(read_records(body, count, first, begun))
    return Batch(
        magic=magic,
        first=first,
        last=first + delta,
        leader_epoch=epoch,
        attributes=attributes,
        producer=producer,
        producer_epoch=producer_epoch,
        sequence=sequence,
        size=len(data),
        intact=intact,
        records=found,
    )


def _message(data: bytes, magic: int, with_records: bool) -> Batch:
    offset, _, checksum, _, attributes, *timestamp = _MESSAGE[magic].unpack_from(data)
    intact = zlib.crc32(data[MAGIC_AT:]) == checksum
    records = None
    if with_records and intact and not attributes & CODEC:
        wire = Wire(data)
        wire.take(_MESSAGE[magic].size)
        records = (Record(offset, timestamp[0] if timestamp else NO_TIMESTAMP, _sized(wire), _sized(wire)),)
    return Batch(magic, offset, offset, None, attributes, NO_PRODUCER, -1, -1, len(data), intact, records)


def _sized(wire: Wire) -> bytes | None:
    length = wire.int32()
    return None if length < 0 else wire.take(length)


@attrs.frozen
class InTransaction:
    """The position of a batch in the records of a transactional producer.

    Attributes:
        producer, producer_epoch, sequence: the producer id, the producer epoch and the base sequence.
    """

    producer: int
    producer_epoch: int
    sequence: int


def write_batch(
    values: Sequence[bytes | None],
    timestamp: int,
    *,
    magic: int = 2,
    transaction: InTransaction | None = None,
    gzip: bool = False,
) -> bytes:
    """Encode a batch of records without keys.

    Parameters:
        timestamp: the timestamp of all records, in milliseconds since 1970.
        magic: the record format: 2 for Produce requests of version 3 or later, 1 for version 2, 0 for earlier versions.
        transaction: the position of the batch in a transaction, or None if the batch does not belong to one. Only
            magic 2 supports transactions.
        gzip: whether to compress the records, which only magic 2 supports here.

    Raises:
        ValueError: if there are no values, if the format does not exist, or if it does not support transactions.
    """
    if not values or magic not in (0, 1, 2):
        raise ValueError(
            f"cannot encode {len(values)} records with magic {magic}: expected at least 1 record, and magic 0, 1 or 2"
        )
    if magic == 2:
        return _write_batch(values, timestamp, transaction, gzip=gzip)
    if transaction is not None:
        raise ValueError(f"batches of magic {magic} do not support transactions: expected magic 2")
    return b"".join(_write_message(value, offset, timestamp, magic) for offset, value in enumerate(values))


def _write_batch(
    values: Sequence[bytes | None], timestamp: int, transaction: InTransaction | None, *, gzip: bool
) -> bytes:
    last, attributes, place = len(values) - 1, 0, (NO_PRODUCER, -1, -1)
    if transaction is not None:
        attributes = TRANSACTIONAL
        place = (transaction.producer, transaction.producer_epoch, transaction.sequence)
    written = b""
    for offset, value in enumerate(values):
        record = b"\0" + signed(0) + signed(offset) + signed(-1) + _varsized(value) + signed(0)
        written += signed(len(record)) + record
    if gzip:
        attributes, written = attributes | GZIP, zlib.compress(written, wbits=GZIP_FORMAT)
    body = struct.pack(">hiqqqhii", attributes, last, timestamp, timestamp, *place, len(values)) + written
    head = struct.pack(">ibI", -1, 2, crc32c(body))
    return _FRONT.pack(0, len(head) + len(body)) + head + body


def _varsized(value: bytes | None) -> bytes:
    return signed(-1) if value is None else signed(len(value)) + value


def _write_message(value: bytes | None, offset: int, timestamp: int, magic: int) -> bytes:
    content = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    attributes = struct.pack(">bbq", 1, 0, timestamp) if magic else struct.pack(">bb", 0, 0)
    body = attributes + struct.pack(">i", -1) + content
    return _FRONT.pack(offset, len(body) + _CHECKSUM.size) + _CHECKSUM.pack(zlib.crc32(body)) + body
