"""Searches that begin at the end of a trace instead of an initial state."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.result import PropertyResult, Result
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace


def continuing(trace: Trace[Any], spec: Spec[Any]) -> Spec[Any]:
    """Return a copy of a spec whose only initial state is the last state of a trace of the spec."""
    properties, optional = (
        [attrs.evolve(item, initially=None) for item in each] for each in (spec.properties, spec.optional)
    )
    return attrs.evolve(spec, initial_states=lambda _: [trace.states[-1]], properties=properties, optional=optional)


def continued(result: Result, trace: Trace[Any]) -> Result:
    """Return the result of a search of `continuing` in terms of the spec of the trace.

    The steps of the trace precede those that the search found, so that each of the result's traces begins in an initial
    state of the spec and can be replayed.

    Parameters:
        result: the result of the search. Its traces begin at the last state of `trace`.
    """
    spec = attrs.evolve(result.spec, initial_states=trace.spec.initial_states)
    begins = f"searched from the last state of a trace of {counted(len(trace), 'state')}"
    return attrs.evolve(
        result,
        spec=spec,
        properties=tuple(_continued(item, trace, spec) for item in result.properties),
        note=": ".join(filter(None, [begins, result.note])),
    )


def _continued(item: PropertyResult, first: Trace[Any], spec: Spec[Any]) -> PropertyResult:
    traces = (
        Trace(spec, first.states[:-1] + each.states, first.instances + each.instances, each.about)
        for each in item.traces
    )
    return attrs.evolve(item, traces=tuple(traces))
