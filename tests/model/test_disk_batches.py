"""Headers of record batches, read as `kio` writes them, and as damage leaves them."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch

from leadline.model.disk.batches import HEADER, Headers, Tail, read_headers
from leadline.model.disk.files import LocalFiles, Unreadable, read_bytes
from tests.disks.data_directories import Batch, batch, marker


class Memory:
    """A file that is in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read_into(self, buffer: memoryview, at: int) -> int:
        piece = self.data[at : at + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)


def headers_of(data: bytes, *, checksums: bool = True, chunk: int = 4 << 20) -> Headers:
    return read_headers(Memory(data), checksums=checksums, chunk=chunk)


def message(offset: int, value: bytes, magic: int, codec: int = 0) -> bytes:
    """A message from before 0.11."""
    body = struct.pack(">bb", magic, codec) + (struct.pack(">q", 7) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@st.composite
def logs(draw: st.DrawFn) -> list[Batch]:
    offset, held = 0, []
    for _ in range(draw(st.integers(0, 6))):
        count = draw(st.integers(1, 4))
        producer = draw(st.sampled_from([(-1, -1, -1), (7, 2, 40), (2**40, 0, 0)]))
        made = batch(
            offset, count, draw(st.integers(0, 9)), producer=producer, size=draw(st.sampled_from([1, 50, 300, 2000]))
        )
        held.append(draw(st.sampled_from([made, marker(offset, 3, 9)])) if count == 1 else made)
        offset = held[-1].last + 1 + draw(st.integers(0, 3))
    return held


@given(logs(), st.sampled_from([61, 64, 100, 1000, 1 << 20]), st.booleans())
def test_headers_are_those_that_kio_reads(held: list[Batch], chunk: int, checksums: bool) -> None:
    data = b"".join(each.data for each in held)
    found = headers_of(data, checksums=checksums, chunk=chunk)
    assert (found.tail, found.end, len(found.batches)) == (Tail.WHOLE, len(data), len(held))
    at = 0
    for mine in found.batches:
        theirs, size = read_batch(data, at)
        assert (mine["position"], mine["size"]) == (at, size)
        assert (mine["first"], mine["last"] - mine["first"]) == (theirs.base_offset, theirs.last_offset_delta)
        assert (mine["epoch"], mine["crc"]) == (theirs.partition_leader_epoch, theirs.crc)
        assert (mine["attributes"], mine["max_timestamp"]) == (theirs.attributes, theirs.max_timestamp)
        assert (mine["producer"], mine["producer_epoch"]) == (theirs.producer_id, theirs.producer_epoch)
        assert (mine["sequence"], mine["records"]) == (theirs.base_sequence, len(theirs.records))
        assert mine["magic"] == 2
        assert mine["intact"]
        at += size


@pytest.mark.parametrize("chunk", [64, 150, 4 << 20])
def test_a_wrong_checksum_is_seen_wherever_the_batch_lies_in_what_is_read(chunk: int) -> None:
    held = [batch(0, 2, size=200), batch(2, 1).broken(), batch(3, 3, size=500).broken(), batch(6)]
    found = headers_of(b"".join(each.data for each in held), chunk=chunk)
    assert list(found.batches["intact"]) == [True, False, False, True]
    assert headers_of(b"".join(each.data for each in held), checksums=False, chunk=chunk).batches["intact"].all()


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("chunk", [64, 4 << 20])
def test_messages_from_before_0_11_have_neither_epoch_nor_producer(magic: int, chunk: int) -> None:
    data = message(5, b"x" * 10, magic) + message(9, b"y" * 300, magic, codec=1) + message(10, b"", magic)
    found = headers_of(data + batch(11, 2, 4).data, chunk=chunk).batches
    assert found["intact"].all()
    assert list(found["magic"]) == [magic, magic, magic, 2]
    assert list(zip(found["first"], found["last"], strict=True)) == [(5, 5), (6, 9), (10, 10), (11, 12)]
    assert list(found["epoch"]) == [-1, -1, -1, 4]
    assert list(found["producer"]) == [-1] * 4
    broken = headers_of(data[:-1] + b"\x01", chunk=chunk).batches
    assert list(broken["intact"]) == [True, True, False]


@pytest.mark.parametrize("chunk", [64, 4 << 20])
@pytest.mark.parametrize(
    ("after", "tail"),
    [
        (b"", Tail.WHOLE),
        (bytes(3), Tail.ZEROS),
        (bytes(5000), Tail.ZEROS),
        (batch(3, 4).data[:-1], Tail.TORN),
        (batch(3, 4).data[:20], Tail.TORN),
        (batch(3, 4, size=900).data[:700], Tail.TORN),
        (b"\x00\x01", Tail.TORN),
        (bytes(200) + b"\x01", Tail.GARBAGE),
        (b"version https://git-lfs.github.com/spec/v1\n", Tail.GARBAGE),
        (batch(3).data[:16] + b"\x07" + batch(3).data[17:], Tail.GARBAGE),
        (struct.pack(">qi", 3, -5) + batch(3).data[12:], Tail.GARBAGE),
        (struct.pack(">qi", 3, 48) + batch(3).data[12:], Tail.GARBAGE),
        (struct.pack(">qi", 3, 2**31 - 1) + batch(3).data[12:], Tail.TORN),
    ],
)
def test_what_is_after_the_last_batch_is_told_apart(after: bytes, tail: Tail, chunk: int) -> None:
    whole = batch(0, 3).data
    found = headers_of(whole + after, chunk=chunk)
    assert (found.tail, found.end, len(found.batches)) == (tail, len(whole), 1)


@given(st.binary(max_size=400), st.integers(0, 3), st.sampled_from([64, 97, 4 << 20]))
def test_random_bytes_do_no_harm(noise: bytes, good: int, chunk: int) -> None:
    whole = b"".join(batch(offset).data for offset in range(good))
    found = headers_of(whole + noise, chunk=chunk)
    assert len(found.batches) >= good
    assert found.end <= len(whole) + len(noise)
    assert list(found.batches["first"][:good]) == list(range(good))


@given(st.data())
def test_a_changed_byte_never_passes_unseen(data: st.DataObject) -> None:
    """But for the base offset and the leader epoch, which the checksum does not cover."""
    held = b"".join(batch(offset, 1, 1).data for offset in range(3))
    size = len(held) // 3
    place = data.draw(st.integers(0, len(held) - 1).filter(lambda at: not (at % size < 8 or 12 <= at % size < 16)))
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte != held[place]))
    found = headers_of(held[:place] + bytes([value]) + held[place + 1 :])
    assert not (len(found.batches) == 3 and found.batches["intact"].all() and found.tail is Tail.WHOLE)


def test_a_header_is_61_bytes_long() -> None:
    assert HEADER.itemsize == 61
    assert len(batch(0, 1, keys=[0], values=[b""]).data) == 61 + 8


def test_offsets_that_overflow_are_kept_as_they_are() -> None:
    data = struct.pack(">q", 2**63 - 2) + batch(0, 9).data[8:]
    with np.errstate(all="raise"):
        found = headers_of(data)
    assert len(found.batches) == 1
    assert int(found.batches["last"][0]) < int(found.batches["first"][0])


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    files = LocalFiles()
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    assert read_bytes(files, f"{tmp_path}/file") == b"abc"
    assert [(entry.name, entry.kind) for entry in files.listed(str(tmp_path))] == [
        ("directory", "directory"),
        ("fifo", "other"),
        ("file", "file"),
        ("link", "other"),
    ]
    for name, why in {
        "link": "cannot open",
        "fifo": "is not a regular file",
        "directory": "is not a regular file",
        "absent": "No such file",
    }.items():
        with pytest.raises(Unreadable, match=why):
            read_bytes(files, f"{tmp_path}/{name}")
    with pytest.raises(Unreadable, match="the limit for a file of this kind is 2"):
        read_bytes(files, f"{tmp_path}/file", most=2)
    with pytest.raises(Unreadable, match="cannot list"):
        files.listed(f"{tmp_path}/file")


def test_a_file_that_is_cut_short_while_it_is_read_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"".join(batch(offset).data for offset in range(4)))
    with LocalFiles().opened(str(path)) as source:
        os.truncate(path, path.stat().st_size - 10)
        found = read_headers(source, chunk=64)
    assert len(found.batches) == 3 or not found.batches["intact"][3]
