"""Write documents on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from leadline.checker.support.escapes import visible
from leadline.reports.document import Block, Document, Heading, Items, Paragraph, Table, Words
from leadline.reports.terminal.console import STYLES

LOOKS = {verdict.value: style for verdict, style in STYLES.items()} | {
    "by-design": "yellow",
    "note": "yellow",
    "quiet": "dim",
    "strong": "bold",
}
"""The style of each kind of text."""


def document_view(document: Document) -> RenderableType:
    """Return a view of a document, without its asides."""
    views: list[RenderableType] = [Text(visible(document.title), style="bold")]
    for block in document.blocks:
        views += ["", block_view(block)]
    return Group(*views)


def block_view(block: Block) -> RenderableType:
    """Return a view of a block."""
    return Group(*_views(block))


def _views(block: Block) -> Iterator[RenderableType]:
    match block:
        case Heading(text):
            yield Text(visible(text), style="bold")
        case Paragraph(text, looks):
            yield _text(text, looks)
        case Items(texts):
            for text in texts:
                yield Padding(_text(text), (0, 0, 0, 2))
        case Table():
            yield _FittingTable(block)


def _text(text: Words, looks: str = "") -> Text:
    found = Text(style=LOOKS.get(looks, ""))
    for span in text:
        found.append(visible(span.text), style=LOOKS.get(span.looks, ""))
    return found


class _FittingTable:
    """A table of which no column cuts off a word. If it is too wide for the terminal, each row becomes a list."""

    def __init__(self, table: Table) -> None:
        self._head = [Text(visible(title), style="dim") for title in table.head]
        self._rows = [[_text(cell.text, cell.looks) for cell in row] for row in table.rows]

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = list(zip(self._head, *self._rows, strict=True))
        needed = [max(cell_len(word) for cell in column for word in (*cell.plain.split(), "")) for column in columns]
        if sum(needed) + 2 * len(needed) <= options.max_width:
            table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for title, width in zip(self._head, needed, strict=True):
                table.add_column(title, min_width=width)
            for row in self._rows:
                table.add_row(*row)
            yield table
            return
        for row in self._rows:
            for place, (title, cell) in enumerate(zip(self._head, row, strict=True)):
                if cell.plain:
                    yield Padding(Text.assemble(title, "  ", cell), (0, 0, 0, 2 if place else 0))
