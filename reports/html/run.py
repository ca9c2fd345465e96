"""The page of a run: what was searched and found, and the traces."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from markupsafe import Markup

from checker.bounds import bounds_text
from checker.names import counted
from checker.result import FIRST_VIOLATION, Result, Verdict
from reports.html import Chapter, chapter, page
from reports.html.plots import levels_plot
from reports.story import story_of
from reports.suite import Outcome
from reports.terminal import statistics_text, verdict_text


@attrs.frozen
class PropertyRow:
    """A line of the table of properties; the link is to its trace, empty if there is none."""

    name: str
    sentence: str
    verdict: str
    looks: str
    length: str
    link: str


@attrs.frozen
class ActionRow:
    """A line of the table of actions."""

    name: str
    generated: int
    distinct: int


@attrs.frozen
class Run:
    """One check of a run, as the page has it.

    Attributes:
        name: what a link to it ends with.
        title: what the check is called.
        failure: what is not as expected; empty if all is.
        searched: the spec with its bounds, and the engine with its settings.
        verdict: of the whole, with why it stopped early.
        looks: the verdict's class in the page's style.
        counts: the counts, in lines.
        plot: the states per depth, as SVG; empty if they are not known.
        spoken: the same in words.
        properties, actions: the tables.
        idle: what an action without a step is called.
    """

    name: str
    title: str
    failure: str
    searched: str
    verdict: str
    looks: str
    counts: tuple[str, ...]
    plot: Markup
    spoken: str
    properties: tuple[PropertyRow, ...]
    actions: tuple[ActionRow, ...]
    idle: str


def run_page(outcomes: Sequence[Outcome]) -> str:
    """The page of a suite's run, as HTML: a table of its checks, each in detail, and every trace, witnesses' too."""
    chapters: list[Chapter] = []
    runs = [_run(number, outcome, chapters) for number, outcome in enumerate(outcomes, start=1)]
    good = sum(not outcome.failure for outcome in outcomes)
    return page(f"leadline: {good} of {len(outcomes)} checks as expected", chapters, runs)


def _run(number: int, outcome: Outcome, chapters: list[Chapter]) -> Run:
    result, levels = outcome.result, outcome.result.statistics.levels
    rows = []
    for item in result.properties:
        link = ""
        for trace in item.traces[:1]:
            chapters.append(chapter(len(chapters) + 1, story_of(trace), f"check {number}: {outcome.prepared.title}"))
            link = chapters[-1].shown[-1].name
        length = counted(len(item.traces[0]), "state") if item.traces else ""
        about = item.property
        rows.append(PropertyRow(about.name, about.sentence, str(verdict_text(item)), item.verdict.value, length, link))
    return Run(
        name=f"check-{number}",
        title=outcome.prepared.title,
        failure=outcome.failure,
        searched=_searched(result),
        verdict=_verdict(result),
        looks=result.verdict.value,
        counts=tuple(statistics_text(result.statistics).split("\n")),
        plot=Markup(levels_plot(levels, f"check-{number}") if levels else ""),
        spoken=f"distinct states at each depth: {', '.join(f'{states:,}' for states in levels)}",
        properties=tuple(rows),
        actions=tuple(
            ActionRow(name, count.generated, count.distinct) for name, count in result.statistics.actions.items()
        ),
        idle="never enabled" if result.exhausted else "not enabled yet",
    )


def _searched(result: Result) -> str:
    settings = bounds_text(result.settings)
    return f"{result.spec.name}  {result.spec.named_bounds}  {result.engine}{f' ({settings})' if settings else ''}"


def _verdict(result: Result) -> str:
    if result.verdict is Verdict.HOLDS:
        return "holds: every reachable state was searched"
    reason = "" if result.reason in (None, FIRST_VIOLATION) else f": {result.reason}"
    return f"{result.verdict.value}{reason}"
