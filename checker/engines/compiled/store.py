"""Stores the states found: their packed words, the step by which each was found, and a hash table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.learning.arrays import Kept, Packed
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.settings import DEFAULT, Tuning

MOST_STATES = 2**32 - 2**27
"""The maximum number of states. State numbers have 32 bits, also those of next states that turn out to be known."""

LARGEST_TABLE = 2**32 - 2**16
"""The maximum number of entries of the table, as half of a hash selects the entry. Regions can be fuller than the
average, but do not overflow."""

SMALLEST_TABLE = 4096
"""The number of entries per worker in the smallest table: regions fill at random and must not overflow."""

SMALLEST_ROOM = 2**16
FULLEST = 0.7
GROWTH = 1.5


class NotASearch(ValueError):
    """Raised when no search can have found the saved states by the saved steps."""


class Store:
    """Stores states in the order of discovery.

    Room for as many states as fit into memory is reserved at once, because the operating system allocates pages only
    when they are written. So the arrays never have to be copied to grow.

    Parameters:
        packing: the packing of the states.
        instances: the number of action instances.
        memory: the number of bytes that may be used.
        workers: the workers that fill the table.
        first: the number of initial states.
        constrained: whether the spec has `Spec.within`.
        tuning: how often long loops are interrupted.

    Attributes:
        states: shape (room, words).
        parents, arrivals: for each state, the state and the action instance that it was found by.
        outside: for each state, whether it is outside of `Spec.within`; empty if the spec does not have a constraint.
        table: a hash table with open addressing. An entry holds half of a state's hash and the state's number, from 1.
        counters: see `kernel.append`; they include the number of states.
        packings: the number of earlier packings.
    """

    def __init__(
        self,
        packing: Packing,
        instances: int,
        memory: int,
        workers: Workers,
        first: int,
        constrained: bool = False,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self.packing, self.workers, self._slice = packing, workers, tuning.interruptible
        self.packings = 0
        self.counters = np.zeros(kernel.COUNTERS, np.int64)
        self._arrival_type = arrival_type(instances)
        room = max(first, SMALLEST_ROOM, min(MOST_STATES, memory // self._bytes_without_table))
        self.states, room = _reserve(room, np.uint64, packing.words)
        self.parents, room = _reserve(room, np.uint32)
        self.arrivals, self.room = _reserve(room, self._arrival_type)
        self.outside = np.zeros(0, np.bool_)
        if constrained:
            self.outside, self.room = _reserve(self.room, np.bool_)
        self.table = np.zeros(SMALLEST_TABLE * workers.count, np.uint64)

    @property
    def count(self) -> int:
        """The number of states."""
        return int(self.counters[kernel.STATES])

    @property
    def packed(self) -> Packed:
        """The states and their packing, for compiled loops."""
        return Packed(self.states, self.outside, self.packing.word, self.packing.shift, self.packing.mask)

    @property
    def kept(self) -> Kept:
        """The states and the steps that they were found by, for the compiled loop that adds states."""
        return Kept(self.states, self.parents, self.arrivals, self.outside, self.table)

    @property
    def bytes_used(self) -> int:
        """The memory in bytes of the states, their steps and the table."""
        return self.count * self._bytes_without_table + self.table.nbytes

    @property
    def _bytes_without_table(self) -> int:
        return 8 * self.packing.words + 4 + self._arrival_type.itemsize

    def add(self, rows: Iterable[NDArray[np.uint64]]) -> None:
        """Add states that are known to be distinct and new: the initial states."""
        for row in rows:
            index = self.count
            self.states[index], self.parents[index], self.arrivals[index] = row, 0, 0
            self.counters[kernel.STATES] += 1
        self.rebuild()

    def add_counters(self, more: NDArray[np.int64]) -> None:
        """Add counters; see `kernel.append`."""
        self.counters[kernel.STATES] = max(self.counters[kernel.STATES], more[kernel.STATES])
        self.counters[kernel.DEGREE] += more[kernel.DEGREE]
        add_expanded(self.counters, more)

    def bytes_to_grow(self, coming: int) -> int:
        """Return the number of bytes by which the table must grow for `coming` more states; 0 if there is room."""
        return max(0, 8 * self._table_size(coming) - self.table.nbytes)

    def grow(self, coming: int) -> None:
        """Make the table large enough for `coming` more states."""
        if self._table_size(coming) > len(self.table):
            self.rebuild(coming)

    def _table_size(self, coming: int) -> int:
        wanted = int((self.count + coming) / FULLEST)
        if wanted <= len(self.table):
            return len(self.table)
        return min(max(wanted, int(len(self.table) * GROWTH)), LARGEST_TABLE)

    def rebuild(self, coming: int = 0) -> None:
        """Fill the table again, or a larger table if `coming` more states need it.

        Raises:
            NotASearch: two states are equal.
        """
        regions, size = self.workers.count, self._table_size(coming)
        if size > len(self.table):
            self.table = np.empty(0, np.uint64)  # frees the old table before the new one is allocated
            self.table = np.empty((size + regions - 1) // regions * regions, np.uint64)
        for first in range(0, max(self.count, 1), self._slice):
            last = min(first + self._slice, self.count)
            found = self.workers.run(
                kernel.rebuild,
                [(region, regions, first, last, self.states, self.table) for region in range(regions)],
                alone=self.count < 10_000,
            )
            equal = max(index for index, _ in found)
            if equal >= 0:
                raise NotASearch(f"state {equal} is equal to an earlier state")

    def check(self, initials: int, sizes: Sequence[int], instances: int) -> None:
        """Check that a search can have found the saved states.

        Parameters:
            initials: the number of initial states.
            sizes: for each slot, the number of its values.
            instances: the number of action instances.

        Raises:
            NotASearch: a state has a number that its slot does not have, or was not found from an earlier state.
        """
        packing = self.packing
        for first in range(0, self.count, self._slice):
            last = min(first + self._slice, self.count)
            (wrong,) = self.workers.run(
                kernel.first_impossible,
                [
                    (
                        first, last, initials, instances, np.array(sizes, np.int64), self.states, self.parents,
                        self.arrivals, packing.word, packing.shift, packing.mask,
                    )
                ],
            )  # fmt: skip
            if wrong >= 0:
                raise NotASearch(f"state {wrong} cannot be reached by the recorded step")

    def repack(self, packing: Packing) -> None:
        """Pack all states with another packing."""
        states, room = _reserve(self.room, np.uint64, packing.words)
        for first in range(0, self.count, 2**20):
            block = slice(first, min(first + 2**20, self.count))
            states[block] = self.packing.repack(self.states[block], packing)
        self.packing, self.states, self.room = packing, states, min(self.room, room)
        self.packings += 1
        self.rebuild()


def arrival_type(instances: int) -> np.dtype[Any]:
    """Return the data type for the numbers of action instances.

    Parameters:
        instances: the number of action instances.
    """
    return np.dtype(np.uint16 if instances < 2**16 else np.uint32)


def add_expanded(counters: NDArray[np.int64], more: Sequence[int] | NDArray[np.int64]) -> None:
    """Add the counters of further expanded states; see `kernel.append`."""
    if more[kernel.MOST] > 0 or more[kernel.DEADLOCKS]:  # otherwise, no expanded state was within `Spec.within`
        first = not (counters[kernel.MOST] or counters[kernel.DEADLOCKS])
        fewest, most = more[kernel.FEWEST], more[kernel.MOST]
        counters[kernel.FEWEST] = fewest if first else min(counters[kernel.FEWEST], fewest)
        counters[kernel.MOST] = max(counters[kernel.MOST], most)
    counters[kernel.EXPANDED] += more[kernel.EXPANDED]
    counters[kernel.DEADLOCKS] += more[kernel.DEADLOCKS]


def _reserve(room: int, kind: Any, *shape: int) -> tuple[NDArray[Any], int]:
    """Reserve an array with as many entries as possible, up to `room`. Return the array and its number of entries."""
    while True:  # an operating system allocates pages only when they are written
        try:
            return np.empty((room, *shape), kind), room
        except MemoryError:
            if room < SMALLEST_ROOM:
                raise
            room //= 2
