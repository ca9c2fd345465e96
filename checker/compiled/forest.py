"""Decision trees: what was learned of actions and predicates, as flat arrays that a compiled loop walks.

An inner node says which slot is read next, and has an edge for each value of that slot; a leaf says what
then happens. A state whose path is known needs no Python; one whose path ends early costs one recorded
call, which extends the tree. A code is 0 where nothing is known, n + 1 for node n, and negative for a leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.errors import SpecError

UNKNOWN = 0


class Forest:
    """Decision trees that share their arrays.

    Parameters:
        names: what each tree is of, for messages.

    Attributes:
        roots: the code of each tree's root.
        node_slot, node_base, node_room: for each node, the slot it reads, where its edges begin, and for
            how many values it has room.
        edges: a code for each value of each node's slot.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.roots = np.zeros(len(names), np.int32)
        self.node_slot = np.zeros(16, np.int32)
        self.node_base = np.zeros(16, np.int32)
        self.node_room = np.zeros(16, np.int32)
        self.edges = np.zeros(64, np.int32)
        self._nodes = 0
        self._edges_used = 0

    def learn(self, tree: int, reads: dict[int, int], leaf: int) -> None:
        """Add a path to a tree.

        Parameters:
            tree: which.
            reads: the number of the value in each slot that was read, in the order of reading.
            leaf: the negative code at the end of the path.

        Raises:
            SpecError: the tree knows another path for these values: what was called is not a pure function.
        """
        codes, place = self.roots, tree
        for slot, number in reads.items():
            node = int(codes[place]) - 1
            if node == UNKNOWN - 1:
                at_root = codes is self.roots
                node = self._new_node(slot)
                codes = self.roots if at_root else self.edges  # which may be a larger array now
                codes[place] = node + 1
            if node < 0 or self.node_slot[node] != slot:
                raise self._impure(tree)
            if number >= self.node_room[node]:
                self._more_room(node, number + 1)
            codes, place = self.edges, int(self.node_base[node]) + number
        if codes[place] not in (UNKNOWN, leaf):
            raise self._impure(tree)
        codes[place] = leaf

    def _impure(self, tree: int) -> SpecError:
        return SpecError(f"{self.names[tree]} is not deterministic: the same state gave different outcomes")

    def _new_node(self, slot: int) -> int:
        node = self._nodes
        self._nodes += 1
        self.node_slot = with_room(self.node_slot, self._nodes)
        self.node_base = with_room(self.node_base, self._nodes)
        self.node_room = with_room(self.node_room, self._nodes)
        self.node_slot[node], self.node_base[node], self.node_room[node] = slot, self._edges_used, 0
        self._more_room(node, 2)
        return node

    def _more_room(self, node: int, wanted: int) -> None:
        """Give a node a larger block of edges, at the end; the old one is left behind."""
        base, room = int(self.node_base[node]), int(self.node_room[node])
        larger = max(wanted, 2 * room)
        self.edges = with_room(self.edges, self._edges_used + larger)
        self.edges[self._edges_used : self._edges_used + room] = self.edges[base : base + room]
        self.node_base[node], self.node_room[node] = self._edges_used, larger
        self._edges_used += larger


def with_room(array: NDArray[Any], wanted: int) -> NDArray[Any]:
    """The array, or a larger copy with zeros behind, so that it has so many entries."""
    if wanted <= len(array):
        return array
    larger = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
