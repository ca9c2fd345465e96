"""Show the result of a run on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leadline.checker.result import Learning, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.diagnosis import lines
from leadline.reports.runs.phrases import (
    FEW_STATES,
    advice,
    causes,
    engine_text,
    idle_action,
    order,
    property_verdict,
    run_verdict,
    statistics_lines,
    taken_column,
)
from leadline.reports.runs.run_view import RunView
from leadline.reports.terminal.console import STYLES, WrappedBounds
from leadline.reports.terminal.coverage import coverage_view


def heading(spec: Spec[object], engine: str, settings: Mapping[str, object]) -> WrappedBounds:
    """Return the heading of a run, with the spec, its bounds, the engine, and the settings of the engine."""
    text = Text(visible(spec.name), style="bold")
    text.append(f"  {visible(spec.named_bounds)}", style="")
    text.append(f"  {engine_text(engine, settings)}", style="dim")
    return WrappedBounds(text)


def result_view(run: RunView) -> RenderableType:
    """Return the view of a result, with the verdicts on the properties and on the run, and the counts."""
    parts: list[RenderableType] = [_properties_table(run)] if run.properties else []
    parts += [_actions_table(run), _verdict_line(run)]
    parts += map(Text, [*order(run), *causes(run)])
    parts += [Text(visible(line)) for line in lines(run.diagnosis)] if run.diagnosis is not None else []
    parts += [Text(text, style="dim") for text in advice(run)]
    parts += map(Text, statistics_lines(run.statistics))
    parts += [Text(visible(run.note), style="yellow")] if run.note else []
    if run.statistics.covered is not None:
        parts += coverage_view(run, run.statistics.covered)
    return Group(*parts)


def _learning(run: RunView) -> Learning | None:
    """Return the counts of learned calls, or None if there are none, or if the state space is too small for the counts
    to be meaningful.
    """
    return run.statistics.learning if run.statistics.distinct > FEW_STATES else None


def _properties_table(run: RunView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    learning = _learning(run)
    for title in ("property", "verdict", "trace"):
        table.add_column(title, header_style="dim")
    if learning:
        table.add_column("learned calls", header_style="dim", justify="right")
    for item in run.properties:
        length = counted(item.trace_length, "state") if item.trace_length is not None else ""
        style = STYLES[Verdict.INCOMPLETE if item.says_nothing else item.verdict]
        verdict = Text(property_verdict(item.kind, item.verdict, item.premise), style=style)
        calls = [f"{learning.properties.get(item.name, 0):,}"] if learning else []
        table.add_row(visible(item.name), verdict, length, *calls)
    return table


def _actions_table(run: RunView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("action", header_style="dim")
    learning = _learning(run)
    for title in (taken_column(run), "new states", *(["learned calls"] if learning else [])):
        table.add_column(title, header_style="dim", justify="right")
    for name, count in run.statistics.actions.items():
        cells = [f"{count.generated:,}", f"{count.distinct:,}"] if count.generated else [idle_action(run), ""]
        if learning:
            cells.append(f"{learning.actions[name]:,}")
        table.add_row(visible(name), *cells, style="" if count.generated else "yellow")
    return table


def _verdict_line(run: RunView) -> Text:
    verdict, rest = run_verdict(run)
    proved = run.properties or run.verdict is not Verdict.HOLDS
    style = STYLES[run.verdict] if proved else "bold"
    return Text(verdict, style=style).append(f": {rest}", style="default not bold")
