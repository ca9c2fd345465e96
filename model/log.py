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
    """The log of a replica, which starts at offset 0. The index of a record is its offset."""

    records: tuple[Record, ...] = ()

    @property
    def end_offset(self) -> int:
        """The log end offset (LEO): the offset of the next record to be appended."""
        return len(self.records)

    @property
    def last_epoch(self) -> int | None:
        """The leader epoch of the last record, or None if the log is empty."""
        return self.records[-1].epoch if self.records else None

    def has(self, offset: int) -> bool:
        """Return whether the log has a record at an offset."""
        return 0 <= offset < len(self.records)

    def __getitem__(self, offset: int) -> Record:
        return self.records[offset]

    def beside(self, other: Log, below: int) -> Iterator[tuple[int, Record | None, Record | None]]:
        """Yield each offset less than `below`, with the records that this log and the other log have at the offset.

        If a log ends before the offset, its record is None.
        """
        for offset in range(below):
            yield (
                offset,
                self.records[offset] if self.has(offset) else None,
                other.records[offset] if other.has(offset) else None,
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

        This is one more than the largest offset at which both logs have the same record, or 0 if there is none.
        """
        shared = min(self.end_offset, other.end_offset)
        return next((offset + 1 for offset in reversed(range(shared)) if self[offset] == other[offset]), 0)

    def drawn(self, high_watermark: int) -> str:
        """Return the records as text, in offset order. A record is ``m<value>@<epoch>``, and ``┃`` marks the high
        watermark.
        """
        cells = [str(record) for record in self.records]
        return " ".join([*cells[:high_watermark], "┃", *cells[high_watermark:]])
