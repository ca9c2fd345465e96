"""A power loss cuts a log at a batch boundary, and nothing that was flushed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.brokers.errors import BrokerError
from leadline.brokers.power_loss import cut_log
from leadline.model.disk.batches import read_headers
from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles
from tests.disks.data_directories import Disk, Log, batch


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A data directory with two segments: batches of offsets 0-1, 2 and 3, and then of 4 and 5."""
    old = [batch(0, 2, epoch=1), batch(2, epoch=1), batch(3, epoch=1)]
    new = [batch(4, epoch=2), batch(5, epoch=2)]
    disk = Disk(tmp_path / "broker-1", 1, clean=False)
    disk.logs["topic", 0] = Log([(0, old), (4, new)], None, recovery_point=2)
    return disk.write()


def firsts(disk: Path) -> list[int]:
    """The first offset of every batch on the disk."""
    found = []
    for _, path in read_log_directory(LocalFiles(), str(disk / "topic-0")).segments:
        with LocalFiles().opened(path) as source:
            found += [int(each["first"]) for each in read_headers(source).batches]
    return found


@pytest.mark.parametrize(("offset", "left"), [(6, 5), (5, 4), (4, 3), (3, 2), (2, 1)])
def test_the_batches_from_an_offset_on_are_gone(disk: Path, offset: int, left: int) -> None:
    cut_log(disk, "topic", 0, offset)
    assert firsts(disk) == [0, 2, 3, 4, 5][:left]
    if offset < 4:
        assert not list(disk.glob("topic-0/00000000000000000004.*"))


@pytest.mark.parametrize(
    ("offset", "what"), [(7, "no batch that begins at offset 7"), (0, "flushed up to offset 2"), (1, "flushed")]
)
def test_another_offset_is_refused_and_nothing_changes(disk: Path, offset: int, what: str) -> None:
    with pytest.raises(BrokerError, match=what):
        cut_log(disk, "topic", 0, offset)
    assert firsts(disk) == [0, 2, 3, 4, 5]


def test_an_offset_inside_a_batch_is_refused(disk: Path) -> None:
    (disk / "recovery-point-offset-checkpoint").unlink()
    with pytest.raises(BrokerError, match="no batch that begins at offset 1"):
        cut_log(disk, "topic", 0, 1)
    cut_log(disk, "topic", 0, 0)
    assert firsts(disk) == []


def test_a_broker_that_was_shut_down_cleanly_loses_nothing(disk: Path) -> None:
    (disk / ".kafka_cleanshutdown").touch()
    with pytest.raises(BrokerError, match="shut down cleanly"):
        cut_log(disk, "topic", 0, 5)


def test_a_missing_log_is_an_error(disk: Path) -> None:
    with pytest.raises(BrokerError, match="does not contain a log"):
        cut_log(disk, "topic", 1, 0)
