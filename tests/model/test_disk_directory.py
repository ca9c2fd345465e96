"""Data directories: checkpoints, properties, partitions, and what does not belong there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.model.disk import text
from leadline.model.disk.directory import find_data_directories, read_data_directory, read_log_directory
from leadline.model.disk.files import LocalFiles, Unreadable
from leadline.model.disk.text import Epoch
from leadline.model.disk.wire import text_of_uuid, uuid_of_text
from tests.disks.data_directories import Disk, Log, batch, lines, text_of

FILES = LocalFiles()


def written(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_checkpoints_say_offsets_by_partition(tmp_path: Path) -> None:
    path = written(tmp_path, lines(("a.b_c-d", 3, 17), ("t", 0, 2**63 - 1)))
    assert text.offsets(FILES, path) == {("a.b_c-d", 3): 17, ("t", 0): 2**63 - 1}
    assert text.offsets(FILES, written(tmp_path, lines())) == {}
    assert text.offsets(FILES, written(tmp_path, "")) == {}
    assert text.epochs(FILES, written(tmp_path, lines((0, 0), (7, 12)))) == (Epoch(0, 0), Epoch(7, 12))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("2\n0\n", "has an unknown format version"),
        ("0\n2\nt 0 5\n", "declares 2 entries but has 1"),
        ("0\n0\nt 0 5\n", "declares 0 entries but has 1"),
        ("0\n1\nt 0\n", "expected a topic, a partition and an offset"),
        ("0\n1\nt 0 x\n", "'x' where a number is expected"),
        (f"0\n1\nt 0 {'9' * 30}\n", "where a number is expected"),
        ("0\nmany\n", "'many' where a number"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_checkpoint_that_is_damaged_is_refused(tmp_path: Path, content: str | bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        text.offsets(FILES, written(tmp_path, content))


@given(st.binary(max_size=100))
def test_random_text_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = written(tmp_path_factory.mktemp("noise"), content)
    for read in (text.offsets, text.epochs, text.topic_id, text.properties, text.quorum_epoch):
        with contextlib.suppress(Unreadable):
            read(FILES, path)


def test_ids_are_written_as_kafka_does(tmp_path: Path) -> None:
    topic_id = UUID("ff5afd7a-82e0-461b-ea5e-94194cb8145f")
    assert text_of_uuid(topic_id) == text_of(topic_id) == "_1r9eoLgRhvqXpQZTLgUXw"
    assert uuid_of_text("_1r9eoLgRhvqXpQZTLgUXw") == topic_id
    assert text.topic_id(FILES, written(tmp_path, f"version: 0\ntopic_id: {text_of(topic_id)}")) == topic_id
    assert text.topic_id(FILES, written(tmp_path, f"version: 0\ntopic_id: {'A' * 22}\n")) is None
    with pytest.raises(Unreadable, match="has no topic id"):
        text.topic_id(FILES, written(tmp_path, "version: 0\n"))


def test_the_quorum_state(tmp_path: Path) -> None:
    content = '{"leaderId":2,"leaderEpoch":36,"currentVoters":[{"voterId":1}],"data_version":0}'
    assert text.quorum_epoch(FILES, written(tmp_path, content)) == 36
    for bad in ("[1]", "{", "[" * 5000, '{"leaderEpoch":"x"}', "{}"):
        with pytest.raises(Unreadable, match=r"is not valid JSON|has no leader epoch"):
            text.quorum_epoch(FILES, written(tmp_path, bad))


def test_a_data_directory_says_whose_it_is_and_what_is_in_it(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", 7, cluster="c", directory="d")
    disk.logs["my.topic-1", 12] = Log([(0, [batch(0)]), (1, [])], UUID(int=9), 1, 1, log_start=0, cleaned_to=1)
    disk.write()
    for name in (f"t-0.{'a' * 32}-delete", f"t-1.{'b' * 32}-future", "t-2.0c-stray", "not a partition", "lost+found"):
        (tmp_path / "data" / name).mkdir()
    (tmp_path / "data" / "t-5").symlink_to(tmp_path)
    found = read_data_directory(FILES, f"{tmp_path}/data")
    assert (found.node, found.cluster, found.directory, found.clean) == (7, "c", "d", True)
    assert found.partitions == {("my.topic-1", 12): f"{tmp_path}/data/my.topic-1-12"}
    assert [found.checkpoint(name, ("my.topic-1", 12)) for name in text.OFFSET_CHECKPOINTS] == [1, 1, 0, 1]
    assert [name.rsplit("-", 1)[1] for name in found.set_aside] == ["delete", "future", "stray"]
    assert found.problems == (f"{tmp_path}/data/t-5 is a link or a special file and was not read",)
    log = read_log_directory(FILES, found.partitions["my.topic-1", 12])
    assert [base for base, _ in log.segments] == [0, 1]
    assert (log.epochs, log.topic_id, log.is_one) == ((Epoch(0, 0),), UUID(int=9), True)


def test_a_broker_of_before_kraft_says_its_broker_id(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\nversion=0\nbroker.id=3\n")
    assert read_data_directory(FILES, str(tmp_path)).node == 3
    (tmp_path / "meta.properties").write_text("broker.id=three\n")
    assert read_data_directory(FILES, str(tmp_path)).node is None


def test_what_cannot_be_read_is_said_and_nothing_else_is_lost(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", 1)
    disk.logs["t", 0] = Log([(0, [batch(0)])], UUID(int=9), 1, 1)
    disk.write()
    (tmp_path / "data" / "replication-offset-checkpoint").write_text("0\n5\n")
    (tmp_path / "data" / "recovery-point-offset-checkpoint").unlink()
    os.mkfifo(tmp_path / "data" / "recovery-point-offset-checkpoint")
    (tmp_path / "data" / "t-0" / "leader-epoch-checkpoint").write_text("garbage")
    found = read_data_directory(FILES, f"{tmp_path}/data")
    assert [problem.removeprefix(f"{tmp_path}/data/").split(" ", 1) for problem in found.problems] == [
        ["replication-offset-checkpoint", "declares 5 entries but has 0"],
        ["recovery-point-offset-checkpoint", "is not a regular file"],
        ["recovery-point-offset-checkpoint", "is a link or a special file and was not read"],
    ]
    assert found.checkpoint("log-start-offset-checkpoint", ("t", 0)) is None
    log = read_log_directory(FILES, f"{tmp_path}/data/t-0")
    assert (log.epochs, len(log.problems)) == (None, 1)
    assert read_log_directory(FILES, f"{tmp_path}/nowhere").problems == (
        f"cannot list {tmp_path}/nowhere: No such file or directory",
    )


def test_data_directories_are_found_wherever_they_are_and_no_link_is_followed(tmp_path: Path) -> None:
    for name in ("backup/a", "backup/deep/er/kafka-2"):
        disk = Disk(tmp_path / name, 1)
        disk.logs["t", 0] = Log([(0, [batch(0)])], UUID(int=9), 1, 1)
        disk.write()
    (tmp_path / "bare" / "t-0").mkdir(parents=True)
    (tmp_path / "bare" / "t-0" / f"{0:020d}.log").write_bytes(b"")
    (tmp_path / "not" / "kafka-1").mkdir(parents=True)  # looks like a partition's directory, and is none
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / ".git" / "t-0").mkdir(parents=True)
    (tmp_path / ".git" / "t-0" / "partition.metadata").write_text("")
    found = find_data_directories(FILES, str(tmp_path))
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == ["backup/a", "backup/deep/er/kafka-2", "bare"]
    assert find_data_directories(FILES, f"{tmp_path}/bare") == [f"{tmp_path}/bare"]
    with pytest.raises(Unreadable, match="cannot list"):
        find_data_directories(FILES, f"{tmp_path}/nowhere")
