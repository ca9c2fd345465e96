"""The parts of a block of states. A compiled loop processes each part and notes unknown paths."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.learning.arrays import Part
from leadline.checker.engines.learning.calls import Job
from leadline.checker.settings import Tuning


class BlockParts:
    """The positions of the loops in the parts of a block. See `kernel.expand`.

    Parameters:
        first, last: the range of states of the block; `last` is excluded.
        count: the number of parts.
        slots: the number of slots of a state.
        tuning: limits the number of unknown paths and of waiting states of a part.

    Attributes:
        ends: the first state of each part, followed by the end of the block.
        cursors: for each part; see `kernel.INDEX`.
        waiting: for each part, the states that wait for unknown paths.
        unknown, rows: for each part, the unknown paths, and the slot numbers of the states that met them.
    """

    def __init__(self, first: int, last: int, count: int, slots: int, tuning: Tuning) -> None:
        self.ends = first + (last - first) * np.arange(count + 1) // count
        self.cursors = np.zeros((count, kernel.PLACES), np.int64)
        self.cursors[:, kernel.INDEX] = self.ends[:-1]
        self.waiting = np.empty((count, tuning.waiting), np.int64)
        self.unknown = np.empty((count, tuning.asked, kernel.FIELDS), np.int64)
        self.rows = np.empty((count, tuning.asked, 2 * slots), np.int64)
        self._slots = slots

    def fit(self, slots: int) -> None:
        """Make room for rows with more slots."""
        if slots != self._slots:
            self.rows = np.empty((*self.rows.shape[:2], 2 * slots), np.int64)
            self._slots = slots

    @property
    def left(self) -> NDArray[np.int64]:
        """The number of remaining states of each part."""
        left: NDArray[np.int64] = self.ends[1:] - self.cursors[:, kernel.INDEX] + self.cursors[:, kernel.WAITING]
        return left

    @property
    def busy(self) -> list[int]:
        """The parts that have remaining states."""
        busy: list[int] = np.flatnonzero(self.left).tolist()
        return busy

    def of(self, part: int) -> Part:
        """Return the position of the loop in a part."""
        end, cursor, waiting = self.ends[part + 1], self.cursors[part], self.waiting[part]
        return Part(cursor, end, waiting, self.unknown[part], self.rows[part])

    def jobs(self, first_step: int) -> list[tuple[Job, int]]:
        """Return the calls to make for the unknown paths: one for each end, with the number of states that met it.

        States whose paths have the same end probably share the rest of the path. States with different ends do not.

        Parameters:
            first_step: the first tree of a step predicate.
        """
        jobs: dict[tuple[int, int], Job] = {}
        wanted: Counter[tuple[int, int]] = Counter()
        for cursor, unknown, rows in zip(self.cursors, self.unknown, self.rows, strict=True):
            found = cursor[kernel.ASKED]
            before: list[int] = []
            for (tree, node, number, times), row in zip(unknown[:found].tolist(), rows[:found], strict=True):
                numbers = row[: self._slots].tolist()
                if numbers != before:
                    before = numbers  # one object for all calls on a state, which `Caller` recognizes
                after = (row[self._slots :].tolist(),) if tree >= first_step else ()
                jobs.setdefault((node, number), (tree, (before, *after)))
                wanted[node, number] += times
        self.cursors[:, kernel.ASKED] = 0  # also for finished parts, which no loop resets
        return [(job, wanted[end]) for end, job in jobs.items()]

    def that_wait(self, part: int) -> NDArray[np.int64]:
        """Return the waiting states of a part."""
        waiting: NDArray[np.int64] = self.waiting[part, : self.cursors[part, kernel.WAITING]]
        return waiting
