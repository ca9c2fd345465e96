"""Batches of records of every format are written as brokers accept them, and read as brokers write them."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cramjam
import pytest
from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.records.readers import read_batch

from leadline.brokers.messages.batches import read_batches, write_batch
from leadline.brokers.messages.fields import signed
from leadline.model.disk.batches import Record
from leadline.model.disk.wire import Malformed

values = st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=5)


@settings(max_examples=50)
@given(values, st.integers(0, 2**41), st.sampled_from([0, 1, 2]))
def test_what_was_written_is_read(written: list[bytes | None], timestamp: int, magic: int) -> None:
    data = write_batch(written, timestamp, magic=magic)
    batches = read_batches(data)
    assert len(batches) == (1 if magic == 2 else len(written))
    records = [record for batch in batches for record in batch.records or ()]
    assert records == [Record(i, timestamp if magic else -1, None, value) for i, value in enumerate(written)]
    assert sum(batch.size for batch in batches) == len(data)
    assert {(b.magic, b.leader_epoch, b.intact, b.producer) for b in batches} == {
        (magic, -1 if magic == 2 else None, True, -1)
    }
    assert all(batch.records is None and batch.intact for batch in read_batches(data, records=False))


@settings(max_examples=20)
@given(values)
def test_kio_reads_a_batch_of_magic_2(written: list[bytes | None]) -> None:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    batch = read_batch(write_batch(written, int(time.timestamp() * 1000)), 0)[0]
    assert [(record.key, record.value) for record in batch.records] == [(None, value) for value in written]


def batch_of(record: bytes, *, attributes: int = 0, first: int = 5, epoch: int = 3, delta: int = 0) -> bytes:
    """A batch of magic 2 with one record, as a leader stores it."""
    body = struct.pack(">hiqqqhii", attributes, delta, 1000, 1000, 77, 1, 9, 1) + record
    head = struct.pack(">ibI", epoch, 2, crc32c(body))
    return struct.pack(">qi", first, len(head) + len(body)) + head + body


RECORD = (
    bytes([0]) + signed(4) + signed(0) + signed(1) + b"k" + signed(1) + b"v" + signed(1) + signed(1) + b"h" + signed(0)
)
"""A record with a key, a value and a header."""


def test_the_header_of_a_batch() -> None:
    (batch,) = read_batches(batch_of(signed(len(RECORD)) + RECORD))
    assert (batch.first, batch.last, batch.leader_epoch) == (5, 5, 3)
    assert (batch.producer, batch.producer_epoch, batch.sequence) == (77, 1, 9)
    assert batch.records == (Record(5, 1004, b"k", b"v"),)
    assert not batch.control
    (marker,) = read_batches(batch_of(signed(len(RECORD)) + RECORD, attributes=0x30))
    assert marker.control


def xerial(data: bytes) -> bytes:
    """Compress data in blocks, as snappy-java does."""
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in (data[:3], data[3:])]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(each)) + each for each in blocks)


CODECS: dict[str, tuple[int, Callable[[bytes], Any]]] = {
    "gzip": (1, gzip.compress),
    "snappy in blocks": (2, xerial),
    "snappy": (2, cramjam.snappy.compress_raw),
    "lz4": (3, cramjam.lz4.compress),
    "zstd": (4, cramjam.zstd.compress),
}


@pytest.mark.parametrize("name", CODECS)
def test_compressed_batches_are_decompressed(name: str) -> None:
    codec, compress = CODECS[name]
    data = batch_of(bytes(compress(signed(len(RECORD)) + RECORD)), attributes=codec)
    (batch,) = read_batches(data)
    assert batch.records == (Record(5, 1004, b"k", b"v"),)
    assert (batch.size, batch.attributes, batch.intact) == (len(data), codec, True)


@pytest.mark.parametrize("codec", range(1, 8))
def test_compressed_batches_that_are_not_valid_have_no_records(codec: int) -> None:
    (batch,) = read_batches(batch_of(b"\x1f\x8b\0\0", attributes=codec))
    assert batch.records is None


def test_compressed_and_damaged_batches_have_no_records() -> None:
    (compressed,) = read_batches(batch_of(b"\x1f\x8b", attributes=1, delta=4))
    assert (compressed.first, compressed.last, compressed.intact, compressed.records) == (5, 9, True, None)
    damaged = bytearray(batch_of(signed(len(RECORD)) + RECORD))
    damaged[-1] ^= 1
    (batch,) = read_batches(bytes(damaged))
    assert (batch.intact, batch.records) == (False, None)
    old = bytearray(write_batch([b"v"], 7, magic=1))
    old[17] = 2
    struct.pack_into(">I", old, 12, zlib.crc32(old[16:]))
    assert [(b.intact, b.records) for b in read_batches(bytes(old))] == [(True, None)]
    old[-1] ^= 1
    assert [(b.intact, b.records) for b in read_batches(bytes(old))] == [(False, None)]


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    one, two = write_batch([b"a"], 1), write_batch([b"b"], 1, magic=1)
    for cut in (1, 11, len(two) - 1):
        assert [batch.size for batch in read_batches(one + two[:cut])] == [len(one)]
    assert [batch.magic for batch in read_batches(one + two)] == [2, 1]
    assert read_batches(b"") == []


@pytest.mark.parametrize(
    "data",
    [bytes(16) + b"\3" + bytes(80), bytes(100), b"\xff" * 100, bytes(8) + b"\0\0\0\x10" + bytes(4) + b"\2" + bytes(80)],
)
def test_what_is_no_batch_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed, match="invalid batch header"):
        read_batches(data)


def test_a_record_that_does_not_fit_its_batch_is_malformed() -> None:
    with pytest.raises(Malformed):
        read_batches(batch_of(signed(len(RECORD) + 1) + RECORD))


def test_only_known_formats_are_written() -> None:
    for batch, magic in [([], 2), ([b"v"], 3)]:
        with pytest.raises(ValueError, match=r"cannot encode . records with magic .: expected at least 1 record"):
            write_batch(batch, 0, magic=magic)
