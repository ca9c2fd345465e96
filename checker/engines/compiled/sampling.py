"""Checks a sample of what a search has stored, which no comparison of learned results covers.

`StoredStates` makes a sample of the states again: it takes the steps that lead to them from an initial state, on the
states that the actions themselves return, and compares the last one strictly with the stored state. So it finds two
values that were stored as one, and a part of a state that was not stored at all. `check_steps` calls all actions on a
sample of the states, and compares the steps and their fairness conditions with those of the graph in which liveness is
decided. The samples depend only on the number of states and on `Tuning.verify_seed`.
"""

from __future__ import annotations

from collections import Counter
from typing import Generic, TypeVar

import numpy as np

from leadline.checker.action import ActionInstance
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.state_graph import PackedGraph, conditions_in
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.verification import draws
from leadline.checker.liveness.fairness import conditions_of, disturbs
from leadline.checker.settings import Tuning
from leadline.checker.values import refusal, same

S = TypeVar("S")

STATES, MOST = 30, 150
"""The first `STATES` states are all checked, and the same number again each time that there are e times as many, up to
`MOST`. Without this limit, the check took 7 % of the time of 737,794 states. Of `MOST` states, one is wrong with a
probability of 99 % if one in 33 is."""


def sample(count: int, tuning: Tuning) -> list[int]:
    """Return the indices of the states to check, of `count` states. If `Tuning.verify` is set, it is their fraction."""
    wanted = min(draws(count, STATES), MOST) if tuning.verify is None else round(count * tuning.verify)
    chosen: list[int] = np.random.default_rng([tuning.verify_seed, count]).choice(count, wanted, replace=False).tolist()
    return sorted(chosen)


class StoredStates(Generic[S]):
    """Makes states again by taking the steps that lead to them from an initial state.

    Parameters:
        expander: contains the states, and the action instance of the step by which each state was found.
    """

    def __init__(self, expander: Expander[S]) -> None:
        self._expander, self._spec = expander, expander.tables.spec
        self._initials = self._spec.initials()
        self._made: dict[int, S] = {}

    def check(self) -> int:
        """Check a sample of the states. Return their number.

        Raises:
            SpecError: if a state was stored as a different, equal state.
            NotRecorded: if the recorded step does not lead to a state.
        """
        chosen = sample(self._expander.store.count, self._expander.tuning)
        for index in chosen:
            self._expander.watch.pause()
            self._check(index)
        return len(chosen)

    def _initial(self, index: int) -> S:
        """Return the initial state that is stored at an index. A resume may have another order."""
        row, layout = self._expander.row(index), self._expander.layout
        likely = self._initials[index]
        return likely if layout.row(likely) == row else next(each for each in self._initials if layout.row(each) == row)

    def _check(self, index: int) -> None:
        store, way = self._expander.store, [index]
        while way[-1] not in self._made and way[-1] >= len(self._initials):
            way.append(int(store.parents[way[-1]]))
        first = way.pop()
        state = self._made[first] if first in self._made else self._initial(first)
        for following in reversed(way):
            tree, stored = int(store.arrivals[following]), self._expander.state(following)
            found = [after for after in self._spec.take(self._spec.instances[tree], state) if after == stored]
            if not found:
                raise NotRecorded(tree, self._expander.tables.caller.name_of(tree))
            right = [after for after in found if same(after, stored)]
            if not right:
                raise refusal(type(stored).__name__, stored, found[0]) or AssertionError
            state = self._made[following] = right[0]


def check_steps(graph: PackedGraph[S]) -> int:
    """Compare the steps of a sample of the states in a graph with calls on real states. Return the number of states.

    Raises:
        NotRecorded: if the steps or their fairness conditions differ. The search then starts again with less learned.
    """
    expander, (starts, targets, labels) = graph.expander, graph.rows
    spec, layout = expander.tables.spec, expander.layout

    def described(
        instance: ActionInstance[S], after: list[int]
    ) -> tuple[ActionInstance[S], object, bool, tuple[int, ...]]:
        return instance, conditions_of(spec, instance), disturbs(instance), tuple(after)

    chosen = sample(expander.store.count, expander.tuning)
    for index in chosen:
        expander.watch.pause()
        steps, state = slice(int(starts[index]), int(starts[index + 1])), expander.state(index)
        known = Counter(
            described(graph.instances[label], expander.row(target))
            for label, target in zip(labels[steps].tolist(), targets[steps].tolist(), strict=True)
        )
        found = Counter(described(each, layout.row(after)) for each, after in spec.successors(state))
        for instance, *_ in (known - found) | (found - known):
            tree = spec.instances.index(instance.of_search)
            raise NotRecorded(tree, expander.tables.caller.name_of(tree))
        for bit, place in enumerate(conditions_in(expander).tolist()):
            tree = expander.tables.first_step + place
            for target, marks in zip(targets[steps].tolist(), graph.marks[steps].tolist(), strict=True):
                if expander.tables.caller.shown_by(tree, (state, expander.state(target))) != bool(marks >> bit & 1):
                    raise NotRecorded(tree, expander.tables.caller.name_of(tree))
    return len(chosen)
