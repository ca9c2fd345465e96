"""Shortens a counterexample of a random search by leaving out steps.

First, Hypothesis leaves out steps. Then steps are left out one and two at a time, and the result is the shortest
counterexample through all states visited meanwhile.
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
from leadline.checker.settings import DEFAULT
from leadline.checker.trace import Trace, complaint_at_end

S = TypeVar("S")

Keep = Callable[[Trace[S]], None]
"""Called before each attempt with the shortest counterexample so far; may raise KeyboardInterrupt to end."""

LONG = 20
"""The maximum length in states of traces whose steps are left out two at a time; from longer ones, one at a time."""

MOST_GROUPS = 250
"""The number of groups of steps that Hypothesis leaves out or keeps. 200 take 0.4 seconds, 700 take 1.8 seconds."""

SHRINKING = settings(
    max_examples=1_000,
    phases=[Phase.generate, Phase.shrink],
    database=None,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)
"""All settings are set, because those of the user's profile could change the results."""


def without_needless_steps(trace: Trace[S], keep: Keep[S], most_tried: int = DEFAULT.tried) -> Trace[S]:
    """Return a counterexample from which Hypothesis cannot leave out any more steps, or only a few if it is very long.

    Within a Hypothesis test, the counterexample is returned unchanged, because such tests must not be nested.

    Parameters:
        trace: a counterexample, or a trace to a state that satisfies a witness.
        keep: see `Keep`.
        most_tried: see `Tuning.tried`.
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
    """Shorten a counterexample by the steps that Hypothesis can leave out.

    Hypothesis draws a byte for each group of steps, and shrinks the bytes towards 0, which leaves the group out.

    Parameters:
        trace: a counterexample.
        size: the number of steps of a group; 0 if there are no steps.
        keep: see `Keep`.
        tried: the number of steps taken before.
        most_tried: see `without_needless_steps`.

    Returns:
        The shortest counterexample, and the number of steps taken, including those before.
    """
    if not size:
        return trace, tried
    choices, shortest = _choices(trace), trace
    known: dict[bytes, bool] = {}
    errors: list[Exception] = []

    def is_violated(groups: bytes) -> bool:
        """Whether the property is violated if only the groups with a byte other than 0 are kept."""
        nonlocal shortest, tried
        if groups in known or tried > most_tried or errors:
            return known.get(
                groups, False
            )  # the same answer for the same bytes: otherwise, Hypothesis reports a flaky test
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
    """Return the choices that lead along a trace.

    Raises:
        SpecError: the action instances no longer lead to the same states.
    """
    choices = []
    for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
        successors = in_order(trace.spec.take(instance, before))
        if after not in successors:
            raise leads_elsewhere(instance)
        choices.append((instance, successors.index(after)))
    return choices


def _violation(trace: Trace[S], choices: Iterable[Choice]) -> Trace[S] | None:
    """Follow choices, skipping instances that are not enabled. Return the violation found; None if there is none.

    Parameters:
        trace: a counterexample.
        choices: the choices to try from its first state.
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


def shortest_nearby(trace: Trace[S], keep: Keep[S], most_tried: int = DEFAULT.tried) -> Trace[S]:
    """Return a short counterexample near the given one.

    Steps are left out, one and two at a time, and the shortest counterexample through all visited states is selected.
    This is repeated until the counterexample does not get shorter.

    Parameters:
        trace: a counterexample.
        keep: see `Keep`.
        most_tried: see `Tuning.tried`.
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
    """Return the shortest evidence through the visited states and the states one step from them.

    Parameters:
        visited: the visited states.
        properties: the properties to look for.

    Returns:
        A shortest trace for each property that is violated there (for a witness, satisfied).
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
    for state in waiting:  # the list grows during the loop: breadth-first order
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
