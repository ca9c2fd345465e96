"""Finds the values that actions draw from states (see `Action.drawn`) for the steps of packed states.

A step is stored with its instance in `Spec.instances`, which has no drawn values. All states at the same leaf of the
instance's decision tree have the same steps, with the same drawn values in the same order, because a recorded call
reads all values that it draws. Therefore the action is called once for each leaf, and once more as a check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.content import content
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.learning.trees import path_ends

S = TypeVar("S")

BLOCK = 16_384
"""The number of states that are processed together."""


class DrawnSteps(Generic[S]):
    """Finds the drawn values of steps.

    Parameters:
        expander: contains the states and the transition tables.
        tree: the index of an action instance that draws values from the state.
    """

    def __init__(self, expander: Expander[S], tree: int) -> None:
        self._expander, self._tree = expander, tree
        self._of_leaf: dict[int, tuple[ActionInstance[S], ...]] = {}
        self._calls = -1

    def of(self, indices: NDArray[np.int64]) -> list[tuple[ActionInstance[S], ...]]:
        """Return, for each state, the action instance of each step, in the order of the steps.

        Parameters:
            indices: the indices of the states.

        Raises:
            SpecError: if the action raised an exception or is not a pure function.
        """
        expander, tables = self._expander, self._expander.tables
        if not len(indices):
            return []
        if self._calls != tables.calls:
            self._of_leaf, self._calls = {}, tables.calls  # learning moves leaves
        packing = expander.store.packing
        ends = np.empty((len(indices), self._tree + 1), np.int64)
        path_ends(indices, expander.store.states, tables.forest.pool, packing.word, packing.shift, packing.mask, ends)
        found: list[tuple[ActionInstance[S], ...]] = [()] * len(indices)
        leaves, places = np.unique(ends[:, -1], return_inverse=True)
        order = np.split(np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))[:-1])
        for leaf, group in zip(leaves.tolist(), order, strict=True):
            states = indices[group].tolist()
            known = self._of_leaf.get(leaf) if leaf >= 0 else ()
            known = self._called(states[0]) if known is None else known
            if leaf >= 0 and known == self._called(states[-1]):
                self._of_leaf[leaf] = known
                of_states = [known] * len(states)
            else:  # the path is unknown
                of_states = list(map(self._called, states))
            for place, steps in zip(group.tolist(), of_states, strict=True):
                found[place] = steps
        return found

    def _called(self, index: int) -> tuple[ActionInstance[S], ...]:
        self._expander.watch.pause()
        spec, state = self._expander.tables.spec, self._expander.state(index)
        instances = spec.with_drawn(spec.instances[self._tree], state)
        steps = [(each, after) for each in instances for after in spec.take(each, state)]
        if self._expander.tuning.in_order:
            steps.sort(key=lambda step: content("", step[1], is_part=True))
        return tuple(each for each, _ in steps)

    def first_to(self, indices: NDArray[np.int64]) -> list[ActionInstance[S]]:
        """Return, for each of the given states, the action instance of the step by which it was found.

        Parameters:
            indices: the indices of states that were found by a step of the action instance.
        """
        expander, store, tables = self._expander, self._expander.store, self._expander.tables
        parents = store.parents[indices].astype(np.int64)
        codes = expander.leaves(parents, self._tree, 1)[:, 0].astype(np.int64)
        of_parents, steps = self.of(parents), np.full(len(indices), -1)
        begins, counts = tables.leaf_start[-codes - 1], np.where(codes < 0, tables.leaf_count[-codes - 1], 0)
        for number in range(int(counts.max(initial=0))):
            some = np.flatnonzero((counts > number) & (steps < 0))
            outcomes = begins[some] + number
            after = (store.states[parents[some]] & tables.keep[outcomes]) | tables.put[outcomes]
            steps[some[(after == store.states[indices[some]]).all(axis=1)]] = number
        for place in np.flatnonzero(steps < 0).tolist():  # the path is unknown
            before, wanted = expander.state(int(parents[place])), expander.state(int(indices[place]))
            instances = of_parents[place]
            steps[place] = next(
                number
                for number, each in enumerate(instances)
                if tables.spec.take(each, before)[instances[:number].count(each)] == wanted
            )
        return [instances[number] for instances, number in zip(of_parents, steps.tolist(), strict=True)]


def drawn_counts(
    expander: Expander[S], initials: int, expanded: int, generated: Sequence[int]
) -> tuple[Counter[ActionInstance[S]], Counter[ActionInstance[S]], Counter[ActionInstance[S]]]:
    """Count the steps of instances with drawn values.

    Parameters:
        expander: contains the states and the transition tables.
        initials: the number of initial states.
        expanded: the number of states whose steps were all counted. They are the first states.
        generated: the number of steps of each instance in `Spec.instances`. If a limit interrupted the search, the
            number includes steps of the state that was being expanded.

    Returns:
        Three counts for each instance with drawn values: the states in which it is enabled, its steps, and its steps
        that led to a new state; see `InstanceCoverage`.
    """
    spec, store = expander.tables.spec, expander.store
    enabled, taken, distinct = (Counter[ActionInstance[S]]() for _ in range(3))
    for tree, instance in enumerate(spec.instances):
        if not instance.action.drawn:
            continue
        drawn, counted = DrawnSteps(expander, tree), 0
        for first in range(0, store.count, BLOCK):
            last = min(first + BLOCK, store.count)
            for steps in drawn.of(expander.indices_within(first, min(last, expanded))) if first < expanded else ():
                enabled.update(set(steps))
                taken.update(steps)
                counted += len(steps)
            new = expander.indices_within(max(first, initials), last)
            distinct.update(drawn.first_to(new[store.arrivals[new] == tree]))
        if counted < generated[tree]:
            (steps,) = drawn.of(np.array([expanded]))
            taken.update(steps[: generated[tree] - counted])
    return enabled, taken, distinct
