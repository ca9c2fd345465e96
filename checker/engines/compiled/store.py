"""Stores the states that a search has found, with the predecessor of each state, and a hash table of the states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.buffers import Buffers
from leadline.checker.engines.learning.arrays import Kept, Packed
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.observing.layout import Layout

MOST_STATES = 2**32 - 2**27
"""The maximum number of states in a store.

The index of a state has 32 bits. All next states of a block get an index, even if they are not new.
"""

LARGEST_TABLE = 2**32 - 2**16
"""The maximum number of entries of the hash table, because 32 bits of the hash select the entry.

Even if all states are stored, enough entries are free that no region of the table overflows.
"""

SMALLEST_TABLE = 4096
"""The minimum number of table entries for each worker's region. A smaller region could overflow by chance."""

INTERRUPTIBLE = 2**22
"""The number of states that are loaded, checked or added to the hash table between two tests for Ctrl-C."""

SMALLEST_ROOM = 2**16
FULLEST = 0.7
GROWTH = 1.5


class NotASearch(ValueError):
    """Raised when saved states and steps are inconsistent, so that no search could have produced them."""


class Store:
    """Stores states in the order of discovery.

    The arrays are allocated once, with room for as many states as fit into memory, so they never have to be copied. The
    operating system assigns memory to a page only when the page is written.

    Parameters:
        instances: the number of action instances.
        memory: the number of bytes that the arrays may use.
        workers: the threads that fill the hash table.
        first: the number of initial states.
        constrained: whether the spec has a constraint, `Spec.within`.

    Attributes:
        states: the packed states. The shape is (room, words).
        parents, arrivals: for each state, its predecessor and the action instance of the step between them.
        outside: for each state, whether it violates `Spec.within`. Empty if the spec has no constraint.
        room: the number of states that the arrays can hold.
        table: a hash table with open addressing. An entry consists of half of a state's hash and the state's index plus
            one. An empty entry is 0.
        counters: the counters of `kernel.append`, such as the number of states.
        loaded: the number of states that were loaded from a saved search. All of them are in the hash table, but they
            count as found only after the search has found them again; see `load`.
    """

    def __init__(
        self,
        packing: Packing,
        instances: int,
        memory: int,
        workers: Workers,
        first: int,
        constrained: bool = False,
    ) -> None:
        self.packing, self.workers = packing, workers
        self.loaded = 0
        self.counters = np.zeros(kernel.COUNTERS, np.int64)
        self._arrival_type = arrival_type(instances)
        room = max(first, SMALLEST_ROOM, min(MOST_STATES, memory // self.bytes_per_state))
        self.states, room = self._reserve("states", room, np.uint64, packing.words)
        self.parents, room = self._reserve("parents", room, np.uint32)
        self.arrivals, self.room = self._reserve("arrivals", room, self._arrival_type)
        self.outside = np.zeros(0, np.bool_)
        if constrained:
            self.outside, self.room = self._reserve("outside", self.room, np.bool_)
        self.table = np.zeros(SMALLEST_TABLE * workers.count, np.uint64)

    def _reserve(self, name: str, room: int, kind: Any, *shape: int) -> tuple[NDArray[Any], int]:
        """Allocate a column with as many entries as possible, but at most `room`. Return the column and its number of
        entries.
        """
        return _reserved(room, kind, *shape)

    @staticmethod
    def packing_of(layout: Layout, spare: int = 0) -> Packing:
        """Return a packing for the values that have been found.

        Parameters:
            spare: see `Packing`.
        """
        return Packing(layout.sizes(), spare)

    @property
    def count(self) -> int:
        """The number of states found so far."""
        return int(self.counters[kernel.STATES])

    @property
    def stored(self) -> int:
        """The number of states in the arrays and in the hash table, including loaded states not yet found again."""
        return max(self.count, self.loaded)

    @property
    def packed(self) -> Packed:
        """The states and their packing, as a named tuple for compiled loops."""
        return Packed(self.states, self.outside, self.packing.word, self.packing.shift, self.packing.mask)

    @property
    def kept(self) -> Kept:
        """The states, their predecessors and the hash table, as a named tuple for compiled loops."""
        return Kept(self.states, self.parents, self.arrivals, self.outside, self.table)

    @property
    def indexed(self) -> Kept:
        """What `kept` returns, with a hash table that tells the index of each state."""
        return self.kept

    @property
    def bytes_in_files(self) -> int:
        """The number of bytes that the states and their predecessors use in files."""
        return 0

    @property
    def bytes_used(self) -> int:
        """The number of bytes that the states, their predecessors and the hash table use."""
        return self.stored * self.bytes_per_state + self.table.nbytes

    @property
    def bytes_per_state(self) -> int:
        """The number of bytes that a state and the step to it use, without the hash table."""
        return 8 * self.packing.words + 4 + self._arrival_type.itemsize

    def add(self, packed: NDArray[np.uint64]) -> None:
        """Add packed states, such as the initial states. They must be distinct, and must not be in the store yet.

        Parameters:
            packed: a row of words for each state.
        """
        first, last = self.count, self.count + len(packed)
        self.states[first:last], self.parents[first:last], self.arrivals[first:last] = packed, 0, 0
        self.counters[kernel.STATES] = last
        self.rebuild()

    def load(self, count: int, initials: int, sizes: Sequence[int], instances: int) -> None:
        """Take the states of a saved search, which have been written to the arrays of an empty store. Only the initial
        states then count as found.

        Parameters:
            count: the number of states.
            initials, sizes, instances: see `check`.

        Raises:
            NotASearch: if the states are inconsistent, so that no search can have saved them.
        """
        self.loaded = count
        self.check(initials, sizes, instances)
        self.rebuild()
        self.counters[kernel.STATES] = initials

    def found_from(self, last: int) -> int:
        """Return the index after the loaded states whose predecessors come before the state with index `last`."""
        return int(np.searchsorted(self.parents[self.count : self.loaded], np.uint32(last))) + self.count

    def add_counters(self, more: NDArray[np.int64]) -> None:
        """Add the counters that `kernel.append` has set for one part of a block."""
        self.counters[kernel.STATES] = max(self.counters[kernel.STATES], more[kernel.STATES])
        self.counters[kernel.DEGREE] += more[kernel.DEGREE]
        add_expanded(self.counters, more)

    def bytes_for(self, count: int) -> int:
        """Return the number of bytes that `count` states take in memory when they are loaded into an empty store."""
        return count * self.bytes_per_state + self.bytes_to_grow(count)

    def bytes_to_repack(self, packing: Packing) -> int:
        """Return the number of bytes that the states take in memory with a different packing."""
        return 8 * packing.words * self.stored

    def allocate(self, count: int) -> None:
        """Make sure that `count` states can be written."""

    def settle(self) -> None:
        """Make sure that what has been written can be read again. Raise StopSearch if it cannot."""

    def bytes_to_grow(self, coming: int) -> int:
        """Return the number of bytes by which the hash table must grow before `coming` more states are added."""
        return max(0, 8 * self._table_size(coming) - self.table.nbytes)

    def grow(self, coming: int) -> None:
        """Enlarge the hash table if it has no room for `coming` more states."""
        if self._table_size(coming) > len(self.table):
            self.rebuild(coming)

    def insert(self, buffers: Buffers, filled: NDArray[np.int64], alone: bool) -> NDArray[np.int64]:
        """Find out which of the next states of a block are new, and enter them into the table.

        Parameters:
            buffers: the next states. `Buffers.places` tells which are new (an output); see `kernel.insert`.
            filled: for each part, the number of its next states.
            alone: whether to use this thread only.

        Returns:
            The number of new states for each region of the table and each part.
        """
        entered = np.zeros((self.workers.count, len(filled)), np.int64)
        self.workers.run(
            kernel.insert,
            [
                (
                    region, self.stored, buffers.regions, buffers.routes,
                    buffers.found.reshape(-1, self.packing.words), buffers.hashes, buffers.places, entered,
                    self.states, self.table,
                )
                for region in range(self.workers.count)
            ],
            alone=alone,
        )  # fmt: skip
        return entered

    def _table_size(self, coming: int) -> int:
        wanted = max(int((self.stored + coming) / FULLEST), SMALLEST_TABLE * self.workers.count)
        if wanted <= len(self.table):
            return len(self.table)
        return min(max(wanted, int(len(self.table) * GROWTH)), LARGEST_TABLE)

    def rebuild(self, coming: int = 0) -> None:
        """Rebuild the hash table. Enlarge it if it has no room for `coming` more states.

        Raises:
            NotASearch: if two states are equal.
        """
        regions, size = self.workers.count, self._table_size(coming)
        if size > len(self.table):
            self.table = np.empty(0, np.uint64)  # frees the old table before the new one is allocated
            self.table = np.empty((size + regions - 1) // regions * regions, np.uint64)
        for first in range(0, max(self.stored, 1), INTERRUPTIBLE):
            last = min(first + INTERRUPTIBLE, self.stored)
            found = self.workers.run(
                kernel.rebuild,
                [(region, regions, first, last, self.states, self.table) for region in range(regions)],
                alone=self.stored < 10_000,
            )
            equal = max(index for index, _ in found)
            if equal >= 0:
                raise NotASearch(f"state {equal} is equal to an earlier state")

    def check(self, initials: int, sizes: Sequence[int], instances: int) -> None:
        """Check the consistency of states and steps that have been read from a checkpoint.

        Parameters:
            initials: the number of initial states.
            sizes: for each slot, the number of its values.
            instances: the number of action instances.

        Raises:
            NotASearch: if a state contains a value index outside the range of its slot, or if the step to a state is
                not possible.
        """
        packing = self.packing
        for first in range(0, self.stored, INTERRUPTIBLE):
            last = min(first + INTERRUPTIBLE, self.stored)
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
        """Repack all states with a different packing."""
        states, room = self._reserve("states", self.room, np.uint64, packing.words)
        for first in range(0, self.stored, 2**20):
            block = slice(first, min(first + 2**20, self.stored))
            states[block] = self.packing.repack(self.states[block], packing)
        self.packing, self.states, self.room = packing, states, min(self.room, room)
        self.rebuild()


def arrival_type(instances: int) -> np.dtype[Any]:
    """Return the smallest data type that can hold the index of every action instance.

    Parameters:
        instances: the number of action instances.
    """
    return np.dtype(np.uint16 if instances < 2**16 else np.uint32)


def add_expanded(counters: NDArray[np.int64], more: Sequence[int] | NDArray[np.int64]) -> None:
    """Add to `counters` those entries of `more` that describe expanded states; see `kernel.STATES`."""
    if more[kernel.MOST] > 0 or more[kernel.DEADLOCKS]:  # otherwise, no expanded state satisfied `Spec.within`
        first = not (counters[kernel.MOST] or counters[kernel.DEADLOCKS])
        fewest, most = more[kernel.FEWEST], more[kernel.MOST]
        counters[kernel.FEWEST] = fewest if first else min(counters[kernel.FEWEST], fewest)
        counters[kernel.MOST] = max(counters[kernel.MOST], most)
    counters[kernel.EXPANDED] += more[kernel.EXPANDED]
    counters[kernel.DEADLOCKS] += more[kernel.DEADLOCKS]


def _reserved(room: int, kind: Any, *shape: int) -> tuple[NDArray[Any], int]:
    """Allocate an array with as many entries as possible, but at most `room`. Return the array and its number of
    entries.
    """
    while True:  # this uses no memory yet: pages are allocated when they are written
        try:
            return np.empty((room, *shape), kind), room
        except MemoryError:
            if room < SMALLEST_ROOM:
                raise
            room //= 2
