"""Documents: what a command has to say about a result, made once, and written for a terminal, as HTML or as Markdown.

A document consists of blocks, which hold values and their meaning, and no markup. `terminal`, `html` and `markdown` are
the writers. A test compares what they write.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from typing import Any

import attrs
import cattrs
from cattrs.strategies import configure_tagged_union


@attrs.frozen
class Span:
    """A part of a text.

    Attributes:
        text: the text.
        looks: its meaning: the value of a `Verdict`, ``by-design``, ``strong``, ``quiet`` or ``code``. Empty for
            ordinary text.
        link: the name of the `Heading` or `Aside` that the text links to, where links work. Empty if there is none.
    """

    text: str
    looks: str = ""
    link: str = ""


Words = tuple[Span, ...]


def words(*parts: str | Span) -> Words:
    """Return a text of several parts. In a string, names in backticks are code."""
    found: list[Span] = []
    for part in parts:
        if isinstance(part, Span):
            found.append(part)
            continue
        pieces = re.split(r"`([^`]+)`", part)
        found += [Span(piece, "code" if place % 2 else "") for place, piece in enumerate(pieces) if piece]
    return tuple(found)


@attrs.frozen
class Heading:
    """The heading of a section. `name` is a link to it, or empty."""

    text: str
    name: str = ""


@attrs.frozen
class Paragraph:
    """A paragraph. `looks` is as in `Span`; ``note`` is a warning."""

    text: Words
    looks: str = ""


@attrs.frozen
class Items:
    """A list of texts."""

    texts: tuple[Words, ...]


@attrs.frozen
class Cell:
    """A cell of a table. `looks` is as in `Span`."""

    text: Words
    looks: str = ""


@attrs.frozen
class Table:
    """A table. The first cell of each row is its heading.

    Attributes:
        name: what the rows are.
        head: the headings of the columns.
        rows: the rows, with as many cells as there are columns.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


Block = Heading | Paragraph | Items | Table


@attrs.frozen
class Aside:
    """What a link opens. Writers without links leave it out; its command shows it.

    Attributes:
        name: the name of the link.
        heading: the heading.
        notes: paragraphs below the heading.
        steps: the steps that it lists.
        command: the command that shows everything.
    """

    name: str
    heading: str
    notes: tuple[str, ...]
    steps: tuple[Words, ...]
    command: str


@attrs.frozen
class Document:
    """A document.

    Attributes:
        title: the title.
        blocks: the content.
        asides: what links open.
    """

    title: str
    blocks: tuple[Block, ...]
    asides: tuple[Aside, ...] = ()


def blocks_of(lines: Iterable[str]) -> tuple[Block, ...]:
    """Return lines of text as blocks. Lines that are indented become a list, and empty lines are left out."""
    found: list[Block] = []
    for is_item, group in itertools.groupby((line for line in lines if line), key=lambda line: line.startswith(" ")):
        if is_item:
            found.append(Items(tuple((Span(line.strip()),) for line in group)))
        else:
            found += [Paragraph((Span(line),), "strong" if line.endswith(":") else "") for line in group]
    return tuple(found)


def document_object(document: Document) -> dict[str, Any]:
    """Return a document as an object for JSON, from which `read_document` makes it again."""
    found: dict[str, Any] = _converter().unstructure(document, Document)
    return found


def read_document(content: object) -> Document:
    """Make a document from what `document_object` returned."""
    return _converter().structure(json.loads(json.dumps(content)), Document)


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(omit_if_default=True)
    configure_tagged_union(Block, converter, tag_name="block", tag_generator=lambda kind: kind.__name__.lower())
    return converter
