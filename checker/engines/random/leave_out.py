"""Shortens a counterexample of a random search by leaving out steps.

First, as many steps as possible are left out. Then one or two steps at a time are left out, all states on the resulting
paths are collected, and the shortest counterexample through these states is selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.content import in_order
from leadline.checker.engines.evidence import Sighting, property_results
from leadline.checker.engines.purity import leads_elsewhere
from leadline.checker.engines.random.visited_states import Choice, VisitedStates
from leadline.checker.properties import Property
from leadline.checker.result import Limits
from leadline.checker.trace import Trace, complaint_at_end

S = TypeVar("S")

Keep = Callable[[Trace[S]], None]
"""A function that is called with the shortest counterexample so far, before each attempt to shorten it. It may raise an
exception to stop the shortening."""

TRIED = 1_000_000
"""The maximum number of steps that are taken in order to shorten a trace. They take about ten seconds."""

LONG = 20
"""The maximum number of states of a trace from which two steps at a time are left out. From a longer trace, only one
step at a time is left out."""


def without_needless_steps(trace: Trace[S], keep: Keep[S], most_tried: int = TRIED) -> Trace[S]:
    """Leave out consecutive steps of a counterexample, first all of them, later half as many at a time, as long as the
    property is still violated (A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002).

    Parameters:
        trace: a counterexample, or a trace to a state that satisfies a witness.
        keep: a function that is called with the shortest counterexample so far, before each attempt to shorten it.
        most_tried: the approximate maximum number of steps to take; see `TRIED`.

    Raises:
        SpecError: if the spec's functions are not pure or raised an exception.
    """
    choices, size, tried = _choices(trace), len(trace.instances), 0
    while size:
        length, end = len(trace), len(choices)
        while end > 0 and tried <= most_tried:
            keep(trace)
            kept = choices[: max(end - size, 0)] + choices[end:]
            tried += len(kept)
            shorter = _violation(trace, kept)
            if shorter is not None and len(shorter) < len(trace):
                trace, choices = shorter, _choices(shorter)
            end = min(end - size, len(choices))
        if len(trace) == length:
            size //= 2
    return trace


def _choices(trace: Trace[S]) -> list[Choice]:
    """Return a `Choice` for each step of a trace: the action instance, and the index of the next state.

    Raises:
        SpecError: if an action is not pure, so that an action instance no longer leads to the recorded state.
    """
    choices = []
    for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
        instance = instance.of_search
        successors = in_order(trace.spec.take(instance, before))
        if after not in successors:
            raise leads_elsewhere(instance)
        choices.append((instance, successors.index(after)))
    return choices


def _violation(trace: Trace[S], choices: Iterable[Choice]) -> Trace[S] | None:
    """Begin at the first state of a counterexample, and take the given steps until the property is violated.

    Parameters:
        choices: the steps to take. An action instance that is not enabled is skipped.

    Returns:
        The trace to the violation, or None if the property is not violated.
    """
    item, spec = trace.about, trace.spec
    assert item is not None
    states, taken = [trace.states[0]], list[ActionInstance[S]]()
    for instance, choice in choices:
        successors = in_order(spec.take(instance, states[-1]))
        if successors:
            states.append(successors[min(choice, len(successors) - 1)])
            taken.append(instance)
            if complaint_at_end(spec, item, states) is not None:
                return Trace(spec, states, taken, item)
            if not spec.is_within(states[-1]):
                return None
    return None


def shortest_nearby(trace: Trace[S], keep: Keep[S], most_tried: int = TRIED) -> Trace[S]:
    """Shorten a counterexample by leaving out one or two steps at a time.

    All states that these attempts visit are collected, and the shortest counterexample through them is shortened in the
    same way. This is repeated until the counterexample no longer becomes shorter.

    Parameters:
        keep: a function that is called with the shortest counterexample so far, before each attempt to shorten it.
        most_tried: the approximate maximum number of steps to take in each round; see `TRIED`.

    Raises:
        SpecError: if the spec's functions are not pure or raised an exception.
    """
    item, visited = trace.about, VisitedStates(trace.spec)
    assert item is not None
    while True:
        choices = _choices(trace)
        most = 2 if len(trace) <= LONG else 1 if len(trace) ** 2 <= most_tried else 0
        for left_out in range(min(most, len(choices)) + 1):
            for kept in itertools.combinations(choices, len(choices) - left_out):
                keep(trace)
                visited.follow(trace.states[0], kept)
        shortest = shortest_among(visited, [item]).get(item, trace)
        if len(shortest) == len(trace):
            return shortest
        trace = shortest


def shortest_among(visited: VisitedStates[S], properties: Iterable[Property]) -> dict[Property, Trace[S]]:
    """Evaluate properties on visited states, and build shortest traces to violations and to satisfied witnesses.

    Parameters:
        visited: the visited states. The traces may end one step beyond these states.

    Returns:
        One shortest trace for each invariant that is violated and for each witness that is satisfied.
    """
    spec, sought = visited.spec, list(properties)
    arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {state: [] for state in spec.initials()}
    sightings: dict[Property, list[Sighting[S]]] = {item: [] for item in spec.checks_and_premises}

    def look(sighting: Sighting[S], *states: S) -> None:
        for item in [item for item in sought if item.kind.of_steps == (len(states) == 2)]:
            if complaint_at_end(spec, item, states) is not None:
                sightings[item].append(sighting)
                sought.remove(item)

    waiting = list(arrivals)
    for state in waiting:  # the loop appends to this list, so that states are visited in breadth-first order
        look(Sighting(state), state)
        if state not in visited:
            continue
        for instance, successors in visited.steps(state).enabled.items():
            for successor in successors:
                look(Sighting(state, (instance, successor)), state, successor)
                if successor not in arrivals:
                    arrivals[successor] = [(state, instance)]
                    waiting.append(successor)
        if not sought:
            break
    results = property_results(spec, sightings, arrivals, Limits(), exhausted=False)
    return {item.property: item.traces[0] for item in results if item.traces}
