"""Comparison: checks what was learned against calls of actions and properties on the states themselves.

What is learned from one state is used for all that agree in what was read. Recording is exact by itself (see
`recording`); this is the second line. Each path of a tree is compared at a second state, as soon as one of the states
that are looked at reaches it; and at some states, every action and property is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.calls import Changes, NotRecorded
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.trees import NOT_SHOWN, SHOWN, path_ends

S = TypeVar("S")


class Comparison(Generic[S]):
    """Compares what one search has learned.

    Parameters:
        tables: what it has learned; counts the comparisons.
    """

    def __init__(self, tables: TransitionTables[S]) -> None:
        self.tables, self.caller, self.layout = tables, tables.caller, tables.layout
        self._looked_at = tables.caller.tuning.compared_paths

    def paths(self, states: NDArray[np.uint64], packing: Packing, first: int, last: int) -> None:
        """Compare the paths that some states take and that were not compared, before the states are expanded.

        What is known of them then was learned from other states.

        Parameters:
            states: shape (states, words): packed.
            packing: how they are packed.
            first, last: the first of them that counts, and where they end.

        Raises:
            NotRecorded: an action or a property does otherwise.
        """
        looked_at = np.unique(np.linspace(first, last - 1, self._looked_at, dtype=np.int64))
        trees, pool, compared = self.caller.first_step, self.tables.forest.pool, self.tables.forest.compared
        ends = np.empty((len(looked_at), trees), np.int64)
        path_ends(looked_at, states, pool, packing.word, packing.shift, packing.mask, ends)
        ends[compared[ends] & (ends >= 0)] = -1
        found, places = np.unique(ends, return_index=True)
        compared[found[found >= 0]] = True
        places = np.sort(places[found >= 0])
        for index, trees_there in _by_state(places, trees):
            row = packing.unpack(states[looked_at[index]])
            state = self.layout.state(row)
            for tree in trees_there:
                self._compare(tree, row, state)

    def state(self, row: Sequence[int]) -> None:
        """Compare all that is known of a state, and of the steps from it.

        Parameters:
            row: the numbers of its slots' values.

        Raises:
            NotRecorded: an action or a property does otherwise.
        """
        state: S = self.layout.state(row)
        for tree in range(self.caller.first_step):
            successors = self._compare(tree, row, state)
            for step, successor in successors:
                rows = row, self.caller.row_after(row, step)
                for number in range(len(self.caller.step_checks)):
                    self._compare_property(self.caller.first_step + number, rows, (state, successor))

    def _compare(self, tree: int, row: Sequence[int], state: S) -> list[tuple[dict[int, int], S]]:
        """Compare one action instance or state property; gives the steps of the former."""
        if tree >= self.caller.instances:
            self._compare_property(tree, (row,), (state,))
            return []
        steps = self.tables.steps(tree, row)
        if steps is None:
            return []
        self.tables.compared += 1
        successors = self.caller.spec.take(self.caller.spec.instances[tree], state)
        taken = [_sorted(self.layout.changes(state, successor, row)) for successor in successors]
        known = [_sorted({slot: number for slot, number in step.items() if row[slot] != number}) for step in steps]
        if sorted(taken) != sorted(known):  # where a set decides the order, that may be another
            raise NotRecorded(tree)
        in_order = dict(zip(taken, successors, strict=True))
        return [(step, in_order[changes]) for step, changes in zip(steps, known, strict=True)]

    def _compare_property(self, tree: int, rows: tuple[Sequence[int], ...], states: tuple[S, ...]) -> None:
        leaf = self.tables.forest.leaf(tree, *rows)
        if leaf is None:
            return
        self.tables.compared += 1
        if leaf != -(SHOWN if self.caller.shown_by(tree, states) else NOT_SHOWN) - 1:
            raise NotRecorded(tree)


def _sorted(changes: Changes) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(changes.items()))


def _by_state(places: NDArray[np.int64], trees: int) -> list[tuple[int, list[int]]]:
    """Places in an array of states by trees, as the trees of each state."""
    found: dict[int, list[int]] = {}
    for place in places.tolist():
        found.setdefault(place // trees, []).append(place % trees)
    return list(found.items())
