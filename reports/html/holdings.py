"""Draw the contents of a state's rows. A log is drawn as a line of cells, with marks at offsets."""

from __future__ import annotations

import attrs

from leadline.checker.drawing import Cell, Row
from leadline.reports.traces.rows import Rows

CELL = 54
"""The width of a cell, in pixels."""

EDGE = 14
"""The width of the space to the left of the first cell, in pixels."""

GROUPS = 6
"""The number of colours for groups of cells. If there are more groups, colours are reused."""


@attrs.frozen
class LogCell:
    """A cell of a log.

    Attributes:
        x: the distance from the left edge of the picture, in pixels.
        offset: the offset of the cell, from 0.
        drawn: the cell as the spec draws it.
        colour: the index of the colour.
        is_new: true if the step added the cell.
        is_gone: true if the step removed the cell.
    """

    x: int
    offset: int
    drawn: Cell
    colour: int
    is_new: bool = False
    is_gone: bool = False


@attrs.frozen
class Mark:
    """A named offset, such as a high watermark.

    Attributes:
        x: the distance from the left edge of the picture, in pixels.
        offset: the offset after the step.
        before: the offset before the step.
    """

    x: int
    name: str
    offset: int
    before: int

    @property
    def moved(self) -> bool:
        """True if the step moved the mark."""
        return self.offset != self.before


@attrs.frozen
class Holding:
    """The contents of a row.

    Attributes:
        row: the row as the spec draws it.
        cells: the cells of the row, followed by the cells that the preceding step removed.
        width: the width of the picture, in pixels.
        badges: the badges of the row. Each is a (text, is new) pair.
    """

    name: str
    row: Row
    cells: tuple[LogCell, ...]
    marks: tuple[Mark, ...]
    width: int
    badges: tuple[tuple[str, bool], ...]

    @property
    def spoken(self) -> str:
        """A description of the picture, for screen readers."""
        there = [
            " ".join(filter(None, [cell.drawn.text, f"({cell.drawn.caption})" if cell.drawn.caption else ""]))
            + f" at offset {cell.offset}" * self.row.is_log
            for cell in self.cells
            if not cell.is_gone
        ]
        gone = [
            f"{cell.drawn.text} is gone" + f" from offset {cell.offset}" * self.row.is_log
            for cell in self.cells
            if cell.is_gone
        ]
        marks = [f"{mark.name} {mark.offset}" for mark in self.marks]
        return f"{self.name} holds {', '.join([*(there or ['nothing']), *gone, *marks])}"


def holdings(now: Rows, before: Rows) -> tuple[Holding, ...]:
    """Return the contents of each row in a state. Changes that the preceding step made are marked."""
    return tuple(_holding(name, row, before.get(name, row)) for name, row in now.items())


def _holding(name: str, row: Row, before: Row) -> Holding:
    cells = [
        _cell(offset, cell, is_new=cell not in before.cells[offset : offset + 1])
        for offset, cell in enumerate(row.cells)
    ]
    gone = [_cell(offset, cell, is_gone=True) for offset, cell in enumerate(before.cells) if offset >= len(row.cells)]
    earlier = {mark.name: mark.offset for mark in before.marks}
    marks = [
        Mark(EDGE + CELL * each.offset, each.name, each.offset, earlier.get(each.name, each.offset))
        for each in row.marks
    ]
    ends = [len(cells) + len(gone), *(mark.offset for mark in row.marks), *earlier.values()]
    badges, badges_before = (*row.badges, *row.standing), (*before.badges, *before.standing)
    changed = tuple((badge, badge not in badges_before) for badge in badges)
    return Holding(name, row, (*cells, *gone), tuple(marks), 2 * EDGE + CELL * max(ends), changed)


def _cell(offset: int, cell: Cell, *, is_new: bool = False, is_gone: bool = False) -> LogCell:
    return LogCell(EDGE + CELL * offset, offset, cell, cell.group % GROUPS, is_new, is_gone)
