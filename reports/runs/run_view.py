"""The data about a run that reports show.

The terminal, the HTML page and the JSON object share this data, which comes from a search or from a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from leadline.checker.properties import Kind
from leadline.checker.result import PropertyResult, Result, Statistics, Stop, Verdict
from leadline.checker.spec import Spec
from leadline.invariants.promises import by_design
from leadline.reports.diagnosis import Diagnosis
from leadline.reports.kafka.known_bugs import (
    KnownBug,
    known_bugs_outside,
    known_bugs_within,
    too_early,
    too_few_brokers,
)
from leadline.reports.origin import Origin


@attrs.frozen(kw_only=True)
class PropertyView:
    """The result of a run for one property.

    Attributes:
        source: the source of the property, such as an article, a KIP or a ticket.
        trace_length: the number of states in the first trace, or None if there is no trace.
        premise: whether the premise was true in any searched state, or None if the property has no premise.
        never: what was never true, so that the property says nothing if it holds. Otherwise empty.
        by_design: the reason why the configuration does not promise the property. Empty if it promises the property.
        known_bugs: the known bugs in the release that violate the property within the bounds. Empty if the property is
            not violated, or is violated by design.
    """

    name: str
    kind: Kind
    sentence: str
    source: str
    verdict: Verdict
    trace_length: int | None = None
    premise: bool | None = None
    never: str = ""
    by_design: str = ""
    known_bugs: tuple[KnownBug, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether the property holds only because its premise is never true."""
        return self.verdict is Verdict.HOLDS and self.premise is False


@attrs.frozen(kw_only=True)
class RunView:
    """The data about a run that reports show.

    Attributes:
        bounds: the bounds of the spec, keyed by name.
        settings: the settings of the engine, keyed by name.
        stop: the reason why the run stopped early, or None if it searched every reachable state.
        note: a further remark, which is usually empty.
        origin: the version and command that produced the result, or None if these are not known.
        diagnosis: the diagnosis of the first violation, or None if no diagnosis was requested.
        known_bugs_outside: the tickets of known bugs in the release that the search cannot show, because they need
            other settings, larger bounds, or another property.
        warning: why a *holds* says little about a changed release, or an empty string.
        sought: the names of the properties that were checked first. Empty if all properties were treated equally.
    """

    spec: str
    bounds: Mapping[str, object]
    engine: str
    settings: Mapping[str, object]
    verdict: Verdict
    stop: Stop | None
    note: str
    statistics: Statistics
    properties: tuple[PropertyView, ...]
    origin: Origin | None = None
    diagnosis: Diagnosis | None = None
    known_bugs_outside: tuple[str, ...] = ()
    warning: str = ""
    sought: tuple[str, ...] = ()

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was searched."""
        return self.stop is None

    @property
    def reason(self) -> str | None:
        """Text that says why the run stopped early, or None if it searched every reachable state."""
        return None if self.stop is None else self.stop.text

    @property
    def missed(self) -> list[PropertyView]:
        """The violated properties, and the witnesses that were never shown. Violations by design come last."""
        found = [item for item in self.properties if item.verdict is Verdict.VIOLATED]
        return sorted(found, key=lambda item: bool(item.by_design))


def view_of_result(result: Result, origin: Origin | None = None, diagnosis: Diagnosis | None = None) -> RunView:
    """Return the view of a result.

    Parameters:
        origin: the version and command that produced the result.
        diagnosis: the diagnosis of the first violation.
    """
    return RunView(
        spec=result.spec.name,
        bounds=attrs.asdict(result.spec.bounds),
        engine=result.engine,
        settings=result.settings,
        verdict=result.verdict,
        stop=result.stop,
        note="; ".join(filter(None, [named(result.spec), too_early(result.spec), result.note, lone_state(result)])),
        statistics=result.statistics,
        properties=tuple(_property_view(result.spec, item) for item in result.properties),
        origin=origin,
        diagnosis=diagnosis,
        known_bugs_outside=known_bugs_outside(result.spec),
        warning=too_few_brokers(result.spec),
        sought=result.sought,
    )


def _property_view(spec: Spec[object], item: PropertyResult) -> PropertyView:
    is_violated, reason = item.verdict is Verdict.VIOLATED and bool(item.traces), by_design(item)
    return PropertyView(
        name=item.property.name,
        kind=item.property.kind,
        sentence=item.property.sentence,
        source=item.property.source,
        verdict=item.verdict,
        trace_length=len(item.traces[0]) if item.traces else None,
        premise=item.premise,
        never=item.never,
        by_design=reason,
        known_bugs=known_bugs_within(spec, item.property.name) if is_violated and not reason else (),
    )


def named(spec: Spec[object]) -> str:
    """Return a spec's name and note, as text, or an empty string if the spec has no note."""
    return f"{spec.name} {spec.note}" if spec.note else ""


def lone_state(result: Result) -> str:
    """Return a warning if a search found only one state, because this probably means that the spec is wrong. Otherwise,
    return "".
    """
    statistics, walked = result.statistics, result.statistics.walked
    is_alone = (statistics.distinct, statistics.outside) == (1, 0)
    is_searched = result.exhausted or (walked is not None and walked.behaviours > 0 and not walked.outside)
    # a random search that ends at a violation has not counted the state in which it ended
    is_stuck = all(len(trace) == 1 for item in result.properties for trace in item.traces)
    is_warned = is_alone and is_searched and is_stuck
    return "only 1 state was found: no action leads to another state" if is_warned else ""


@attrs.frozen(eq=False)
class FinishedRun:
    """A finished search, in the form that report formats need.

    Attributes:
        trace_files: the trace files that were written, keyed by the name of the property.
    """

    result: Result
    view: RunView
    trace_files: Mapping[str, list[Path]]
