"""What each row holds: its log in cells, with marks at offsets."""

from __future__ import annotations

import attrs

from leadline.checker.drawing import Cell as DrawnCell
from leadline.checker.drawing import Row
from leadline.reports.traces.rows import Rows

CELL = 54
"""Pixels that a cell is wide."""

EDGE = 14
"""Pixels left of the first cell."""

GROUPS = 6
"""Colours there are for groups of cells; from then on they are used again."""


@attrs.frozen
class Cell:
    """One cell of a log.

    Attributes:
        x: pixels from the left.
        offset: which it is, from 0.
        drawn: what is in it.
        colour: which of the colours.
        is_new: whether the step put it there.
        is_gone: whether the step took it away.
    """

    x: int
    offset: int
    drawn: DrawnCell
    colour: int
    is_new: bool = False
    is_gone: bool = False


@attrs.frozen
class Mark:
    """An offset with a name, and where it was before the step."""

    x: int
    name: str
    offset: int
    before: int

    @property
    def moved(self) -> bool:
        """Whether the step moved it."""
        return self.offset != self.before


@attrs.frozen
class Holding:
    """One row: what it holds now.

    Attributes:
        name: its name.
        row: what the spec says of it.
        cells: its cells, and after them those that the step took away.
        marks: its marks.
        width: pixels that all this is wide.
        badges: a few words, each with whether the step changed it.
    """

    name: str
    row: Row
    cells: tuple[Cell, ...]
    marks: tuple[Mark, ...]
    width: int
    badges: tuple[tuple[str, bool], ...]

    @property
    def spoken(self) -> str:
        """All that is drawn, in words, for those who do not see it."""
        there = [
            " ".join(filter(None, [cell.drawn.text, f"({cell.drawn.caption})" if cell.drawn.caption else ""]))
            + f" at offset {cell.offset}"
            for cell in self.cells
            if not cell.is_gone
        ]
        gone = [f"{cell.drawn.text} is gone from offset {cell.offset}" for cell in self.cells if cell.is_gone]
        marks = [f"{mark.name} {mark.offset}" for mark in self.marks]
        return f"{self.name} holds {', '.join([*(there or ['nothing']), *gone, *marks])}"


def holdings(now: Rows, before: Rows) -> tuple[Holding, ...]:
    """What each row holds in a state, and what the step before it changed there."""
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


def _cell(offset: int, cell: DrawnCell, *, is_new: bool = False, is_gone: bool = False) -> Cell:
    return Cell(EDGE + CELL * offset, offset, cell, cell.group % GROUPS, is_new, is_gone)
