"""Records and logs, which a replica stores on disk. Shared by all families of specs."""

from __future__ import annotations

from collections.abc import Iterator

import attrs


@attrs.frozen(cache_hash=True)
class Record:
    """A message: a unique value, and the leader epoch in which it was written (KIP-101)."""

    value: int
    epoch: int

    def __str__(self) -> str:
        return f"m{self.value}@{self.epoch}"


@attrs.frozen(cache_hash=True)
class Log:
    """The records of a replica. The index of a record is its offset."""

    records: tuple[Record, ...] = ()

    @property
    def end_offset(self) -> int:
        """The log end offset (LEO), which is the offset of the next record."""
        return len(self.records)

    @property
    def last_epoch(self) -> int | None:
        """The leader epoch of the last record; None if the log is empty."""
        return self.records[-1].epoch if self.records else None

    def has(self, offset: int) -> bool:
        """Whether there is a record at an offset."""
        return 0 <= offset < len(self.records)

    def __getitem__(self, offset: int) -> Record:
        return self.records[offset]

    def beside(self, other: Log, below: int) -> Iterator[tuple[int, Record | None, Record | None]]:
        """The records of both logs at each offset less than `below`; None if a log has no record there."""
        for offset in range(below):
            yield (
                offset,
                self.records[offset] if self.has(offset) else None,
                other.records[offset] if other.has(offset) else None,
            )

    def append(self, record: Record) -> Log:
        """The log with a record added at its end."""
        return Log((*self.records, record))

    def truncate_to(self, offset: int) -> Log:
        """The log with only the records below an offset."""
        return Log(self.records[:offset])

    def first_offset_after(self, epoch: int) -> int | None:
        """The smallest offset of a record with a larger epoch, where the next epoch starts; None if there is none.

        A leader returns it in the response to `OffsetsForLeaderEpoch` (KIP-101).
        """
        return next((offset for offset, record in enumerate(self.records) if record.epoch > epoch), None)

    def end_of_epoch(self, epoch: int) -> int:
        """The end offset of an epoch: the start of the next one, or the log end offset."""
        following = self.first_offset_after(epoch)
        return self.end_offset if following is None else following

    def end_of_agreement_with(self, other: Log) -> int:
        """One more than the largest offset at which both logs have the same record; 0 if there is none (KIP-279)."""
        shared = min(self.end_offset, other.end_offset)
        return next((offset + 1 for offset in reversed(range(shared)) if self[offset] == other[offset]), 0)

    def drawn(self, high_watermark: int) -> str:
        """The records in offset order, each ``m<value>@<epoch>``, with ``┃`` at the high watermark."""
        cells = [str(record) for record in self.records]
        return " ".join([*cells[:high_watermark], "┃", *cells[high_watermark:]])
