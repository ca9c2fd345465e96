"""Parts of a block of states: a compiled loop processes each, and notes the paths that it does not know."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.learning.arrays import Part
from leadline.checker.engines.learning.calls import Job
from leadline.checker.settings import Tuning


class BlockParts:
    """How far the loops are. See `kernel.expand`.

    Parameters:
        first, last: the first state of the block, and where it ends.
        count: how many parts there are.
        slots: of a state.
        tuning: how many paths and states of a part wait at most.

    Attributes:
        ends: the first state of each part; at last, where the block ends.
        cursors: for each part; see `kernel.INDEX`.
        waiting: for each part, the states that wait until more is known.
        unknown, rows: for each part, the unknown paths that were found, and the slots they were found with.
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
        """Make room for rows of more slots."""
        if slots != self._slots:
            self.rows = np.empty((*self.rows.shape[:2], 2 * slots), np.int64)
            self._slots = slots

    @property
    def left(self) -> NDArray[np.int64]:
        """How many states of each part are still to be looked at."""
        left: NDArray[np.int64] = self.ends[1:] - self.cursors[:, kernel.INDEX] + self.cursors[:, kernel.WAITING]
        return left

    @property
    def busy(self) -> list[int]:
        """The parts of which some are."""
        busy: list[int] = np.flatnonzero(self.left).tolist()
        return busy

    def of(self, part: int) -> Part:
        """How far a part is."""
        end, cursor, waiting = self.ends[part + 1], self.cursors[part], self.waiting[part]
        return Part(cursor, end, waiting, self.unknown[part], self.rows[part])

    def jobs(self, first_step: int) -> list[tuple[Job, int]]:
        """The calls that show the unknown paths, one for each place where trees end, and how often it was met.

        Rows that end at the same place are likely to be on one path, and others are not.

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
                    before = numbers  # the same object for all calls of a state: see `Caller`
                after = (row[self._slots :].tolist(),) if tree >= first_step else ()
                jobs.setdefault((node, number), (tree, (before, *after)))
                wanted[node, number] += times
        self.cursors[:, kernel.ASKED] = 0  # of a part that is done, no loop does so
        return [(job, wanted[end]) for end, job in jobs.items()]

    def that_wait(self, part: int) -> NDArray[np.int64]:
        """The states of a part that wait."""
        waiting: NDArray[np.int64] = self.waiting[part, : self.cursors[part, kernel.WAITING]]
        return waiting
