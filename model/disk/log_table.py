"""A table that compares the logs of a partition, with a row for each log and a column for each range of offsets.

Within a column, all offsets have the same leader epoch and the same comparison result in every log.
"""

from __future__ import annotations

import bisect
import itertools
from typing import Literal

import attrs
import numpy as np

from leadline.model.disk.log import offsets_text
from leadline.model.disk.partition import UNKNOWN_LEADER, DiskPartition, DiskReplica

MOST_COLUMNS = 24
"""The largest number of columns in a table."""

MOST_BORDERS = 500
"""The largest number of changes in a log, or between two logs, that begin a column.

A damaged log can change with every batch.
"""

Kind = Literal["same", "different", "missing", "gone", "end"]
"""The kind of a cell. ``same``: no other log has a different batch at these offsets. ``different``: another log has a
different batch. ``missing``: the log lacks a batch that it should have. ``gone``: retention or compaction removed the
batch. ``end``: the log ends before these offsets."""


@attrs.frozen
class LogCell:
    """The cell of a log in one column of a log table.

    Attributes:
        kind: the result of comparing the log with the other logs.
        epoch: the leader epoch of the batch, or None if the log has no batch in the column.
        text: a short description of the batch.
    """

    kind: Kind
    epoch: int | None
    text: str


@attrs.frozen
class LogRow:
    """The row of a log in a log table.

    Attributes:
        broker: the broker that has this log.
        badges: short texts about the broker, such as whether it leads and whether it is in the ISR.
        cells: the log's cell in each column.
        start, high_watermark, end: the log start offset, high watermark and log end offset.
        high_watermark_at, end_at: the index of the first column at or after the high watermark, and of the first column
            at or after the log end offset. If there is no such column, the index is the number of columns.
    """

    broker: int
    badges: tuple[str, ...]
    cells: tuple[LogCell, ...]
    start: int
    high_watermark: int
    end: int
    high_watermark_at: int
    end_at: int


@attrs.frozen
class LogTable:
    """A table of the logs of a partition.

    Attributes:
        columns: the first and the last offset of each column.
        rows: the row of each log, sorted by broker.
        left_out: the number of columns that are omitted because of limited space.
    """

    columns: tuple[tuple[int, int], ...]
    rows: tuple[LogRow, ...]
    left_out: int = 0

    def title(self, column: int) -> str:
        """Return the offsets of a column as text."""
        return offsets_text(*self.columns[column])


def log_table_of(partition: DiskPartition) -> LogTable | None:
    """Return the table of the logs of a partition, or None if the partition has no replicas."""
    replicas = [replica for _, replica in partition.replicas_of()]
    if not replicas:
        return None
    borders = _borders(replicas)
    committed = max(replica.high_watermark for replica in replicas)
    columns = [(first, after - 1) for first, after in itertools.pairwise(borders)]
    differing = [
        [_differs(replica, other, columns) for other in replicas if other is not replica] for replica in replicas
    ]
    cells = [
        [
            _cell(replica, first, any(each[place] for each in differs), committed)
            for place, (first, _) in enumerate(columns)
        ]
        for replica, differs in zip(replicas, differing, strict=True)
    ]
    shown = _shown(cells, len(columns))
    rows = tuple(
        LogRow(
            broker=replica.node,
            badges=tuple(_badges(partition, replica)),
            cells=tuple(row[column] for column in shown),
            start=replica.log.start_offset,
            high_watermark=replica.high_watermark,
            end=replica.log.end_offset,
            high_watermark_at=sum(columns[column][0] < replica.high_watermark for column in shown),
            end_at=sum(columns[column][0] < replica.log.end_offset for column in shown),
        )
        for replica, row in zip(replicas, cells, strict=True)
    )
    return LogTable(tuple(columns[column] for column in shown), rows, len(columns) - len(shown))


def _borders(replicas: list[DiskReplica]) -> list[int]:
    """Return the offsets at which columns begin. A column begins where a log changes, or where the result of comparing
    two logs changes.
    """
    found: set[int] = set()
    for replica in replicas:
        log = replica.log
        found |= {log.start_offset, log.end_offset, replica.high_watermark}
        epochs, firsts = log.batches["epoch"], log.batches["first"]
        if len(epochs):
            changes = [0, *(np.flatnonzero(np.diff(epochs))[:MOST_BORDERS] + 1)]
            found |= {int(firsts[place]) for place in changes}
        gaps = np.flatnonzero(firsts[1:] != log.batches["last"][:-1] + 1)
        for gap in gaps[:MOST_BORDERS]:
            found |= {int(log.batches["last"][gap]) + 1, int(firsts[gap + 1])}
        for other in replicas:
            end = max(log.end_offset, other.log.end_offset)
            places = itertools.islice(log.beside(other.log, end), MOST_BORDERS)
            found |= {offset for offset, _, _ in places}
    low = min(replica.log.start_offset for replica in replicas)
    return sorted(offset for offset in found if offset >= low)


def _differs(replica: DiskReplica, other: DiskReplica, columns: list[tuple[int, int]]) -> list[bool]:
    """Return, for each column, whether both logs have a batch in it and these batches differ."""
    end = max(replica.log.end_offset, other.log.end_offset)
    runs = list(replica.log.beside(other.log, end))
    starts = [offset for offset, _, _ in runs]
    found = []
    for first, _ in columns:
        place = bisect.bisect_right(starts, first) - 1
        _, mine, theirs = runs[place] if place >= 0 else (0, None, None)
        found.append(mine is not None and theirs is not None and mine != theirs)
    return found


def _cell(replica: DiskReplica, offset: int, differs: bool, committed: int) -> LogCell:
    """Return the cell of a log in the column that begins at `offset`.

    Parameters:
        replica: the replica with the log.
        offset: the first offset of the column.
        differs: whether any other log has a different batch at this offset.
        committed: the offset below which all records are committed.
    """
    log = replica.log
    if offset >= log.end_offset:
        return LogCell("missing" if offset < committed else "end", None, "")
    if offset < log.start_offset or (not log.has(offset) and offset < log.cleaned_below):
        return LogCell("gone", None, "")
    if not log.has(offset):
        return LogCell("missing", None, "")
    batch = log[offset]
    return LogCell("different" if differs else "same", batch.epoch, str(batch))


def _shown(cells: list[list[LogCell]], count: int) -> list[int]:
    """Return the indices of the columns to show: columns in which logs differ, their neighbours, and both ends."""
    if count <= MOST_COLUMNS:
        return list(range(count))
    telling = [column for column in range(count) if any(row[column].kind in ("different", "missing") for row in cells)]
    near = {near for column in telling[: MOST_COLUMNS // 3] for near in (column - 1, column, column + 1)}
    wanted = sorted(column for column in near | {0, count - 1} if 0 <= column < count)
    return wanted if len(wanted) > 2 else [0, *range(count - MOST_COLUMNS + 1, count)]


def _badges(partition: DiskPartition, replica: DiskReplica) -> list[str]:
    if partition.state is None:
        return [] if replica.leader in (None, UNKNOWN_LEADER) else [f"follows {replica.leader}"]
    stale = replica.epoch != partition.state.leader_epoch
    without_leader = partition.state.leader is None and not stale  # `leader` is then only the broker to compare with
    leads = replica.leader == replica.node
    role = (
        "no leader"
        if without_leader
        else "leads"
        if leads
        else "no leader known"
        if replica.leader is None
        else f"follows {replica.leader}"
    )
    isr = (
        "in the ISR"
        if replica.node in partition.state.isr
        else "eligible"
        if replica.node in partition.state.elr
        else ""
    )
    return [
        each for each in (role, f"epoch {replica.epoch}{' (stale)' if stale else ''}", isr or "not in the ISR") if each
    ]
