"""Verification compares a random share of the results of learned paths with calls on real states during a search.

An application is the use of a path for one state: it gives the steps of an action instance, or the verdict of a
property on a state or a step. Applications are drawn in two ways: at random among all applications in a block, and at
random among its paths, where the paths checked least often come first. The first way limits the share of wrong
applications; the second way finds errors in rare paths.

Some draws of the first way are always made: the first `EVERY` applications of a search are all checked, and the same
number again whenever the number of applications has grown by a factor of e = 2.72. So a search of 25,000 applications
has `ENOUGH` draws. An error in one application of a thousand, spread evenly over the search, escapes n draws with
probability 0.999 ** n, which is less than 1 % from n = 4,605 on. After `ENOUGH` draws, further ones become rarer. All
remaining draws are limited to a fraction of the time. A seed determines which applications are drawn; the clock
determines how many of the time-limited draws are made.
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
"""The fraction of the thread's CPU time that verification takes by default."""

EVERY, ENOUGH, RARER = 1_250, 5_000, 0.4
"""`EVERY` and `ENOUGH` are numbers of draws, explained above; `RARER` is the factor by which draws become rarer."""

GRANTED_SECONDS = 0.15
"""The seconds always granted to draws that are not due, so that short searches check rare paths too."""

SPREAD = 32
"""A block takes at most 1 / `SPREAD` of the remaining seconds, so that time remains for all later blocks."""

LEAST_SECONDS = 0.001
"""The minimum remaining time for drawing applications. With less time, drawing would take most of it."""

DRAWN, ROWS, AT_ONCE = 128, 16, 1024
"""`DRAWN` is the minimum number of states of a block from which applications are drawn; `ROWS` is the number of states
of walkers, which must be packed first; `AT_ONCE` is the number of states processed together if a share is given."""

PER_STATE = 4
"""The approximate number of applications drawn per state: making the state object takes longer than most calls."""

Verdict = Callable[[int, int], bool]
"""Takes a state's index and a property's tree; returns whether the search found the state to be evidence."""


class Verification(Generic[S]):
    """Verifies the learned results that one search uses.

    Parameters:
        comparison: compares single applications.

    Attributes:
        checked: the number of applications checked so far. All were correct, because an error ends a search.
        drawn: the number of checked applications that were drawn at random among all.
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
        """The number of applications so far. Direct calls, made where a path is not known, do not count."""
        called = sum(self._tables.effort.called) - self._called_before
        return max(self._uses - called, self.checked)

    @property
    def counts(self) -> NDArray[np.int64]:
        """`checked`, `drawn` and `made` as a new array."""
        return np.array([self.checked, self.drawn, self.made], np.int64)

    def actions(self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], steps: int) -> None:
        """Check steps from some states, and the verdicts of step properties on these steps.

        Parameters:
            states: shape (states, words): packed.
            packing: how they are packed.
            indices: the indices of the expanded states.
            steps: the number of steps from the expanded states.

        Raises:
            NotRecorded: an action instance or a step property behaves differently from its tree.
        """
        self._uses += steps * len(self._tables.step_checks)
        self._verify(states, packing, indices, range(self._tables.instances), None)

    def predicates(
        self, states: NDArray[np.uint64], packing: Packing, first: int, wanted: Sequence[int], shown: NDArray[np.bool_]
    ) -> None:
        """Check the verdicts that a search found for state properties.

        Parameters:
            states, packing: see `actions`.
            first: the index of the first state.
            wanted: for each state property, a number that is not 0 if the property was evaluated.
            shown: for each state from the first on and each state property, whether it gives evidence.

        Raises:
            NotRecorded: a property behaves differently.
        """
        begin = self._tables.instances
        trees = [begin + number for number, evaluated in enumerate(wanted) if evaluated]
        indices = np.arange(first, first + len(shown))
        self._verify(states, packing, indices, trees, lambda index, tree: bool(shown[index - first, tree - begin]))

    def chosen(self, walkers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Choose the walkers of a random search whose states `rows` must check, among the given walkers."""
        if self._share is not None:
            return walkers if self._share else walkers[:0]
        if not len(walkers) or not self._has_time():
            return walkers[:0]
        return np.random.default_rng([self._seed, self._blocks]).choice(walkers, min(ROWS, len(walkers)), replace=False)

    def rows(self, rows: NDArray[np.int64], packing: Packing) -> None:
        """Check what is known about some states of a random search, the steps from them, and the next states.

        Parameters:
            rows: the states, as rows of slot numbers.
            packing: has room for these numbers.

        Raises:
            NotRecorded: an action or a property behaves differently.
        """
        if len(rows):
            packed = np.array([packing.pack(row) for row in rows.tolist()])
            self._verify(packed, packing, np.arange(len(packed)), range(self._tables.first_step), None)

    def _has_time(self) -> bool:
        """Whether to check a block: there is time for it, or a fixed share above 0 is given."""
        if self._share is not None:
            return self._share > 0
        return self._left() >= LEAST_SECONDS

    def _left(self) -> float:
        """Return the number of seconds that may be used now."""
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
        """Draw and check applications of the given trees on the given states.

        Parameters:
            verdict: returns the result that the search found for a property; None stands for the result of its tree.
        """
        self._blocks += 1
        self._uses += len(indices) * len(trees)
        due = self._due()
        if not len(indices) or not trees or self._share == 0 or not (due or self._has_time()):
            return
        began, left = time.thread_time(), max(self._left() / SPREAD, LEAST_SECONDS)
        # a generator for each block, so that draws do not depend on which earlier blocks there was time for
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
        """Return the number of draws among all applications that are due regardless of time; 0 if a share is given."""
        if self._share is not None:
            return 0
        wanted = self._uses if self._uses <= EVERY else EVERY * (1 + math.log(self._uses / EVERY))
        return max(0, int(min(wanted, ENOUGH) + RARER * max(0, wanted - ENOUGH)) - self.drawn)

    def _ends(
        self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], trees: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return the end of the path for each state and tree; -1 if the path is not known."""
        ends = np.empty((len(indices), max(trees) + 1), np.int64)
        path_ends(indices, states, self._tables.forest.pool, packing.word, packing.shift, packing.mask, ends)
        return np.ascontiguousarray(ends[:, list(trees)])

    def _in_turn(self, ends: NDArray[np.int64], places: NDArray[np.int64]) -> Iterator[tuple[int, bool]]:
        """Alternate between random indices and indices of the paths that were checked least often.

        Parameters:
            ends: the end of the path at each index.
            places: the indices to choose from, in random order.

        Yields:
            Each index, and whether it was chosen because its path was rarely checked.
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
        """Check one application and the properties on its steps, or on only one step for a rare path.

        Returns:
            The number of applications checked.
        """
        which, column = divmod(place, len(trees))
        index, tree = int(indices[which]), trees[column]
        if self._state is None or self._state[0] != index:
            row = packing.unpack(states[index])
            self._state = index, row, self._tables.layout.state(row)
        _, row, state = self._state
        self._checks[int(ends[which, column])] += 1
        is_known = bool(ends[which, column] >= 0)  # if it is not known, the property was called directly
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
        """Yield the properties to check on the steps from a state: for each, its tree and the states it is called on.

        Parameters:
            row, state: the state, as a row and as an object.
            steps: the changes of each step and the state after it.
            with_states: whether state properties are checked on the states after the steps.
        """
        caller = self._tables.caller
        for changes, successor in steps:
            after = caller.row_after(row, changes)
            for number in range(len(caller.step_checks)):
                yield caller.first_step + number, (row, after), (state, successor)
            for tree in range(caller.instances, caller.first_step) if with_states else ():
                yield tree, (after,), (successor,)
