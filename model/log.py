"""Records, and the logs in which replicas store them. All families of specs use this module."""

from __future__ import annotations

from collections.abc import Iterator

import attrs


@attrs.frozen(cache_hash=True)
class Record:
    """A record: a unique value, and the leader epoch in which the record was written (KIP-101)."""

    value: int
    epoch: int

    def __str__(self) -> str:
        return f"m{self.value}@{self.epoch}"


@attrs.frozen(cache_hash=True)
class Log:
    """The log of a replica, which starts at offset 0. See `StartedLog` for a log whose start has moved."""

    records: tuple[Record, ...] = ()

    @property
    def start_offset(self) -> int:
        """The log start offset: the offset of the first record that can be read."""
        return 0

    @property
    def first_offset(self) -> int:
        """The offset of the first element of `records`."""
        return 0

    @property
    def end_offset(self) -> int:
        """The log end offset (LEO): the offset of the next record to be appended."""
        return self.first_offset + len(self.records)

    @property
    def last_epoch(self) -> int | None:
        """The leader epoch of the last record, or None if the log is empty."""
        return self.records[-1].epoch if self.records else None

    def has(self, offset: int) -> bool:
        """Return whether the log has a record at an offset."""
        return self.start_offset <= offset < self.end_offset

    def __getitem__(self, offset: int) -> Record:
        return self.records[offset - self.first_offset]

    def between(self, first: int, end: int) -> tuple[Record, ...]:
        """Return the records at the offsets from `first` to `end` - 1, without those below the log start offset."""
        return self.records[max(first, 0) : max(end, 0)]

    def beside(self, other: Log, below: int) -> Iterator[tuple[int, Record | None, Record | None]]:
        """Yield each offset less than `below`, with the records that this log and the other log have at the offset.

        Offsets below a log start offset are omitted. If a log ends before the offset, its record is None.
        """
        for offset in range(max(self.start_offset, other.start_offset), below):
            yield (
                offset,
                self[offset] if self.has(offset) else None,
                other[offset] if other.has(offset) else None,
            )

    def append(self, record: Record) -> Log:
        """Return the log with a record added at the end."""
        return Log((*self.records, record))

    def truncate_to(self, offset: int) -> Log:
        """Return the log truncated to an offset."""
        return Log(self.records[:offset])

    def first_offset_after(self, epoch: int) -> int | None:
        """Return the smallest offset of a record with an epoch larger than `epoch`, or None if there is no such record.

        A leader returns this offset in the response to an `OffsetsForLeaderEpoch` request (KIP-101).
        """
        return next((offset for offset, record in enumerate(self.records) if record.epoch > epoch), None)

    def starts(self, wanted: int) -> Iterator[tuple[int, int]]:
        """Yield the epoch and the first offset of each sequence of records with the same epoch, in order.

        Parameters:
            wanted: the smallest epoch that the caller needs. Sequences of earlier epochs may be left out.
        """
        before = None
        for offset, record in enumerate(self.records):
            if record.epoch != before:
                yield record.epoch, offset
            before = record.epoch

    def end_of_epoch(self, epoch: int) -> int:
        """Return the end offset of an epoch: the offset at which the next epoch starts, or the log end offset if there
        is no later epoch.
        """
        following = self.first_offset_after(epoch)
        return self.end_offset if following is None else following

    def end_of_agreement_with(self, other: Log) -> int:
        """Return the end offset of the part in which both logs match, as defined in KIP-279.

        This is one more than the largest offset at which both logs have the same record. If there is none, it is the
        offset at which the later of the two logs starts.
        """
        shared = min(self.end_offset, other.end_offset)
        low = min(max(self.start_offset, other.start_offset), shared)
        return next((offset + 1 for offset in reversed(range(low, shared)) if self[offset] == other[offset]), low)

    def drawn(self, high_watermark: int) -> str:
        """Return the records as text, in offset order. A record is ``m<value>@<epoch>``, and ``┃`` marks the high
        watermark.
        """
        cells = [str(record) for record in self.records]
        return " ".join([*cells[:high_watermark], "┃", *cells[high_watermark:]])

    def started_from(self, offset: int) -> Log:
        """Return the log after its log start offset has been raised. The records below it are still on disk, because
        whole segments are deleted later: a broker that is killed may start again with an earlier log start offset.
        """
        return _log(self.records, offset, self.first_offset)

    def without_segments_below(self, offset: int) -> Log:
        """Return the log after the segments below an offset have been deleted, so that the log starts there."""
        left = self.records[offset - self.first_offset :]
        return _log(left, offset, offset, None if left else self.last_epoch)

    def as_loaded_from(self, offset: int) -> Log:
        """Return the log after its broker has started again and found a log start offset.

        An epoch that begins at the log end offset is not loaded (`LogLoader`, `LeaderEpochFileCache.truncateFromEnd`).
        """
        return _log(self.records[offset - self.first_offset :], offset, offset)


@attrs.frozen(cache_hash=True)
class StartedLog(Log):
    """A log whose start has moved away from offset 0.

    Attributes:
        start_offset: the log start offset. Records below it cannot be read.
        first_offset: the offset of the first element of `records`, which is the lowest log start offset with which the
            broker can start again.
        removed_epoch: the last epoch in the leader epoch cache if retention has deleted all records. The epoch starts
            at the log end offset (`LeaderEpochFileCache.truncateFromStart`). Otherwise None.
    """

    start_offset: int = 0
    first_offset: int = 0
    removed_epoch: int | None = None

    @property
    def last_epoch(self) -> int | None:
        return self.records[-1].epoch if self.records else self.removed_epoch

    def between(self, first: int, end: int) -> tuple[Record, ...]:
        low = max(first, self.start_offset) - self.first_offset
        return self.records[low : max(end - self.first_offset, low)]

    def append(self, record: Record) -> Log:
        return _log((*self.records, record), self.start_offset, self.first_offset)

    def truncate_to(self, offset: int) -> Log:
        """Return the log truncated to an offset. If this is below its first segment, the log is then empty and starts
        there (`UnifiedLog.truncateTo`).
        """
        if offset < self.first_offset:
            return empty_from(offset)
        return _log(self.records[: offset - self.first_offset], min(self.start_offset, offset), self.first_offset)

    def first_offset_after(self, epoch: int) -> int | None:
        return next((start for each, start in self.starts(epoch + 1) if each > epoch), None)

    def starts(self, wanted: int) -> Iterator[tuple[int, int]]:
        """Yield the entries of the leader epoch cache. The first one begins at the log start offset."""
        known = [(record.epoch, self.first_offset + place) for place, record in enumerate(self.records)]
        if not known and self.removed_epoch is not None:
            known = [(self.removed_epoch, self.end_offset)]
        before = None
        for place, (epoch, offset) in enumerate(known):
            if place + 1 < len(known) and known[place + 1][1] <= self.start_offset:
                continue
            if epoch != before:
                yield epoch, max(offset, self.start_offset)
            before = epoch

    def drawn(self, high_watermark: int) -> str:
        cells = [str(record) for record in self.between(self.start_offset, self.end_offset)]
        below = max(high_watermark - self.start_offset, 0)
        return " ".join([f"from {self.start_offset}:", *cells[:below], "┃", *cells[below:]])


def empty_from(offset: int) -> Log:
    """Return an empty log that starts at an offset (`UnifiedLog.truncateFullyAndStartAt`)."""
    return _log((), offset, offset)


def _log(records: tuple[Record, ...], start: int, first: int, removed_epoch: int | None = None) -> Log:
    return StartedLog(records, start, first, removed_epoch) if start else Log(records)
