"""Results as Markdown, for pages that are made from runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from checker.bounds import bounds_text
from checker.result import PropertyResult, Verdict
from checker.visible import visible
from reports.matrix import Column, Matrix
from reports.story import story_of
from reports.suite import Outcome


def answers_page(title: str, suite: Path, outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The lines of a page of answers: each check a question, its note, what the run says, and how to repeat it.

    Parameters:
        title: the page's heading.
        suite: the suite's file.
        outcomes: its checks with their results.
    """
    yield from (f"# {visible(title)}", "", f"Made from runs: `leadline page {visible(str(suite))}`.")
    for outcome in outcomes:
        check = outcome.prepared.check
        yield from ("", f"## {outcome.prepared.title}", "")
        if check.note:
            yield from (*map(visible, check.note.split("\n")), "")
        if outcome.failure:
            yield from (f"**Not as expected: {visible(outcome.failure)}.**", "")
        for item in outcome.result.properties:
            yield from _verdict(item, outcome.result.statistics.distinct)
        yield from ("", *_command(outcome, suite))


def _verdict(item: PropertyResult, distinct: int) -> Iterator[str]:
    name, sentence = f"`{visible(item.property.name)}`", visible(item.property.sentence)
    if item.verdict is not Verdict.VIOLATED:
        yield f"- {name} **{item.verdict.value}**, {distinct:,} states searched: {sentence}."
        return
    if not item.traces:
        yield f"- {name} is **not reached**, {distinct:,} states searched: {sentence}."
        return
    trace = item.traces[0]
    yield from (f"- {name} is **violated**, by a trace of {len(trace)} states: {sentence}.", "")
    story = story_of(trace)
    for event in story.happened:
        label = f"*{event.label}*: " if event.label else ""
        yield f"  - step {event.state + 1}: {label}{event.text}."
    yield from ("", "  All steps; the initial state is 1.", "")
    for number, frame in enumerate(story.frames[1:], start=2):
        yield f"  {number}. {frame.words}"


def _command(outcome: Outcome, suite: Path) -> Iterator[str]:
    check = outcome.prepared.check
    spec = str(suite.parent / check.spec) if ".py" in check.spec else check.spec
    bounds = f" -b {bounds_text(check.bounds)}" if check.bounds else ""
    names = "".join(f" -i {item.property.name}" for item in outcome.result.properties)
    yield from ("```", visible(f"leadline explore {spec}{bounds}{names}"), "```")


def matrix_page(title: str, matrix: Matrix, columns: Iterable[Column]) -> Iterator[str]:
    """The lines of a page with a verdict matrix: a table for each configuration.

    Parameters:
        title: the page's heading.
        matrix: what was searched.
        columns: the results, by configuration and then by spec.
    """
    yield from (f"# {visible(title)}", "")
    yield "Made from runs: `leadline matrix --markdown`. *holds*, with the distinct states there are, all searched;"
    yield "**violated**, with the states of a shortest trace; *incomplete*, with the depth that was reached."
    yield "A witness is *shown*, with the states of a shortest way to it: without it, the rest would prove nothing."
    found = list(columns)
    for configuration in matrix.configurations:
        own = [column for column in found if column.configuration is configuration]
        bounds = visible(bounds_text(matrix.bounds_of(configuration)))
        yield from ("", f"## {visible(configuration.name)}", "", f"`-b {bounds}`", "")
        yield f"| property | {' | '.join(visible(column.spec) for column in own)} |"
        yield f"| --- |{' --- |' * len(own)}"
        for name in own[0].cells:
            yield f"| `{visible(name)}` | {' | '.join(_emphasised(column.cells[name].text) for column in own)} |"


def _emphasised(text: str) -> str:
    return text.replace("violated", "**violated**") if text.startswith("violated") else text
