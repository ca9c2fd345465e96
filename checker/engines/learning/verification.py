"""Checks a random sample of the learned results that a search uses. Each result in the sample is compared with the
result of a call on a real state.

An application is the use of a path in a decision tree for one state. An application provides the steps of an action
instance, or the result of a property for a state or step. A search expands its states in blocks. In each block,
applications are drawn in two ways: at random from all applications, and at random from the paths that were checked
least often. The draws of the first kind limit the proportion of wrong applications. The draws of the second kind find
errors in rare paths.

The first `EVERY` applications of a search are all checked, and the same number is checked again each time that the
number of applications has grown by a factor of e = 2.72. A search with 25,000 applications therefore has `ENOUGH`
draws. Suppose that one application in a thousand is wrong, evenly
distributed over the search. Then n draws miss this error with probability 0.999 ** n, which is less than 1 % for n =
4,605 or more. After `ENOUGH` draws, draws become rarer. For every `RARE` draws of the first kind, one draw of the
second kind is made. All numbers depend only on counts, never on the clock, and a fixed seed determines which
applications are drawn. So a busy machine makes the same draws as an idle one.

If `Tuning.verify` is set, each application is instead drawn with that fixed probability.
"""

from __future__ import annotations

import math
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

EVERY, ENOUGH, RARER, RARE = 1_250, 5_000, 0.1, 4
"""The numbers of draws; see the docstring of the module. The number of draws beyond `ENOUGH` is multiplied by `RARER`,
because with 0.4 they took 9 % of the time of 737,794 states.
"""

DRAWN, AT_ONCE, TOGETHER = 128, 1024, 16
"""`DRAWN` is the minimum number of states of a block from which applications are drawn. `AT_ONCE` is the number of
states that are processed together if `Tuning.verify` is set. After `EVERY` draws, at least `TOGETHER` are made at a
time, because finding the paths of `DRAWN` states takes as long: 8 ms, where the other work of a block can take 20."""

PER_STATE = 4
"""The approximate number of applications drawn per state. It takes longer to create a state than to make most calls."""


def draws(count: int, every: int) -> int:
    """Return how many of a number of items to check: the first `every` items, and the same number again each time that
    the number of items has grown by a factor of e.
    """
    return count if count <= every else int(every * (1 + math.log(count / every)))


Verdict = Callable[[int, int], bool]
"""A function that returns whether the search found that a state violates an invariant or satisfies a witness. Its
arguments are the index of the state and the index of the property's tree."""


class Verification(Generic[S]):
    """Checks a random sample of the learned results that a search uses. Each result in the sample is compared with the
    result of a call on a real state. An application is the use of a learned result for one state.

    Parameters:
        comparison: the object that compares learned results with the results of actual calls.

    Attributes:
        comparison: the object that compares learned results with the results of actual calls.
        checked: the number of applications checked so far. All of them were correct, because a wrong result raises an
            exception.
        drawn: the number of checked applications that were drawn at random from all applications.
    """

    def __init__(self, comparison: Comparison[S]) -> None:
        self.comparison, self.checked, self.drawn, self._uses = comparison, 0, 0, 0
        self._tables, tuning = comparison.tables, comparison.tables.caller.tuning
        self._share, self._seed, self._blocks = tuning.verify, tuning.verify_seed, 0
        self._called_before = sum(self._tables.effort.called)
        self._rare = 0
        self._checks: Counter[int] = Counter()
        self._random = np.random.default_rng(self._seed)
        self._state: tuple[int, list[int], S] | None = None

    @property
    def made(self) -> int:
        """The number of applications so far. Calls made because no result was known are not included."""
        called = sum(self._tables.effort.called) - self._called_before
        return max(self._uses - called, self.checked)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The values of `checked`, `drawn` and `made` as a new array."""
        return np.array([self.checked, self.drawn, self.made], np.int64)

    def actions(self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], steps: int) -> None:
        """Check a sample of the steps from expanded states, and a sample of the results of step properties on these
        steps.

        Parameters:
            states: the packed states; shape (states, words).
            indices: the indices of the expanded states.
            steps: the number of steps from the expanded states.

        Raises:
            NotRecorded: if a call returned a result that differs from the learned one.
        """
        self._uses += steps * len(self._tables.step_checks)
        self._verify(states, packing, indices, range(self._tables.instances), None)

    def predicates(
        self, states: NDArray[np.uint64], packing: Packing, first: int, wanted: Sequence[bool], shown: NDArray[np.bool_]
    ) -> None:
        """Check a sample of the results of state properties that a search found for consecutive states.

        Parameters:
            states, packing: see `actions`.
            first: the index of the first state to check.
            wanted: for each state property, whether it was evaluated.
            shown: for each state from `first` onwards, and for each property, whether the search found that the state
                violates the invariant or satisfies the witness; shape (states, properties).

        Raises:
            NotRecorded: if a call returned a result that differs from the learned one.
        """
        begin = self._tables.instances
        trees = [begin + number for number, evaluated in enumerate(wanted) if evaluated]
        indices = np.arange(first, first + len(shown))
        self._verify(states, packing, indices, trees, lambda index, tree: bool(shown[index - first, tree - begin]))

    def _verify(
        self,
        states: NDArray[np.uint64],
        packing: Packing,
        indices: NDArray[np.int64],
        trees: Sequence[int],
        verdict: Verdict | None,
    ) -> None:
        """Check a random sample of the results that a search uses for a block of states.

        Parameters:
            states, packing: see `actions`.
            indices: the indices of the states of the block.
            trees: the indices of the trees that were applied to these states.
            verdict: a function that returns the result that the search found for a property, or None to check the
                result in the property's tree.
        """
        self._blocks += 1
        self._uses += len(indices) * len(trees)
        due, rare_due = self._due()
        fewest = 1 if self.drawn < EVERY else TOGETHER
        if not len(indices) or not trees or not (self._share or due >= fewest or rare_due >= fewest):
            return
        # with a new generator for each block, draws do not depend on the number of draws in earlier blocks
        self._random, self._state = np.random.default_rng([self._seed, self._blocks]), None
        if self._share is not None:
            for chunk in np.array_split(indices, -(-len(indices) // AT_ONCE)):
                ends = self._ends(states, packing, chunk, trees)
                drawn = (ends.ravel() >= 0) & (self._random.random(ends.size) < self._share)
                for place in np.flatnonzero(drawn).tolist():
                    self._check(states, packing, chunk, trees, ends, place, verdict)
            self.drawn = self.checked
            return
        count = min(max(DRAWN, -(-due // PER_STATE)), len(indices))
        some = indices[self._random.choice(len(indices), count, replace=False)]
        ends = self._ends(states, packing, some, trees)
        flat = ends.ravel()
        places = self._random.permutation(np.flatnonzero(flat >= 0))  # of the others, the function was called
        for place in np.sort(places[:due]).tolist():  # sorted, so that consecutive draws use the same state
            self.drawn += self._check(states, packing, some, trees, ends, place, verdict)
        for place in self._rarest(flat, places[due:])[:rare_due]:
            self._check(states, packing, some, trees, ends, place, verdict, is_rare=True)
            self._rare += 1

    def _due(self) -> tuple[int, int]:
        """Return the numbers of draws of both kinds that have not been made yet, or 0 if `Tuning.verify` is set."""
        if self._share is not None:
            return 0, 0
        wanted = draws(self.made, EVERY)
        wanted = int(min(wanted, ENOUGH) + RARER * max(0, wanted - ENOUGH))
        return max(0, wanted - self.drawn), max(0, wanted // RARE - self._rare)

    def _ends(
        self, states: NDArray[np.uint64], packing: Packing, indices: NDArray[np.int64], trees: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return the last edge of the path of each state in each decision tree.

        Parameters:
            states, packing, indices, trees: see `_verify`.

        Returns:
            For each state and tree, the position of the last edge of the path, or -1 if the path is not known.
        """
        ends = np.empty((len(indices), max(trees) + 1), np.int64)
        path_ends(indices, states, self._tables.forest.pool, packing.word, packing.shift, packing.mask, ends)
        return np.ascontiguousarray(ends[:, list(trees)])

    def _rarest(self, ends: NDArray[np.int64], places: NDArray[np.int64]) -> list[int]:
        """Return one application for each path, beginning with the paths that have been checked least often.

        Parameters:
            ends: for each application, the position of the last edge of its path.
            places: the indices of the applications to choose from, in random order.
        """
        paths, first = np.unique(ends[places], return_index=True)
        seldom = sorted(range(len(paths)), key=lambda number: self._checks[int(paths[number])])
        rarest: list[int] = places[first[seldom]].tolist()
        return rarest

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
        """Check an application. For an action instance, also check the results of properties on its steps.

        Parameters:
            states, packing, indices, trees, verdict: see `_verify`.
            ends: see `_ends`.
            place: the index of the application in the flattened array `ends`.
            is_rare: whether to check the properties on only one of the steps, instead of on all of them.

        Returns:
            The number of applications checked, including the results of properties.
        """
        which, column = divmod(place, len(trees))
        index, tree = int(indices[which]), trees[column]
        if self._state is None or self._state[0] != index:
            row = packing.unpack(states[index])
            self._state = index, row, self._tables.layout.state(row)
        _, row, state = self._state
        self._checks[int(ends[which, column])] += 1
        if tree >= self._tables.instances:
            found = None if verdict is None else verdict(index, tree)
            checked = int(self.comparison.property(tree, (row,), (state,), found))
        else:
            steps = self.comparison.action(tree, row, state)
            judged = list(self._judged(row, state, steps))
            if is_rare:
                judged = [judged[int(self._random.integers(len(judged)))]] if judged else []
            elif self._share is not None:
                judged = [each for each in judged if self._random.random() < self._share]
            checked = 1 + sum(self.comparison.property(*each) for each in judged)
        self.checked += checked
        return checked

    def _judged(
        self, row: list[int], state: S, steps: Sequence[tuple[Changes, S]]
    ) -> Iterator[tuple[int, tuple[Row, ...], tuple[S, ...]]]:
        """Yield the properties of steps to check on the steps from a state, each with the states on which to check it.

        Parameters:
            row, state: the state, as a row of value indices and as an object.
            steps: for each step, its changes and the next state.

        Yields:
            The index of the property's tree, and the states on which to call the property, as rows and as objects.
        """
        caller = self._tables.caller
        for changes, successor in steps:
            after = caller.row_after(row, changes)
            for number in range(len(caller.step_checks)):
                yield caller.first_step + number, (row, after), (state, successor)
