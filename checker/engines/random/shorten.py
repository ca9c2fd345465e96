"""Shortening: from a counterexample that a random search met to a short one near it.

Hypothesis would take ten times as long to shrink it, to something longer.

Where the space is too large to be searched from the initial states to the depth of a counterexample, searches from the
states along it shorten what leaving out steps cannot. States of counterexamples to weak_isr with four brokers, logs of
three records, three records and three epochs, one for each seed that found any:

====================  ==============================  ==============================
spec                  steps left out                  and searches along it
====================  ==============================  ==============================
atomic/hw-truncation  10, 13, 11, 11, 15, 11, 11, 10  10, 10, 10, 10, 12, 10, 10, 10
atomic/kip-101        18, 15, 14, 17, 14              12, 12, 12, 14, 12
====================  ==============================  ==============================

They took about as long as the search from the initial states, some 30 seconds each on a busy machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs

from checker.action import ActionInstance
from checker.content import in_order
from checker.engines import ENGINES
from checker.engines.evidence import Sighting, property_results
from checker.engines.purity import leads_elsewhere
from checker.engines.random.explored import Choice, VisitedStates
from checker.properties import Kind, Property
from checker.result import Limits
from checker.settings import CompiledSettings, Tuning
from checker.trace import Trace, complaint_at_end

S = TypeVar("S")

IN_ORDER = CompiledSettings(tuning=Tuning(in_order=True))
"""Settings of exhaustive searches whose traces are the same in every process."""

LONG = 20
"""States of a trace of which steps are left out two at a time; of longer ones, one at a time."""

MOST_TRIED = 1_000_000
"""Steps that are taken to see which ones can be left out, in some ten seconds."""


def without_needless_steps(trace: Trace[S]) -> Trace[S]:
    """A counterexample from which no single step can be left out; of a very long one, few steps.

    Half of the steps are left out, then a quarter, and so on down to one, wherever a violation remains.

    Parameters:
        trace: a counterexample.
    """
    size, tried = len(trace.instances) // 2, 0
    while size:
        first, before, choices = 0, len(trace), _choices(trace)
        while first < len(choices):
            tried += len(choices) - first
            if tried > MOST_TRIED:
                return trace
            shorter = _violation(trace, first, choices[first + size :])
            if shorter is not None and len(shorter) < len(trace):
                trace, choices = shorter, _choices(shorter)
            else:
                first += size
        if size > 1 or len(trace) == before:
            size //= 2
    return trace


def _choices(trace: Trace[S]) -> list[Choice]:
    """The choices that lead along a trace.

    Raises:
        SpecError: they lead elsewhere by now.
    """
    choices = []
    for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
        successors = in_order(trace.spec.take(instance, before))
        if after not in successors:
            raise leads_elsewhere(instance)
        choices.append((instance, successors.index(after)))
    return choices


def _violation(trace: Trace[S], first: int, choices: Iterable[Choice]) -> Trace[S] | None:
    """The violation that some choices lead to, passing over instances that are not enabled; None if to none.

    Parameters:
        trace: a counterexample.
        first: the steps of it that are taken before.
        choices: those that are tried then.
    """
    item, spec = trace.about, trace.spec
    assert item is not None
    states, taken = [*trace.states[: first + 1]], [*trace.instances[:first]]
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


def shortened(trace: Trace[S], visited: VisitedStates[S]) -> Trace[S]:
    """A short counterexample near one that was found.

    Steps are left out, one and two at a time, and the shortest counterexample is taken through all the
    states that any behaviour has visited, these and the search's own; and again, until that is no shorter.

    Parameters:
        trace: a counterexample.
        visited: the states that the search has visited; more are added.
    """
    item = trace.about
    assert item is not None
    trace = without_needless_steps(trace)
    while True:
        choices = _choices(trace)
        most = 2 if len(trace) <= LONG else 1 if len(trace) ** 2 <= MOST_TRIED else 0
        for left_out in range(min(most, len(choices)) + 1):
            for kept in itertools.combinations(choices, len(choices) - left_out):
                visited.follow(trace.states[0], kept)
        shortest = shortest_among(visited, [item]).get(item, trace)
        if len(shortest) == len(trace):
            return shortest
        trace = shortest


def shortened_along(trace: Trace[S], most: int) -> Trace[S]:
    """A counterexample that is shortened by exhaustive searches from the states along it.

    Each search begins at a state of the counterexample, the last ones first, and looks for a violation that is nearer
    than the one at the end. So shorter ends are found in spaces that are too large to be searched from the initial
    states.

    Parameters:
        trace: a counterexample.
        most: states of all these searches together.

    Raises:
        KeyboardInterrupt: a search took the Ctrl-C that was meant for all.
    """
    item = trace.about
    assert item is not None
    spec = trace.spec.with_properties([item.name])
    for first in reversed(range(len(trace) - 2)):
        rest = len(trace) - first  # whether a state is dead is known only after the search has gone beyond it
        limits = Limits(depth=rest - (item.kind is not Kind.DEADLOCK), max_states=most)
        result = ENGINES["compiled"](
            attrs.evolve(spec, initial_states=_only(trace.states[first])), limits, settings=IN_ORDER
        )
        if result.interrupted:
            raise KeyboardInterrupt
        for end in result.of(item.name).traces:
            if len(end) < rest:
                states, instances = trace.states[:first] + end.states, trace.instances[:first] + end.instances
                trace = attrs.evolve(trace, states=states, instances=instances)
        most -= result.statistics.distinct + result.statistics.outside
        if most <= 0:
            break
    return trace


def _only(state: S) -> Callable[[Any], list[S]]:
    return lambda _: [state]


def shortest_among(visited: VisitedStates[S], properties: Iterable[Property]) -> dict[Property, Trace[S]]:
    """The shortest evidence through states that were visited, and those one step from them.

    Parameters:
        visited: the states.
        properties: what to look for.

    Returns:
        For each property that is violated (a witness: satisfied) there, a shortest trace.
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
    for state in waiting:  # grows while it is walked: first come, first followed
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
