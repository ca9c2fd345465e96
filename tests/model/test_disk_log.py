"""Comparing logs on disks: properties have the same results as with a comparison offset by offset."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.invariants import durability, logs
from leadline.invariants.view import Complaint
from leadline.model.disk.batches import BATCH, DELETE_HORIZON, LARGEST_OFFSET
from leadline.model.disk.log import DiskLog, log_of
from leadline.model.log import Log, Record
from leadline.model.quorum import Quorum


def batches(*rows: tuple[int, int, int, int], **columns: Any) -> np.ndarray[Any, Any]:
    """Batches of some first and last offsets, leader epochs and checksums."""
    made = np.zeros(len(rows), BATCH)
    for place, (first, last, epoch, crc) in enumerate(rows):
        made[place]["first"], made[place]["last"], made[place]["epoch"], made[place]["crc"] = first, last, epoch, crc
    made["magic"], made["intact"], made["producer"], made["sequence"] = 2, True, -1, -1
    made["records"] = made["last"] - made["first"] + 1
    for name, values in columns.items():
        made[name] = values
    return made


def disk_log(*rows: tuple[int, int, int, int], start: int = 0, cleaned_below: int = 0, **columns: Any) -> DiskLog:
    return log_of(batches(*rows, **columns), start, 0, cleaned_below)


@attrs.frozen
class Replica:
    log: Any
    high_watermark: int = 0
    epoch: int = 0
    leader: int | None = 0
    isr: frozenset[int] = frozenset({0, 1})


@attrs.frozen
class Partition:
    """A partition with logs of either kind."""

    replicas: tuple[Replica, ...]
    quorum: Quorum = Quorum(0, 0, frozenset({0, 1}))

    def replicas_of(self, brokers: Any = None) -> Any:
        return ((n, each) for n, each in enumerate(self.replicas) if brokers is None or n in brokers)

    def believed_leaders(self) -> Any:
        return ((n, each) for n, each in enumerate(self.replicas) if each.leader == n)

    def has_to_truncate(self, broker: int) -> bool:
        return False


records = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6)


@given(records, records, st.integers(0, 7), st.integers(0, 7), st.integers(1, 4))
def test_properties_see_the_same_in_batches_as_in_records(
    one: list[tuple[int, int]], other: list[tuple[int, int]], high: int, higher: int, length: int
) -> None:
    """Each record of the model as a batch of some offsets: the same properties are violated, at the same places."""
    model = [Log(tuple(Record(value, epoch) for value, epoch in held)) for held in (one, other)]
    disk = [
        disk_log(*((n * length, (n + 1) * length - 1, epoch, value) for n, (value, epoch) in enumerate(held)))
        for held in (one, other)
    ]
    ends = [log.end_offset for log in model]
    watermarks = min(high, ends[0]), min(higher, ends[1])
    of_model = Partition(tuple(Replica(log, mark) for log, mark in zip(model, watermarks, strict=True)))
    of_disk = Partition(tuple(Replica(log, mark * length) for log, mark in zip(disk, watermarks, strict=True)))
    for check in (
        logs.log_matching,
        logs.logs_prefix_consistent,
        logs.epochs_monotonic_in_log,
        logs.follower_log_is_prefix,
        durability.strong_isr,
        durability.weak_isr,
    ):
        expected, found = list(check.complaints(of_model)), list(check.complaints(of_disk))
        assert bool(found) == bool(expected), check.name
        if expected and check is not logs.epochs_monotonic_in_log:
            places = [
                min(each.offset or 0 for each in every if isinstance(each, Complaint)) for every in (expected, found)
            ]
            assert places[1] == places[0] * length, check.name


@given(records, records)
def test_what_is_told_once_for_a_run_holds_for_every_offset_of_it(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    mine, theirs = (
        disk_log(*((2 * n, 2 * n + 1, epoch, value) for n, (value, epoch) in enumerate(held))) for held in (one, other)
    )
    end = max(mine.end_offset, theirs.end_offset)
    runs = list(mine.beside(theirs, end))
    starts = [offset for offset, _, _ in runs]
    assert starts == sorted(set(starts))
    for offset in range(end):
        _, told, others = [run for run in runs if run[0] <= offset][-1]
        held = [log[offset] if log.has(offset) else None for log in (mine, theirs)]
        assert (told is None, others is None) == (held[0] is None, held[1] is None)
        assert (told == others) == (held[0] == held[1])
        assert [told and told.epoch, others and others.epoch] == [each and each.epoch for each in held]


def test_a_log_compares_only_what_both_may_have() -> None:
    mine = disk_log((0, 4, 0, 1), (5, 9, 0, 2), start=3)
    theirs = disk_log((0, 4, 0, 9), (5, 9, 0, 2), start=5)
    assert [offset for offset, _, _ in mine.beside(theirs, 10)] == [5]
    assert all(one == other for _, one, other in mine.beside(theirs, 10))
    (offset, one, other) = list(mine.beside(disk_log((0, 4, 0, 1), start=3), 10))[-1]
    assert (offset, other) == (5, None)
    assert str(one) == "5-9@0 (CRC 00000002, 0 bytes)"


def test_what_compaction_took_is_not_missing_and_what_it_changed_is_the_same() -> None:
    rows = (0, 2, 0, 1), (3, 5, 0, 2), (6, 8, 1, 3)
    whole = disk_log(*rows)
    cleaned = disk_log((0, 2, 0, 77), (6, 8, 1, 3), cleaned_below=6, records=[1, 3])
    assert [offset for offset, one, other in whole.beside(cleaned, 9) if one != other] == []
    assert [offset for offset, one, other in cleaned.beside(whole, 9) if one != other] == []
    not_cleaned = disk_log((0, 2, 0, 77), (6, 8, 1, 3), records=[1, 3])
    assert [offset for offset, one, other in whole.beside(not_cleaned, 9) if one != other] == [0, 3]
    beyond = disk_log((0, 2, 0, 1), (6, 8, 1, 3), cleaned_below=3)
    assert [offset for offset, one, other in whole.beside(beyond, 9) if one != other] == [3]


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ({"records": [3]}, False),  # both have all their records, and are not the same
        ({"records": [2]}, True),
        ({"attributes": [DELETE_HORIZON]}, True),
        ({"records": [2], "producer": [8]}, False),
        ({"records": [2], "sequence": [8]}, False),
    ],
)
def test_of_a_cleaned_batch_the_offsets_the_epoch_and_the_producer_stay(columns: dict[str, Any], same: bool) -> None:
    original = disk_log((0, 2, 0, 1), cleaned_below=9)
    other = disk_log((0, 2, 0, 5), cleaned_below=9, **columns)
    ((_, mine, theirs),) = original.beside(other, 3)
    assert (mine == theirs) is same


def test_two_batches_that_differ_in_their_size_only_are_not_the_same() -> None:
    ((_, mine, theirs),) = disk_log((0, 2, 0, 1), size=[70]).beside(disk_log((0, 2, 0, 1), size=[71]), 3)
    assert mine != theirs


def test_a_batch_with_a_wrong_checksum_is_not_compared() -> None:
    mine = disk_log((0, 2, 0, 1), (3, 5, 0, 2))
    theirs = disk_log((0, 2, 0, 8), (3, 5, 0, 2), intact=[False, True])
    assert [offset for offset, _, _ in mine.beside(theirs, 6)] == [3]


def test_a_log_of_damaged_batches_has_those_that_make_sense() -> None:
    rows = (6, 8, 0, 3), (0, 2, 0, 1), (2, 4, 0, 9), (-5, 0, 0, 1), (9, 8, 0, 1), (2**62, 2**62 + 1, 0, 1), (3, 5, 0, 2)
    log = disk_log(*rows)
    assert list(zip(log.batches["first"], log.batches["last"], strict=True)) == [(0, 2), (3, 5), (6, 8)]
    assert log.end_offset == 9
    assert disk_log().end_offset == 0
    assert log_of(batches(), 5, 7).end_offset == 7
    assert disk_log((0, LARGEST_OFFSET - 1, 0, 1)).end_offset == LARGEST_OFFSET


def test_epochs_are_told_where_they_change() -> None:
    log = disk_log((0, 0, -1, 0), (1, 1, 2, 0), (2, 2, 2, 1), (3, 3, 2, 2), (4, 4, 3, 3), (5, 5, 1, 4))
    assert [(each.first, each.epoch) for each in log.records] == [(1, 2), (3, 2), (4, 3), (5, 1)]
    assert list(itertools.pairwise(each.epoch for each in log.records))[-1] == (3, 1)
    assert disk_log().records == ()


def test_a_hundred_thousand_batches_are_compared_in_arrays() -> None:
    """A loop over them in Python would take seconds; the bound is generous, for machines under load."""
    rows = np.zeros(100_000, BATCH)
    rows["first"] = rows["last"] = np.arange(100_000)
    rows["intact"], rows["magic"], rows["records"], rows["crc"] = True, 2, 1, np.arange(100_000)
    other = rows.copy()
    other["crc"][70_000] += 1
    one, two = log_of(rows, 0, 0), log_of(other, 0, 0)
    assert [offset for offset, mine, theirs in one.beside(two, 100_000) if mine != theirs] == [70_000]
    assert len(list(one.beside(two, 100_000))) == 3
