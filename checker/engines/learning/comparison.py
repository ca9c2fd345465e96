"""Compares the results in decision trees with the results of actual calls.

A result that is learned from one state is used for all states that have the same values in the slots that the call
read. This is correct if all reads have been recorded; see `leadline.checker.observing.recording`. As a safeguard, the
results are compared with those of additional calls. Paths of a tree are compared once each, on a second state that
has the path. In addition, the results of all actions and properties are compared on some states. The first `ALL` paths
that are found on further states are compared; later, at most one comparison is made for `EACH` learned calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.engines.evidence import contradicted
from leadline.checker.engines.learning.calls import Changes, NotRecorded, Row
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.trees import SHOWN, path_ends
from leadline.checker.trace import Trace

S = TypeVar("S")

LOOKED_AT = 64
"""The number of states of a block that are looked at before it is expanded."""

LEVEL_STATES = 3
"""The number of states of each level on which all learned results are compared with calls."""

ALL, EACH = 4_000, 8
"""The numbers of comparisons; see the docstring of the module. A search of ten million states with 79,000 learned calls
then compares 14,000 paths instead of 40,000."""


class Comparison(Generic[S]):
    """Compares the results in decision trees with the results of calls to actions and properties.

    Parameters:
        tables: the transition tables. Their attribute `compared` counts the comparisons.

    Attributes:
        level_states: the number of states of each level on which `state` should be called.
    """

    def __init__(self, tables: TransitionTables[S]) -> None:
        self.tables, self.caller, self.layout = tables, tables.caller, tables.layout
        compared = tables.caller.tuning.compared
        self._looked_at, self.level_states, self._paths = LOOKED_AT * compared, LEVEL_STATES * compared, 0

    def paths(self, states: NDArray[np.uint64], packing: Packing, first: int, last: int) -> None:
        """Compare the learned results for the given states with those of actual calls. Each path of a decision tree is
        compared once.

        Call this method before the states are expanded. At that point, all known results for these states were learned
        from other states.

        Parameters:
            states: the packed states; shape (states, words).
            first, last: the range of indices from which states are chosen, excluding `last`.

        Raises:
            NotRecorded: if a call returned a result that differs from the result of the path.
        """
        if not self._left():
            return
        looked_at = np.unique(np.linspace(first, last - 1, self._looked_at, dtype=np.int64))
        trees, pool, compared = self.caller.first_step, self.tables.forest.pool, self.tables.forest.compared
        ends = np.empty((len(looked_at), trees), np.int64)
        path_ends(looked_at, states, pool, packing.word, packing.shift, packing.mask, ends)
        ends[compared[ends] & (ends >= 0)] = -1
        found, places = np.unique(ends, return_index=True)
        found, places = found[found >= 0], places[found >= 0]
        chosen = np.linspace(0, len(found) - 1, min(len(found), self._left()), dtype=np.int64)
        compared[found[chosen]] = True
        self._paths += len(chosen)
        places = np.sort(places[chosen])
        for index, trees_there in _by_state(places, trees):
            row = packing.unpack(states[looked_at[index]])
            state = self.layout.state(row)
            for tree in trees_there:
                self._compare(tree, row, state)

    def _left(self) -> int:
        """Return how many more paths may be compared now."""
        return max(0, ALL + self.tables.calls // EACH - self._paths)

    def state(self, row: Row) -> None:
        """Compare all known results for a state, and for the steps from it, with those of actual calls.

        Parameters:
            row: the state, as one value index per slot.

        Raises:
            NotRecorded: if a call returned a result that differs from the known one.
        """
        state: S = self.layout.state(row)
        for tree in range(self.caller.first_step):
            for step, successor in self._compare(tree, row, state):
                rows = row, self.caller.row_after(row, step)
                for number in range(len(self.caller.step_checks)):
                    self.tables.compared += self.property(self.caller.first_step + number, rows, (state, successor))

    def _compare(self, tree: int, row: Row, state: S) -> list[tuple[Changes, S]]:
        """Compare the known result of an action instance or a state property for a state with the result of a call.

        Returns:
            The known steps of the action instance; see `action`. The list is empty for a property.
        """
        if tree >= self.caller.instances:
            self.tables.compared += self.property(tree, (row,), (state,))
            return []
        self.tables.compared += self.tables.steps(tree, row) is not None
        return self.action(tree, row, state)

    def action(self, tree: int, row: Row, state: S) -> list[tuple[Changes, S]]:
        """Compare the known steps of an action instance in a state with the steps that a call returns, including the
        values that they draw from the state.

        Parameters:
            tree: the index of the action instance's decision tree.
            row, state: the state, as a row of value indices and as an object.

        Returns:
            The known steps, each given as its changes and the next state. The list is empty if the steps are not known.

        Raises:
            NotRecorded: if the call returned different steps.
        """
        steps = self.tables.steps(tree, row)
        if steps is None:
            return []
        direct = self.caller.spec.steps(self.caller.spec.instances[tree], state)
        taken = [
            (self.caller.label_of(instance), _sorted(self.layout.changes(state, successor, row)))
            for instance, successor in direct
        ]
        known = [
            (label, _sorted({slot: number for slot, number in changes.items() if row[slot] != number}))
            for label, changes in steps
        ]
        if sorted(taken) != sorted(known):  # the order may differ if it depends on a set
            raise NotRecorded(tree, self.caller.name_of(tree))
        after = {changes: successor for (_, changes), (_, successor) in zip(taken, direct, strict=True)}
        return [(changes, after[written]) for (_, changes), (_, written) in zip(steps, known, strict=True)]

    def property(self, tree: int, rows: tuple[Row, ...], states: tuple[S, ...], found: bool | None = None) -> bool:
        """Compare the known result of a property for a state or step with the result of a call.

        Parameters:
            tree: the index of the decision tree of the property's predicate.
            rows, states: the state, or the states before and after the step, as rows of value indices and as objects.
            found: whether the search found that the state or step violates an invariant or satisfies a witness. If it
                is None, the result in the tree is compared.

        Returns:
            True if there was a result to compare.

        Raises:
            NotRecorded: if the call returned a different result.
        """
        if found is None:
            leaf = self.tables.forest.leaf(tree, *rows)
            if leaf is None:
                return False
            found = -leaf - 1 == SHOWN
        if found != self.caller.shown_by(tree, states):
            raise NotRecorded(tree, self.caller.name_of(tree))
        return True


def refuse_contradicted(tables: TransitionTables[S], traces: Iterable[Trace[S]]) -> None:
    """Raise an exception if calls on real states contradict a trace, so that a wrong trace is never reported.

    Raises:
        NotRecorded: if a call contradicts a trace. The exception names the action instance or property.
    """
    spec, checks = tables.spec, (*tables.state_checks, *tables.step_checks)
    for wrong in filter(None, map(contradicted, traces)):
        if isinstance(wrong, ActionInstance):
            tree = spec.instances.index(wrong.of_search)
        else:
            tree = tables.instances + checks.index(wrong)
        raise NotRecorded(tree, tables.caller.name_of(tree))


def _sorted(changes: Changes) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(changes.items()))


def _by_state(places: NDArray[np.int64], trees: int) -> list[tuple[int, list[int]]]:
    """Group the flat indices of an array of shape (states, trees) by state.

    Returns:
        A (state index, tree indices) pair for each state.
    """
    found: dict[int, list[int]] = {}
    for place in places.tolist():
        found.setdefault(place // trees, []).append(place % trees)
    return list(found.items())
