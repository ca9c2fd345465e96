"""Results as Markdown, for generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.result import PropertyResult, Verdict
from leadline.checker.support.escapes import visible
from leadline.reports.mutation import EXPLAINED, FATES, Report, reason
from leadline.reports.runs.phrases import PREMISE_FALSE
from leadline.reports.suite import ANSWERS, SuiteRun
from leadline.reports.traces.story import story_of


def answers_page(run: SuiteRun) -> Iterator[str]:
    """Yield the lines of a page with the question, note, result and command of each check of a suite."""
    file = run.checks[0].file
    command = f"leadline check {'answers' if file == ANSWERS else visible(str(file))} --answers -"
    yield from ("# What readers ask, answered by runs", "", f"Made from runs: `{command}`.")
    for outcome in run.outcomes:
        if outcome.result.interrupted:
            continue
        check = outcome.prepared.check
        yield from ("", f"## {outcome.prepared.title}", "")
        if check.note:
            yield from (*map(visible, check.note.split("\n")), "")
        if outcome.failure:
            yield from (f"**Not as expected: {visible(outcome.failure)}.**", "")
        for item in outcome.result.properties:
            yield from _verdict(item, outcome.result.statistics.distinct)
        yield from ("", "```", outcome.prepared.command, "```")


def _verdict(item: PropertyResult, distinct: int) -> Iterator[str]:
    name, sentence = f"`{visible(item.property.name)}`", visible(item.property.sentence)
    if item.property.kind.is_witness:
        reached = f"reached in {len(item.traces[0])} states" if item.traces else "**not reached**"
        yield f"- Rests on {name}, {reached}: {sentence}."
        return
    if item.verdict is not Verdict.VIOLATED:
        verdict = PREMISE_FALSE[item.verdict] if item.premise is False else item.verdict.value
        yield f"- {name} **{verdict}**, {distinct:,} states searched: {sentence}."
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


KILLS_ALONE = "mutants that no other property kills, or why the property is kept"


def mutants_summary(report: Report) -> Iterator[str]:
    """Yield the lines of a report on mutants: the results for the original spec and each mutant, and the mutants that
    each property kills.

    Parameters:
        report: the report on the mutants.
    """
    to_the_end = report.way.all_properties
    until = "to the end of its states" if to_the_end else "up to the first violation"
    yield from (f"# Mutants of {cell(report.spec)}", "")
    yield f"**{report.counts}**{f' ({report.extent})' if report.sample else ''}."
    yield f"Each is searched {until}, with the {report.way.engine} engine."
    yield f"Made from a run: {_code(report.origin.command)}."
    yield from (f"Default bounds: {_code(each.bounds)}." for each in report.originals if not each.changes)
    remarks = [f"- {cell(text)}" for text in _remarks(report)]
    yield from ("", *remarks) if remarks else ()
    yield from ("", "| bounds | states of the original | not used, as the original does not satisfy them |")
    yield "| --- | --- | --- |"
    for original in report.originals:
        left_out = ", ".join(map(_code, original.left_out))
        yield f"| {_code(original.changes) or 'default'} | {original.distinct:,} | {left_out} |"
    yield from (
        "",
        "| mutant | mistake | bounds | result | violated, in states of a shortest trace; or why it survives |",
    )
    yield "| --- | --- | --- | --- | --- |"
    mutations = {each.name: each for each in report.mutations}
    for outcome in report.shown:
        mutation = mutations[outcome.name]
        fate = EXPLAINED if report.is_explained(outcome) else FATES[outcome.fate]
        violated = [f"{_code(name)} {states or 'never shown'}" for name, states in outcome.violated.items()]
        why = reason(attrs.evolve(outcome, violated={}), report.explained)
        cells = [_code(mutation.name), _prose(mutation.text), _code(bounds_text(mutation.bounds)) or "default", fate]
        yield f"| {' | '.join(cells)} | {'; '.join(filter(None, [', '.join(violated), _prose(why)]))} |"
    yield from (
        "",
        f"| property | kills | shortest trace |{f' {KILLS_ALONE} |' * to_the_end}",
    )
    yield f"| --- | --- | --- |{' --- |' * to_the_end}"
    for each in report.killers:
        row = f"| {_code(each.name)} | {len(each.kills)} | {each.shortest or ''} |"
        alone = ", ".join(map(_code, each.alone or ())) or _prose(report.stays.get(each.name, ""))
        yield f"{row} {alone} |" if to_the_end else row
    yield ""


def _remarks(report: Report) -> Iterator[str]:
    """Yield further sentences about the mutants."""
    if report.stopped:
        yield f"incomplete: {report.stopped}"
    yield from report.advice
    yield from report.outdated
    if report.vacuous:
        yield f"vacuous in the original: {', '.join(report.vacuous)}"
    if report.refused:
        yield f"not mutated: {'; '.join(f'{name}: {why}' for name, why in report.refused)}"


def _prose(text: str) -> str:
    """Return text escaped for a table cell. Names in backticks are still shown as code."""
    return "".join(part if index % 2 else cell(part) for index, part in enumerate(re.split(r"(`[\w./-]+`)", text)))


def _code(text: str) -> str:
    """Return a name as code in backticks. If it contains characters that are special in code or tables, escape it
    instead.
    """
    return cell(text) if set(text) & {"`", "|", "\\"} or not text.isprintable() else f"`{text}`" if text else ""


def cell(text: str) -> str:
    """Return text escaped for a table cell."""
    return re.sub(r"[\\`*_\[\]<>|&#~]", lambda found: f"&#{ord(found[0])};", visible(text))
