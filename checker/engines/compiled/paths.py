"""Finds the shortest paths from the initial states to the states that a search reports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.block_parts import BlockParts
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.learning.forest import with_room
from leadline.checker.spec import Spec

S = TypeVar("S")


class Place(Hashable, Protocol):
    """The type of a state identifier: either an index, or a level and an index within that level."""

    def __lt__(self, other: Self, /) -> bool: ...


P = TypeVar("P", bound=Place)

Steps = list[tuple[int, int, int]]
"""A list of steps. Each step is given as the index of the state before it, the action instance, and the index of the
target."""


class Paths(Generic[S, P]):
    """The shortest paths from the initial states to some target states.

    A state is identified by its place; see `Place`.

    Parameters:
        state_at: a function that returns the state at a place.
        level_of: a function that returns the level of the state at a place. The level of the initial states is 1.
        steps_into: a function that takes the places of states in one level, and returns the steps that lead to them
            from the previous level, in order. Each step is given as the place of the predecessor, the action instance,
            and the place of the state.
    """

    def __init__(
        self,
        spec: Spec[S],
        state_at: Callable[[P], S],
        level_of: Callable[[P], int],
        steps_into: Callable[[Sequence[P]], Sequence[tuple[P, int, P]]],
    ) -> None:
        self._spec, self._state_at, self._level_of, self._steps_into = spec, state_at, level_of, steps_into
        self._states: dict[P, S] = {}

    def target(self, place: P) -> S:
        """Return the state at a place, and add the state to the targets."""
        if place not in self._states:
            self._states[place] = self._state_at(place)
        return self._states[place]

    def know(self, place: P, state: S) -> None:
        """Add a state to the targets, and store it, so that `state_at` is not called for its place."""
        self._states.setdefault(place, state)

    def arrivals(self) -> dict[S, list[tuple[S, ActionInstance[S]]]]:
        """Return a dict with an entry for each state on a shortest path to a target, including the target itself. The
        entry contains the last steps of the shortest paths to that state.
        """
        found: dict[S, list[tuple[S, ActionInstance[S]]]] = {}
        for level in range(max(map(self._level_of, self._states), default=0), 0, -1):
            places = sorted(place for place in self._states if self._level_of(place) == level)
            found.update((self._states[place], []) for place in places)
            for before, tree, place in self._steps_into(places) if level > 1 and places else ():
                found[self._states[place]].append((self.target(before), self._spec.instances[tree]))
        return found


def steps_into(expander: Expander[S], targets: Callable[[], NDArray[np.uint64]], first: int, last: int) -> Steps:
    """Find all steps from a range of states to the target states. The search itself stores only one step to each state.

    Parameters:
        expander: the expander, which holds the states and the transition tables.
        targets: a function that returns the target states, packed with the current packing.
        first, last: the range of states where the steps begin, excluding `last`.

    Returns:
        The steps, in the order of the states where they begin.

    Raises:
        StopSearch: if the time or the memory is used up.
    """
    tables, workers = expander.tables, expander.workers
    parts = BlockParts(first, last, 1, expander.layout.slots, expander.tuning)
    steps, more = np.zeros((64, 3), np.int64), Steps()
    table = np.empty(4 * len(targets()), np.uint64)
    while parts.busy:
        store, packed = expander.store, targets()
        parts.fit(len(store.packing.sizes))
        workers.run(kernel.rebuild, [(0, 1, 0, len(packed), packed, table)])
        (full,) = workers.run(
            kernel.steps_into,
            [(parts.of(0), store.packed, packed, table, steps, tables.instances, tables.arrays)],
        )
        # some paths are unknown because only an earlier run learned them, or because they were forgotten or not learned
        for part in expander.learn(parts, last):
            more += _called(expander, parts.that_wait(part).tolist(), packed)
            parts.cursors[part, kernel.WAITING] = 0
        steps = with_room(steps, len(steps) + tables.most_outcomes if full else 0)
    found = [(before, tree, target) for before, tree, target in steps[: parts.cursors[0, kernel.FILLED]].tolist()]
    return sorted(found + more)


def _called(expander: Expander[S], indices: list[int], targets: NDArray[np.uint64]) -> Steps:
    """Find all steps from the given states to the target states. If a path is unknown, call the action.

    Parameters:
        expander: the expander, which holds the states and the transition tables.
        indices: the indices of the states where the steps begin.
        targets: the target states, packed with the current packing.
    """
    wanted = {target.tobytes(): number for number, target in enumerate(targets)}
    tables, packing, found = expander.tables, expander.store.packing, Steps()
    for index in indices:
        if not expander.within(index, index + 1):
            continue
        row = expander.row(index)
        for tree in range(tables.instances):
            steps = tables.steps(tree, row)
            for _, step in tables.caller.steps(tree, row) if steps is None else steps:
                after = packing.pack(tables.caller.row_after(row, step)).tobytes()
                if after in wanted:
                    found.append((index, tree, wanted[after]))
    return found
