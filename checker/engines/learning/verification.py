"""Verification: throughout a search, a random share of what learned paths said is compared with calls on real states.

An application is what a path says of one state: the steps of an action instance, or the verdict of a property on a
state or on a step. Applications are drawn in two ways, in turn: at random among all of a block, and at random among its
paths, those first that were checked least often. The first way bounds the share of wrong applications, the second finds
errors in rare paths. Which ones are drawn depends on a seed; only how many depends on the clock.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.trees import path_ends

S = TypeVar("S")

TIME_SHARE = 0.03
"""The share of the thread's CPU time that verification takes by default."""

GRANTED_SECONDS = 0.2
"""Seconds that it may take in any case, so that short searches are verified too."""

SPREAD = 32
"""A block takes at most one in this number of the seconds that are left, so that some are left for every later one."""

LEAST_SECONDS = 0.001
"""With less time left than this, drawing applications would take most of it."""

DRAWN, ROWS, AT_ONCE = 128, 16, 1024
"""States of a block from which applications are drawn; states of walkers, which have to be packed for it; and states
that are looked at together if a share is given."""

Verdict = Callable[[int, int], bool]
"""What the search found: given a state's index and a property's tree, whether the state gives evidence."""


class Verification(Generic[S]):
    """Verifies one search.

    Parameters:
        comparison: compares single applications.

    Attributes:
        checked: applications checked so far. None of them was wrong: that ends a search.
        drawn: those of them that were drawn at random among all.
        made: all applications of a search, those included whose paths were not known and had to be called.
    """

    def __init__(self, comparison: Comparison[S]) -> None:
        self.comparison, self.checked, self.drawn, self.made = comparison, 0, 0, 0
        self._tables, tuning = comparison.tables, comparison.tables.caller.tuning
        self._share, self._seed, self._blocks = tuning.verify, tuning.verify_seed, 0
        self._began, self._spent = time.thread_time(), 0.0
        self._checks: Counter[int] = Counter()
        self._random = np.random.default_rng(self._seed)
        self._state: tuple[int, list[int], S] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """`checked`, `drawn` and `made`, as an array of their own."""
        return np.array([self.checked, self.drawn, self.made], np.int64)

    def actions(self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], steps: int) -> None:
        """Check steps from some states, and the verdicts of step properties on them.

        Parameters:
            states: shape (states, words): packed.
            packing: how they are packed.
            indices: the states among them that are expanded.
            steps: the number of steps from these.

        Raises:
            NotRecorded: an action instance or a step property behaves differently from its tree.
        """
        self.made += steps * len(self._tables.step_checks)
        self._verify(states, packing, indices, range(self._tables.instances), None)

    def predicates(
        self, states: NDArray[np.uint64], packing: Packing, first: int, wanted: Sequence[int], shown: NDArray[np.bool_]
    ) -> None:
        """Check the results of a search for some states.

        Parameters:
            states, packing: see `actions`.
            first: the first of the states.
            wanted: for each state property, whether it was evaluated: a number, 0 if not.
            shown: for each state from the first on and each state property, whether it gives evidence.

        Raises:
            NotRecorded: a property does otherwise.
        """
        begin = self._tables.instances
        trees = [begin + number for number, evaluated in enumerate(wanted) if evaluated]
        indices = np.arange(first, first + len(shown))
        self._verify(states, packing, indices, trees, lambda index, tree: bool(shown[index - first, tree - begin]))

    def rows(self, rows: NDArray[np.int64], packing: Packing) -> None:
        """Check what is known of some states of a random search, and of the steps from them.

        Parameters:
            rows: the states, as numbers of their slots' values.
            packing: has room for these.

        Raises:
            NotRecorded: an action or a property behaves differently.
        """
        if not len(rows) or not self._has_time():
            return
        some = np.random.default_rng([self._seed, self._blocks]).integers(len(rows), size=min(ROWS, len(rows)))
        packed = np.array([packing.pack(row) for row in rows[some].tolist()])
        self._verify(packed, packing, np.arange(len(packed)), range(self._tables.first_step), None)

    def _has_time(self) -> bool:
        """Whether there is time for a block, or its share does not depend on the time."""
        if self._share is not None:
            return self._share > 0
        return self._left() >= LEAST_SECONDS

    def _left(self) -> float:
        """Seconds that may be taken now."""
        return max(GRANTED_SECONDS, TIME_SHARE * (time.thread_time() - self._began)) - self._spent

    def _verify(
        self,
        states: NDArray[np.uint64],
        packing: Packing,
        indices: NDArray[np.int64],
        trees: Sequence[int],
        verdict: Verdict | None,
    ) -> None:
        """Check some applications of some trees on some states.

        Parameters:
            verdict: what was found of a property. None: what its tree says.
        """
        self._blocks += 1
        self.made += len(indices) * len(trees)
        if not len(indices) or not trees or not self._has_time():
            return
        began, left = time.thread_time(), max(self._left() / SPREAD, LEAST_SECONDS)
        # of this block alone, so that it does not matter for which blocks there was time
        self._random, self._state = np.random.default_rng([self._seed, self._blocks]), None
        if self._share is not None:
            for chunk in np.array_split(indices, -(-len(indices) // AT_ONCE)):
                ends = self._ends(states, packing, chunk, trees)
                for place in np.flatnonzero(self._random.random(ends.size) < self._share).tolist():
                    self._check(states, packing, chunk, trees, ends, place, verdict)
            self.drawn = self.checked
            return
        some = indices[self._random.integers(len(indices), size=min(DRAWN, len(indices)))]
        ends = self._ends(states, packing, some, trees)
        for number, place in enumerate(self._in_turn(ends, verdict is None)):
            self._check(states, packing, some, trees, ends, place, verdict)
            self.drawn += number % 2 == 0
            if time.thread_time() - began > left:
                break
        self._spent += time.thread_time() - began

    def _ends(
        self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], trees: Sequence[int]
    ) -> NDArray[np.int64]:
        """For each state and tree, where the path ends; -1 if it is not known."""
        ends = np.empty((len(indices), max(trees) + 1), np.int64)
        path_ends(indices, states, self._tables.forest.pool, packing.word, packing.shift, packing.mask, ends)
        return np.ascontiguousarray(ends[:, list(trees)])

    def _in_turn(self, ends: NDArray[np.int64], only_known: bool) -> Iterator[int]:
        """Places in the array of ends: one at random, then one of the path that was checked least, and so on."""
        flat = ends.ravel()
        places = self._random.permutation(np.flatnonzero(flat >= 0) if only_known else len(flat))
        paths, first = np.unique(flat[places], return_index=True)
        seldom = sorted(range(len(paths)), key=lambda number: self._checks[int(paths[number])])
        for at_random, rare in itertools.zip_longest(places.tolist(), places[first[seldom]].tolist()):
            yield at_random
            if rare is None:
                return
            yield rare

    def _check(
        self,
        states: NDArray[np.uint64],
        packing: Packing,
        indices: NDArray[np.int64],
        trees: Sequence[int],
        ends: NDArray[np.int64],
        place: int,
        verdict: Verdict | None,
    ) -> None:
        """Check one application."""
        which, column = divmod(place, len(trees))
        index, tree = int(indices[which]), trees[column]
        if self._state is None or self._state[0] != index:
            row = packing.unpack(states[index])
            self._state = index, row, self._tables.layout.state(row)
        _, row, state = self._state
        self._checks[int(ends[which, column])] += 1
        if tree >= self._tables.instances:
            found = None if verdict is None else verdict(index, tree)
            self.checked += self.comparison.property(tree, (row,), (state,), found)
            return
        self.checked += int(ends[which, column] >= 0)
        caller = self._tables.caller
        steps = [
            (caller.first_step + number, (row, caller.row_after(row, step)), (state, successor))
            for step, successor in self.comparison.action(tree, row, state)
            for number in range(len(caller.step_checks))
        ]
        if self._share is None:
            steps = [steps[int(self._random.integers(len(steps)))]] if steps else []
        elif self._share < 1:
            steps = [step for step in steps if self._random.random() < self._share]
        self.checked += sum([self.comparison.property(*step) for step in steps])
