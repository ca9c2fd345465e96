"""Decision trees, which store the results of actions and predicates in one flat array for compiled loops.

An inner node holds the slot that is read next. It has an edge for each value of this slot for which a call was made. A
leaf holds the result. The path of a state is the sequence of edges that match its values. If the path ends at a leaf,
the result is known, and the spec's function need not be called. If the path ends earlier, a recorded call extends the
tree. The target of an edge is stored as a code: the position of a node, a negative number for a leaf, or 0 if nothing
is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.trees import EDGES, FACTOR, JUMP, ROOM, SHIFT, SLOT
from leadline.checker.errors import SpecError
from leadline.checker.observing.step_slots import SECOND
from leadline.checker.result import Stop, StopKind

Entry = TypeVar("Entry", bound=np.generic)

UNKNOWN = 0

ALWAYS_DENSE = 64
"""If all value indices of a node are below this limit, the node stores its edges in an array, which is the fastest
way."""

LARGEST = 2**31 - 2**16
"""The maximum number of entries of the pool, because positions in it are 32-bit integers."""


ROOTS = 1024
"""The number of trees for whose roots there is room, so that a forest can be continued with other trees."""

ROOT_BYTES = 400
"""The approximate number of bytes that Python uses for a position of a divided call."""


class TablesFull(Exception):
    """Raised when the arrays have no room for more results."""


TABLES_FULL = Stop(StopKind.MEMORY, "learned more than the compiled engine's tables can hold")
"""The reason why a search stops when `TablesFull` is raised."""


class Forest:
    """Decision trees that are stored in a single array.

    Parameters:
        names: for each tree, the name of its action instance, predicate or distance, for error messages.

    Attributes:
        pool: the code of each tree's root, followed by the nodes; see `trees.SLOT`. A node and its first edges are
            adjacent, so that following an edge usually takes one memory access.
        compared: for each edge position in `pool`, whether the result of the path that ends at this edge has been
            checked against an actual call; see `comparison`.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._first = max(ROOTS, len(names) + 1)  # no node may be at position 0, because the code 0 means unknown
        self.pool = np.zeros(2 * self._first, np.int32)
        self.compared = np.zeros(len(self.pool), np.bool_)
        self._used = self._first
        self._free: dict[int, list[int]] = {}
        self._roots: dict[int, dict[Hashable, int]] = {}

    def of_trees(self, kept: Mapping[int, int], names: list[str]) -> Forest:
        """Return a forest that continues this one, which must not be used any more.

        Parameters:
            kept: the trees to keep, each with its index in the new forest. All others are deleted, and so are these if
                there is no room for the roots of the new forest.
            names: the names of the trees of the new forest.
        """
        made = Forest(names)
        if made._first > self._first:
            return made
        for tree in range(len(self.names)):
            if tree not in kept:
                self.forget(tree)
        codes = self.pool[[*kept]]
        made.pool, made.compared, made._used, made._free = self.pool, self.compared, self._used, self._free
        made._first = self._first
        made.pool[: self._first], made.compared[: self._first] = UNKNOWN, False
        made.pool[[*kept.values()]] = codes
        made._roots = {kept[tree]: roots for tree, roots in self._roots.items()}
        return made

    def root(self, tree: int, position: Hashable) -> int:
        """Return the place of the root of the tree for a position of a call. Add the tree if it does not exist.

        A function whose calls are divided has a tree for each position of its calls. A leaf with the code
        ``JUMP - root`` means that the call continues with the tree whose root is at `root`.

        Parameters:
            tree: the index of the function's tree, which begins at the first position.

        Raises:
            TablesFull: if there is no room.
        """
        roots = self._roots.setdefault(tree, {})
        place = roots.get(position)
        if place is None:
            place = self._take(1)
            if place > -JUMP:
                raise TablesFull
            roots[position] = place
        return place

    def learn(self, tree: int, reads: dict[int, int], leaf: int, root: int | None = None) -> None:
        """Store the reads and the result of a call as a path in a tree.

        Parameters:
            tree: the index of the tree.
            reads: the slots that the call read, each with the index of its value, in the order in which they were
                read.
            leaf: the code of the leaf, a negative number.
            root: the place of the root of the tree. None for the first tree of the function; see `root`.

        Raises:
            SpecError: if the tree has a different path or result for these values, which means that the function is not
                pure.
            TablesFull: if there is no room for the path.
        """
        place = tree if root is None else root
        pool = self.pool.data  # reading single numbers is much faster than from the array
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
        """Return the index of the leaf that a state or step reaches in a tree, or None if the path is not known.

        Parameters:
            tree: the index of the tree.
            row: the state, as one value index per slot; for a step predicate, the state before the step.
            after: the state after the step, for a step predicate.

        Returns:
            The index of the leaf: -1 minus the leaf's code.
        """
        _, code = self._walk(tree, row, after)
        return -code - 1 if code else None

    def in_its_order(
        self, tree: int, reads: dict[int, int], row: Sequence[int], after: Sequence[int] = ()
    ) -> dict[int, int]:
        """Return the reads of a call, ordered so that they continue an existing path of a tree.

        The result begins with the slots on the known part of the path. If the path does not end at a leaf, the
        remaining reads of the call follow. The path may contain slots that the call did not read. The path is then
        still correct, but applies to fewer states.

        Parameters:
            reads: see `learn`.
            tree, row, after: see `leaf`.
        """
        known, code = self._walk(tree, row, after, follow=False)
        return known if code else known | reads

    def _walk(
        self, tree: int, row: Sequence[int], after: Sequence[int], *, follow: bool = True
    ) -> tuple[dict[int, int], int]:
        """Walk a tree from its root along the path of a state or step.

        Parameters:
            tree, row, after: see `leaf`.
            follow: whether to continue with another tree of the same function; see `root`.

        Returns:
            Two values: the slots on the path, each with its value index; and the code at the end of the path.
        """
        pool, code = self.pool.data, self.pool.data[tree]
        reads: dict[int, int] = {}
        while code > UNKNOWN or code < JUMP:
            if code < JUMP:
                if not follow:
                    return reads, code
                code = pool[JUMP - code]
                continue
            slot = pool[code + SLOT]
            numbers, place = (row, slot) if slot < SECOND else (after, slot - SECOND)
            reads[slot] = number = numbers[place] if place < len(numbers) else 0
            edge = _edge(pool, code, number)
            code = UNKNOWN if edge == UNKNOWN else pool[edge]
        return reads, code

    def forget(self, tree: int) -> None:
        """Delete all paths of a tree."""
        roots = self._roots.pop(tree, {}).values()
        pool, waiting = self.pool.data, [self.pool.data[root] for root in (tree, *roots)]
        pool[tree] = UNKNOWN
        self._free.setdefault(1, []).extend(roots)
        while waiting:
            node = waiting.pop()
            if node > UNKNOWN:
                waiting += (code for _, code in self.edges(node))
                self._release(node)

    def edges(self, node: int) -> list[tuple[int, int]]:
        """Return a (value index, code) pair for each edge of a node. The code is the target of the edge."""
        pool, room = self.pool.data, self.pool.data[node + ROOM]
        first = node + EDGES
        if room >= 0:
            return [(number, pool[first + number]) for number in range(room) if pool[first + number]]
        keys = range(first, first - 2 * room, 2)
        return [(pool[key] - 1, pool[key + 1]) for key in keys if pool[key]]

    @property
    def nbytes(self) -> int:
        """The approximate number of bytes that the pool and the positions of divided calls use."""
        return 4 * self._used + ROOT_BYTES * sum(map(len, self._roots.values()))

    def _impure(self, tree: int) -> SpecError:
        return SpecError(f"{self.names[tree]} is not deterministic: the same state gave different outcomes")

    def _with_edge(self, node: int, slot: int, number: int) -> tuple[int, int]:
        """Add an edge, at first to code 0, to a node. If the node has no room for the edge, move the node.

        A node stores its edges in an array with an entry for each value index if the indices are small, or if at least
        a quarter of this array would be used. Otherwise, it stores them in a hash table.

        Parameters:
            node: the position of the node, or `UNKNOWN` to create a node.
            number: the index of the slot's value.

        Returns:
            The positions of the node and of the edge.
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
        """Allocate consecutive entries of the pool, set them to 0, and return the position of the first one.

        Raises:
            TablesFull: if the pool would be too large.
        """
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
    """Return the position of a node's edge for a value index, or 0 if the node has no such edge."""
    room = pool[node + ROOM]
    if room >= 0:
        return node + EDGES + number if number < room else UNKNOWN
    edge = _place(pool, node, number)
    return edge if pool[edge - 1] else UNKNOWN


def _place(pool: memoryview[int], node: int, number: int) -> int:
    """Look up an edge in a node's hash table by its value index, and return the edge's position.

    If the node does not have this edge, return the position at which it can be added.
    """
    mask = -pool[node + ROOM] - 1
    place = (number * FACTOR >> SHIFT) & mask
    while pool[node + EDGES + 2 * place] not in (0, number + 1):
        place = (place + 1) & mask
    return int(node + EDGES + 2 * place + 1)


def with_room(array: NDArray[Entry], wanted: int) -> NDArray[Entry]:
    """Return an array with at least `wanted` entries: the array itself, or a larger copy whose new entries are 0."""
    if wanted <= len(array):
        return array
    larger: NDArray[Entry] = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
