"""A partition: its log of records and markers, and what its leader derives from the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import attrs

NO_EPOCH = -1
"""The producer epoch of a log without entries, and of a producer that has not been initialised."""


@attrs.frozen(cache_hash=True)
class Data:
    """A record of a transaction.

    Attributes:
        epoch, sequence: the producer epoch and the sequence number.
        transaction: the number of the transaction for which the producer wrote the record.
    """

    epoch: int
    sequence: int
    transaction: int

    def __str__(self) -> str:
        return f"t{self.transaction}@{self.epoch}"


@attrs.frozen(cache_hash=True)
class Marker:
    """A control record that ends the transaction of the records before it.

    Attributes:
        result: `commit` or `abort`.
        epoch: the producer epoch.
        coordinator_epoch: the epoch of the transaction coordinator that wrote the marker.
    """

    result: str
    epoch: int
    coordinator_epoch: int

    def __str__(self) -> str:
        return f"{'C' if self.result == 'commit' else 'A'}@{self.epoch}"


Entry = Data | Marker


@attrs.frozen(cache_hash=True)
class Partition:
    """The log of a partition.

    The model derives what the leader knows about the producer from the log. Kafka's ProducerStateManager rebuilds the
    same information from the log and from snapshots.

    Attributes:
        log: the records and markers.
        high_watermark: the number of replicated entries.
        believed_ended: the offset below which the leader considers every transaction complete, even if the log has lost
            the marker. It is 0 unless a rule is wrong.
    """

    log: tuple[Entry, ...] = ()
    high_watermark: int = 0
    believed_ended: int = 0

    @property
    def producer_epoch(self) -> int:
        """The highest producer epoch that the leader knows: the epoch of the last entry, or `NO_EPOCH` if the log is
        empty.
        """
        return self.log[-1].epoch if self.log else NO_EPOCH

    @property
    def coordinator_epoch(self) -> int:
        """The highest coordinator epoch that the leader knows, or -1 if the log has no marker."""
        return max((entry.coordinator_epoch for entry in self.log if isinstance(entry, Marker)), default=-1)

    @property
    def next_sequence(self) -> int:
        """The sequence number that the leader expects in the next record of the current producer epoch."""
        for entry in reversed(self.log):
            if entry.epoch != self.producer_epoch:
                break
            if isinstance(entry, Data):
                return entry.sequence + 1
        return 0

    @property
    def is_open(self) -> bool:
        """Whether the log has an open transaction, that is, a record after the last marker."""
        return len(self.log) > self.believed_ended and isinstance(self.log[-1], Data)

    def appended(self, entry: Entry, lag: int) -> Self:
        """Return the partition with an entry appended. If `lag` is 0, the high watermark advances past the entry."""
        log = (*self.log, entry)
        return attrs.evolve(self, log=log, high_watermark=self.high_watermark if lag else len(log))

    def spans(self) -> Iterator[tuple[list[tuple[int, Data]], Marker | None, int | None]]:
        """For each transaction in the log, yield its records with their offsets, its marker, and the marker's offset.

        The marker and its offset are None for an open transaction. A marker without records is left out.
        """
        records: list[tuple[int, Data]] = []
        for offset, entry in enumerate(self.log):
            if isinstance(entry, Data):
                records.append((offset, entry))
            elif records:
                yield records, entry, offset
                records = []
        if records:
            yield records, None, None
