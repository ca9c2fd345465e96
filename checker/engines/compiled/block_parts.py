"""The parts of a block of states, and the progress of the compiled loop in each part.

The loop follows paths through decision trees. A path that has not been learned yet is called unknown. A state with an
unknown path is deferred until the spec's function has been called; see `kernel`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.learning.arrays import Part
from leadline.checker.engines.learning.calls import Job
from leadline.checker.settings import Tuning


class BlockParts:
    """The parts of a block of states, and the progress of the compiled loop in each part. See `kernel.expand`. A path
    through a decision tree is called unknown if it has not been learned yet.

    Parameters:
        first, last: the range of states in the block, excluding `last`.
        count: the number of parts.
        slots: the number of slots per state.
        tuning: internal settings, including the maximum numbers of unknown paths and deferred states per part.

    Attributes:
        ends: the first state of each part, followed by the end of the block.
        cursors: for each part, the position of the loop; see `kernel.INDEX`.
        waiting: for each part, the states that are deferred because they have an unknown path.
        unknown: for each part, the unknown paths; see `kernel.TREE`.
        rows: for each unknown path, the first state or step that has this path, as one value index per slot.
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
        """Allocate a new array `rows` if the number of slots per state has changed."""
        if slots != self._slots:
            self.rows = np.empty((*self.rows.shape[:2], 2 * slots), np.int64)
            self._slots = slots

    @property
    def left(self) -> NDArray[np.int64]:
        """For each part, the number of states that remain to be processed, including deferred states."""
        left: NDArray[np.int64] = self.ends[1:] - self.cursors[:, kernel.INDEX] + self.cursors[:, kernel.WAITING]
        return left

    @property
    def busy(self) -> list[int]:
        """The indices of the parts in which states remain to be processed."""
        busy: list[int] = np.flatnonzero(self.left).tolist()
        return busy

    def of(self, part: int) -> Part:
        """Return the arrays of one part, as arguments for a compiled loop."""
        end, cursor, waiting = self.ends[part + 1], self.cursors[part], self.waiting[part]
        return Part(cursor, end, waiting, self.unknown[part], self.rows[part])

    def jobs(self, first_step: int) -> list[tuple[Job, int]]:
        """Return the calls that must be made to learn the unknown paths, and clear the array of unknown paths.

        If several unknown paths end at the same edge of a tree, only one call is returned, because the paths probably
        continue in the same way.

        Parameters:
            first_step: the index of the first tree that belongs to a step predicate.

        Returns:
            The calls, each with the number of states that need it.
        """
        jobs: dict[tuple[int, int], Job] = {}
        wanted: Counter[tuple[int, int]] = Counter()
        for cursor, unknown, rows in zip(self.cursors, self.unknown, self.rows, strict=True):
            found = cursor[kernel.ASKED]
            before: list[int] = []
            for (tree, node, number, times), row in zip(unknown[:found].tolist(), rows[:found], strict=True):
                numbers = row[: self._slots].tolist()
                if numbers != before:
                    before = numbers  # `Caller` recognizes the object in further calls on the same state
                after = (row[self._slots :].tolist(),) if tree >= first_step else ()
                jobs.setdefault((node, number), (tree, (before, *after)))
                wanted[node, number] += times
        self.cursors[:, kernel.ASKED] = 0  # the loops reset it only in parts that have states left
        return [(job, wanted[end]) for end, job in jobs.items()]

    def that_wait(self, part: int) -> NDArray[np.int64]:
        """Return the deferred states of a part."""
        waiting: NDArray[np.int64] = self.waiting[part, : self.cursors[part, kernel.WAITING]]
        return waiting
