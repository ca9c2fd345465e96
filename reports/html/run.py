"""The page of runs: what was searched and found, and the traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
from markupsafe import Markup

from leadline.checker.coverage import CoverageCounts, FunctionCoverage
from leadline.checker.result import Result, Statistics, Verdict
from leadline.checker.support.names import counted
from leadline.reports.html import Chapter, chapter, page
from leadline.reports.html.plots import levels_plot, rate_plot, rates
from leadline.reports.matrix import Cell
from leadline.reports.runs.phrases import (
    LEGEND,
    MARKS,
    field_values,
    gaps,
    idle_action,
    instance_columns,
    line_note,
    property_verdict,
    run_verdict,
    sample_note,
    searched,
    shown_kinds,
    statistics_lines,
)
from leadline.reports.runs.run_view import RunView
from leadline.reports.traces.story import Story, story_of

FEWEST_RATES = 5
"""A search that was over before this many samples has no rate over time."""


@attrs.frozen
class RunWithTraces:
    """A run to be shown with its traces.

    Attributes:
        title: what it is called.
        run: what is shown of it.
        stories: the traces of each property, by its name, each with what is to be said of it besides; witnesses'
            too, as far as they are at hand.
        failure: what is not as expected; empty if all is.
    """

    title: str
    run: RunView
    stories: dict[str, list[tuple[Story, str]]]
    failure: str = ""


@attrs.frozen
class Plot:
    """A plot, and the same in words."""

    drawn: Markup
    spoken: str


@attrs.frozen
class PropertyRow:
    """A line of the table of properties; the links are to its traces, each with its text."""

    name: str
    sentence: str
    verdict: str
    looks: str
    links: tuple[tuple[str, str], ...]


@attrs.frozen
class ActionRow:
    """A line of the table of actions."""

    name: str
    generated: int
    distinct: int


@attrs.frozen
class Run:
    """One run, as the page has it.

    Attributes:
        name: what a link to it ends with.
        title: what the check is called.
        failure: what is not as expected; empty if all is.
        searched: the spec with its bounds, and the engine with its settings.
        verdict: of the whole, with why it stopped early.
        looks: the verdict's class in the page's style.
        note: what else has to be said of it; empty for most.
        counts: the counts, in lines.
        plots: states per depth, and the rate over time, as far as they are known.
        properties, actions: the tables.
        idle: what an action without a step is called.
        start: what a link to the first state of its first trace ends with; empty if it has no trace.
        gaps: what it has not tried, in lines, as far as that is known.
        covered: what it has tried; None if that is not known.
        instance_columns: the headings of its action instances and of how often each was enabled.
        shown_kinds: see `leadline.reports.runs.phrases.shown_kinds`.
        fields: the values of each field, in words, by path.
        sample_note: the states in which premises, witnesses and fields of a random search were looked for; or empty.
        source: its functions, each line with its mark and what is said of it.
        legend: what the marks mean.
    """

    name: str
    title: str
    failure: str
    searched: str
    verdict: str
    looks: str
    note: str
    counts: tuple[str, ...]
    plots: tuple[Plot, ...]
    properties: tuple[PropertyRow, ...]
    actions: tuple[ActionRow, ...]
    idle: str
    start: str
    gaps: tuple[str, ...]
    covered: CoverageCounts | None
    instance_columns: tuple[str, str]
    shown_kinds: dict[str, str]
    fields: dict[str, str]
    sample_note: str
    source: tuple[FunctionView, ...]
    legend: str = LEGEND


@attrs.frozen
class FunctionView:
    """A function's source: each line's number, text, class in the page's style, mark, and what is said of it."""

    name: str
    file: str
    is_complete: bool
    lines: tuple[tuple[int, str, str, str, str], ...]


@attrs.frozen
class GridCell:
    """A cell of a table of runs: its text, its class in the page's style, and what it links to: a trace or its run."""

    text: str
    looks: str
    link: str


@attrs.frozen
class Grid:
    """A table of runs.

    Attributes:
        caption: its caption.
        text: a summary of it.
        head: the names of the columns.
        rows: each row's name and its cells: the verdict, the index of its run, and the name of the property.
    """

    caption: str
    text: str
    head: list[str]
    rows: list[tuple[str, list[tuple[Cell, int, str]]]]


def with_traces(result: Result, run: RunView, title: str = "", failure: str = "") -> RunWithTraces:
    """A result, to be shown with its traces.

    Parameters:
        result: the result.
        run: what is shown of it.
        title: what the run is called; by default, as its spec.
        failure: what is not as expected; empty if all is.
    """
    stories = {item.property.name: [(story_of(trace), "") for trace in item.traces] for item in result.properties}
    return RunWithTraces(title or run.spec, run, stories, failure)


def title_of(run: RunView) -> str:
    """What the page of one run is called: the verdict, the properties that are missed, the spec."""
    missed = ", ".join(item.name for item in run.missed)
    return f"{run_verdict(run)[0]}{f': {missed}' if missed else ''} - {run.spec}"


def run_page(title: str, every: Sequence[RunWithTraces], notes: Sequence[str] = (), grids: Sequence[Grid] = ()) -> str:
    """The page of some runs, as HTML: tables of them, every trace, and each run in detail.

    The traces that were not expected come first, then those that were, and witnesses last.

    Parameters:
        title: what the page is called.
        every: the runs.
        notes: what else is to be said of the whole page.
        grids: tables of the verdicts, shown in place of the list of runs.
    """
    entries = sorted((entry for each in enumerate(every, start=1) for entry in _entries(*each)), key=_rank)
    chapters: list[Chapter] = []
    of_runs: list[dict[str, list[Chapter]]] = [{} for _ in every]
    for entry in entries:
        note = _check(entry.run, every[entry.run - 1]) if len(every) > 1 else entry.note
        chapters.append(chapter(len(chapters) + 1, entry.story, note, entry.is_witness))
        of_runs[entry.run - 1].setdefault(entry.name, []).append(chapters[-1])
    runs = [_run(number, *pair) for number, pair in enumerate(zip(every, of_runs, strict=True), start=1)]
    origin = next((each.run.origin for each in every), None)
    return page(title, chapters, runs, notes=notes, origin=origin, grids=[_linked(grid, runs) for grid in grids])


def _linked(grid: Grid, runs: Sequence[Run]) -> dict[str, Any]:
    """A table of runs as the page has it, with links to runs and traces."""
    rows = []
    for name, cells in grid.rows:
        shown = []
        for cell, number, item in cells:
            links = [link for row in runs[number].properties if row.name == item for link, _ in row.links]
            looks = "by-design" if cell.by_design else cell.verdict.value
            shown.append(GridCell(cell.text, looks, links[0] if links else runs[number].name))
        rows.append((name, shown))
    return {"caption": grid.caption, "text": grid.text, "head": grid.head, "rows": rows}


@attrs.frozen
class _Entry:
    """A trace of a run, before it is known which of the page's it is."""

    run: int
    name: str
    story: Story
    note: str
    is_witness: bool
    is_expected: bool


def _entries(number: int, shown: RunWithTraces) -> Iterator[_Entry]:
    for item in shown.run.properties:
        for story, note in shown.stories.get(item.name, []):
            yield _Entry(number, item.name, story, note, item.kind.is_witness, not shown.failure)


def _rank(entry: _Entry) -> tuple[bool, bool]:
    return entry.is_witness, entry.is_expected


def _check(number: int, shown: RunWithTraces) -> str:
    return f"check {number}: {shown.title}{f': {shown.failure}' if shown.failure else ''}"


def _run(number: int, shown: RunWithTraces, chapters: Mapping[str, Sequence[Chapter]]) -> Run:
    """A run, with the page's chapters on each of its properties."""
    run, statistics = shown.run, shown.run.statistics
    covered = statistics.covered
    rows = []
    for item in run.properties:
        own = chapters.get(item.name, ())
        links = tuple(
            (each.shown[-1].name, f"trace {place}" if place > 1 else counted(len(each.shown), "state"))
            for place, each in enumerate(own, start=1)
        )
        verdict = property_verdict(item.kind, item.verdict, item.premise)
        looks = (Verdict.INCOMPLETE if item.says_nothing else item.verdict).value
        rows.append(PropertyRow(item.name, item.sentence, verdict, looks, links))
    return Run(
        name=f"check-{number}",
        title=shown.title,
        failure=shown.failure,
        searched=searched(run),
        verdict=": ".join(run_verdict(run)),
        looks=run.verdict.value,
        note=run.note,
        counts=tuple(statistics_lines(statistics)),
        plots=tuple(_plots(statistics, f"check-{number}")),
        properties=tuple(rows),
        actions=tuple(ActionRow(name, count.generated, count.distinct) for name, count in statistics.actions.items()),
        idle=idle_action(run),
        start=next((first.start.name for own in chapters.values() for first in own), ""),
        gaps=tuple(gaps(run)),
        covered=statistics.covered,
        instance_columns=instance_columns(run),
        shown_kinds=shown_kinds(run),
        fields=_fields(covered) if covered else {},
        sample_note=sample_note(run),
        source=tuple(map(_function, covered.source)) if covered else (),
    )


def _function(function: FunctionCoverage) -> FunctionView:
    lines = [(line.number, line.text, line.mark, MARKS[line.mark], line_note(line)) for line in function.lines]
    return FunctionView(function.name, function.file, function.is_complete, tuple(lines))


def _fields(covered: CoverageCounts) -> dict[str, str]:
    """The values of each field, in words."""
    of_sample = covered.sampled is not None
    return {path: field_values(field, of_sample=of_sample) for path, field in covered.fields.items()}


def _plots(statistics: Statistics, name: str) -> list[Plot]:
    plots = []
    if levels := statistics.levels or (statistics.walked.depths if statistics.walked else ()):
        spoken = f"distinct states at each depth: {', '.join(f'{states:,}' for states in levels)}"
        plots.append(Plot(Markup(levels_plot(levels, f"{name}-levels")), spoken))
    if len(spans := rates(statistics.samples)) >= FEWEST_RATES:
        slowest, fastest = min(rate for *_, rate in spans), max(rate for *_, rate in spans)
        spoken = (
            f"distinct states a second, over {statistics.seconds:.1f} seconds: from {slowest:,.0f} to {fastest:,.0f}"
        )
        plots.append(Plot(Markup(rate_plot(statistics.samples, f"{name}-rate")), spoken))
    return plots
