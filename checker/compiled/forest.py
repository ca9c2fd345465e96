"""Decision trees: what was learned of actions and predicates, in one flat array that a compiled loop walks.

An inner node says which slot is read next, and has an edge for each value of that slot; a leaf says what
then happens. A state whose path is known needs no Python; one whose path ends early costs one recorded
call, which extends the tree. A code is 0 where nothing is known, the place of a node, or negative for a leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.compiled.kernel import EDGES, ROOM, SLOT
from checker.errors import SpecError

UNKNOWN = 0


class Forest:
    """Decision trees that share one array.

    Parameters:
        names: what each tree is of, for messages.

    Attributes:
        pool: first the code of each tree's root, then the nodes; see `SLOT`, `ROOM` and `EDGES`. A node and
            its first edges lie side by side, so that a step of a walk costs one look into memory.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.pool = np.zeros(max(1024, 2 * len(names) + 2), np.int32)
        self._used = len(names) + 1  # so that no node is at 0, which means unknown

    def learn(self, tree: int, reads: dict[int, int], leaf: int) -> None:
        """Add a path to a tree.

        Parameters:
            tree: which.
            reads: the number of the value in each slot that was read, in the order of reading.
            leaf: the negative code at the end of the path.

        Raises:
            SpecError: the tree knows another path for these values: what was called is not a pure function.
        """
        pool, place = self.pool.data, tree  # much faster than the array for single numbers
        for slot, number in reads.items():
            node = pool[place]
            if node < UNKNOWN or (node != UNKNOWN and pool[node + SLOT] != slot):
                raise self._impure(tree)
            room = 0 if node == UNKNOWN else pool[node + ROOM]
            if number >= room:
                node = self._moved(place, node, slot, room, max(number + 1, 2 * room, 2))
                pool = self.pool.data
            place = node + EDGES + number
        if pool[place] not in (UNKNOWN, leaf):
            raise self._impure(tree)
        pool[place] = leaf

    def leaf(self, tree: int, row: Sequence[int]) -> int | None:
        """The number of the leaf that a row of slot numbers reaches in a tree; None if it is not known."""
        pool = self.pool.data
        code = pool[tree]
        while code > UNKNOWN:
            number = row[pool[code + SLOT]]
            code = pool[code + EDGES + number] if number < pool[code + ROOM] else UNKNOWN
        return -code - 1 if code else None

    def forget(self, tree: int) -> None:
        """Take back all that was learned of a tree."""
        self.pool[tree] = UNKNOWN

    def _impure(self, tree: int) -> SpecError:
        return SpecError(f"{self.names[tree]} is not deterministic: the same state gave different outcomes")

    def _moved(self, place: int, node: int, slot: int, room: int, wanted: int) -> int:
        """Make a node with so many edges, at the end, of an old one with fewer or of none. It is at a place."""
        made = self._used
        self._used += EDGES + wanted
        if self._used > len(self.pool):
            self.pool = with_room(self.pool, self._used)
        pool = self.pool.data
        pool[made + SLOT], pool[made + ROOM] = slot, wanted
        pool[made + EDGES : made + EDGES + room] = pool[node + EDGES : node + EDGES + room]
        pool[place] = made
        return made


def with_room(array: NDArray[Any], wanted: int) -> NDArray[Any]:
    """The array, or a larger copy with zeros behind, so that it has so many entries."""
    if wanted <= len(array):
        return array
    larger = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
