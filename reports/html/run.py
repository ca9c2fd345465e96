"""Write the HTML page that shows runs (searches) with their results and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
from markupsafe import Markup

from leadline.checker.coverage import CoverageCounts, FunctionCoverage
from leadline.checker.result import Result, Statistics, Verdict
from leadline.checker.support.messages import counted
from leadline.reports.diagnosis import lines
from leadline.reports.html import Chapter, chapter, page
from leadline.reports.html.plots import levels_plot, rate_plot, rates
from leadline.reports.runs.phrases import (
    LEGEND,
    MARKS,
    causes,
    field_values,
    gaps,
    idle_action,
    instance_columns,
    line_note,
    order,
    property_verdict,
    run_verdict,
    sample_note,
    searched,
    shown_kinds,
    statistics_lines,
    taken_column,
    whole_read_text,
)
from leadline.reports.runs.run_view import RunView
from leadline.reports.traces.story import Story, story_of

FEWEST_RATES = 5
"""The minimum number of time spans for which the page plots the rate over time."""


MOST_NAMED = 3
"""The maximum number of violated properties that the title of a page names."""


@attrs.frozen
class RunWithTraces:
    """The result of a search and its traces.

    Attributes:
        title: the title of the run.
        run: the result of the search, as the page shows it.
        stories: the traces for each property, keyed by the name of the property. Each is a (trace, note) pair.
        failure: why the run is not as expected. Empty if the run is as expected.
    """

    title: str
    run: RunView
    stories: dict[str, list[tuple[Story, str]]]
    failure: str = ""


@attrs.frozen
class Plot:
    """A plot of a run.

    Attributes:
        drawn: the SVG element.
        spoken: a description for screen readers.
    """

    drawn: Markup
    spoken: str


@attrs.frozen
class PropertyRow:
    """A row in the table of properties.

    Attributes:
        name: the name of the property.
        sentence: the sentence that describes the property.
        verdict: the verdict in words.
        looks: the CSS class of the verdict.
        links: links to the traces. Each is an (address, link text) pair.
    """

    name: str
    sentence: str
    verdict: str
    looks: str
    links: tuple[tuple[str, str], ...]


@attrs.frozen
class ActionRow:
    """A row in the table of actions.

    Attributes:
        name: the name of the action.
        generated: the number of states that the action generated.
        distinct: the number of generated states that were new.
    """

    name: str
    generated: int
    distinct: int


@attrs.frozen
class RunSection:
    """The section of the page for one run.

    Attributes:
        name: the URL fragment that identifies the section.
        title: the title of the check.
        failure: why the run is not as expected. Empty if the run is as expected.
        searched: a description of the spec, its bounds, the engine, and the settings of the engine.
        verdict: the verdict on the run. If the run stopped early, also the reason.
        looks: the CSS class of the verdict.
        note: a further remark, which is usually empty.
        order: a line that says in which order properties were checked, if the order made a difference.
        diagnosis: the lines of the diagnosis, followed by lines that say which violations are by design or known bugs.
        counts: lines with the counts of the run.
        whole_reads: lines that name code that the engine cannot analyse, and give the resulting number of calls.
        plots: plots that show the number of states at each depth and the rate over time, if these are known.
        properties: the rows in the table of properties.
        actions: the rows in the table of actions.
        taken_column: the heading of the column that counts the steps of each action.
        idle: the text for an action that was never enabled.
        start: the URL fragment of the state at which the first trace opens. Empty if there is no trace.
        gaps: lines about missing coverage.
        covered: the coverage, or None if it was not measured.
        instance_columns: the first two headings of the table of action instances.
        shown_kinds: "witness" or "premise" for each property; see `leadline.reports.runs.phrases.shown_kinds`.
        fields: the values of each field, in words, keyed by the name of the field.
        sample_note: a note on the states in which a random search measured coverage. Empty for other searches.
        source: the functions with the coverage of their lines.
        legend: what the marks on source lines mean.
    """

    name: str
    title: str
    failure: str
    searched: str
    verdict: str
    looks: str
    note: str
    order: tuple[str, ...]
    diagnosis: tuple[str, ...]
    counts: tuple[str, ...]
    whole_reads: tuple[str, ...]
    plots: tuple[Plot, ...]
    properties: tuple[PropertyRow, ...]
    actions: tuple[ActionRow, ...]
    taken_column: str
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
    """The source of a function, with its coverage.

    Attributes:
        name: the name of the function.
        file: the name of the file.
        is_complete: true if all lines and branches of the function were executed.
        lines: the lines of the function. Each has its number, its text, a CSS class, a coverage mark and a remark.
    """

    name: str
    file: str
    is_complete: bool
    lines: tuple[tuple[int, str, str, str, str], ...]


def with_traces(result: Result, run: RunView, title: str = "", failure: str = "") -> RunWithTraces:
    """Combine a run with the traces of its result.

    Parameters:
        result: the result.
        run: the result of the search, as the page shows it.
        title: the title of the run. By default, the name of its spec.
        failure: why the run is not as expected. Empty if the run is as expected.
    """
    stories = {item.property.name: [(story_of(trace), "") for trace in item.traces] for item in result.properties}
    return RunWithTraces(title or run.spec, run, stories, failure)


def title_of(run: RunView) -> str:
    """Return the title of a page about one run: the verdict, the first violated properties and the spec."""
    verdict, names = run_verdict(run)[0], [item.name for item in run.missed]
    missed = ", ".join(names)
    if len(names) > MOST_NAMED:
        missed = f"{names[0]} and {len(names) - 1} other properties"
    if run.verdict is Verdict.HOLDS and run.bounds:
        verdict += " within its bounds"
    return f"{verdict}{f': {missed}' if missed else ''} - {run.spec}"


def run_page(title: str, every: Sequence[RunWithTraces], notes: Sequence[str] = ()) -> str:
    """Return the HTML page that shows the details and the traces of the given runs.

    Unexpected traces come first, then expected traces, then traces of witnesses.

    Parameters:
        title: the title of the page.
        every: the runs.
        notes: notes on the page as a whole.
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
    return page(title, chapters, runs, notes=notes, origin=origin)


@attrs.frozen
class _Entry:
    """A trace of a run, before it is given a number on the page."""

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


def _run(number: int, shown: RunWithTraces, chapters: Mapping[str, Sequence[Chapter]]) -> RunSection:
    """Return the section of the page for a run, with links to the traces for each property."""
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
    return RunSection(
        name=f"check-{number}",
        title=shown.title,
        failure=shown.failure,
        searched=searched(run),
        verdict=": ".join(run_verdict(run)),
        looks=run.verdict.value,
        note=run.note,
        order=tuple(order(run)),
        diagnosis=(*(lines(run.diagnosis) if run.diagnosis is not None else ()), *causes(run)),
        counts=tuple(statistics_lines(statistics)),
        whole_reads=tuple(map(whole_read_text, statistics.whole_reads)),
        plots=tuple(_plots(statistics, f"check-{number}")),
        properties=tuple(rows),
        actions=tuple(ActionRow(name, count.generated, count.distinct) for name, count in statistics.actions.items()),
        taken_column=taken_column(run),
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
    """Return a description of each field's values, keyed by the name of the field."""
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
