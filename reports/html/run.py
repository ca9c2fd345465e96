"""Write the HTML page that shows runs (searches) with their results and traces."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import attrs
from markupsafe import Markup

from leadline.checker.result import Result, Verdict
from leadline.checker.support.messages import counted
from leadline.reports.document import Span, Words
from leadline.reports.document.html import document_html
from leadline.reports.html import Chapter, chapter, page
from leadline.reports.runs.document import run_document, what_decides
from leadline.reports.runs.phrases import run_verdict, searched
from leadline.reports.runs.run_view import RunView
from leadline.reports.traces.story import Story, story_of

MOST_NAMED = 3
"""The maximum number of violated properties that the title of a page names."""


@attrs.frozen
class RunWithTraces:
    """The result of a search and its traces.

    Attributes:
        run: the result of the search, as the page shows it.
        stories: the traces for each property, keyed by the name of the property. Each is a (trace, note) pair.
        failure: why the run is not as expected. Empty if the run is as expected.
    """

    title: str
    run: RunView
    stories: dict[str, list[tuple[Story, str]]]
    failure: str = ""


@attrs.frozen
class RunSection:
    """The section of the page for one run.

    Attributes:
        name: the URL fragment that identifies the section.
        failure: why the run is not as expected. Empty if the run is as expected.
        searched: a description of the spec, its bounds, the engine, and the settings of the engine.
        verdict: the verdict on the run. If the run stopped early, also the reason.
        looks: the CSS class of the verdict.
        causes: lines that say what decides the violations, and which are by design or known bugs.
        start: the URL fragment of the state at which the first trace opens. Empty if there is no trace.
        document: what the run found.
    """

    name: str
    title: str
    failure: str
    searched: str
    verdict: str
    looks: str
    causes: tuple[str, ...]
    start: str
    document: Markup


def with_traces(result: Result, run: RunView, title: str = "", failure: str = "") -> RunWithTraces:
    """Combine a run with the traces of its result.

    Parameters:
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


def names(every: Sequence[RunWithTraces]) -> list[str]:
    """Return the URL fragment of the section for each run."""
    return [f"check-{number}" for number in range(1, len(every) + 1)]


def run_page(title: str, every: Sequence[RunWithTraces], notes: Sequence[str] = (), above: Markup | None = None) -> str:
    """Return the HTML page that shows the details and the traces of the given runs.

    Unexpected traces come first, then expected traces, then traces of witnesses.

    Parameters:
        above: a table of the runs, with links to the names of their sections.
    """
    entries = sorted((entry for each in enumerate(every, start=1) for entry in _entries(*each)), key=_rank)
    chapters: list[Chapter] = []
    of_runs: list[dict[str, list[Chapter]]] = [{} for _ in every]
    for entry in entries:
        note = _check(entry.run, every[entry.run - 1]) if len(every) > 1 else entry.note
        chapters.append(chapter(len(chapters) + 1, entry.story, note, entry.is_witness))
        of_runs[entry.run - 1].setdefault(entry.name, []).append(chapters[-1])
    is_alone = len(every) == 1 and not all(each.is_witness for each in chapters)
    runs = [_run(number, *pair, is_alone) for number, pair in enumerate(zip(every, of_runs, strict=True), start=1)]
    origin = next((each.run.origin for each in every), None)
    return page(title, chapters, runs, notes=notes, above=above if len(every) > 1 else None, origin=origin)


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


def _run(number: int, shown: RunWithTraces, chapters: Mapping[str, Sequence[Chapter]], is_alone: bool) -> RunSection:
    """Return the section of the page for a run, with links to the traces for each property."""
    run, name = shown.run, f"check-{number}"
    links = {each: tuple(itertools.chain(*map(_link, itertools.count(1), own))) for each, own in chapters.items()}
    return RunSection(
        name=name,
        title=shown.title,
        failure=shown.failure,
        searched=searched(run),
        verdict=": ".join(run_verdict(run)),
        looks=run.verdict.value,
        causes=tuple(what_decides(run)),
        start=next((first.start.name for own in chapters.values() for first in own), ""),
        document=document_html(run_document(run, links, are_causes_above=is_alone), name),
    )


def _link(place: int, trace: Chapter) -> Words:
    text = f"trace {place}" if place > 1 else counted(len(trace.shown), "state")
    return (*((Span(", "),) if place > 1 else ()), Span(text, "", trace.shown[-1].name))
