"""Functions that read the headers of the record batches in a segment, and the records of a batch.

The format is that of Apache Kafka's `DefaultRecordBatch` (magic 2) or, before 0.11, that of its message sets (magic 0
and 1). An audit needs only the headers, except of the metadata log, so nothing is decompressed. A length in a header is
compared with the size of the file before it is used.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable, Iterator

import attrs
import google_crc32c
import numpy as np
from numpy.typing import NDArray

from leadline.model.disk.files import Source, Unreadable
from leadline.model.disk.wire import Wire

CHUNK = 4 * 2**20
"""The number of bytes read at a time."""

SHORT_READ = 64 * 2**10
"""The number of bytes read at a time if batches are large and checksums are not computed."""

MAGIC_AT, ATTRIBUTES_AT = 16, 21
"""Positions in a batch: of the magic byte, and of the first byte that the checksum of a batch of magic 2 covers."""

BEFORE_LENGTH_COUNTS = 12
"""The number of bytes before the part that the length field of a batch counts: the base offset and the length field."""

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records", ">i4"),
    ]
)
"""The header of a batch of magic 2, as stored in a segment."""

BATCH = np.dtype(
    [
        ("first", "i8"),
        ("last", "i8"),
        ("position", "i8"),
        ("max_timestamp", "i8"),
        ("producer", "i8"),
        ("size", "i4"),
        ("epoch", "i4"),
        ("crc", "u4"),
        ("sequence", "i4"),
        ("records", "i4"),
        ("attributes", "i2"),
        ("producer_epoch", "i2"),
        ("magic", "i1"),
        ("intact", "?"),
    ]
)
"""The fields of a batch that are kept: its first and last offset, its position in the file, and fields of its header.
`intact` is False if the checksum is wrong. `records` is -1 before magic 2, where headers have no number of records."""

LARGEST_OFFSET = 2**62
"""The limit of valid offsets. A batch or segment with a larger offset is considered damaged."""

LARGEST_SEGMENT = 2**31
"""The size of the largest segment in bytes. Kafka stores positions in a segment as signed 32-bit integers."""

NO_EPOCH = -1
"""The leader epoch of a batch from before 0.11, which has none in its header."""

NO_PRODUCER = -1
"""The producer id of a batch from a producer that is not idempotent."""

CODEC = 0x07
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
"""Bits of the attributes of a batch. Compaction sets `DELETE_HORIZON` (KIP-534)."""

CODECS = 5
"""The number of compression codecs: none, gzip, snappy, lz4, zstd."""

_FRONT = struct.Struct(">qiiBI")
_LEGACY = struct.Struct(">qiIbb")
_LEAST_LEFT = _FRONT.size
_LEAST_SIZE = {0: 26, 1: 34, 2: HEADER.itemsize}
"""The size of the smallest batch in bytes, by magic."""


@attrs.frozen
class Record:
    """A record in a batch.

    Attributes:
        offset: the offset. In a request, the first record has the offset 0.
        timestamp: the timestamp in milliseconds since 1970, or -1.
        key, value: the bytes of the key and the value, or None.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_records(data: bytes, count: int, first: int, begun: int = 0) -> Iterator[Record]:
    """Yield the records in a batch of magic 2.

    Parameters:
        data: what follows the header, decompressed.
        count: the number of records.
        first, begun: the base offset and the base timestamp.

    Raises:
        Malformed: if the data does not consist of records.
    """
    wire = Wire(data)
    for _ in range(count):
        record = Wire(wire.take(wire.signed()))
        record.int8()
        timestamp, offset = begun + record.signed(), first + record.signed()
        yield Record(offset, timestamp, record.sized(), record.sized())


class Tail(enum.Enum):
    """The kind of data at the end of a segment."""

    WHOLE = "whole"
    """The segment ends with a complete batch."""
    ZEROS = "zeros"
    """The segment ends with zeros: the file was preallocated, or it grew in a crash."""
    TORN = "torn"
    """The segment ends in the middle of a batch."""
    GARBAGE = "garbage"
    """The segment ends with bytes that are not a batch."""


@attrs.frozen(eq=False)
class Headers:
    """The headers of the batches in a segment.

    Attributes:
        batches: the batches in file order, as an array of type `BATCH`.
        end: the position in the file at which the last batch ends.
        tail: the kind of data after the last batch.
    """

    batches: NDArray[np.void]
    end: int
    tail: Tail


def read_headers(
    source: Source, *, checksums: bool = True, progress: Callable[[int], None] | None = None, chunk: int = CHUNK
) -> Headers:
    """Read the headers of all batches in a segment.

    Parameters:
        source: the segment's file.
        checksums: whether to compute the checksum of each batch. This requires reading the whole batch.
        progress: a function that is called regularly with the number of bytes processed since the last call.
        chunk: the number of bytes read at a time.

    Raises:
        Unreadable: if the file cannot be read.
    """
    if source.size > LARGEST_SEGMENT:
        raise Unreadable(f"the file is {source.size:,} bytes long, but a segment has at most {LARGEST_SEGMENT:,}")
    buffer = memoryview(bytearray(max(min(chunk, source.size), HEADER.itemsize)))
    pieces: list[NDArray[np.void]] = []
    at, window = 0, len(buffer)
    tail = Tail.WHOLE
    while at < source.size:
        held = buffer[: source.read_into(buffer[:window], at)]
        starts, sizes, intact, found = _walk(held, checksums)
        pieces.append(_fields(held, at, starts, sizes, intact))
        used = starts[-1] + sizes[-1] if starts else 0
        if (
            found is None and not used and len(held) >= _LEAST_LEFT
        ):  # the batch is larger than the part of it that was read
            size = BEFORE_LENGTH_COUNTS + _FRONT.unpack_from(held)[1]
            if at + size > source.size:
                tail = Tail.TORN
                break
            pieces.append(_fields(held, at, [0], [size], [True]))
            if checksums:  # this reuses the buffer
                pieces[-1]["intact"] = _checksum_is_right(source, at, size, held[MAGIC_AT], buffer)
            used = size
        elif found is not None or not used:
            tail = _tail(source, at + used, buffer, torn=found is None)
            at += used
            break
        at += used
        if not checksums:
            window = len(buffer) if used / max(len(starts), 1) < SHORT_READ // 4 else min(SHORT_READ, len(buffer))
        if progress is not None:
            progress(used)
    batches = np.concatenate(pieces) if pieces else np.empty(0, BATCH)
    return Headers(_with_first_offsets(batches), at, tail)


def _walk(held: memoryview, checksums: bool) -> tuple[list[int], list[int], list[bool], int | None]:
    """Find the batches that are completely contained in a buffer.

    Returns:
        Three lists: the start of each batch, the size of each batch, and whether each checksum is correct. They are
        followed by the position of the first bytes that are not a batch, or None if there are no such bytes.
    """
    starts: list[int] = []
    sizes: list[int] = []
    intact: list[bool] = []
    at, end = 0, len(held)
    unpack, least = _FRONT.unpack_from, _LEAST_SIZE
    while end - at >= _LEAST_LEFT:
        _, length, _, magic, crc = unpack(held, at)
        size = length + BEFORE_LENGTH_COUNTS
        if magic not in least or size < least[magic]:
            return starts, sizes, intact, at
        if size > end - at:
            break
        starts.append(at)
        sizes.append(size)
        if not checksums:
            intact.append(True)
        elif magic == 2:
            intact.append(crc32c(held[at + ATTRIBUTES_AT : at + size]) == crc)
        else:
            intact.append(zlib.crc32(held[at + MAGIC_AT : at + size]) == _LEGACY.unpack_from(held, at)[2])
        at += size
    return starts, sizes, intact, None


def crc32c(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32C of data, or of `before`'s data followed by it.

    Parameters:
        data: the data. Anything but `bytes` is copied, because the library accepts nothing else.
        before: the checksum of the data before it.
    """
    checksum: int = google_crc32c.extend(before, bytes(data))
    return checksum


def _checksum_is_right(source: Source, at: int, size: int, magic: int, buffer: memoryview) -> bool:
    """Return whether a batch that does not fit in the buffer has the checksum that its header states."""
    head = memoryview(bytearray(_LEAST_LEFT))
    source.read_into(head, at)
    compute: Callable[[memoryview, int], int] = crc32c if magic == 2 else zlib.crc32
    expected = int(_FRONT.unpack(head)[4] if magic == 2 else _LEGACY.unpack_from(head)[2])
    position = at + (ATTRIBUTES_AT if magic == 2 else MAGIC_AT)
    checksum = 0
    while position < at + size:
        got = source.read_into(buffer[: at + size - position], position)
        if not got:
            return False
        checksum = compute(buffer[:got], checksum)
        position += got
    return checksum == expected


def _fields(held: memoryview, at: int, starts: list[int], sizes: list[int], intact: list[bool]) -> NDArray[np.void]:
    """Return the headers of the batches in a buffer, as an array of type `BATCH`.

    Parameters:
        held: the contents of the buffer.
        at: the position in the file at which the buffer begins.
        starts: the position of each batch in the buffer.
        sizes: the size of each batch in bytes.
        intact: for each batch, whether its checksum is correct.
    """
    batches = np.empty(len(starts), BATCH)
    if not starts:
        return batches
    positions = np.array(starts, np.int64)
    batches["position"], batches["size"], batches["intact"] = positions + at, sizes, intact
    data = np.frombuffer(held, np.uint8)
    batches["magic"] = data[positions + MAGIC_AT]
    new = batches["magic"] == 2
    headers = data[positions[new, None] + np.arange(HEADER.itemsize)].view(HEADER).ravel()
    with np.errstate(over="ignore"):  # a damaged file can have any numbers
        last = headers["base_offset"] + headers["last_offset_delta"]
    columns = {
        "first": headers["base_offset"],
        "last": last,
        "epoch": headers["leader_epoch"],
        "crc": headers["crc"],
        "attributes": headers["attributes"],
        "max_timestamp": headers["max_timestamp"],
        "producer": headers["producer_id"],
        "producer_epoch": headers["producer_epoch"],
        "sequence": headers["base_sequence"],
        "records": headers["records"],
    }
    for name, column in columns.items():
        batches[name][new] = column
    for index in np.flatnonzero(~new):
        offset, _, crc, _, attributes = _LEGACY.unpack_from(held, starts[index])
        for name, value in {
            "first": offset,
            "last": offset,
            "epoch": NO_EPOCH,
            "crc": crc,
            "attributes": attributes,
            "max_timestamp": -1,
            "producer": NO_PRODUCER,
            "producer_epoch": -1,
            "sequence": -1,
            "records": -1,
        }.items():
            batches[name][index] = value
    return batches


def _with_first_offsets(batches: NDArray[np.void]) -> NDArray[np.void]:
    """Set the first offset of compressed batches from before 0.11. The headers of these batches contain only the last
    offset.
    """
    wrappers = np.flatnonzero((batches["magic"] < 2) & (batches["attributes"] & CODEC != 0))
    for index in wrappers:
        before = int(batches["last"][index - 1]) + 1 if index else 0
        batches["first"][index] = min(before, int(batches["last"][index]))
    return batches


def _tail(source: Source, at: int, buffer: memoryview, *, torn: bool) -> Tail:
    """Classify the bytes between a position and the end of the file.

    Parameters:
        source: the file.
        at: the position.
        buffer: memory for reading.
        torn: whether bytes other than zeros count as the beginning of an incomplete batch.
    """
    position = at
    while position < source.size:
        got = source.read_into(buffer, position)
        if not got:
            break
        if np.frombuffer(buffer[:got], np.uint8).any():
            return Tail.TORN if torn else Tail.GARBAGE
        position += got
    return Tail.ZEROS if position > at else Tail.WHOLE
