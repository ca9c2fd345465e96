"""Say on one screen what a matrix of releases shows: in how many configurations each release breaks each promise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs

from leadline.reports.document import Block, Cell, Document, Fold, Heading, Items, Paragraph, Span, Table, plain, words
from leadline.reports.matrix import STATES
from leadline.reports.matrix_document import is_summary


def overview(document: Document) -> tuple[Block, ...]:
    """Return a table with the number of configurations in which each release breaks each promise.

    Parameters:
        document: the document of a matrix, or the part of it that is about one release.

    Returns:
        The table and its legend, or nothing if the document's tables do not have a row of verdicts for each release.
    """
    tables = [block for block in document.blocks if isinstance(block, Table)]
    if not tables or any(table.head[0] != "release" or STATES in table.head for table in tables):
        return ()
    found: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        for row in table.rows:
            own = found.setdefault(plain(row[0].text), {})
            for title, cell in zip(table.head[1:], row[1:], strict=True):
                own.setdefault(title, []).append(cell.looks)
    titles = list(dict.fromkeys(title for each in found.values() for title in each))
    legend = words(
        "The number of configurations in which this happens to a release, although they promise that it does not. ",
        *(Span("?", "incomplete"), ": in none, but not decided in some; "),
        *(Span("d", "by-design"), ": only by design, where that is not promised; "),
        *(Span("-", "holds"), ": in none."),
    )
    rows = [
        (_release(name), *(_mark(own.get(title, [])) for title in titles), _all(own)) for name, own in found.items()
    ]
    if len(rows) == 1:
        marks = zip((*titles, "searched"), rows[0][1:], strict=True)
        lines = tuple((Cell((Span(title),)), mark) for title, mark in marks)
        return (Paragraph(legend), Table("what happens", ("what happens", "configurations"), lines))
    numbers = tuple(str(number) for number in range(1, len(titles) + 1))
    numbered = tuple((Span(number, "strong"), Span(f" {title}")) for number, title in zip(numbers, titles, strict=True))
    return (Paragraph(legend), Items(numbered), Table("releases", ("release", *numbers, "searched"), tuple(rows)))


def with_overview(document: Document, shown: tuple[Block, ...]) -> Document:
    """Return a document with its overview at the start, and with details of its legend folded."""
    if not shown:
        return document
    first = [*itertools.takewhile(lambda block: not isinstance(block, Heading), document.blocks)]
    is_detail = [index > 1 and not is_summary(block) for index, block in enumerate(first)]
    details = tuple(itertools.compress(first, is_detail))
    fold = [Fold(words("What not decided and beyond these bounds mean"), details)] if details else []
    summaries = [block for block in first[2:] if is_summary(block)]
    rest = document.blocks[len(first) :]
    return attrs.evolve(document, blocks=(first[0], *shown, *first[1:2], *fold, *summaries, *rest))


def _release(name: str) -> Cell:
    return Cell((Span(name, "code"),))


def _all(own: dict[str, list[str]]) -> Cell:
    return Cell((Span(str(max(map(len, own.values())))),))


def _mark(looks: Sequence[str]) -> Cell:
    """Return the cell for the verdicts on one promise. What is not decided is never shown as kept."""
    if broken := looks.count("violated"):
        return Cell((Span(str(broken)),), "violated")
    for look, mark in (("incomplete", "?"), ("by-design", "d")):
        if look in looks:
            return Cell((Span(mark),), look)
    return Cell((Span("-"),), "holds")
