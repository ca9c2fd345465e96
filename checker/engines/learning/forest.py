"""Decision trees, which store what was learned about actions and predicates in one flat array for compiled loops.

An inner node names the slot that is read next, and has an edge for each value of this slot that was met; a leaf gives
the result. A state whose path is known needs no Python. A state whose path ends early costs one recorded call, which
extends the tree. A code is 0 if nothing is known, the position of a node, or negative for a leaf.
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
"""Nodes whose numbers are all below this store their edges in an array, even a sparse one. This is the fastest."""

LARGEST = 2**31 - 2**16
"""The maximum number of entries of the pool, as positions in it are 32-bit numbers."""


class TablesFull(Exception):
    """Raised when there is more to learn than the arrays can hold."""


TABLES_FULL = Stop(StopKind.MEMORY, "learned more than the compiled engine's tables can hold")
"""The reason for which a search ends when the tables are full."""


class Forest:
    """Decision trees that share one array.

    Parameters:
        names: the name of each tree's action, predicate or distance, for messages.

    Attributes:
        pool: the code of each tree's root, followed by the nodes; see `trees.SLOT`. A node and its first edges are
            adjacent, so that each step of a walk costs one memory access.
        compared: for each edge, whether the path that ends there has been compared; see `comparison`.
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
            tree: the index of the tree.
            reads: the number of the value in each slot that was read, in the order of reading.
            leaf: the negative code at the end of the path.

        Raises:
            SpecError: the tree has a different path for these values, so the called function is not pure.
            TablesFull: there is no room for the path.
        """
        place, pool = tree, self.pool.data  # much faster than the array for reading single numbers
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
        """Return the number of the leaf that a state or a step reaches in a tree; None if unknown.

        Parameters:
            tree: the index of the tree.
            row: the slot numbers of the state.
            after: the slot numbers of the state after the step, for a step predicate.
        """
        _, code = self._walk(tree, row, after)
        return -code - 1 if code else None

    def in_its_order(
        self, tree: int, reads: dict[int, int], row: Sequence[int], after: Sequence[int] = ()
    ) -> dict[int, int]:
        """Return the reads of a call, reordered so that they begin like an existing path of a tree.

        The result begins with the slots that the tree reads in these rows before it reaches an unknown edge, including
        slots that the call did not read: a path that reads more is exact too. The remaining reads follow. If the tree
        reaches a leaf, the result is only what the tree reads.

        Parameters:
            reads: see `learn`.
            tree, row, after: see `leaf`.
        """
        known, code = self._walk(tree, row, after)
        return known if code else known | reads

    def _walk(self, tree: int, row: Sequence[int], after: Sequence[int]) -> tuple[dict[int, int], int]:
        """Return the slots that a tree reads in the rows, with their numbers, and the code at the end of the path."""
        pool, code, reads = self.pool.data, self.pool.data[tree], {}
        while code > UNKNOWN:
            slot = pool[code + SLOT]
            numbers, place = (row, slot) if slot < SECOND else (after, slot - SECOND)
            reads[slot] = number = numbers[place] if place < len(numbers) else 0
            edge = _edge(pool, code, number)
            code = UNKNOWN if edge == UNKNOWN else pool[edge]
        return reads, code

    def forget(self, tree: int) -> None:
        """Delete everything that a tree has learned."""
        pool, waiting = self.pool.data, [self.pool.data[tree]]
        pool[tree] = UNKNOWN
        while waiting:
            node = waiting.pop()
            if node > UNKNOWN:
                waiting += (code for _, code in self.edges(node))
                self._release(node)

    def edges(self, node: int) -> list[tuple[int, int]]:
        """Return the edges of a node: for each, the number of the slot's value and the code to which the edge leads."""
        pool, room = self.pool.data, self.pool.data[node + ROOM]
        first = node + EDGES
        if room >= 0:
            return [(number, pool[first + number]) for number in range(room) if pool[first + number]]
        keys = range(first, first - 2 * room, 2)
        return [(pool[key] - 1, pool[key + 1]) for key in keys if pool[key]]

    @property
    def nbytes(self) -> int:
        """The memory used by the trees, in bytes."""
        return 4 * self._used

    def _impure(self, tree: int) -> SpecError:
        return SpecError(f"{self.names[tree]} is not deterministic: the same state gave different outcomes")

    def _with_edge(self, node: int, slot: int, number: int) -> tuple[int, int]:
        """Add an edge, which leads nowhere yet, to a node. Return the node, which may be a new one, and the edge.

        A node stores its edges in an array indexed by number if at least one in four exists, else in a hash table.
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
        """Return the position of consecutive unused entries of the given size, all zero."""
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
    """Return the position of a node's edge for a number, which may lead nowhere; 0 if there is no edge."""
    room = pool[node + ROOM]
    if room >= 0:
        return node + EDGES + number if number < room else UNKNOWN
    edge = _place(pool, node, number)
    return edge if pool[edge - 1] else UNKNOWN


def _place(pool: memoryview[int], node: int, number: int) -> int:
    """Return the position at which a node with a hash table has, or would have, the edge for a number."""
    mask = -pool[node + ROOM] - 1
    place = (number * FACTOR >> SHIFT) & mask
    while pool[node + EDGES + 2 * place] not in (0, number + 1):
        place = (place + 1) & mask
    return int(node + EDGES + 2 * place + 1)


def with_room(array: NDArray[Entry], wanted: int) -> NDArray[Entry]:
    """Return the array if it has at least the wanted number of entries, else a larger copy with zeros at its end."""
    if wanted <= len(array):
        return array
    larger: NDArray[Entry] = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
