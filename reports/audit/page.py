"""Write the HTML page of an audit. It shows the errors in each partition, and the leader epochs in the brokers' logs.

The page is one file that needs no network. Only partitions with errors are shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
from markupsafe import Markup

from leadline.checker.engines import memory
from leadline.checker.support.messages import counted
from leadline.invariants.audit.result import AuditResult, Finding
from leadline.model.disk.log_table import LogCell, LogRow, LogTable
from leadline.reports.audit.counterexamples import Counterexample
from leadline.reports.audit.terminal import partition_name, verdict_sentence, without_repetition
from leadline.reports.html import Chapter, chapter, page, rendered
from leadline.reports.html.holdings import GROUPS
from leadline.reports.traces.story import story_of

MOST_PARTITIONS = 300
"""The maximum number of partitions with errors on the page."""

MOST_NOTES = 500
"""The maximum number of notes on the page."""

MOST_FINDINGS = 20
"""The maximum number of findings that are shown for one partition."""

LABEL = 230
"""The width of the area left of the first column, for the brokers, in pixels."""

COLUMN = 104
"""The width of a column, in pixels."""

ROW = 74
"""The height of a row, in pixels."""

HEAD = 16
"""The height of the area above the first row, for the offsets, in pixels."""


@attrs.frozen
class _Column:
    x: int
    width: int
    text: str


@attrs.frozen
class _EpochCell:
    x: int
    width: int
    looks: str
    text: str
    under: str
    title: str


@attrs.frozen
class _BrokerRow:
    y: int
    name: str
    badges: str
    cells: tuple[_EpochCell, ...]
    high_watermark: int
    high_watermark_x: int
    end: int
    end_x: int


@attrs.frozen
class _Finding:
    check: str
    sentence: str
    context: tuple[str, ...]
    link: str


@attrs.frozen
class _Partition:
    """A partition with errors, in the form that the page template needs."""

    name: str
    title: str
    checks: tuple[str, ...]
    brokers: tuple[int, ...]
    findings: tuple[_Finding, ...]
    more: int
    situation: tuple[str, ...]
    drawing: LogTable | None
    columns: tuple[_Column, ...]
    rows: tuple[_BrokerRow, ...]
    width: int
    height: int
    spoken: str


@attrs.frozen
class _Note:
    title: str
    check: str
    sentence: str


@attrs.frozen
class _Check:
    name: str
    verdict: str
    sentence: str


@attrs.frozen
class _Audit:
    """An audit, in the form that the page template needs."""

    verdict: str
    looks: str
    sentence: str
    counts: str
    reasons: tuple[str, ...]
    partitions: tuple[_Partition, ...]
    more: int
    notes: tuple[_Note, ...]
    more_notes: int
    checks: tuple[_Check, ...]


def audit_page(title: str, result: AuditResult, examples: Sequence[Counterexample]) -> str:
    """Return the HTML page of an audit.

    Parameters:
        title: the title of the page.
        result: the audit.
        examples: the counterexamples that match the findings, whose traces the page shows.
    """
    chapters = [
        chapter(number, story_of(each.trace), f"How this can happen, in the model: {each.title}")
        for number, each in enumerate(examples, start=1)
    ]
    links = [*zip(examples, chapters, strict=True)]
    groups = itertools.groupby(result.errors, key=lambda finding: (finding.topic, finding.partition))
    wrong = [(name, list(found)) for name, found in groups]
    notes = [finding for finding in result.findings if finding.severity == "note"]
    view = _Audit(
        verdict=result.verdict.value,
        looks=result.verdict.value,
        sentence=verdict_sentence(result),
        counts=(
            f"{counted(result.brokers, 'broker')}, {counted(result.partitions, 'partition')}, "
            f"{counted(result.batches, 'batch', 'batches')}, {memory.described(result.size)}; {result.seconds:.1f} s"
        ),
        reasons=result.reasons,
        partitions=tuple(
            _partition(number, name, found, result, links)
            for number, (name, found) in enumerate(wrong[:MOST_PARTITIONS], start=1)
        ),
        more=max(0, len(wrong) - MOST_PARTITIONS),
        notes=tuple(
            _Note("" if each.topic is None else partition_name(each.topic, each.partition), each.check, each.sentence)
            for each in notes[:MOST_NOTES]
        ),
        more_notes=max(0, len(notes) - MOST_NOTES),
        checks=tuple(_Check(each.name, result.verdict_on(each).value, each.sentence) for each in result.checks),
    )
    return page(title, chapters, above=Markup(rendered("audit.html", audit=view)))


def _partition(
    number: int,
    name: tuple[str | None, int | None],
    found: list[Finding],
    result: AuditResult,
    links: Sequence[tuple[Counterexample, Chapter]],
) -> _Partition:
    drawing = result.tables.get((name[0], name[1])) if name[0] is not None and name[1] is not None else None
    columns = len(drawing.columns) if drawing is not None else 0
    shown = without_repetition(found)
    rows = tuple(_row(place, row, drawing) for place, row in enumerate(drawing.rows)) if drawing is not None else ()
    return _Partition(
        name=f"partition-{number}",
        title=partition_name(*name),
        checks=tuple(dict.fromkeys(finding.check for finding in found)),
        brokers=tuple(sorted({broker for finding in found for broker in finding.brokers})),
        findings=tuple(_finding(finding, links) for finding in shown[:MOST_FINDINGS]),
        more=max(0, len(shown) - MOST_FINDINGS),
        situation=tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in found[0].situation),
        drawing=drawing,
        columns=tuple(_Column(LABEL + COLUMN * place, COLUMN, drawing.title(place)) for place in range(columns))
        if drawing is not None
        else (),
        rows=rows,
        width=LABEL + COLUMN * columns + 90,
        height=HEAD + ROW * len(rows),
        spoken="; ".join(_spoken(row, drawing) for row in drawing.rows) if drawing is not None else "",
    )


def _finding(finding: Finding, links: Sequence[tuple[Counterexample, Chapter]]) -> _Finding:
    like = next((shown for each, shown in links if each.matches(finding)), None)
    return _Finding(finding.check, finding.sentence, finding.context, like.shown[-1].name if like is not None else "")


def _row(place: int, row: LogRow, drawing: LogTable) -> _BrokerRow:
    return _BrokerRow(
        y=HEAD + ROW * place,
        name=f"broker {row.broker}",
        badges=", ".join(row.badges),
        cells=tuple(
            _cell(LABEL + COLUMN * column, cell, drawing.title(column))
            for column, cell in enumerate(row.cells)
            if cell.kind != "end"
        ),
        high_watermark=row.high_watermark,
        high_watermark_x=LABEL + COLUMN * row.high_watermark_at,
        end=row.end,
        end_x=LABEL + COLUMN * row.end_at,
    )


def _cell(x: int, cell: LogCell, offsets: str) -> _EpochCell:
    colour = "" if cell.epoch is None else f"e{cell.epoch % GROUPS}"
    looks = {"different": f"{colour} differs", "missing": "lacks", "gone": "away"}.get(cell.kind, colour)
    text = {"missing": "missing", "gone": "removed"}.get(cell.kind, f"epoch {cell.epoch}")
    under = "different" if cell.kind == "different" else ""
    return _EpochCell(x, COLUMN, looks, text, under, f"offsets {offsets}: {cell.text or cell.kind}")


def _spoken(row: LogRow, drawing: LogTable) -> str:
    held = [
        f"{_offsets(drawing, place)} {'' if cell.epoch is None else f'of epoch {cell.epoch} '}{cell.kind}"
        for place, cell in enumerate(row.cells)
        if cell.kind != "end"
    ]
    return f"broker {row.broker}: {', '.join(held) or 'empty'}, HW {row.high_watermark}, LEO {row.end}"


def _offsets(drawing: LogTable, column: int) -> str:
    first, last = drawing.columns[column]
    return f"offset{'s' if last > first else ''} {drawing.title(column)}"
