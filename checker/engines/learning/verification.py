"""Verification: throughout a search, a random share of what learned paths said is compared with calls on real states.

An application is what a path says of one state: the steps of an action instance, or the verdict of a property on a
state or on a step. Applications are drawn in two ways: at random among all of a block, and at random among its paths,
those first that were checked least often. The first way bounds the share of wrong applications, the second finds errors
in rare paths.

Some draws of the first way are made in any case: the first `EVERY` applications of a search are all checked, and as
many again whenever their number has grown by a factor of e = 2.72. So a search of 25,000 applications has `ENOUGH`
draws. An error in one application of a thousand, spread evenly over the search, escapes n draws with probability
0.999 ** n, which is less than 1 % from n = 4,605 on. From then on, draws become rarer. All other draws are made within
a share of the time. Which ones are drawn depends on a seed; how many of these are drawn depends on the clock.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.calls import Changes, Row
from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.trees import path_ends

S = TypeVar("S")

TIME_SHARE = 0.03
"""The share of the thread's CPU time that verification takes by default."""

EVERY, ENOUGH, RARER = 1_250, 5_000, 0.4
"""See above; and the factor by which draws become rarer."""

GRANTED_SECONDS = 0.15
"""Seconds that it may take in any case for draws that are not due: rare paths are checked in short searches too."""

SPREAD = 32
"""A block takes at most one in this number of the seconds that are left, so that some are left for every later one."""

LEAST_SECONDS = 0.001
"""With less time left than this, drawing applications would take most of it."""

DRAWN, ROWS, AT_ONCE = 128, 16, 1024
"""The fewest states of a block from which applications are drawn; states of walkers, which have to be packed for it;
and states that are looked at together if a share is given."""

PER_STATE = 4
"""Applications that are drawn on one state, about: making the state takes longer than most calls."""

Verdict = Callable[[int, int], bool]
"""What the search found: given a state's index and a property's tree, whether the state gives evidence."""


class Verification(Generic[S]):
    """Verifies one search.

    Parameters:
        comparison: compares single applications.

    Attributes:
        checked: applications checked so far. None of them was wrong: that ends a search.
        drawn: those of them that were drawn at random among all.
    """

    def __init__(self, comparison: Comparison[S]) -> None:
        self.comparison, self.checked, self.drawn, self._uses = comparison, 0, 0, 0
        self._tables, tuning = comparison.tables, comparison.tables.caller.tuning
        self._share, self._seed, self._blocks = tuning.verify, tuning.verify_seed, 0
        self._called_before = sum(self._tables.effort.called)
        self._began, self._spent, self._spent_on_due = time.thread_time(), 0.0, 0.0
        self._checks: Counter[int] = Counter()
        self._random = np.random.default_rng(self._seed)
        self._state: tuple[int, list[int], S] | None = None

    @property
    def made(self) -> int:
        """All applications so far. Where a path is not known, a call is made instead, which is none."""
        called = sum(self._tables.effort.called) - self._called_before
        return max(self._uses - called, self.checked)

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
        self._uses += steps * len(self._tables.step_checks)
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

    def chosen(self, walkers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The walkers of a random search, among some, at whose states `rows` is to check what is known."""
        if self._share is not None:
            return walkers if self._share else walkers[:0]
        if not len(walkers) or not self._has_time():
            return walkers[:0]
        return np.random.default_rng([self._seed, self._blocks]).choice(walkers, min(ROWS, len(walkers)), replace=False)

    def rows(self, rows: NDArray[np.int64], packing: Packing) -> None:
        """Check what is known of some states of a random search, of the steps from them, and of the next states.

        Parameters:
            rows: the states, as numbers of their slots' values.
            packing: has room for these.

        Raises:
            NotRecorded: an action or a property behaves differently.
        """
        if len(rows):
            packed = np.array([packing.pack(row) for row in rows.tolist()])
            self._verify(packed, packing, np.arange(len(packed)), range(self._tables.first_step), None)

    def _has_time(self) -> bool:
        """Whether there is time for a block, or its share does not depend on the time."""
        if self._share is not None:
            return self._share > 0
        return self._left() >= LEAST_SECONDS

    def _left(self) -> float:
        """Seconds that may be taken now."""
        share = TIME_SHARE * (time.thread_time() - self._began) - self._spent_on_due
        return max(GRANTED_SECONDS, share) - self._spent

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
        self._uses += len(indices) * len(trees)
        due = self._due()
        if not len(indices) or not trees or self._share == 0 or not (due or self._has_time()):
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
        count = min(max(DRAWN, -(-due // PER_STATE)), len(indices))
        some = indices[self._random.choice(len(indices), count, replace=False)]
        ends = self._ends(states, packing, some, trees)
        flat = ends.ravel()
        places = self._random.permutation(np.flatnonzero(flat >= 0) if verdict is None else len(flat))
        for place in np.sort(places[:due]).tolist():  # one state after another
            self.drawn += self._check(states, packing, some, trees, ends, place, verdict)
        now = time.thread_time()
        self._spent_on_due, began = self._spent_on_due + now - began, now
        for place, is_rare in self._in_turn(flat, places[due:]) if self._has_time() else ():
            checked = self._check(states, packing, some, trees, ends, place, verdict, is_rare=is_rare)
            self.drawn += 0 if is_rare else checked
            if time.thread_time() - began > left:
                break
        self._spent += time.thread_time() - began

    def _due(self) -> int:
        """How many applications to draw at random among all, whatever time that takes; 0 if a share is given."""
        if self._share is not None:
            return 0
        wanted = self._uses if self._uses <= EVERY else EVERY * (1 + math.log(self._uses / EVERY))
        return max(0, int(min(wanted, ENOUGH) + RARER * max(0, wanted - ENOUGH)) - self.drawn)

    def _ends(
        self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], trees: Sequence[int]
    ) -> NDArray[np.int64]:
        """For each state and tree, where the path ends; -1 if it is not known."""
        ends = np.empty((len(indices), max(trees) + 1), np.int64)
        path_ends(indices, states, self._tables.forest.pool, packing.word, packing.shift, packing.mask, ends)
        return np.ascontiguousarray(ends[:, list(trees)])

    def _in_turn(self, ends: NDArray[np.int64], places: NDArray[np.int64]) -> Iterator[tuple[int, bool]]:
        """Places in an array of ends, in turn: one at random, and one of the path that was checked least.

        Parameters:
            ends: where the path at each place ends.
            places: the places to choose from, in random order.

        Yields:
            Each place, and whether it was chosen for its path.
        """
        paths, first = np.unique(ends[places], return_index=True)
        seldom = sorted(range(len(paths)), key=lambda number: self._checks[int(paths[number])])
        for at_random, rare in itertools.zip_longest(places.tolist(), places[first[seldom]].tolist()):
            yield at_random, False
            if rare is None:
                return
            yield rare, True

    def _check(
        self,
        states: NDArray[np.uint64],
        packing: Packing,
        indices: NDArray[np.int64],
        trees: Sequence[int],
        ends: NDArray[np.int64],
        place: int,
        verdict: Verdict | None,
        *,
        is_rare: bool = False,
    ) -> int:
        """Check one application, and properties on its steps; of a rare path, on one of the steps.

        Returns:
            How many applications that was.
        """
        which, column = divmod(place, len(trees))
        index, tree = int(indices[which]), trees[column]
        if self._state is None or self._state[0] != index:
            row = packing.unpack(states[index])
            self._state = index, row, self._tables.layout.state(row)
        _, row, state = self._state
        self._checks[int(ends[which, column])] += 1
        is_known = bool(ends[which, column] >= 0)  # a property was called where it is not
        if tree >= self._tables.instances:
            found = None if verdict is None else verdict(index, tree)
            checked = int(self.comparison.property(tree, (row,), (state,), found) and is_known)
        else:
            steps = self.comparison.action(tree, row, state)
            is_walk = len(trees) > self._tables.instances
            judged = list(self._judged(row, state, steps, with_states=is_walk and self._share is not None))
            if is_rare:
                judged = [judged[int(self._random.integers(len(judged)))]] if judged else []
            elif self._share is not None:
                judged = [each for each in judged if self._random.random() < self._share]
            checked = is_known + sum(self.comparison.property(*each) for each in judged)
        self.checked += checked
        return checked

    def _judged(
        self, row: list[int], state: S, steps: Sequence[tuple[Changes, S]], *, with_states: bool
    ) -> Iterator[tuple[int, tuple[Row, ...], tuple[S, ...]]]:
        """The properties to be checked on the steps from a state: trees, and the states they are given.

        Parameters:
            row, state: the state.
            steps: what each step changes, and the state after it.
            with_states: whether state properties are checked on the states after the steps.
        """
        caller = self._tables.caller
        for changes, successor in steps:
            after = caller.row_after(row, changes)
            for number in range(len(caller.step_checks)):
                yield caller.first_step + number, (row, after), (state, successor)
            for tree in range(caller.instances, caller.first_step) if with_states else ():
                yield tree, (after,), (successor,)
