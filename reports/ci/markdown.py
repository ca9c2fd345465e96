"""Results as Markdown, for generated pages."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.result import PropertyResult, Verdict
from leadline.checker.support.escapes import visible
from leadline.reports.runs.phrases import PREMISE_FALSE
from leadline.reports.suite import ANSWERS, SuiteRun
from leadline.reports.traces.story import story_of


def answers_page(run: SuiteRun) -> Iterator[str]:
    """Yield the lines of a page with the question, note, result and command of each check of a suite."""
    file = run.checks[0].file
    command = f"leadline check {'answers' if file == ANSWERS else visible(str(file))} --answers -"
    yield from ("# What readers ask, answered by runs", "", f"Made from runs: `{command}`.")
    if file == ANSWERS:
        yield from ("", "*Seeds* are articles: see [their list](../../invariants/README.md#sources).")
    for outcome in run.outcomes:
        if outcome.result.interrupted:
            continue
        check = outcome.prepared.check
        yield from ("", f"## {outcome.prepared.title}", "")
        if check.note:
            yield from (*map(visible, check.note.split("\n")), "")
        if outcome.failure:
            yield from (f"**Not as expected: {visible(outcome.failure)}.**", "")
        said = [
            line for item in outcome.result.properties for line in _verdict(item, outcome.result.statistics.distinct)
        ]
        yield from (*said, *([""] if said and said[-1] else []), "```", outcome.prepared.command, "```")


def _verdict(item: PropertyResult, distinct: int) -> Iterator[str]:
    name, sentence = f"`{visible(item.property.name)}`", visible(item.property.sentence)
    story = story_of(item.traces[0]) if item.traces else None
    if item.property.kind.is_witness:
        reached = "**not reached**" if story is None else f"reached in {len(story.frames)} states"
        yield f"- Rests on {name}, {reached}: {sentence}."
    elif item.verdict is not Verdict.VIOLATED or story is None:
        verdict = PREMISE_FALSE[item.verdict] if item.premise is False else item.verdict.value
        yield f"- {name} **{verdict}**, {distinct:,} states searched: {sentence}."
    else:
        yield from (f"- {name} is **violated**, by a trace of {len(story.frames)} states: {sentence}.", "")
        for event in story.happened:
            label = f"*{event.label}*: " if event.label else ""
            yield f"  - step {event.state + 1}: {label}{event.text}."
    if story is not None:
        yield from ("", "  All steps; the initial state is 1.", "")
        for number, frame in enumerate(story.frames[1:], start=2):
            yield f"  {number}. {frame.words}"
        yield ""
