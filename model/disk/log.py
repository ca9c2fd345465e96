"""The log of a replica on disk. It consists of batches, and has those methods of `leadline.model.log.Log` that
properties use.

A log on disk differs from a log in the model in three ways. It can start after offset 0, because retention moves its
start. Compaction can have removed batches, or records from a batch. It can also be long, so logs are compared as
arrays, and a difference that extends over many batches is reported only once.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.model.disk.batches import DELETE_HORIZON, LARGEST_OFFSET, NO_EPOCH


@attrs.frozen
class Batch:
    """A record batch on disk. Properties treat it like a record of the model.

    Attributes:
        first: the base offset.
        last: the last offset.
        epoch: the leader epoch in which the batch was written.
        crc, size: the checksum and the size in bytes, which distinguish batches with the same offsets.
    """

    first: int
    last: int
    epoch: int
    crc: int
    size: int

    def __str__(self) -> str:
        return f"{offsets_text(self.first, self.last)}@{self.epoch} (CRC {self.crc:08x}, {self.size} bytes)"


Place = tuple[int, Batch | None, Batch | None]
"""An offset and the batch of each of two logs there, or None for a log without a batch at the offset."""


@attrs.frozen(eq=False)
class DiskLog:
    """The log of a replica on disk.

    Attributes:
        batches: an array of type `BATCH`, sorted by offset, without overlaps.
        start_offset: the log start offset. Records below it have been removed.
        end_offset: the log end offset (LEO).
        cleaned_below: the offset below which compaction may have removed records, or 0 if the log was not compacted.
    """

    batches: NDArray[np.void]
    start_offset: int
    end_offset: int
    cleaned_below: int = 0
    _compared: dict[tuple[int, int], tuple[DiskLog, tuple[Place, ...]]] = attrs.field(
        factory=dict, init=False, repr=False
    )

    @property
    def records(self) -> tuple[Batch, ...]:
        """The first and the last batch of each run of batches with the same leader epoch, in offset order.

        Batches from before 0.11 are omitted because they have no epoch.
        """
        batches = chosen(self.batches, self.batches["epoch"] != NO_EPOCH)
        ends = _run_ends(batches["epoch"])
        places = sorted({0, *ends, *(end + 1 for end in ends[:-1])}) if len(batches) else []
        return tuple(_batch(batches[place]) for place in places)

    def has(self, offset: int) -> bool:
        """Return whether a batch contains an offset."""
        return int(_covering(self.batches, np.array([offset]))[0]) >= 0

    def __getitem__(self, offset: int) -> Batch:
        return _batch(self.batches[_covering(self.batches, np.array([offset]))[0]])

    def beside(self, other: DiskLog, below: int) -> Iterator[Place]:
        """Compare two logs, and return the offsets less than `below` at which the result of the comparison changes.

        Offsets at which a difference is not a fault are omitted: offsets below a log start offset, offsets that
        compaction may have removed, and offsets of batches with a wrong checksum, which are reported separately.

        Parameters:
            other: the log with which this log is compared.
            below: the offset at which the comparison ends.

        Returns:
            An iterator over (offset, batch of this log, batch of the other log) tuples. A batch is None if its log has
            no batch at the offset. If compaction may have changed one of the two batches, and the fields that
            compaction keeps are equal, the same `Batch` is returned for both logs.
        """
        below = min(below, max(self.end_offset, other.end_offset))
        key = id(other), below  # cached, because several properties compare the same two logs
        if key not in self._compared:
            aligned = self.aligned(other, below)
            starts = [0, *(end + 1 for end in _run_ends(aligned.kind)[:-1])] if len(aligned.offsets) else []
            self._compared[key] = other, tuple(map(aligned.place, starts))
        return iter(self._compared[key][1])

    def aligned(self, other: DiskLog, below: int) -> Alignment:
        """Compare two logs at every offset less than `below` at which a batch begins. Omit the same offsets as
        `beside`.

        Unlike this method, `beside` returns only the first offset of each run of offsets with equal results.
        """
        low = max(self.start_offset, other.start_offset)
        mine, theirs = _window(self.batches, low, below), _window(other.batches, low, below)
        alike = np.array_equal(mine["first"], theirs["first"]) and np.array_equal(mine["last"], theirs["last"])
        if alike:
            offsets, left = np.maximum(mine["first"], low), np.arange(len(mine))
            right = left
        else:
            offsets = np.union1d(np.maximum(mine["first"], low), np.maximum(theirs["first"], low))
            left, right = _covering(mine, offsets), _covering(theirs, offsets)
        telling = self._is_telling(mine, left, offsets) & other._is_telling(theirs, right, offsets)
        offsets, left, right = offsets[telling], left[telling], right[telling]
        both = (left >= 0) & (right >= 0)
        same = both.copy()
        cleaned_below = max(self.cleaned_below, other.cleaned_below)
        if alike and telling.all():
            same = _same(mine, theirs, cleaned_below)
        else:
            same[both] = _same(mine[left[both]], theirs[right[both]], cleaned_below)
        return Alignment(mine, theirs, offsets, left, right, same)

    def _is_telling(
        self, window: NDArray[np.void], places: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        there = places >= 0
        telling = there | (offsets >= min(self.end_offset, self.cleaned_below))
        telling[there] &= window["intact"][places[there]]
        return telling


@attrs.frozen(eq=False)
class Alignment:
    """The result of comparing two logs at every offset at which a batch begins in either log.

    Attributes:
        mine, theirs: the batches of the first and of the second log, as arrays of type `BATCH`.
        offsets: the offsets that are compared.
        left, right: for each offset, the index in `mine` and in `theirs` of the batch that contains it, or -1 if there
            is none.
        same: for each offset, whether both logs have the same batch.
    """

    mine: NDArray[np.void]
    theirs: NDArray[np.void]
    offsets: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    same: NDArray[np.bool_]

    @property
    def kind(self) -> NDArray[np.int64]:
        """A number for each offset. The number changes where an epoch or the value of `same` changes."""
        epochs = [
            np.where(places >= 0, batches["epoch"][np.maximum(places, 0)] if len(batches) else NO_EPOCH, -2)
            for batches, places in ((self.mine, self.left), (self.theirs, self.right))
        ]
        changed = (np.diff(epochs[0]) != 0) | (np.diff(epochs[1]) != 0) | (np.diff(self.same) != 0)
        return np.concatenate([[0], np.cumsum(changed)]) if len(self.offsets) else np.empty(0, np.int64)

    def place(self, index: int) -> Place:
        """Return the offset with the given index, and the batches of both logs at this offset."""
        left, right = int(self.left[index]), int(self.right[index])
        mine = _batch(self.mine[left]) if left >= 0 else None
        if self.same[index]:
            return int(self.offsets[index]), mine, mine
        return int(self.offsets[index]), mine, _batch(self.theirs[right]) if right >= 0 else None


def log_of(batches: NDArray[np.void], start_offset: int, least_end: int, cleaned_below: int = 0) -> DiskLog:
    """Return the log that consists of the given batches. Batches with invalid or overlapping offsets are omitted.

    Parameters:
        batches: an array of type `BATCH`, in the order on disk.
        start_offset: the log start offset.
        least_end: the smallest possible log end offset, which is the base offset of the last segment.
        cleaned_below: the offset below which compaction may have removed records.
    """
    kept = chosen(batches, is_sound(batches))
    if (kept["first"][1:] <= kept["last"][:-1]).any():
        kept = kept[np.argsort(kept["first"], kind="stable")]
        kept = kept[_not_overlapping(kept)]
    end = int(kept["last"][-1]) + 1 if len(kept) else 0
    kept = kept[int(np.searchsorted(kept["last"], start_offset)) :]
    return DiskLog(kept, start_offset, max(end, least_end, start_offset), cleaned_below)


def chosen(batches: NDArray[np.void], which: NDArray[np.bool_]) -> NDArray[np.void]:
    """Return the batches that a mask selects. If it selects all, return them without a copy, because there can be
    millions.
    """
    return batches if which.all() else batches[which]


def _not_overlapping(batches: NDArray[np.void]) -> list[int]:
    """Choose batches that do not overlap, and return their indices. Leave out each batch that overlaps an earlier
    chosen one.

    Parameters:
        batches: the batches, sorted by first offset.
    """
    kept, reached = [], -1
    for place, (first, last) in enumerate(zip(batches["first"].tolist(), batches["last"].tolist(), strict=True)):
        if first > reached:
            kept.append(place)
            reached = last
    return kept


def is_sound(batches: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return a mask that selects the batches with valid offsets."""
    first, last = batches["first"], batches["last"]
    sound: NDArray[np.bool_] = (first >= 0) & (last >= first) & (last < LARGEST_OFFSET)
    return sound


def is_full(batches: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return a mask that selects the batches that contain all their records and were not changed by compaction."""
    full: NDArray[np.bool_] = (batches["records"] == batches["last"] - batches["first"] + 1) & (
        batches["attributes"] & DELETE_HORIZON == 0
    )
    return full


def offsets_text(first: int, last: int) -> str:
    """Return a range of offsets as text: ``7`` or ``7-9``."""
    return str(first) if first == last else f"{first}-{last}"


def _same(one: NDArray[np.void], other: NDArray[np.void], cleaned_below: int) -> NDArray[np.bool_]:
    """Compare two arrays of batches. Return a mask of the positions at which both batches can be copies of the same
    batch.

    A follower copies every byte of a batch. Compaction, which runs on each broker independently, removes records from a
    batch but keeps its offsets, epoch and producer.
    """
    exactly: NDArray[np.bool_] = np.ones(len(one), bool)
    for name in ("first", "last", "epoch", "crc", "size", "magic"):
        exactly &= one[name] == other[name]
    cleaned = one["first"] < cleaned_below
    if not cleaned.any():
        return exactly
    alike = np.ones(len(one), bool)
    for name in ("first", "last", "epoch", "producer", "producer_epoch", "sequence"):
        alike &= one[name] == other[name]
    legacy = (one["magic"] < 2) | (other["magic"] < 2)
    same: NDArray[np.bool_] = exactly | (cleaned & (legacy | (alike & ~(is_full(one) & is_full(other)))))
    return same


def _window(batches: NDArray[np.void], low: int, below: int) -> NDArray[np.void]:
    """Return the batches that contain any of the offsets from `low` to `below` - 1."""
    begin = int(np.searchsorted(batches["last"], low))
    end = int(np.searchsorted(batches["first"], below))
    return batches[begin : max(begin, end)]


def _covering(batches: NDArray[np.void], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each offset, the index of the batch that contains it, or -1 if no batch does."""
    if not len(batches):
        return np.full(len(offsets), -1)
    places = np.searchsorted(batches["first"], offsets, side="right") - 1
    there = (places >= 0) & (batches["last"][np.maximum(places, 0)] >= offsets)
    covering: NDArray[np.int64] = np.where(there, places, -1)
    return covering


def _run_ends(values: NDArray[np.int64]) -> list[int]:
    """Return the last index of each run of equal values."""
    if not len(values):
        return []
    return [*map(int, np.flatnonzero(values[1:] != values[:-1])), len(values) - 1]


def _batch(batch: np.void) -> Batch:
    return Batch(*(int(batch[name]) for name in ("first", "last", "epoch", "crc", "size")))
