"""Show the coverage of a run on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from leadline.checker.coverage import CoverageCounts, SourceLine
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.runs.phrases import (
    LEGEND,
    MARKS,
    field_values,
    idle_action,
    instance_columns,
    line_note,
    sample_note,
    shown_kinds,
)
from leadline.reports.runs.run_view import RunView
from leadline.reports.terminal.console import empty_table


def coverage_view(run: RunView, covered: CoverageCounts) -> Iterator[RenderableType]:
    """Yield tables of the coverage, and the source of the functions that were not completely covered.

    Parameters:
        run: the run.
        covered: the coverage of the run.
    """
    table = empty_table("coverage", (*instance_columns(run), "taken", "new states"), numbers=3)
    for name, instance in covered.instances.items():
        counts = (f"{count:,}" for count in (instance.enabled, instance.generated, instance.distinct))
        cells = counts if instance.enabled else (idle_action(run), "", "")
        table.add_row(visible(name), *cells, style="" if instance.enabled else "yellow")
    yield table
    if covered.shown:
        shown = empty_table("", ("property", "counted", "states in which it is true"), numbers=1)
        for name, kind in shown_kinds(run).items():
            states = covered.shown[name]
            shown.add_row(visible(name), kind, f"{states:,}", style="" if states else "yellow")
        yield shown
    if covered.fields:
        fields = empty_table("", ("field", "values"))
        for path, field in covered.fields.items():
            fields.add_row(visible(path), field_values(field, of_sample=covered.sampled is not None))
        yield fields
    if note := sample_note(run):
        yield Text(note, style="dim")
    for function in covered.source:
        if not function.is_complete:
            yield Text(f"\n{visible(function.name)}  {visible(function.file)}", style="bold")
            yield from map(_source_line, function.lines)
    if covered.source:
        complete = sum(function.is_complete for function in covered.source)
        legend = f"; {LEGEND}" if complete < len(covered.source) else ""
        yield Text(f"\n{complete} of {counted(len(covered.source), 'function')} ran completely{legend}")


def _source_line(line: SourceLine) -> Text:
    note = f"  ← {text}" if (text := line_note(line)) else ""
    style = "red" if line.mark == "never" else "yellow" if note else "dim"
    text = f"{MARKS[line.mark]} {line.number:>4}  {visible(line.text)}{note}"
    return Text(text, style=style, no_wrap=True, overflow="ignore")
