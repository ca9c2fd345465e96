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

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.forest import with_room
from leadline.checker.engines.random.arrays import widened
from leadline.checker.engines.random.kernel import mixed
from leadline.checker.settings import DEFAULT, Tuning

N = TypeVar("N", bound=np.generic)

NUMBERS = 2**24
"""The maximum number of integers in the rows of all states of the frontier together. A row has one integer for each
slot."""

NEARER = 0.02
"""States are expanded in the order of the sum of a random number from 0 to 1 and this value times their depth."""


class Arrivals(NamedTuple):
    """States that a search has reached, and the steps that led to them.

    Attributes:
        rows: for each state, the index of the value in each slot.
        hashes: for each state, the hash of its content.
        parents: for each state, the node of its predecessor (see `Frontier`), or -1 for an initial state.
        trees: for each state, the index of the action instance that led to it, or -1 for an initial state.
    """

    rows: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    parents: NDArray[np.int64]
    trees: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Arrivals]) -> Arrivals:
        """Return the states of all parts, concatenated."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.parents for part in parts]),
            np.concatenate([part.trees for part in parts]),
        )

    def at(self, places: NDArray[np.int64]) -> Arrivals:
        """Return the states at the given indices."""
        return Arrivals(self.rows[places], self.hashes[places], self.parents[places], self.trees[places])


class Starts(NamedTuple):
    """States where random walks may begin.

    Attributes:
        rows: for each state, the index of the value in each slot.
        steps: for each state, the number of steps to it from an initial state.
        trees: for each state, the index of the action instance of each step on the path to it.
        path: for each state, the hashes of all states on the path to it, from the initial state to the state itself.
    """

    rows: NDArray[np.int64]
    steps: NDArray[np.int64]
    trees: NDArray[np.int32]
    path: NDArray[np.uint64]


class Batch(NamedTuple):
    """States that have been removed from the frontier and are to be expanded next.

    Attributes:
        rows: for each state, the index of the value in each slot.
        nodes: for each state, its node; see `Frontier`.
        hashes: for each state, the hash of its content.
        steps: for each state, the number of steps to it from an initial state.
        trees: for each state, the index of the action instance that led to it, or -1 for an initial state.
    """

    rows: NDArray[np.int32]
    nodes: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    steps: NDArray[np.int64]
    trees: NDArray[np.int32]


class Frontier:
    """The states that have not been expanded yet, and the steps that lead to them.

    A node is the index of a state in the arrays from which paths are reconstructed. There is a node for each state that
    is in the frontier or is being expanded, and for each state on the path to such a state.

    Parameters:
        seed: the seed for the random order.
        slots: the number of slots of a state.
        tuning: the settings, including the sizes of the frontier and of the table of found states.

    Attributes:
        given_up: the number of states that were removed without being expanded, because the frontier was full.
    """

    def __init__(self, seed: int, slots: int, tuning: Tuning = DEFAULT) -> None:
        self._most = tuning.frontier
        self._seed, self.given_up = np.uint64(seed % 2**64), 0
        self._known = np.zeros(tuning.remembered, np.uint64)
        self._count = self._nodes_count = self._nodes_kept = 0
        # one entry for each state to be expanded, and room for more
        self._rows, self._nodes = np.zeros((64, slots), np.int32), np.zeros(64, np.int64)
        self._turns, self._distances = np.zeros(64), np.zeros(64)
        # one entry for each node, and room for more
        self._parents, self._trees = np.zeros(64, np.int64), np.zeros(64, np.int32)
        self._hashes, self._steps = np.zeros(64, np.uint64), np.zeros(64, np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[np.int32]:
        """For each state to be expanded, the index of the value in each slot."""
        return self._rows[: self._count]

    @rows.setter
    def rows(self, rows: NDArray[np.int32]) -> None:
        self._rows = rows

    @property
    def nbytes(self) -> int:
        """The size of all arrays in memory, in bytes."""
        own = self._known, self._rows, self._nodes, self._turns, self._distances
        return sum(array.nbytes for array in (*own, self._parents, self._trees, self._hashes, self._steps))

    def new_among(self, found: Arrivals) -> Arrivals:
        """Return the given states that are not in the table of found states, without duplicates.

        The result does not depend on the order of `found`.
        """
        order = np.lexsort((found.trees, found.parents, found.hashes))
        hashes = found.hashes[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = hashes[1:] != hashes[:-1]
        first = order[is_first]
        return found.at(first[self._known[self._places(found.hashes[first])] != found.hashes[first]])

    def add(self, new: Arrivals, distances: NDArray[np.float64] | None = None) -> None:
        """Add states to the frontier and to the table of found states.

        If the frontier is full, drop the states that would be expanded last.

        Parameters:
            new: the states; see `new_among`.
            distances: the result of `Spec.distance` for each state, or None if the spec does not define this function.
        """
        self._known[self._places(new.hashes)] = new.hashes
        steps = np.zeros(len(new.hashes), np.int64)
        inner = new.parents >= 0
        steps[inner] = self._steps[new.parents[inner]] + 1
        count, nodes = self._count, self._nodes_count
        self._rows = _with(self._rows, count, new.rows)
        self._nodes = _with(self._nodes, count, np.arange(nodes, nodes + len(steps)))
        self._turns = _with(self._turns, count, mixed.py_func(new.hashes ^ self._seed) / 2.0**64 + NEARER * steps)
        self._distances = _with(self._distances, count, np.zeros(len(steps)) if distances is None else distances)
        self._parents, self._trees = _with(self._parents, nodes, new.parents), _with(self._trees, nodes, new.trees)
        self._hashes, self._steps = _with(self._hashes, nodes, new.hashes), _with(self._steps, nodes, steps)
        self._count, self._nodes_count = count + len(steps), nodes + len(steps)
        most = max(1, min(self._most, NUMBERS // max(self._rows.shape[1], 1)))
        if self._count > most:
            self.given_up += self._count - most * 3 // 4
            self._remove(np.setdiff1d(np.arange(self._count), self.next_places(most * 3 // 4)))
        if self._nodes_count > 2 * self._nodes_kept + most:
            self._forget()

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

    def take(self, most: int) -> Batch:
        """Remove the states to be expanded next from the frontier, and return them.

        Parameters:
            most: the maximum number of states to return.
        """
        places = self.next_places(most)
        nodes = self._nodes[places]
        taken = Batch(self._rows[places], nodes, self._hashes[nodes], self._steps[nodes], self._trees[nodes])
        self._remove(places)
        return taken

    def _remove(self, places: NDArray[np.int64]) -> None:
        """Remove the states at the given indices, and fill the gaps with states from the end of the arrays."""
        count = self._count - len(places)
        last = np.setdiff1d(np.arange(count, self._count), places)
        for array in (self._rows, self._nodes, self._turns, self._distances):
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

    def starts(self, most: int, longest: int) -> Starts:
        """Return states where random walks may begin. They are the states to be expanded next.

        Parameters:
            most: the maximum number of states to return.
            longest: the maximum number of steps from an initial state to a state of the frontier.
        """
        chosen = self.next_places(most)
        rows, nodes = self._rows[chosen].astype(np.int64), self._nodes[chosen]
        trees, path = np.zeros((len(nodes), longest + 1), np.int32), np.zeros((len(nodes), longest + 1), np.uint64)
        before, places = nodes, np.arange(len(nodes))
        while len(places):
            steps = self._steps[before]
            path[places, steps] = self._hashes[before]
            inner = steps > 0
            places, before, steps = places[inner], before[inner], steps[inner]
            trees[places, steps - 1] = self._trees[before]
            before = self._parents[before]
        return Starts(rows, self._steps[nodes], trees, path)

    def widen(self, slots: int) -> None:
        """Add a column of zeros to the rows for each new slot.

        Parameters:
            slots: the number of slots of a state, including the new ones.
        """
        self._rows = widened(self._rows, slots)

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        places: NDArray[np.uint64] = mixed.py_func(hashes) & np.uint64(len(self._known) - 1)
        return places

    def _forget(self) -> None:
        """Delete the nodes that are not on the path to any state of the frontier, and renumber the remaining nodes."""
        parents = self._parents[: self._nodes_count]
        wanted = np.zeros(len(parents), np.bool_)
        some = self._nodes[: self._count]
        while len(some):
            wanted[some] = True
            some = np.unique(parents[some])
            some = some[some >= 0]
            some = some[~wanted[some]]
        number, kept = np.cumsum(wanted) - 1, np.flatnonzero(wanted)
        self._nodes[: self._count] = number[self._nodes[: self._count]]
        self._parents = np.where(parents[kept] < 0, -1, number[parents[kept]])
        self._trees, self._hashes, self._steps = self._trees[kept], self._hashes[kept], self._steps[kept]
        self._nodes_count = self._nodes_kept = len(kept)


def _nearest(distances: NDArray[np.float64], turns: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the states with the smallest distances.

    Parameters:
        distances: the distance of each state.
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
