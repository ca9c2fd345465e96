"""Comparing two specs: where the same schedule of actions takes each of them.

The specs must have states of one class, as variants of one protocol have; constants are not compared.
"""

from __future__ import annotations

from typing import Any, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.spec import Spec
from leadline.checker.support.names import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.graph import shortest_path_graph, shortest_traces

S = TypeVar("S")


class NoPartingYet(LeadlineError):
    """As many states as were to be looked at are alike."""


@attrs.frozen(eq=False)
class Parting:
    """One schedule of actions in two specs.

    Attributes:
        first: the behaviour of the one.
        second: the behaviour of the other, as far as it goes.
        refused: the action instance that the other does not take, after its last state; None if it took all.
    """

    first: Trace[Any]
    second: Trace[Any]
    refused: ActionInstance[Any] | None

    @property
    def shared(self) -> int:
        """How many states both go through, from the first one, before they differ."""
        pairs = zip(self.first.states, self.second.states, strict=False)
        return next((index for index, (one, other) in enumerate(pairs) if one != other), len(self.second))


def follow(trace: Trace[S], spec: Spec[S]) -> Parting:
    """Take the actions of a trace in another spec, one by one, wherever they lead there.

    Parameters:
        trace: a behaviour of one spec.
        spec: the other spec.

    Returns:
        Both behaviours. Where an action leads to several states, one that the trace has too is preferred.

    Raises:
        SpecError: the specs have no initial state in common.
    """
    twins = {repr(instance): instance for instance in spec.instances}
    states = [state for state in spec.initials() if state == trace.states[0]]
    if not states:
        raise _differ(trace.spec, spec)
    taken: list[ActionInstance[S]] = []
    refused: ActionInstance[S] | None = None
    for step in trace.steps:
        twin = twins.get(repr(step.instance))
        successors = [] if twin is None else spec.take(twin, states[-1])
        if twin is None or not successors:
            refused = step.instance
            break
        states.append(next((state for state in successors if state == step.after), successors[0]))
        taken.append(twin)
    return Parting(trace, Trace(spec, states, taken), refused)


def first_parting(first: Spec[S], second: Spec[S], max_states: int | None = None) -> Parting | None:
    """The shortest behaviour of one spec that the other does not have, through the states that they share.

    Parameters:
        first, second: the specs.
        max_states: how many shared states to look at; None: all.

    Returns:
        The parting, in which `Parting.first` is of the first spec; None if the other has every behaviour of it.

    Raises:
        SpecError: the specs have no initial state in common.
        NoPartingYet: the limit came first.
    """
    twins = {repr(instance): instance for instance in second.instances}
    other = {state: state for state in second.initials()}
    arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {state: [] for state in first.initials() if state in other}
    if not arrivals:
        raise _differ(first, second)
    waiting = list(arrivals)
    for state in waiting:  # grows while it is walked: first come, first followed
        for instance, successor in first.successors(state):
            twin = twins.get(repr(instance))
            theirs = [] if twin is None else second.take(twin, other[state])
            if successor not in theirs:
                before = next(shortest_traces(shortest_path_graph(arrivals, [state]), state, first))
                longer = Trace(first, (*before.states, successor), (*before.instances, instance))
                return follow(longer, second)
            if successor not in arrivals:
                arrivals[successor], other[successor] = [(state, instance)], theirs[theirs.index(successor)]
                waiting.append(successor)
        if max_states is not None and len(arrivals) > max_states:
            raise NoPartingYet(f"{first.name} and {second.name} do the same in {counted(max_states, 'state')}")
    return None


def _differ(first: Spec[Any], second: Spec[Any]) -> SpecError:
    one, other = type(first.initials()[0]), type(second.initials()[0])
    why = "initial states differ" if one is other else "states are of different classes: define both specs in one file"
    return SpecError(f"{first.name} and {second.name} cannot be compared: their {why}")
