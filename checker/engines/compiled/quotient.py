"""A table of the states of a search that needs 4 to 12 bytes a state, and no look at the states.

The words of a state are divided into two halves. Each half has a number, in the order in which halves are found: there
are far fewer halves than states, because components change one at a time. (A half of several words is numbered from
the left: the number of what comes before and the number of the next word are one value. See Laarman, van de Pol and
Weber, "Parallel Recursive State Compression for Free", 2011.) The key of a state consists of both numbers. Numbering
is one to one, so two states are equal if and only if their keys are.

A key is mixed, which is one to one too, and divided by the number of entries of the table. The remainder says where the
state belongs, and only the quotient is stored (Cleary, "Compact Hash Tables Using Bidirectional Linear Probing", 1984;
here the distance to the place is stored in the entry). So nothing rests on a hash, and an entry has 32 bits for most
searches, otherwise 64.

A table cannot be enlarged by itself. It is made again from the states, which are read in order.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import quotient_loops as loops
from leadline.checker.engines.learning.arrays import Numbered
from leadline.checker.engines.learning.packing import WORD, Packing
from leadline.checker.engines.learning.workers import Workers

FULLEST = 0.72
"""The fraction of the entries that are used at most. With 0.8, distances of more than 9 bits occur in 10^9 entries."""

FEWEST_DISTANCES = 9
"""The number of bits for the distance that an entry has at least."""

MOST_DISTANCES = 16

FEWEST_BITS = 2
"""The minimum number of bits of a key. Mixing fewer is not one to one."""

SMALLEST = 4096
"""The minimum number of entries of a region."""

NUMBERS_FULLEST = 0.6

MOST_NUMBERED = 2**31
"""The number of values of a half for which no more room is made, so that a number has fewer than 32 bits."""

NUMBERED_AT_ONCE = 4096
"""The minimum number of values for which room is made. A state has fewer."""


class Outgrown(Exception):
    """Raised when a table has no room for keys as long as those of the states to enter, or for their distances. Some of
    these states may have been entered, so the table must be made again.

    Attributes:
        is_full: whether more entries are needed. Otherwise, longer keys are.
    """

    def __init__(self, is_full: bool) -> None:
        self.is_full = is_full
        super().__init__(is_full)


@attrs.frozen(eq=False)
class Candidates:
    """States to look up in the table, in the order in which they were found. For the arrays, see `SuccessorArrays`.

    Attributes:
        filled: for each part, the number of its states.
        keys, places: where keys and places are written.
        alone: whether to use this thread only.
    """

    found: NDArray[np.uint64]
    filled: NDArray[np.int64]
    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    routes: NDArray[np.uint32]
    regions: NDArray[np.int64]
    alone: bool


class QuotientTable:
    """An exact set of packed states. See the module.

    Attributes:
        table: the entries. The table is divided into regions, one for each thread.
    """

    def __init__(self, packing: Packing, workers: Workers) -> None:
        self._workers = workers
        self.forget(packing)
        self.table = np.zeros(0, np.uint32)
        self.begin(0)

    def forget(self, packing: Packing) -> None:
        """Forget all numbers, because the packing of the states has changed."""
        self._packing, self._halves = packing, [_nothing_numbered(), _nothing_numbered()]

    @property
    def nbytes(self) -> int:
        """The size of all arrays, in bytes."""
        return self.table.nbytes + sum(array.nbytes for half in self._halves for array in half)

    @property
    def room(self) -> int:
        """The number of states for which the table has room."""
        return int(FULLEST * len(self.table))

    def nbytes_for(self, states: int) -> int:
        """Return about how many bytes a table for a number of states takes."""
        return self._size(states) * self.table.itemsize

    def _size(self, states: int) -> int:
        regions = self._workers.count
        return regions * max(SMALLEST, 1 + int(states / FULLEST) // regions)

    def begin(self, states: int) -> None:
        """Make the table empty, with room for a number of states."""
        entries = self._size(states)
        self._widths = [min((2 * int(half.used[0])).bit_length() + 1, WORD // 2) for half in self._halves]
        self._bits = sum(self._widths) if self._packing.words > 1 else self._packing.bits_used
        self._bits = max(self._bits, FEWEST_BITS)
        quotient = (((1 << self._bits) - 1) // entries).bit_length()
        kind = np.dtype(np.uint32 if quotient + FEWEST_DISTANCES <= 32 else np.uint64)
        self._distances = min(8 * kind.itemsize - quotient, MOST_DISTANCES)
        self.table = np.zeros(0, kind)  # frees the old table before the new one is allocated
        self.table = np.zeros(entries, kind)

    def enter(self, some: Candidates) -> NDArray[np.int64]:
        """Find out which states are new, and enter them. `Candidates.places` of those that are not new become -1.

        Returns:
            The number of new states for each region and part.

        Raises:
            Outgrown: if the table must be made again.
        """
        if self._packing.words == 1 and self._packing.bits_used > self._bits:  # slots were added, with more bits
            raise Outgrown(is_full=False)
        parts = range(len(some.filled))
        missing = self._each(
            some, loops.make_keys, ((part, some.filled, some.found, some.keys, *self._numbered) for part in parts)
        )
        for part in parts:
            row = 0 if missing[part] else some.filled[part]
            while row < some.filled[part]:
                self._make_room()
                row = loops.number_missing(part, row, some.filled, some.found, some.keys, *self._halves)
            if missing[part]:
                loops.make_keys(part, some.filled, some.found, some.keys, *self._numbered)
        if any(int(half.used[0]) > 1 << width for half, width in zip(self._halves, self._widths, strict=True)):
            raise Outgrown(is_full=False)
        entries, regions = len(self.table), self._workers.count
        span = entries // regions
        self._each(
            some,
            loops.divide,
            (
                (
                    part, some.filled, some.keys, some.places, some.routes, some.regions, self._bits, entries, span
                )
                for part in parts
            ),
        )  # fmt: skip
        new = np.zeros((regions, len(some.filled)), np.int64)
        failed = self._each(
            some,
            loops.enter,
            (
                (region, some.keys, some.places, some.routes, some.regions, new, self.table, span, self._distances)
                for region in range(regions)
            ),
        )
        if any(is_too_far for is_too_far, _ in failed):
            raise Outgrown(is_full=True)
        return new

    @property
    def _numbered(self) -> tuple[Numbered, Numbered, int]:
        return self._halves[0], self._halves[1], self._widths[1]

    def _each(self, some: Candidates, loop: Any, arguments: Any) -> list[Any]:
        return self._workers.run(loop, list(arguments), some.alone)

    def _make_room(self) -> None:
        """Make room for the numbers of further halves of states."""
        for index, half in enumerate(self._halves):
            used, room = int(half.used[0]), len(half.values)
            if room - used < max(NUMBERED_AT_ONCE, used // 8):
                if room > MOST_NUMBERED:
                    raise MemoryError
                values = np.concatenate([half.values, np.empty(max(2 * NUMBERED_AT_ONCE, room // 2), np.uint64)])
                numbers = np.zeros(1 << int(len(values) / NUMBERS_FULLEST).bit_length(), np.uint32)
                loops.number_again(used, values, numbers)
                self._halves[index] = Numbered(values, numbers, half.used)


def _nothing_numbered() -> Numbered:
    return Numbered(np.empty(0, np.uint64), np.zeros(1, np.uint32), np.zeros(1, np.int64))
