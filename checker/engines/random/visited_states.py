"""Stores the states that a Hypothesis state machine visits, and the steps from each of them.

An action may yield several next states in the iteration order of a set, which differs between processes. This module
sorts next states by their contents, so that the same choices lead to the same states in every process.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.content import in_order
from leadline.checker.engines.purity import Purity
from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec

S = TypeVar("S")


@attrs.frozen(eq=False)
class Steps(Generic[S]):
    """The steps from one state.

    Attributes:
        moves: maps each enabled action instance to its next states, without steps that lead back to the state itself.
        idle: the action instances with a step that leads back to the state itself (a stuttering step).
    """

    moves: dict[ActionInstance[S], list[S]]
    idle: list[ActionInstance[S]]


class VisitedStates(Generic[S]):
    """The visited states, and the steps from each of them. Each state is expanded only once.

    Parameters:
        spec: the spec. Its functions are called again on some of the states, to check that they are pure.
    """

    def __init__(self, spec: Spec[S]) -> None:
        self.spec = spec
        self._purity = Purity(spec)
        self._steps: dict[S, Steps[S]] = {}
        self._same: dict[S, S] = {}
        self._failures: dict[S, SpecError] = {}

    def steps(self, state: S) -> Steps[S]:
        """Return the steps from a state, and mark the state as visited.

        Raises:
            SpecError: if an action raised an exception, or a function of the spec is not pure.
        """
        if state in self._failures:
            raise self._failures[state]  # Hypothesis repeats failing examples, and expects the same error
        known = self._steps.get(state)
        if known is None:
            try:
                known = self._steps[state] = self._expanded(state)
            except SpecError as error:
                self._failures[state] = error
                raise
        return known

    def _expanded(self, state: S) -> Steps[S]:
        self._purity.check(state)
        enabled: dict[ActionInstance[S], list[S]] = {}
        for instance, successor in self.spec.successors(state):
            same = self._same.setdefault(
                successor, successor
            )  # use the same object for equal states, because identical objects are compared faster
            enabled.setdefault(instance.of_search, []).append(same)
        enabled = {instance: in_order(states) for instance, states in enabled.items()}
        moves = {instance: [after for after in states if after != state] for instance, states in enabled.items()}
        idle = [instance for instance, states in enabled.items() if len(moves[instance]) < len(states)]
        return Steps({instance: states for instance, states in moves.items() if states}, idle)
