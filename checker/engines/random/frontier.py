"""The frontier of a random search: states that were found and are to be expanded, in random order.

All next states of a state that is expanded are checked, and the new ones join the frontier. Which state is expanded
next is random, with an advantage for states near the start. So a search goes deep soon, does not forget what is near,
and rarely expands a state twice, whereas walks keep returning to the same states.

The table shows the gain, in median steps to a flaw over 100 seeds (20 to 60 seeds in all rows except the first and the
last two; in these rows, differences of less than a third mean little). The flaws and their bounds are those of
`tests/bench/bench_walks.py`, and a state that is expanded counts as a step:

===============================================  =========  =========  =========  ==========  =========
method of the search                             atomic/    rpc/hw-    rpc/       KAFKA-1211  KIP-101
                                                 kip-101    truncation kip-101
===============================================  =========  =========  =========  ==========  =========
it walks, and chooses all steps alike            22,767     59,277     6,782      12,893      448,647
it walks to the least visited next states, and   18,518     17,947     4,882      6,761       98,500
from states near rarely visited ones
the same; and in each walk it avoids 5/8 of the  5,502      24,825     5,411      5,184       81,792
action instances where it can (a swarm)
the same, by the least frequent changes          >150,000   3,586                 805         >150,000
half of the steps expand states in the order     8,103      4,007      2,708      1,946       8,970
of their depth; walks begin at these too
3/4 of the steps expand states at random         3,056      1,464      4,191      863         11,135
the same; half of the states expanded are those  576        1,415      667        863         11,135
with the least distance that the specs give
===============================================  =========  =========  =========  ==========  =========

With expansion, other guidance for walks no longer made a difference: preferring rarely visited states, beginning
elsewhere than in the frontier, and avoiding some actions.

Memory is bounded. A full frontier gives up the states that would be expanded last. The table of found states overwrites
old entries, so a state may be expanded again. Neither can make the search overlook a violation in a state that it
checks.
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
"""The maximum number of numbers in the rows of all states of the frontier."""

NEARER = 0.02
"""Added for each step from the start to the random number from 0 to 1 that orders the states; the smallest is first."""


class Arrivals(NamedTuple):
    """States that were reached, and the step that led to each.

    Attributes:
        rows: for each state, the numbers of its slots' values.
        hashes: the hashes of their contents.
        parents: the nodes of the states before; -1 for initial states.
        trees: the action instances; -1 for initial states.
    """

    rows: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    parents: NDArray[np.int64]
    trees: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Arrivals]) -> Arrivals:
        """Concatenate the states of all parts."""
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
    """States at which walks may begin.

    Attributes:
        rows: for each state, the numbers of its slots' values.
        steps, trees, path: for each state, the number of steps to it from an initial state; their action instances; and
            the hashes of the states from the initial state to it.
    """

    rows: NDArray[np.int64]
    steps: NDArray[np.int64]
    trees: NDArray[np.int32]
    path: NDArray[np.uint64]


class Batch(NamedTuple):
    """States removed from the frontier to be expanded now.

    Attributes:
        rows: for each state, the numbers of its slots' values.
        nodes, hashes, steps, trees: for each state, its node; the hash of its content; the number of steps to it from
            an initial state; and the action instance of the last of these steps, -1 for an initial state.
    """

    rows: NDArray[np.int32]
    nodes: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    steps: NDArray[np.int64]
    trees: NDArray[np.int32]


class Frontier:
    """States to be expanded, and the steps that lead to them.

    A node is the number of a state that is in the frontier, is being expanded, or is an ancestor of one.

    Parameters:
        seed: the seed of the random order.
        slots: the number of slots of a state.
        tuning: the size of the frontier, and of the table of found states.

    Attributes:
        given_up: states that were removed because there was no room.
    """

    def __init__(self, seed: int, slots: int, tuning: Tuning = DEFAULT) -> None:
        self._most = tuning.frontier
        self._seed, self.given_up = np.uint64(seed % 2**64), 0
        self._known = np.zeros(tuning.remembered, np.uint64)
        self._count = self._nodes_count = self._nodes_kept = 0
        # arrays of the states to be expanded, with room for more
        self._rows, self._nodes = np.zeros((64, slots), np.int32), np.zeros(64, np.int64)
        self._turns, self._distances = np.zeros(64), np.zeros(64)
        # arrays of the nodes
        self._parents, self._trees = np.zeros(64, np.int64), np.zeros(64, np.int32)
        self._hashes, self._steps = np.zeros(64, np.uint64), np.zeros(64, np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows of the states to be expanded."""
        return self._rows[: self._count]

    @rows.setter
    def rows(self, rows: NDArray[np.int32]) -> None:
        self._rows = rows

    @property
    def nbytes(self) -> int:
        """The memory of all arrays, in bytes."""
        own = self._known, self._rows, self._nodes, self._turns, self._distances
        return sum(array.nbytes for array in (*own, self._parents, self._trees, self._hashes, self._steps))

    def new_among(self, found: Arrivals) -> Arrivals:
        """Return the states that are not remembered, each once.

        The result does not depend on the order of the states given.
        """
        order = np.lexsort((found.trees, found.parents, found.hashes))
        hashes = found.hashes[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = hashes[1:] != hashes[:-1]
        first = order[is_first]
        return found.at(first[self._known[self._places(found.hashes[first])] != found.hashes[first]])

    def add(self, new: Arrivals, distances: NDArray[np.float64] | None = None) -> None:
        """Add states, and remember them.

        Parameters:
            new: the states.
            distances: the distance of each state; None if the spec does not have a distance.
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
        """The indices of the states to be expanded next. If distances differ, half of them are the nearest."""
        if most >= self._count:
            return np.arange(self._count)
        turns, distances = self._turns[: self._count].copy(), self._distances[: self._count]
        if most > 1 and np.ptp(distances) > 0:
            turns[_nearest(distances, turns, most // 2)] = -1
        return np.sort(np.argpartition(turns, most)[:most])

    def take(self, most: int) -> Batch:
        """Remove the states to be expanded next."""
        places = self.next_places(most)
        nodes = self._nodes[places]
        taken = Batch(self._rows[places], nodes, self._hashes[nodes], self._steps[nodes], self._trees[nodes])
        self._remove(places)
        return taken

    def _remove(self, places: NDArray[np.int64]) -> None:
        """Remove states, and move states from the end to their indices."""
        count = self._count - len(places)
        last = np.setdiff1d(np.arange(count, self._count), places)
        for array in (self._rows, self._nodes, self._turns, self._distances):
            array[places[places < count]] = array[last]
        self._count = count

    def path(self, node: int) -> tuple[list[int], list[int]]:
        """Return the action instances of the steps to a node, and the hashes of all states on the path to it."""
        trees, hashes = [], [int(self._hashes[node])]
        while self._parents[node] >= 0:
            trees.append(int(self._trees[node]))
            node = int(self._parents[node])
            hashes.append(int(self._hashes[node]))
        return trees[::-1], hashes[::-1]

    def starts(self, most: int, longest: int) -> Starts:
        """The states to be expanded next, as starts of walks.

        Parameters:
            most: the maximum number of states.
            longest: the maximum number of steps to a state.
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
        """Add new slots to the rows, with value 0."""
        self._rows = widened(self._rows, slots)

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The entries of the table of found states for some hashes."""
        places: NDArray[np.uint64] = mixed.py_func(hashes) & np.uint64(len(self._known) - 1)
        return places

    def _forget(self) -> None:
        """Forget the nodes that are not ancestors of a state of the frontier."""
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
    """The indices of the states with the smallest distances; of equally distant ones, those whose turn comes first."""
    last = np.partition(distances, count - 1)[count - 1]
    nearer, tied = np.flatnonzero(distances < last), np.flatnonzero(distances == last)
    chosen = np.argpartition(turns[tied], count - len(nearer) - 1)[: count - len(nearer)]
    return np.concatenate([nearer, tied[chosen]])


def _with(array: NDArray[N], count: int, new: NDArray[N]) -> NDArray[N]:
    """Append entries to an array whose first `count` are used; return it, or a larger copy if there is no room."""
    array = with_room(array, count + len(new))
    array[count : count + len(new)] = new
    return array
