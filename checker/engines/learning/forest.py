"""Decision trees: what was learned of actions and predicates, in one flat array that a compiled loop walks.

An inner node says which slot is read next, and has an edge for each value of that slot that was met; a leaf says what
then happens. A state whose path is known needs no Python; one whose path ends early costs one recorded call, which
extends the tree. A code is 0 where nothing is known, the place of a node, or negative for a leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.trees import EDGES, FACTOR, ROOM, SHIFT, SLOT
from leadline.checker.errors import SpecError
from leadline.checker.observing.step_slots import SECOND
from leadline.checker.result import Stop, StopKind

Entry = TypeVar("Entry", bound=np.generic)

UNKNOWN = 0

ALWAYS_DENSE = 64
"""Numbers below this have edges in a row, even if there are few: that is the fastest."""

LARGEST = 2**31 - 2**16
"""Entries of the pool, whose places are 32-bit numbers."""


class TablesFull(Exception):
    """There is more to learn than the arrays can hold."""


TABLES_FULL = Stop(StopKind.MEMORY, "learned more than the compiled engine's tables can hold")
"""Why a search ends then."""


class Forest:
    """Decision trees that share one array.

    Parameters:
        names: what each tree is of, for messages.

    Attributes:
        pool: first the code of each tree's root, then the nodes; see `trees.SLOT`. A node and its first edges lie side
            by side, so that a step of a walk costs one look into memory.
        compared: for each edge, whether the path that ends there was compared; see `comparison`.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.pool = np.zeros(max(1024, 2 * len(names) + 2), np.int32)
        self.compared = np.zeros(len(self.pool), np.bool_)
        self._used = len(names) + 1  # so that no node is at 0, which means unknown
        self._free: dict[int, list[int]] = {}

    def learn(self, tree: int, reads: dict[int, int], leaf: int) -> None:
        """Add a path to a tree.

        Parameters:
            tree: which.
            reads: the number of the value in each slot that was read, in the order of reading.
            leaf: the negative code at the end of the path.

        Raises:
            SpecError: the tree knows another path for these values: what was called is not a pure function.
            TablesFull: there is no room for it.
        """
        place, pool = tree, self.pool.data  # much faster than the array for single numbers
        for slot, number in reads.items():
            node = pool[place]
            if node < UNKNOWN or (node != UNKNOWN and pool[node + SLOT] != slot):
                raise self._impure(tree)
            if node != UNKNOWN and pool[node + ROOM] > number:
                place = node + EDGES + number
                continue
            edge = UNKNOWN if node == UNKNOWN else _edge(pool, node, number)
            if edge == UNKNOWN:
                node, edge = self._with_edge(node, slot, number)
                pool = self.pool.data
                pool[place] = node
            place = edge
        if pool[place] not in (UNKNOWN, leaf):
            raise self._impure(tree)
        pool[place] = leaf

    def leaf(self, tree: int, row: Sequence[int], after: Sequence[int] = ()) -> int | None:
        """The number of the leaf that rows of slot numbers reach in a tree; None if it is not known.

        Parameters:
            tree: which.
            row: of the state.
            after: of the state after a step, for a step predicate.
        """
        _, code = self._walk(tree, row, after)
        return -code - 1 if code else None

    def in_its_order(
        self, tree: int, reads: dict[int, int], row: Sequence[int], after: Sequence[int] = ()
    ) -> dict[int, int]:
        """The reads of a call, reordered so that they agree with what a tree reads first.

        The result begins with what the tree reads of these rows before it comes to an unknown edge, also what the call
        did not read: a path that reads more is exact too. The rest of the reads follow. If the tree comes to a leaf, it
        is what the tree reads.

        Parameters:
            reads: see `learn`.
            tree, row, after: see `leaf`.
        """
        known, code = self._walk(tree, row, after)
        return known if code else known | reads

    def _walk(self, tree: int, row: Sequence[int], after: Sequence[int]) -> tuple[dict[int, int], int]:
        """The slots that a tree reads of rows, with their numbers, and the code at the end."""
        pool, code, reads = self.pool.data, self.pool.data[tree], {}
        while code > UNKNOWN:
            slot = pool[code + SLOT]
            numbers, place = (row, slot) if slot < SECOND else (after, slot - SECOND)
            reads[slot] = number = numbers[place] if place < len(numbers) else 0
            edge = _edge(pool, code, number)
            code = UNKNOWN if edge == UNKNOWN else pool[edge]
        return reads, code

    def forget(self, tree: int) -> None:
        """Take back all that was learned of a tree."""
        pool, waiting = self.pool.data, [self.pool.data[tree]]
        pool[tree] = UNKNOWN
        while waiting:
            node = waiting.pop()
            if node > UNKNOWN:
                waiting += (code for _, code in self.edges(node))
                self._release(node)

    def edges(self, node: int) -> list[tuple[int, int]]:
        """The edges of a node: the number of the value of its slot, and where the edge leads."""
        pool, room = self.pool.data, self.pool.data[node + ROOM]
        first = node + EDGES
        if room >= 0:
            return [(number, pool[first + number]) for number in range(room) if pool[first + number]]
        keys = range(first, first - 2 * room, 2)
        return [(pool[key] - 1, pool[key + 1]) for key in keys if pool[key]]

    @property
    def nbytes(self) -> int:
        """Bytes that the trees take."""
        return 4 * self._used

    def _impure(self, tree: int) -> SpecError:
        return SpecError(f"{self.names[tree]} is not deterministic: the same state gave different outcomes")

    def _with_edge(self, node: int, slot: int, number: int) -> tuple[int, int]:
        """A node with one more edge, which leads nowhere yet: the node, which may be a new one, and the edge.

        A node has its edges in a row by their numbers while at least one in four is there, else in a hash table.
        """
        pool = self.pool.data
        old = 0 if node == UNKNOWN else pool[node + ROOM]
        if old >= 0 and number < ALWAYS_DENSE:
            room = max(number + 1, 2 * old, 2)
            made = self._take(EDGES + room)
            pool = self.pool.data
            pool[made + SLOT], pool[made + ROOM] = slot, room
            if old:
                pool[made + EDGES : made + EDGES + old] = pool[node + EDGES : node + EDGES + old]
                self._release(node)
            return made, made + EDGES + number
        edges = [] if node == UNKNOWN else self.edges(node)
        count = len(edges) + 1
        if old < 0 and 4 * count <= -3 * old:
            edge = _place(pool, node, number)
            pool[edge - 1] = number + 1
            return node, edge
        largest = max(number, max((known for known, _ in edges), default=0))
        dense = largest < max(4 * count, ALWAYS_DENSE)
        room = 2 << largest.bit_length() if dense else 2 << count.bit_length()
        made = self._take(EDGES + (room if dense else 2 * room))
        pool = self.pool.data
        pool[made + SLOT], pool[made + ROOM] = slot, room if dense else -room
        for known, code in edges:
            edge = made + EDGES + known if dense else _place(pool, made, known)
            pool[edge] = code
            if not dense:
                pool[edge - 1] = known + 1
        edge = made + EDGES + number if dense else _place(pool, made, number)
        if not dense:
            pool[edge - 1] = number + 1
        if node != UNKNOWN:
            self._release(node)
        return made, edge

    def _take(self, size: int) -> int:
        """The place of a run of unused entries of this size, all zero."""
        free = self._free.get(size)
        if free:
            place = free.pop()
            self.pool[place : place + size] = 0
            self.compared[place : place + size] = False
            return place
        place = self._used
        if place + size > LARGEST:
            raise TablesFull
        self._used += size
        self.pool, self.compared = with_room(self.pool, self._used), with_room(self.compared, self._used)
        return place

    def _release(self, node: int) -> None:
        room = int(self.pool[node + ROOM])
        self._free.setdefault(EDGES + (room if room >= 0 else -2 * room), []).append(node)


def _edge(pool: memoryview[int], node: int, number: int) -> int:
    """The edge of a node for a number, which may lead nowhere; 0 if there is none."""
    room = pool[node + ROOM]
    if room >= 0:
        return node + EDGES + number if number < room else UNKNOWN
    edge = _place(pool, node, number)
    return edge if pool[edge - 1] else UNKNOWN


def _place(pool: memoryview[int], node: int, number: int) -> int:
    """In a node with a hash table, where the edge for a number is, or would be."""
    mask = -pool[node + ROOM] - 1
    place = (number * FACTOR >> SHIFT) & mask
    while pool[node + EDGES + 2 * place] not in (0, number + 1):
        place = (place + 1) & mask
    return int(node + EDGES + 2 * place + 1)


def with_room(array: NDArray[Entry], wanted: int) -> NDArray[Entry]:
    """The array, or a larger copy with zeros at its end, with at least the wanted number of entries."""
    if wanted <= len(array):
        return array
    larger: NDArray[Entry] = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
