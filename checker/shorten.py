"""Shortening: from a counterexample that a random search met to a short one near it.

Hypothesis would take ten times as long to shrink it, to something longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TypeVar

from checker.action import ActionInstance
from checker.evidence import Sighting, property_results
from checker.properties import Property
from checker.result import Limits
from checker.trace import Trace, complaint_at_end
from checker.visited import Visited

S = TypeVar("S")


def shortened(trace: Trace[S], visited: Visited[S]) -> Trace[S]:
    """A short counterexample near one that was found.

    Steps are left out, one and two at a time, and the shortest counterexample is taken through all the
    states that any behaviour has visited, these and the search's own; and again, until that is no shorter.

    Parameters:
        trace: a counterexample.
        visited: the states that the search has visited, those of the trace among them; more are added.
    """
    assert trace.about is not None
    while True:
        for left_out in range(1, min(2, len(trace.instances)) + 1):
            for kept in itertools.combinations(trace.instances, len(trace.instances) - left_out):
                visited.follow(trace.states[0], kept)
        shortest = shortest_among(visited, [trace.about])[trace.about]
        if len(shortest) == len(trace):
            return shortest
        trace = shortest


def shortest_among(visited: Visited[S], properties: Iterable[Property]) -> dict[Property, Trace[S]]:
    """The shortest evidence through states that were visited, and those one step from them.

    Parameters:
        visited: the states.
        properties: what to look for.

    Returns:
        For each property that is violated (a witness: satisfied) there, a shortest trace.
    """
    spec, sought = visited.spec, list(properties)
    arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {state: [] for state in spec.initials()}
    sightings: dict[Property, list[Sighting[S]]] = {item: [] for item in spec.checks}

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
