"""Shortens a counterexample of a random search by leaving out steps.

First, Hypothesis chooses the steps to leave out. Then one or two steps at a time are left out, all states on the
resulting paths are collected, and the shortest counterexample through these states is selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, currently_in_test_context, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

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

MOST_GROUPS = 250
"""The maximum number of groups of steps. Hypothesis leaves out or keeps each group as a whole. It takes 0.4 seconds for
200 groups, and 1.8 seconds for 700 groups."""

SHRINKING = settings(
    max_examples=1_000,
    phases=[Phase.generate, Phase.shrink],
    database=None,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)
"""The settings for Hypothesis. All are given explicitly, because a profile of the user could change the results."""


def without_needless_steps(trace: Trace[S], keep: Keep[S], most_tried: int = TRIED) -> Trace[S]:
    """Leave out steps of a counterexample until Hypothesis finds no more steps to leave out.

    In a trace with more than `MOST_GROUPS` steps, only groups of consecutive steps are left out. Within a Hypothesis
    test, the counterexample is returned unchanged, because Hypothesis does not support nested tests.

    Parameters:
        trace: a counterexample, or a trace to a state that satisfies a witness.
        keep: a function that is called with the shortest counterexample so far, before each attempt to shorten it.
        most_tried: the maximum number of steps to take; see `TRIED`.

    Returns:
        The shortest counterexample that was found.

    Raises:
        SpecError: if the spec's functions are not pure or raised an exception.
    """
    tried = 0
    while not currently_in_test_context():
        size = -(-len(trace.instances) // MOST_GROUPS)
        shorter, tried = _shrunk(trace, size, keep, tried, most_tried)
        if len(shorter) == len(trace):
            break
        trace = shorter
    return trace


def _shrunk(trace: Trace[S], size: int, keep: Keep[S], tried: int, most_tried: int) -> tuple[Trace[S], int]:
    """Run Hypothesis once to find groups of steps that a counterexample does not need.

    Hypothesis generates a byte for each group and shrinks it towards 0. A group is left out if its byte is 0.

    Parameters:
        trace: a counterexample.
        size: the number of steps in a group, or 0 if the counterexample has no steps.
        keep, most_tried: see `without_needless_steps`.
        tried: the number of steps taken in earlier runs.

    Returns:
        The shortest counterexample that was found, and the number of steps taken, including `tried`.
    """
    if not size:
        return trace, tried
    choices, shortest = _choices(trace), trace
    known: dict[bytes, bool] = {}
    errors: list[Exception] = []

    def is_violated(groups: bytes) -> bool:
        """Return whether the property is still violated if all groups whose byte is 0 are left out."""
        nonlocal shortest, tried
        if groups in known or tried > most_tried or errors:
            return known.get(
                groups, False
            )  # for equal bytes, the result must be the same, or Hypothesis reports a flaky test
        try:
            keep(shortest)
            kept = [choice for place, choice in enumerate(choices) if groups[place // size]]
            tried += len(kept)
            shorter = _violation(trace, kept)
        except Exception as error:  # otherwise, Hypothesis would shrink the example that raises it
            errors.append(error)
            return False
        if shorter is not None and len(shorter) < len(shortest):
            shortest = shorter
        known[groups] = shorter is not None
        return known[groups]

    count = -(-len(choices) // size)
    with suppress(NoSuchExample):
        find(st.binary(min_size=count, max_size=count), is_violated, settings=SHRINKING, random=Random(0))
    if errors:
        raise errors[0]
    return shortest, tried


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
        trace: the counterexample.
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
        trace: a counterexample.
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
        properties: the properties to evaluate.

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
