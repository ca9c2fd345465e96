"""Say what the result of a run is: the verdicts, the counts, and what was covered."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from leadline.checker.coverage import CoverageCounts, FunctionCoverage, SourceLine
from leadline.checker.result import Learning, Statistics, Verdict
from leadline.checker.support.messages import counted
from leadline.reports.diagnosis import lines
from leadline.reports.document import (
    Block,
    Cell,
    Document,
    Fold,
    Heading,
    Items,
    Paragraph,
    Plot,
    Source,
    Span,
    Words,
    table,
    words,
)
from leadline.reports.runs.phrases import (
    FEW_STATES,
    LEGEND,
    MARKS,
    advice,
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
    shown_kinds,
    statistics_lines,
    taken_column,
    whole_read_text,
)
from leadline.reports.runs.run_view import PropertyView, RunView

FEWEST_RATES = 5
"""The minimum number of time spans for which the rate is plotted over time."""


def run_document(run: RunView, links: Mapping[str, Words] | None = None, *, are_causes_above: bool = False) -> Document:
    """Return the document of a run.

    Parameters:
        links: links to the traces of each property, keyed by its name, if the document is shown together with them.
        are_causes_above: whether the document is shown below the causes of the violations.
    """
    conclusion = tuple(_conclusion(run, () if are_causes_above else what_decides(run)))
    return Document(run.spec, tuple(_blocks(run, links or {})), conclusion=conclusion)


def what_decides(run: RunView) -> list[str]:
    """Return lines that say what decides the violations, and which are by design or known bugs."""
    return [*(lines(run.diagnosis) if run.diagnosis is not None else ()), *causes(run)]


def _conclusion(run: RunView, decides: Sequence[str]) -> Iterator[Paragraph]:
    verdict, rest = run_verdict(run)
    proved = run.properties or run.verdict is not Verdict.HOLDS
    yield Paragraph((Span(verdict, run.verdict.value if proved else "strong"), Span(f": {rest}")))
    yield from (Paragraph((Span(line),)) for line in (*order(run), *decides))
    yield from (Paragraph((Span(line),), "quiet") for line in advice(run))
    yield from (Paragraph((Span(line),)) for line in statistics_lines(run.statistics))
    if run.note:
        yield Paragraph((Span(run.note),), "note")


def _blocks(run: RunView, links: Mapping[str, Words]) -> Iterator[Block]:
    statistics = run.statistics
    learning = statistics.learning if statistics.distinct > FEW_STATES else None
    if run.properties:
        head = ("property", "verdict", "trace", "learned calls", "description")
        rows = [_property(item, links.get(item.name, ()), learning) for item in run.properties]
        yield table("properties", head, rows, optional=1)
    actions = [
        _counted(
            name,
            (f"{count.generated:,}", f"{count.distinct:,}") if count.generated else (idle_action(run), ""),
            f"{learning.actions[name]:,}" if learning else "",
            is_idle=not count.generated,
        )
        for name, count in statistics.actions.items()
    ]
    yield table("actions", ("action", taken_column(run), "new states", "learned calls"), actions)
    if statistics.whole_reads:
        reads = tuple((Span(whole_read_text(each)),) for each in statistics.whole_reads)
        said = f"code that is not understood, which costs time: {counted(len(reads), 'place')}"
        yield Fold(words(said), (Items(reads),))
    yield from _plots(statistics)
    if statistics.covered is not None:
        yield from _coverage(run, statistics.covered)


def _property(item: PropertyView, links: Words, learning: Learning | None) -> tuple[Cell, ...]:
    looks = (Verdict.INCOMPLETE if item.says_nothing else item.verdict).value
    length = words(counted(item.trace_length, "state")) if item.trace_length is not None else ()
    calls = f"{learning.properties.get(item.name, 0):,}" if learning else ""
    return (
        Cell((Span(item.name),)),
        Cell(words(property_verdict(item.kind, item.verdict, item.premise)), looks),
        Cell(links or length),
        Cell(words(calls)),
        Cell((Span(item.sentence),), "says"),
    )


def _counted(name: str, counts: Sequence[str], *others: str, is_idle: bool) -> tuple[Cell, ...]:
    return tuple(Cell((Span(text),), "idle" if is_idle else "") for text in (name, *counts, *others))


def _coverage(run: RunView, covered: CoverageCounts) -> Iterator[Block]:
    yield Heading("coverage")
    yield from (Paragraph((Span(line),), "note") for line in gaps(run))
    instances = [
        _counted(
            name,
            [f"{count:,}" for count in (each.enabled, each.generated, each.distinct)]
            if each.enabled
            else [idle_action(run), "", ""],
            is_idle=not each.enabled,
        )
        for name, each in covered.instances.items()
    ]
    yield table("action instances", (*instance_columns(run), "taken", "new states"), instances)
    kinds = shown_kinds(run)
    shown = [_counted(name, (kinds[name], f"{states:,}"), is_idle=not states) for name, states in covered.shown.items()]
    if shown:
        yield table("premises and witnesses", ("property", "counted", "states in which it is true"), shown)
    of_sample = covered.sampled is not None
    fields = [(path, field_values(field, of_sample=of_sample)) for path, field in covered.fields.items()]
    if fields:
        cells = [(Cell((Span(path),)), Cell((Span(values),), "says")) for path, values in fields]
        yield table("values of fields", ("field", "values"), cells)
    if note := sample_note(run):
        yield Paragraph(words(note), "quiet")
    partly = [function for function in covered.source if not function.is_complete]
    yield from itertools.chain(*map(_function, partly))
    if covered.source:
        complete = [function for function in covered.source if function.is_complete]
        legend = f"; {LEGEND}" if partly else ""
        said = f"{len(complete)} of {counted(len(covered.source), 'function')} ran completely{legend}"
        yield Fold(words(said), tuple(itertools.chain(*map(_function, complete))))


def _function(function: FunctionCoverage) -> Iterator[Block]:
    yield Paragraph((Span(function.name, "strong"), Span(f"  {function.file}", "quiet")))
    yield Source(tuple(map(_source_line, function.lines)))


def _source_line(line: SourceLine) -> Span:
    note = f"  ← {text}" if (text := line_note(line)) else ""
    return Span(f"{MARKS[line.mark]} {line.number:>4}  {line.text}{note}", f"line {line.mark}")


def _plots(statistics: Statistics) -> Iterator[Plot]:
    if levels := statistics.levels or (statistics.walked.depths if statistics.walked else ()):
        spoken = f"distinct states at each depth: {', '.join(f'{states:,}' for states in levels)}"
        edges = tuple(depth + 0.5 for depth in range(len(levels) + 1))
        yield Plot(spoken, "depth", "distinct states", edges, tuple(levels), is_filled=True)
    pairs = itertools.pairwise([(0.0, 0), *statistics.samples])
    spans = [(end, (more - count) / (end - start)) for (start, count), (end, more) in pairs if end > start]
    if len(spans) >= FEWEST_RATES:
        rates = tuple(rate for _, rate in spans)
        spoken = (
            f"distinct states a second, over {statistics.seconds:.1f} seconds: from {min(rates):,.0f} to "
            f"{max(rates):,.0f}"
        )
        edges = (0.0, *(end for end, _ in spans))
        yield Plot(spoken, "seconds", "distinct states a second", edges, rates)
