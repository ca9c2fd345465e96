"""The metadata log, as controllers write it: partitions, topics, registrations, transactions, snapshots."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import writers as kio
from kio.static.primitive import i16, i32

from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles
from leadline.model.disk.metadata import Metadata as Content
from leadline.model.disk.metadata import read_metadata
from leadline.model.disk.wire import Malformed, Wire
from tests.disks import data_directories
from tests.disks.data_directories import (
    Batch,
    Disk,
    Log,
    Metadata,
    batch,
    config_record,
    no_op_record,
    partition_change_record,
    partition_record,
    register_broker_record,
    remove_topic_record,
    topic_record,
    transaction_records,
)

FILES = LocalFiles()
TOPIC, OTHER = UUID(int=1 << 100), UUID(int=1 << 101)


def read(tmp_path: Path, log: Log, **snapshots: list[Batch]) -> Content:
    disk = Disk(tmp_path / "data", 1)
    disk.logs["__cluster_metadata", 0] = log
    disk.write()
    folder = tmp_path / "data" / "__cluster_metadata-0"
    for name, held in snapshots.items():
        (folder / f"{name.removeprefix('at_')}.checkpoint").write_bytes(b"".join(each.data for each in held))
    return read_metadata(FILES, read_log_directory(FILES, str(folder)))


def test_a_partition_has_a_history(tmp_path: Path) -> None:
    log = Metadata()
    made = log.add(topic_record("t", TOPIC), partition_record(TOPIC, 0, [1, 2, 3], [1, 2, 3], 1))
    shrunk = log.add(partition_change_record(TOPIC, 0, isr=[1, 2], elr=[3]))
    log.add(no_op_record())
    elected = log.add(partition_change_record(TOPIC, 0, leader=2, replicas=[1, 2]))
    unclean = log.add(partition_change_record(TOPIC, 0, leader=3, isr=[3], elr=[], recovering=True))
    nobody = log.add(partition_change_record(TOPIC, 0, leader=None, recovering=False))
    found = read(tmp_path, log.log())
    assert found.problems == []
    assert (found.begins, found.end) == (0, log.end)
    states = found.partitions[TOPIC, 0]
    assert [offset for offset, _ in states] == [made + 1, shrunk, elected, unclean, nobody]
    assert [(s.leader, s.leader_epoch, s.partition_epoch) for _, s in states] == [
        (1, 0, 0),
        (1, 0, 1),
        (2, 1, 2),
        (3, 2, 3),
        (None, 3, 4),
    ]
    assert [(set(s.isr), set(s.elr), s.replicas, s.recovering) for _, s in states] == [
        ({1, 2, 3}, set(), (1, 2, 3), False),
        ({1, 2}, {3}, (1, 2, 3), False),
        ({1, 2}, {3}, (1, 2), False),
        ({3}, set(), (1, 2), True),
        ({3}, set(), (1, 2), False),
    ]
    assert states[1][1].electable == {1, 2, 3}
    early = found.state(TOPIC, 0, before=elected)
    assert early is not None
    assert early.leader == 1
    assert found.state(TOPIC, 0, before=made) is None
    assert found.state(TOPIC, 1) is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_version_of_a_partition_record_is_read(tmp_path: Path, version: int) -> None:
    log = Metadata()
    elr = [3] if version == 2 else None
    log.add(topic_record("t", TOPIC), partition_record(TOPIC, 5, [1, 3], [1], 1, elr=elr, version=version))
    state = read(tmp_path, log.log()).state(TOPIC, 5)
    assert state is not None
    assert (state.replicas, state.isr, state.elr) == ((1, 3), {1}, {3} if elr else set())


def test_a_version_that_is_not_known_is_said(tmp_path: Path) -> None:
    log = Metadata()
    log.add(topic_record("t", TOPIC), b"\x01\x03\x09" + partition_record(TOPIC, 0, [1], [1], 1)[3:])
    found = read(tmp_path, log.log())
    assert found.problems == ["the metadata log has version 9 of PartitionRecord, which is unknown"]


def test_a_topic_that_is_made_again_has_another_id(tmp_path: Path) -> None:
    log = Metadata()
    log.add(topic_record("t", TOPIC), partition_record(TOPIC, 0, [1], [1], 1))
    removed = log.add(remove_topic_record(TOPIC))
    again = log.add(topic_record("t", OTHER), partition_record(OTHER, 0, [2], [2], 2))
    found = read(tmp_path, log.log())
    assert found.topic_id("t") == OTHER
    assert found.topic_id("t", before=removed) == TOPIC
    assert found.topic_id("t", before=again) is None
    assert found.topic_id("u") is None
    assert found.state(TOPIC, 0) is None
    assert found.state(TOPIC, 0, before=removed) is not None


def test_compaction_registrations_and_transactions(tmp_path: Path) -> None:
    log = Metadata()
    log.add(config_record("t", "cleanup.policy", "compact,delete"), config_record("u", "cleanup.policy", "delete"))
    log.add(config_record("t", "cleanup.policy", None), config_record("v", "segment.bytes", "compact"))
    log.add(register_broker_record(1, 3, [UUID(int=5)]))
    again = log.add(register_broker_record(1, 9, [UUID(int=6), UUID(int=7)]))
    log.add(transaction_records("begin"), topic_record("aborted", OTHER), transaction_records("abort"))
    log.add(transaction_records("begin"), topic_record("t", TOPIC))
    ended = log.add(partition_record(TOPIC, 0, [1], [1], 1), transaction_records("end"))
    log.add(transaction_records("begin"), topic_record("open", UUID(int=1 << 102)))
    found = read(tmp_path, log.log())
    assert found.compacted == {"t"}
    assert [(each.offset, len(each.directories)) for each in found.registrations[1]] == [(again - 1, 1), (again, 2)]
    assert {topic.name for topic in found.topics.values()} == {"t"}
    assert found.partitions[TOPIC, 0][0][0] == ended


def test_a_log_that_does_not_begin_at_0_is_read_from_its_oldest_snapshot_on(tmp_path: Path) -> None:
    log = Metadata()
    log.add(topic_record("t", TOPIC), partition_record(TOPIC, 0, [1, 2], [1, 2], 1))
    at = log.end
    log.add(partition_change_record(TOPIC, 0, isr=[1]))
    cut = Log([(at, [each for each in log.batches if each.first >= at])], data_directories.METADATA_TOPIC_ID)
    head = batch(0, 2, 1, values=[topic_record("t", TOPIC), partition_record(TOPIC, 0, [1, 2], [1, 2], 1)])
    found = read(tmp_path / "a", cut, **{f"at_{at:020d}-0000000001": [head]})
    assert (found.problems, found.begins, found.end) == ([], at, log.end)
    state = found.state(TOPIC, 0)
    assert state is not None
    assert (state.isr, state.partition_epoch) == ({1}, 1)
    without = read(tmp_path / "b", cut)
    assert without.problems[0].endswith(f"begins at offset {at}, and there is no snapshot of the records before it")
    assert not without.partitions


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (batch(9, 1, 1, values=[b"\x01\x03\x00\x00"]), "declared"),
        (batch(9, 1, 1, values=[b"\x02\x03\x00"]), "the frame version of a record must be 1, not 2"),
        (batch(9, 1, 1, values=[b"\xff" * 12]), "has more than 10 bytes"),
        (batch(9, 1, 1, values=[partition_change_record(OTHER, 0, isr=[1])]), "before it is created"),
        (batch(9, 1, 1, values=[no_op_record()]).broken(), "damaged at byte"),
        (batch(9, 1, 1, values=[no_op_record()], attributes=1), "compressed"),
    ],
)
def test_damage_is_said_and_what_was_before_it_stays(tmp_path: Path, last: Batch, why: str) -> None:
    log = Metadata()
    log.add(topic_record("t", TOPIC), partition_record(TOPIC, 0, [1], [1], 1))
    found = read(tmp_path, Log([(0, [*log.batches, last])], data_directories.METADATA_TOPIC_ID))
    (problem,) = found.problems
    assert why in problem
    assert found.state(TOPIC, 0) is not None


@given(st.integers(0, 2**64 - 1), st.integers(-(2**62), 2**62), st.text(max_size=9), st.lists(st.integers(0, 99)))
def test_the_encoding_is_that_of_kio(number: int, signed: int, text: str, array: list[int]) -> None:
    buffer = io.BytesIO()
    kio.write_unsigned_varlong(buffer, number)
    kio.write_signed_varlong(buffer, signed)
    kio.write_compact_string(buffer, text)
    kio.write_nullable_compact_string(buffer, None)
    kio.compact_array_writer(kio.write_int32)(buffer, [i32(each) for each in array])
    kio.write_uuid(buffer, TOPIC)
    kio.write_boolean(buffer, True)
    kio.write_int16(buffer, i16(-3))
    wire = Wire(buffer.getvalue())
    assert (wire.unsigned(), wire.signed(), wire.string(), wire.nullable_string()) == (number, signed, text, None)
    assert (wire.array(wire.int32), wire.uuid(), wire.boolean(), wire.int16()) == (array, TOPIC, True, -3)
    assert wire.left == 0
    with pytest.raises(Malformed):
        wire.int8()


@given(st.binary(max_size=40))
def test_random_bytes_are_read_or_refused_and_nothing_is_made_of_a_count(noise: bytes) -> None:
    for read_one in (
        lambda wire: wire.array(wire.int8),
        lambda wire: wire.string(),
        lambda wire: wire.sized(),
        lambda wire: list(wire.tagged()),
        lambda wire: wire.array(lambda: wire.array(wire.uuid)),
    ):
        wire = Wire(noise)
        with contextlib.suppress(Malformed):
            read_one(wire)
        assert 0 <= wire.left <= len(noise)
