"""Builds the traces that a search reports: counterexamples of violated properties and examples of witnesses."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.liveness.judged import Judged
from leadline.checker.liveness.recheck import fault
from leadline.checker.properties import Kind, Property
from leadline.checker.result import ActionCount, Limits, PropertyResult, Result, Statistics, Stop, Verdict, judge
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.reordering import with_fewest_switches

if TYPE_CHECKING:
    import networkx as nx

    from leadline.checker.traces.graph import Arrivals

S = TypeVar("S")


@attrs.frozen(eq=False)
class Sighting(Generic[S]):
    """A state or a step that violates a property or satisfies a witness.

    Attributes:
        state: the state, or the state in which the step begins.
        step: the action instance and the state to which the step leads, or None if the property is about states.
    """

    state: S
    step: tuple[ActionInstance[S], S] | None = None


def nothing_searched(spec: Spec[S], engine: str, stop: Stop) -> Result:
    """Return the result of a search that stopped before it had computed the initial states.

    Parameters:
        stop: the reason why the search stopped.
    """
    return Result(
        spec=spec,
        engine=engine,
        stop=stop,
        statistics=Statistics(actions={action.name: ActionCount() for action in spec.actions}),
        properties=tuple(
            PropertyResult(item, judge(item, False, False), (), premise_shown(spec, item, ())) for item in spec.checks
        ),
    )


def premise_shown(spec: Spec[S], item: Property, shown: Container[Property]) -> bool | None:
    """Return whether the premise of a property was true in any state, or None if the property has no premise.

    Parameters:
        shown: the premises that were true in some state; see `Spec.premises`. `shown` may also contain other
            properties.
    """
    premise = spec.premise_of(item)
    return None if premise is None else premise in shown


def states_shown(spec: Spec[S], shown: Mapping[Property, int]) -> dict[str, int]:
    """Return the number of states that satisfy each witness and each property's premise, keyed by property name.

    Parameters:
        shown: maps each witness and each premise to the number of states that satisfy it; see `Spec.premises`.
    """
    counted = {item.name: spec.premise_of(item) or item for item in spec.checks}
    return {name: shown[item] for name, item in counted.items() if item in shown and item.kind.is_witness}


def still_evaluated(checks: Sequence[Property], missing: Sequence[int]) -> list[bool]:
    """Return, for each property, whether a search must still evaluate it.

    A property that must be true everywhere is evaluated even after enough violations were found, because its predicate
    may raise an exception in a later state. A witness is evaluated until it was shown.

    Parameters:
        missing: for each property, the number of further violations, or satisfying states or steps, that are wanted.
    """
    return [count > 0 or not item.kind.is_witness for item, count in zip(checks, missing, strict=True)]


def property_results(
    spec: Spec[S],
    sightings: Mapping[Property, Sequence[Sighting[S]]],
    arrivals: Arrivals[S],
    limits: Limits,
    exhausted: bool,
    liveness: Mapping[Property, Judged[S]] | None = None,
) -> tuple[PropertyResult, ...]:
    """Return the results of all properties after a search.

    Parameters:
        sightings: maps each property to its sightings, in the order of discovery.
        arrivals: maps each state on a shortest path to a sighting, including the sighting's own state, to the last
            steps of the shortest paths to that state.
        limits: the limits of the search, including the maximum number of traces per property.
        exhausted: whether every reachable state was searched.
        liveness: what was found out about each liveness property whose check has finished.
    """
    results = []
    shown = {item for item, seen in sightings.items() if seen}
    for item in spec.checks:
        seen = sightings[item]
        if item.kind.is_liveness:
            premise = premise_shown(spec, item, shown)
            judged = (liveness or {}).get(item)
            results.append(_liveness_result(item, judged, premise, _never(spec, item, premise)))
            continue
        wanted = 1 if item.kind.is_witness else limits.traces
        traces = itertools.islice(_traces(spec, item, seen, arrivals, limits.as_found), wanted)
        verdict = judge(item, bool(seen), exhausted)
        premise = premise_shown(spec, item, shown)
        results.append(PropertyResult(item, verdict, tuple(traces), premise, _never(spec, item, premise)))
    return tuple(results)


def _never(spec: Spec[S], item: Property, is_shown: bool | None) -> str:
    """Return the name of the premise of a property if it is true in no state; otherwise an empty string."""
    premise = spec.premise_of(item)
    return premise.name if premise is not None and is_shown is False else ""


def _liveness_result(item: Property, judged: Judged[S] | None, premise: bool | None, never: str) -> PropertyResult:
    if judged is None:
        return PropertyResult(item, Verdict.INCOMPLETE, (), premise, never)
    if judged.trace is not None:
        return PropertyResult(item, Verdict.VIOLATED, (judged.trace,), premise, never)
    return PropertyResult(item, Verdict.HOLDS, (), False if judged.never else premise, judged.never or never)


def contradicted(trace: Trace[S]) -> ActionInstance[S] | Property | None:
    """Check a trace by calling the spec's actions and property again on the trace's states.

    Parameters:
        trace: a trace that a search is about to report.

    Returns:
        The first action instance or property whose result differs from the trace, or None if there is none.
    """
    spec, states = trace.spec, trace.states
    for before, instance, after in zip(states, trace.instances, states[1:], strict=False):
        if after not in spec.take(instance, before):
            return instance
    item = trace.about
    if item is None:
        return None
    if item.kind.is_liveness:
        return None if fault(trace) is None else item
    if item.kind is Kind.DEADLOCK:
        return next((instance for instance in spec.instances if spec.take(instance, states[-1])), None)
    end = states[-2:] if item.kind.of_steps else states[-1:]
    return None if (spec.complaint(item, *end) is None) == item.kind.is_witness else item


def _traces(
    spec: Spec[S], item: Property, seen: Sequence[Sighting[S]], arrivals: Arrivals[S], as_found: bool
) -> Iterator[Trace[S]]:
    """Yield the shortest traces of a property, beginning with one trace for each sighting."""
    if not seen:
        return
    from leadline.checker.traces.graph import shortest_path_graph  # networkx takes a tenth of a second to import

    graph = shortest_path_graph(arrivals, [sighting.state for sighting in seen])
    ways = [_ways(spec, item, sighting, graph, as_found) for sighting in seen]
    shortest: int | None = None
    for round_of_ways in itertools.zip_longest(*ways):
        for trace in filter(None, round_of_ways):
            shortest = len(trace) if shortest is None else shortest
            if len(trace) == shortest:
                yield trace


def _ways(
    spec: Spec[S], item: Property, sighting: Sighting[S], graph: nx.MultiDiGraph[Any], as_found: bool
) -> Iterator[Trace[S]]:
    """Yield every shortest trace to a sighting. The first trace has the fewest switches between components, or is the
    first one found.
    """
    found = _found(spec, item, sighting, graph)
    first = next(found)
    if item.kind.is_witness:  # the example of a witness does not need to be the most readable one
        yield first
        return
    told = first if as_found else with_fewest_switches(first)
    yield told
    others = itertools.chain([first], found)
    yield from (trace for trace in others if (trace.states, trace.instances) != (told.states, told.instances))


def _found(spec: Spec[S], item: Property, sighting: Sighting[S], graph: nx.MultiDiGraph[Any]) -> Iterator[Trace[S]]:
    from leadline.checker.traces.graph import shortest_traces

    for path in shortest_traces(graph, sighting.state, spec):
        states, instances = path.states, path.instances
        if sighting.step is not None:
            instance, state = sighting.step
            states, instances = (*states, state), (*instances, instance)
        yield Trace(spec, states, instances, item)
