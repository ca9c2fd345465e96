"""The graph of all reachable states and steps of a spec, which `decide` searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.liveness.fairness import Condition, conditions_of
from leadline.checker.spec import Spec

S = TypeVar("S")


@attrs.frozen(eq=False)
class StateGraph(Generic[S]):
    """The reachable states of a spec, and the steps between different states.

    Attributes:
        states: the states, in the order in which a breadth-first search finds them.
        steps: for each state, its steps in the order of the spec's actions. Each step is a pair (action instance, index
            of the next state).
        open_states: the indices of the states whose steps are not all known; see `Spec.is_open`.
        conditions: the fairness conditions of each action instance in `steps`.
        enabled: for each state, the fairness conditions that are enabled in it.
        stops: the states in which a behaviour may stay for ever without a step. None if it may in all of them.
    """

    spec: Spec[S]
    states: list[S]
    initials: list[int]
    steps: list[list[tuple[ActionInstance[S], int]]]
    open_states: set[int]
    conditions: dict[ActionInstance[S], tuple[Condition, ...]]
    enabled: list[frozenset[Condition]]
    stops: set[int] | None = None

    @classmethod
    def of(cls, spec: Spec[S], states: Iterable[S], visit: Callable[[], None] = lambda: None) -> StateGraph[S]:
        """Build the state graph of a spec by calling the actions.

        Parameters:
            states: all reachable states, in the order in which a breadth-first search finds them.
            visit: a function that is called before each state is expanded. It may raise an exception.
        """
        found = list(states)
        number = {state: index for index, state in enumerate(found)}
        steps, open_states = [], set()
        for index, state in enumerate(found):
            visit()
            after = ((instance, number[successor]) for instance, successor in spec.successors(state))
            steps.append([(instance, target) for instance, target in after if target != index])
            if spec.is_open(state):
                open_states.add(index)
        conditions = {
            instance: conditions_of(spec, instance) for instance in {each for row in steps for each, _ in row}
        }
        enabled = [frozenset(chain.from_iterable(conditions[instance] for instance, _ in each)) for each in steps]
        return cls(spec, found, [number[state] for state in spec.initials()], steps, open_states, conditions, enabled)

    def where(self, holds: Callable[[S], bool]) -> set[int]:
        """Return the indices of the states for which a function returns true."""
        return {index for index, state in enumerate(self.states) if holds(state)}
