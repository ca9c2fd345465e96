"""The frontier of a random search: the states that have been found but not yet expanded.

Expanding a state means checking all of its next states. Next states that were not found before are added to the
frontier. States are expanded in random order, with a preference for states near the initial states. Therefore the
search soon reaches deep states, but also expands states near the initial states. It rarely expands a state twice,
whereas random walks often return to the same states.

The table shows the median number of steps until a random search found a known flaw. The first row and the last two rows
show the median for 100 seeds. The other rows show the median for 20 to 60 seeds; differences of less than a third
between these rows are not significant. The flaws and their bounds are those of `tests/bench/bench_walks.py`. Expanding
a state counts as one step.

===============================================  =========  =========  =========  ==========  =========
method of the search                             atomic/    rpc/hw-    rpc/       KAFKA-1211  KIP-101
                                                 kip-101    truncation kip-101
===============================================  =========  =========  =========  ==========  =========
random walks only; all steps are equally likely  22,767     59,277     6,782      12,893      448,647
walks only; they prefer next states that were    18,518     17,947     4,882      6,761       98,500
rarely visited, and begin near such states
the same; each walk avoids 5/8 of the action     5,502      24,825     5,411      5,184       81,792
instances where possible (swarm testing)
the same; walks prefer the rarest changes        >150,000   3,586                 805         >150,000
half of the steps expand states in the order     8,103      4,007      2,708      1,946       8,970
of their depth; walks may begin at these states
3/4 of the steps expand states in random order   3,056      1,464      4,191      863         11,135
the same; half of the expanded states are those  576        1,415      667        863         11,135
with the smallest `Spec.distance`
===============================================  =========  =========  =========  ==========  =========

When most steps expand states, it makes no difference whether walks prefer rarely visited states, begin at states
outside of the frontier, or avoid some actions.

Memory is limited. When the frontier is full, the states that would be expanded last are dropped. In the table of found
states, new entries overwrite old ones, so a state may be expanded again. All visited states are checked in any case.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.forest import with_room
from leadline.checker.engines.random.kernel import mark_paths, mixed

N = TypeVar("N", bound=np.generic)

FRONTIER = 2**17
"""The maximum number of states that are kept for expansion. If there are more, those that would be expanded last are
dropped."""

REMEMBERED = 2**22
"""The number of entries in the table of found states. It must be a power of 2."""

WORDS = 2**23
"""The maximum number of words of the packed states of the frontier."""

NEARER = 0.02
"""States are expanded in the order of the sum of a random number from 0 to 1 and this value times their depth."""


class Reached(NamedTuple):
    """States that a search has reached.

    Attributes:
        nodes: for each state, its node; see `Frontier`.
        hashes: for each state, the hash of its content.
        steps: for each state, the number of steps to it from an initial state.
        trees: for each state, the index of the action instance that led to it, or -1 for an initial state.
    """

    states: NDArray[np.uint64]
    nodes: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    steps: NDArray[np.int64]
    trees: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> Reached:
        """Return the states at the given indices."""
        states, nodes, hashes, steps, trees = self
        return Reached(states[places], nodes[places], hashes[places], steps[places], trees[places])

    def followed_by(self, other: Reached) -> Reached:
        """Return these states, followed by others."""
        return Reached(
            np.concatenate([self.states, other.states]),
            np.concatenate([self.nodes, other.nodes]),
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.steps, other.steps]),
            np.concatenate([self.trees, other.trees]),
        )


class Frontier:
    """The states that have not been expanded yet, and the steps that lead to them.

    A node is the index of a state in the arrays from which paths are reconstructed. There is a node for each state that
    is in the frontier or in which a walk is, and for each state on the path to such a state.

    Parameters:
        seed: the seed for the random order.
        words: the number of words of a packed state.

    Attributes:
        known: the table of found states.
        given_up: the number of states that were removed without being expanded, because the frontier was full.
    """

    def __init__(self, seed: int, words: int) -> None:
        self._most = FRONTIER
        self._seed, self.given_up = np.uint64(seed % 2**64), 0
        self.known = np.zeros(REMEMBERED, np.uint64)
        self._count = self._nodes_count = self._nodes_kept = 0
        # one entry for each state to be expanded, and room for more
        self._states, self._nodes = np.zeros((64, words), np.uint64), np.zeros(64, np.int64)
        self._turns, self._distances = np.zeros(64), np.zeros(64)
        # one entry for each node, and room for more
        self._parents, self._trees = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self._hashes, self._steps = np.zeros(64, np.uint64), np.zeros(64, np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def states(self) -> NDArray[np.uint64]:
        """The packed states to be expanded."""
        return self._states[: self._count]

    @states.setter
    def states(self, states: NDArray[np.uint64]) -> None:
        self._states = states

    @property
    def nodes(self) -> NDArray[np.int64]:
        """The nodes of the states to be expanded."""
        return self._nodes[: self._count]

    @property
    def nbytes(self) -> int:
        """The size of all arrays in memory, in bytes."""
        own = self.known, self._states, self._nodes, self._turns, self._distances
        return sum(array.nbytes for array in (*own, self._parents, self._trees, self._hashes, self._steps))

    def is_known(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return, for each of the given hashes, whether a state with this hash is in the table of found states."""
        known: NDArray[np.bool_] = self.known[self._places(hashes)] == hashes
        return known

    def note(self, hashes: NDArray[np.uint64]) -> None:
        """Add hashes to the table of found states. A uniform search notes what it has checked, and adds no states."""
        self.known[self._places(hashes)] = hashes

    def new_among(
        self, hashes: NDArray[np.uint64], nodes: NDArray[np.int64], trees: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Choose the states that are not in the table of found states, each of them once.

        Parameters:
            nodes: for each state, the node of its predecessor.
            trees: for each state, the index of the action instance that leads to it.

        Returns:
            The indices of these states, in an order that does not depend on the order of the arguments.
        """
        unknown = np.flatnonzero(~self.is_known(hashes))
        order = unknown[np.lexsort((trees[unknown], nodes[unknown], hashes[unknown]))]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = hashes[order[1:]] != hashes[order[:-1]]
        return order[is_first]

    def reach(
        self, before: NDArray[np.int64], trees: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return new nodes for states that were reached.

        Parameters:
            before: for each state, the node of its predecessor, or -1 for an initial state.
            trees: for each state, the index of the action instance that led to it, or -1 for an initial state.
        """
        nodes = self._nodes_count
        steps, later = np.zeros(len(before), np.int64), before >= 0
        steps[later] = self._steps[before[later]] + 1
        self._parents, self._trees = _with(self._parents, nodes, before), _with(self._trees, nodes, trees)
        self._hashes, self._steps = _with(self._hashes, nodes, hashes), _with(self._steps, nodes, steps)
        self._nodes_count = nodes + len(before)
        return np.arange(nodes, self._nodes_count)

    def reach_in_turn(self, before: int, trees: NDArray[np.int64], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return new nodes for states that were reached one after the other, the first from the node `before`."""
        first = self._nodes_count
        nodes = self.reach(np.full(len(trees), before), trees, hashes)
        self._parents[first + 1 : first + len(trees)] = nodes[:-1]
        self._steps[nodes] += nodes - first
        return nodes

    def add(
        self, states: NDArray[np.uint64], nodes: NDArray[np.int64], distances: NDArray[np.float64] | None = None
    ) -> None:
        """Add states to the frontier and to the table of found states.

        If the frontier is full, drop the states that would be expanded last.

        Parameters:
            states: the packed states; see `new_among`.
            nodes: the node of each state; see `reach`.
            distances: the result of `Spec.distance` for each state, or None if the spec does not define this function.
        """
        hashes, count = self._hashes[nodes], self._count
        self.note(hashes)
        turns = mixed.py_func(mixed.py_func(hashes ^ self._seed)) / 2.0**64 + NEARER * self._steps[nodes]
        self._states, self._nodes = _with(self._states, count, states), _with(self._nodes, count, nodes)
        self._turns = _with(self._turns, count, turns)
        self._distances = _with(self._distances, count, np.zeros(len(nodes)) if distances is None else distances)
        self._count = count + len(nodes)
        most = max(1, min(self._most, WORDS // max(self._states.shape[1], 1)))
        if self._count > most:
            self.given_up += self._count - most * 3 // 4
            is_last = np.ones(self._count, np.bool_)
            is_last[self.next_places(most * 3 // 4)] = False
            self._remove(np.flatnonzero(is_last))

    def next_places(self, most: int) -> NDArray[np.int64]:
        """Return the indices of the states to be expanded next.

        If the states have different distances, half of the indices are those of the states with the smallest distances.

        Parameters:
            most: the maximum number of states to return.
        """
        if most >= self._count:
            return np.arange(self._count)
        turns, distances = self._turns[: self._count].copy(), self._distances[: self._count]
        if most > 1 and np.ptp(distances) > 0:
            turns[_nearest(distances, turns, most // 2)] = -1
        return np.sort(np.argpartition(turns, most)[:most])

    def take(self, most: int) -> Reached:
        """Remove the states to be expanded next from the frontier, and return them.

        Parameters:
            most: the maximum number of states to return.
        """
        places = self.next_places(most)
        taken = self.at(self._states[places], self._nodes[places])
        self._remove(places)
        return taken

    def at(self, states: NDArray[np.uint64], nodes: NDArray[np.int64]) -> Reached:
        """Return states that were reached, with the hashes, the depths and the action instances of their nodes."""
        return Reached(states, nodes, self._hashes[nodes], self._steps[nodes], self._trees[nodes])

    def _remove(self, places: NDArray[np.int64]) -> None:
        """Remove the states at the given indices, and fill the gaps with states from the end of the arrays."""
        count = self._count - len(places)
        stays = np.ones(self._count, np.bool_)
        stays[places] = False
        last = count + np.flatnonzero(stays[count:])
        for array in (self._states, self._nodes, self._turns, self._distances):
            array[places[places < count]] = array[last]
        self._count = count

    def path(self, node: int) -> tuple[list[int], list[int]]:
        """Return the path from an initial state to a node.

        Returns:
            The index of each step's action instance, and the hash of each state on the path.
        """
        trees, hashes = [], [int(self._hashes[node])]
        while self._parents[node] >= 0:
            trees.append(int(self._trees[node]))
            node = int(self._parents[node])
            hashes.append(int(self._hashes[node]))
        return trees[::-1], hashes[::-1]

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        places: NDArray[np.uint64] = mixed.py_func(hashes) & np.uint64(len(self.known) - 1)
        return places

    def forget(self, held: NDArray[np.int64]) -> NDArray[np.int64]:
        """Delete nodes that are no longer needed, and renumber the others, if there are many nodes.

        Parameters:
            held: nodes that are needed, besides those of the states of the frontier and those on the paths.

        Returns:
            The new numbers of `held`.
        """
        if self._nodes_count <= 2 * self._nodes_kept + self._most:
            return held
        parents = self._parents[: self._nodes_count]
        wanted = np.zeros(len(parents), np.bool_)
        wanted[self._nodes[: self._count]] = wanted[held] = True
        mark_paths(parents, wanted)
        number, kept = np.cumsum(wanted) - 1, np.flatnonzero(wanted)
        self._nodes[: self._count] = number[self._nodes[: self._count]]
        self._parents = np.where(parents[kept] < 0, -1, number[parents[kept]])
        self._trees, self._hashes, self._steps = self._trees[kept], self._hashes[kept], self._steps[kept]
        self._nodes_count = self._nodes_kept = len(kept)
        return number[held]


def _nearest(distances: NDArray[np.float64], turns: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the states with the smallest distances.

    Parameters:
        turns: for each state, its position in the order of expansion. States with equal distances are chosen in this
            order.
        count: the number of states to return.
    """
    last = np.partition(distances, count - 1)[count - 1]
    nearer, tied = np.flatnonzero(distances < last), np.flatnonzero(distances == last)
    chosen = np.argpartition(turns[tied], count - len(nearer) - 1)[: count - len(nearer)]
    return np.concatenate([nearer, tied[chosen]])


def _with(array: NDArray[N], count: int, new: NDArray[N]) -> NDArray[N]:
    """Append entries to an array in which `count` entries are used. Return the array, or a larger copy if the array was
    full.
    """
    array = with_room(array, count + len(new))
    array[count : count + len(new)] = new
    return array
