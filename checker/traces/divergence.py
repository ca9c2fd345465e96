"""Compares two specs by finding a sequence of actions that leads to different states in the two specs. The states of
both specs must belong to the same class, as they do for variants of a protocol. Constants are ignored.
"""

from __future__ import annotations

from typing import Any, TypeVar

import attrs

from leadline.checker.action import ActionInstance, Identity
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.graph import shortest_path_graph, shortest_traces

S = TypeVar("S")


class NoPartingYet(LeadlineError):
    """Raised if the search for a difference between two specs has reached the maximum number of states."""


@attrs.frozen(eq=False)
class Parting:
    """The behaviours of two specs for the same sequence of actions.

    Attributes:
        second: the behaviour of the second spec. It ends before the first action that is not enabled.
        refused: the action instance that is not enabled in the last state of `second`, or None if every action is
            enabled.
    """

    first: Trace[Any]
    second: Trace[Any]
    refused: ActionInstance[Any] | None

    @property
    def shared(self) -> int:
        """The number of states in the common prefix of the two behaviours."""
        pairs = zip(self.first.states, self.second.states, strict=False)
        return next((index for index, (one, other) in enumerate(pairs) if one != other), len(self.second))


def follow(trace: Trace[S], spec: Spec[S]) -> Parting:
    """Perform the actions of a trace in a second spec.

    An action is performed with the same values, also with those that are drawn from the state. If it leads to several
    states in the second spec, the state that is also in the trace is chosen if possible.

    Parameters:
        trace: a trace of the first spec.

    Returns:
        The behaviours of both specs. The behaviour of the second spec ends early if an action is not enabled.

    Raises:
        SpecError: if the first state of the trace is not an initial state of the second spec.
    """
    states = [state for state in spec.initials() if state == trace.states[0]]
    if not states:
        raise _differ(trace.spec, spec)
    taken: list[ActionInstance[S]] = []
    refused: ActionInstance[S] | None = None
    for step in trace.steps:
        possible = _steps(spec, states[-1]).get(step.instance.identity, [])
        if not possible:
            refused = step.instance
            break
        twin, after = next((each for each in possible if each[1] == step.after), possible[0])
        states.append(after)
        taken.append(twin)
    return Parting(trace, Trace(spec, states, taken), refused)


def first_parting(first: Spec[S], second: Spec[S], max_states: int | None = None) -> Parting | None:
    """Return a shortest behaviour of the first spec that is not a behaviour of the second, or None if there is none.

    Parameters:
        max_states: the maximum number of states to search, or None for no limit. Only states that both specs reach with
            the same actions are searched.

    Returns:
        The behaviour of the first spec, and the behaviour of the second spec for the same actions.

    Raises:
        SpecError: if the specs have no initial state in common.
        NoPartingYet: if the limit was reached before a difference was found.
    """
    other = {state: state for state in second.initials()}
    arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {state: [] for state in first.initials() if state in other}
    if not arrivals:
        raise _differ(first, second)
    waiting = list(arrivals)
    for state in waiting:  # a queue that grows during the loop
        their_steps = _steps(second, other[state])
        for instance, successor in first.successors(state):
            theirs = [after for _, after in their_steps.get(instance.identity, [])]
            if successor not in theirs:
                before = next(shortest_traces(shortest_path_graph(arrivals, [state]), state, first))
                longer = Trace(first, (*before.states, successor), (*before.instances, instance))
                return follow(longer, second)
            if successor not in arrivals:
                arrivals[successor], other[successor] = [(state, instance)], theirs[theirs.index(successor)]
                waiting.append(successor)
        if max_states is not None and len(arrivals) > max_states:
            raise NoPartingYet(
                f"{first.name} and {second.name} do not differ in the {counted(max_states, 'state')} searched"
            )
    return None


def _steps(spec: Spec[S], state: S) -> dict[Identity, list[tuple[ActionInstance[S], S]]]:
    """Return the steps of each action instance from a state, whether or not `Spec.within` is true for it."""
    found: dict[Identity, list[tuple[ActionInstance[S], S]]] = {}
    for each in spec.instances:
        for instance, after in spec.steps(each, state):
            found.setdefault(instance.identity, []).append((instance, after))
    return found


def _differ(first: Spec[Any], second: Spec[Any]) -> SpecError:
    one, other = type(first.initials()[0]), type(second.initials()[0])
    why = "initial states differ" if one is other else "states have different classes; define both specs in one file"
    return SpecError(f"{first.name} and {second.name} cannot be compared, because their {why}")
