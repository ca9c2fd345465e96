"""What is shown of a run, whether it has just ended or was saved: the same for terminal, page and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from leadline.checker.properties import Kind
from leadline.checker.result import Result, Statistics, StopKind, Verdict
from leadline.reports.origin import Origin


@attrs.frozen(kw_only=True)
class PropertyView:
    """What a run says of one property.

    Attributes:
        name, kind, sentence, source: the property's own.
        verdict: the verdict.
        trace_length: the states of the first trace; None if there is none.
        premise: whether its premise was true in any state that was searched; None if it has none.
    """

    name: str
    kind: Kind
    sentence: str
    source: str
    verdict: Verdict
    trace_length: int | None = None
    premise: bool | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether it holds only because its premise is never true."""
        return self.verdict is Verdict.HOLDS and self.premise is False


@attrs.frozen(kw_only=True)
class RunView:
    """What is shown of a run.

    Attributes:
        spec: the spec's name.
        bounds: its bounds by name.
        engine, settings: what searched it, and how.
        verdict: the verdict on the whole.
        reason: why the run stopped early; None if the space was exhausted.
        exhausted: whether every reachable state was searched.
        note: what else has to be said of the run; empty for most.
        statistics: the counts.
        properties: what it says of each property.
        origin: what made it; None if that is not known.
        stopped_by: what stopped the run early; None if nothing did, or that is not known.
    """

    spec: str
    bounds: Mapping[str, Any]
    engine: str
    settings: Mapping[str, Any]
    verdict: Verdict
    reason: str | None
    exhausted: bool
    note: str
    statistics: Statistics
    properties: tuple[PropertyView, ...]
    origin: Origin | None = None
    stopped_by: StopKind | None = None

    @property
    def missed(self) -> list[PropertyView]:
        """The properties that are violated and the witnesses that were never shown."""
        return [item for item in self.properties if item.verdict is Verdict.VIOLATED]


def view_of_result(result: Result, origin: Origin | None = None) -> RunView:
    """What is shown of a result.

    Parameters:
        result: the result.
        origin: what made it.
    """
    return RunView(
        spec=result.spec.name,
        bounds=attrs.asdict(result.spec.bounds),
        engine=result.engine,
        settings=result.settings,
        verdict=result.verdict,
        reason=result.reason,
        exhausted=result.exhausted,
        note="; ".join(filter(None, [result.note, lone_state(result)])),
        statistics=result.statistics,
        properties=tuple(
            PropertyView(
                name=item.property.name,
                kind=item.property.kind,
                sentence=item.property.sentence,
                source=item.property.source,
                verdict=item.verdict,
                trace_length=len(item.traces[0]) if item.traces else None,
                premise=item.premise,
            )
            for item in result.properties
        ),
        origin=origin,
        stopped_by=None if result.stop is None else result.stop.kind,
    )


def lone_state(result: Result) -> str:
    """A warning if a search found only one state, as a mistake in the spec is likely; else empty."""
    statistics, walked = result.statistics, result.statistics.walked
    is_alone = (statistics.distinct, statistics.outside) == (1, 0)
    is_searched = result.exhausted or (walked is not None and walked.behaviours > 0 and not walked.outside)
    return "only 1 state was found: no action leads to another state" if is_alone and is_searched else ""
