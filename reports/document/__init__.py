"""Documents: what a command has to say about a result, made once, and written for a terminal, as HTML or as Markdown.

A document consists of blocks, which hold values and their meaning, and no markup. `terminal`, `html` and `markdown` are
the writers. A test compares what they write.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import cattrs
from cattrs.strategies import configure_tagged_union


@attrs.frozen
class Span:
    """A part of a text.

    Attributes:
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
    """A paragraph. `looks` is as in `Span`; ``note`` is a warning, and ``command`` ends with a command to be copied."""

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


PHONE = 36
"""The number of characters of a table that fit side by side on a phone."""


@attrs.frozen
class Table:
    """A table. The first cell of each row is its heading.

    Attributes:
        name: what the rows are.
        rows: the rows, with as many cells as there are columns.
        optional: the number of columns at the end that a terminal leaves out if it is too narrow for them.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    optional: int = 0

    @property
    def is_long(self) -> bool:
        """Whether a row does not fit on the screen of a phone, where each row then becomes a list."""
        return any(sum(len(plain(cell.text)) for cell in row) > PHONE for row in self.rows)

    def is_number(self, column: int) -> bool:
        """Return whether a column contains numbers. Some of its cells may say why there is no number."""
        texts = [(plain(row[column].text), row[column].looks) for row in self.rows]
        numbers = [bool(re.fullmatch(r"[\d,.]+( s)?", text)) for text, _ in texts]
        others = [not text or looks == "idle" for text, looks in texts]
        return any(numbers) and all(map(any, zip(numbers, others, strict=True)))


@attrs.frozen
class Fold:
    """Details that few readers need. A page shows them when the summary is opened, a terminal only the summary."""

    summary: Words
    blocks: tuple[Block, ...]


@attrs.frozen
class Source:
    """Lines of source code."""

    lines: Words


@attrs.frozen
class Plot:
    """A plot of numbers, which only a page shows.

    Attributes:
        spoken: what the plot shows, for readers who do not see it.
        across: what the horizontal axis means.
        up: what the vertical axis means.
        edges: where each number begins on the horizontal axis, and where the last one ends.
        is_filled: whether the area below the numbers is filled.
    """

    spoken: str
    across: str
    up: str
    edges: tuple[float, ...]
    numbers: tuple[float, ...]
    is_filled: bool = False


@attrs.frozen
class Drawing:
    """A drawing of other values, which only a page shows.

    Attributes:
        spoken: what the drawing shows, for readers who do not see it.
        template: the file that draws it.
        values: the values of the variables in the template, keyed by name.
    """

    spoken: str
    template: str
    values: dict[str, Any]


@attrs.frozen
class Steps:
    """A trace, step by step. A page shows its traces below the document instead."""

    title: str
    story: Any


@attrs.frozen
class Section:
    """Blocks with a heading. On a page, they are folded unless they are open.

    Attributes:
        is_open: whether the section is open on a page.
    """

    heading: Words
    blocks: tuple[Block, ...]
    name: str
    is_open: bool = False


Block = Heading | Paragraph | Items | Table | Fold | Source | Plot | Drawing | Steps | Section


@attrs.frozen
class Aside:
    """What a link opens. Writers without links leave it out; its command shows it.

    Attributes:
        notes: paragraphs below the heading.
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
        asides: what links open.
        conclusion: the result in a few lines. It follows the title; on a terminal, it is at the end, where one looks
            after a command.
    """

    title: str
    blocks: tuple[Block, ...]
    asides: tuple[Aside, ...] = ()
    conclusion: tuple[Paragraph, ...] = ()


def plain(text: Words) -> str:
    """Return a text without the meaning of its parts."""
    return "".join(span.text for span in text)


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[Cell | str]], optional: int = 0) -> Table:
    """Return a table. Columns without text are left out; names in backticks are code."""
    cells = [[cell if isinstance(cell, Cell) else Cell(words(cell)) for cell in row] for row in rows]
    kept = [place for place in range(len(head)) if any(plain(row[place].text) for row in cells)]
    left = sum(place >= len(head) - optional for place in kept)
    return Table(
        name, tuple(head[place] for place in kept), tuple(tuple(row[it] for it in kept) for row in cells), left
    )


def joined(title: str, documents: Sequence[Document]) -> Document:
    """Return a document with the content of several documents, each with its title as a heading."""
    if len(documents) == 1:
        return documents[0]
    blocks = [(Heading(each.title), *each.conclusion, *each.blocks) for each in documents]
    return Document(
        title, tuple(itertools.chain(*blocks)), tuple(itertools.chain(*(each.asides for each in documents)))
    )


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
