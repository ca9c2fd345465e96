"""Write documents on a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from leadline.checker.support.escapes import visible
from leadline.reports.document import (
    Block,
    Document,
    Drawing,
    Fold,
    Heading,
    Items,
    Paragraph,
    Plot,
    Section,
    Source,
    Span,
    Steps,
    Table,
    Words,
    plain,
)
from leadline.reports.terminal.console import STYLES, WrappedBounds, is_plain
from leadline.reports.terminal.trace import story_view
from leadline.reports.traces.story import Story

LOOKS = {verdict.value: style for verdict, style in STYLES.items()} | {
    "by-design": "yellow",
    "note": "yellow",
    "idle": "yellow",
    "quiet": "dim",
    "strong": "bold",
    "line never": "red",
    "line partly": "yellow",
    "line run": "dim",
    "line ": "dim",
}
"""The style of each kind of text."""


def document_view(document: Document) -> RenderableType:
    """Return a view of a document, without its asides."""
    title = Text(visible(document.title), style="bold")
    return Group(title, "", blocks_view((*document.blocks, *document.conclusion)))


def blocks_view(blocks: Sequence[Block]) -> RenderableType:
    """Return a view of blocks. Lines of text that follow each other, or a heading, are not separated."""
    views: list[RenderableType] = []
    shown = (each for each in blocks if not isinstance(each, Plot | Drawing))
    for before, block in itertools.pairwise((None, *shown)):
        is_text = isinstance(before, Paragraph | Items | Fold) and isinstance(block, Paragraph | Items | Fold)
        is_close = before is None or isinstance(before, Heading) or is_text
        views += [*_views(block)] if is_close else ["", *_views(block)]
    return Group(*views)


def _views(block: Block | None) -> Iterator[RenderableType]:
    match block:
        case Heading(text):
            yield Text(visible(text), style="bold")
        case Paragraph(text, "command"):
            yield Text(visible(plain(text)), no_wrap=True, overflow="ignore")
        case Paragraph(text, looks):
            yield WrappedBounds(_text(text, looks))
        case Items(texts):
            for text in texts:
                yield Padding(WrappedBounds(_text(text)), (0, 0, 0, 2))
        case Table():
            yield _FittingTable(block)
        case Fold(summary):
            yield _text((*summary, Span(" (in full with --html)")), "quiet")
        case Section(heading, blocks):
            yield from (_text(heading, "strong"), blocks_view(blocks))
        case Steps(title, story):
            yield from (Text(visible(title), style="bold"), StoryView(story))
        case Source(lines):
            for line in lines:
                yield Text(visible(line.text), style=LOOKS[line.looks], no_wrap=True, overflow="ignore")


def _text(text: Words, looks: str = "") -> Text:
    found = Text(style=LOOKS.get(looks, ""))
    for span in text:
        found.append(visible(span.text), style=LOOKS.get(span.looks, ""))
    return found


@attrs.frozen
class StoryView:
    """The view of a trace, as wide as the terminal."""

    story: Story

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield story_view(self.story, plain=is_plain(out), width=options.max_width)


class _FittingTable:
    """A table of which no column cuts off a word. If it is too wide for the terminal, each row becomes a list."""

    def __init__(self, table: Table) -> None:
        self._head = [Text(visible(title), style="dim") for title in table.head]
        self._rows = [[_text(cell.text, cell.looks) for cell in row] for row in table.rows]
        self._optional = table.optional
        self._numbers = [table.is_number(column) for column in range(len(table.head))]

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = list(zip(self._head, *self._rows, strict=True))
        wide = [max(cell_len(cell.plain) for cell in column) for column in columns]
        needed = [max(cell_len(word) for cell in column for word in (*cell.plain.split(), "")) for column in columns]
        shown = len(columns)
        if sum(wide) + 2 * shown > options.max_width:
            shown -= self._optional
        spare = options.max_width - sum(needed[:shown]) - 2 * shown
        if spare >= 0:
            wanted = [most - least for most, least in zip(wide, needed, strict=True)][:shown]
            most = max(wanted, default=0)  # what lacks the least fits first
            while sum(min(more, most) for more in wanted) > spare:
                most -= 1
            table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for title, least, more, is_number in zip(self._head, needed, wanted, self._numbers, strict=False):
                justify: JustifyMethod = "right" if is_number else "left"
                table.add_column(title, width=least + min(more, most), justify=justify, overflow="fold")
            for row in self._rows:
                table.add_row(*row[:shown])
            yield table
            return
        for row in self._rows:
            for place, (title, cell) in enumerate(zip(self._head[:shown], row, strict=False)):
                if cell.plain:
                    yield Padding(Text.assemble(title, "  ", cell), (0, 0, 0, 2 if place else 0))
