"""Write documents as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline.checker.support.escapes import visible
from leadline.reports.document import (
    Block,
    Cell,
    Document,
    Fold,
    Heading,
    Items,
    Paragraph,
    Section,
    Source,
    Span,
    Steps,
    Table,
    Words,
)
from leadline.reports.traces.mermaid import mermaid


def markdown(document: Document) -> str:
    """Return a document as Markdown, without its asides."""
    lines = [f"# {escaped(document.title)}"]
    for block in (*document.conclusion, *document.blocks):
        lines += ["", *written] if (written := list(_lines(block))) else []
    return "".join(f"{line}\n" for line in lines)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text):
            yield f"## {escaped(text)}"
        case Paragraph(text):
            yield _text(text)
        case Items(texts):
            yield from (f"- {_text(text)}" for text in texts)
        case Table():
            yield from _table(block)
        case Fold(summary, blocks):
            yield f"<details><summary>{_text(summary)}</summary>"
            for each in blocks:
                yield from ("", *_lines(each))
            yield from ("", "</details>")
        case Section(heading, blocks):
            yield f"## {_text(heading)}"
            for each in blocks:
                yield from ("", *written) if (written := list(_lines(each))) else ()
        case Steps(title, story):
            yield from (f"<details><summary>{escaped(title)}</summary>", "", "```mermaid")
            yield from (mermaid(story).rstrip(), "```", "", "</details>")
        case Source(sources):
            yield from ("<pre>", *(escaped(line.text) for line in sources), "</pre>")


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, table.head))} |"
    yield f"|{''.join(' ---: |' if table.is_number(column) else ' --- |' for column in range(len(table.head)))}"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell) -> str:
    first, *rest = cell.text or (Span(""),)
    if cell.looks == "violated":  # what a reader looks for
        return f"**{_span(first)}**{_text(tuple(rest))}"
    return _text(cell.text)


def _text(text: Words) -> str:
    return "".join(map(_span, text))


def _span(span: Span) -> str:
    if span.looks == "code" and not set(span.text) & {"`", "|", "\\"} and span.text.isprintable():
        return f"`{span.text}`"
    marks = "**" if span.looks in ("strong", "violated") else ""
    return f"{marks}{escaped(span.text)}{marks}"


def escaped(text: str) -> str:
    """Return text in which no character has a meaning in Markdown or in a table. An underscore in a word has none."""
    return re.sub(r"[\\`*\[\]<>|&#~]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", visible(text))
