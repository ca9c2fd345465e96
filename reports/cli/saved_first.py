"""Counterexamples that an earlier run saved are replayed before a search, as pytest and Hypothesis do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError, TraceError
from leadline.checker.result import Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.itf import SUFFIX, read_trace
from leadline.checker.traces.replay import replay
from leadline.reports.lines import say


def replayed_first(spec: Spec[Any], folder: Path, err: bool) -> dict[str, Trace[Any]]:
    """Replay the saved counterexamples to the properties of a spec with its bounds, and say what became of each.

    Parameters:
        folder: the folder with the trace files. Other files in it are ignored.
        err: whether to print on standard error.

    Returns:
        A shortest counterexample to each property that is still violated, keyed by the name of the property.
    """
    found: dict[str, Trace[Any]] = {}
    wanted = {item.name for item in spec.checks if not item.kind.is_witness}
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            recorded = read_trace(file)
        except TraceError:
            continue
        if (recorded.spec, recorded.bounds) != (spec.name, attrs.asdict(spec.bounds)) or recorded.about not in wanted:
            continue
        name = visible(str(file))
        try:
            trace = replay(spec, recorded)
            if outside := [number for number, state in enumerate(trace.states[:-1], 1) if not spec.is_within(state)]:
                raise TraceError(f"state {outside[0]} is not within the states to search")
        except TraceError as error:
            say(visible(f"{name} is no longer a counterexample to {recorded.about}: {error}"), err=err)
            continue
        say(visible(f"{name} still violates {recorded.about}, in {counted(len(trace), 'state')}"), err=err)
        if recorded.about not in found or len(trace) < len(found[recorded.about]):
            found[recorded.about] = trace
    return found


def with_saved(result: Result, saved: Mapping[str, Trace[Any]]) -> Result:
    """Return the result with a saved counterexample to each property that the search did not decide.

    Parameters:
        saved: counterexamples that have been replayed, keyed by the name of the property.

    Raises:
        LeadlineError: if the search found that a property holds although there is a counterexample.
    """
    properties = list(result.properties)
    for index, item in enumerate(properties):
        trace = saved.get(item.property.name)
        if trace is None or item.verdict is Verdict.VIOLATED:
            continue
        if item.verdict is Verdict.HOLDS:
            raise LeadlineError(
                f"the search found that {item.property.name} holds, but a saved counterexample of "
                f"{counted(len(trace), 'state')} was replayed: this is an error in leadline, please report it"
            )
        properties[index] = attrs.evolve(item, verdict=Verdict.VIOLATED, traces=(trace,))
    return attrs.evolve(result, properties=tuple(properties))
