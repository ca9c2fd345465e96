"""What each row holds: its log in cells, with marks at offsets."""

from __future__ import annotations

import attrs

from reports.spacetime import Drawn

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
        text: what is in it.
        group: what colours it, in Kafka's logs the leader epoch.
        colour: which of the colours.
        is_new: whether the step put it there.
        is_gone: whether the step took it away.
    """

    x: int
    offset: int
    text: str
    group: int
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
        row: its name.
        drawn: what the spec says of it.
        cells: its cells, and after them those that the step took away.
        marks: its marks.
        width: pixels that all this is wide.
        badges: a few words, each with whether the step changed it.
    """

    row: str
    drawn: Drawn
    cells: tuple[Cell, ...]
    marks: tuple[Mark, ...]
    width: int
    badges: tuple[tuple[str, bool], ...]

    @property
    def spoken(self) -> str:
        """All that is drawn, in words, for those who do not see it."""
        there = [
            f"{cell.text} of epoch {cell.group} at offset {cell.offset}" for cell in self.cells if not cell.is_gone
        ]
        gone = [f"{cell.text} is gone from offset {cell.offset}" for cell in self.cells if cell.is_gone]
        marks = [f"{mark.name} {mark.offset}" for mark in self.marks]
        return f"log of {self.row}: {', '.join([*(there or ['empty']), *gone, *marks])}"


def holdings(now: dict[str, Drawn], before: dict[str, Drawn]) -> tuple[Holding, ...]:
    """What each row holds in a state, and what the step before it changed there."""
    return tuple(_holding(row, drawn, before.get(row, drawn)) for row, drawn in now.items())


def _holding(row: str, drawn: Drawn, before: Drawn) -> Holding:
    cells = [
        _cell(offset, cell, is_new=cell not in before.cells[offset : offset + 1])
        for offset, cell in enumerate(drawn.cells)
    ]
    gone = [_cell(offset, cell, is_gone=True) for offset, cell in enumerate(before.cells) if offset >= len(drawn.cells)]
    marks = [Mark(EDGE + CELL * at, name, at, before.marks.get(name, at)) for name, at in drawn.marks.items()]
    ends = [len(cells) + len(gone), *drawn.marks.values(), *before.marks.values()]
    said, said_before = (*drawn.badges, *drawn.standing), (*before.badges, *before.standing)
    badges = tuple((badge, badge not in said_before) for badge in said)
    return Holding(row, drawn, (*cells, *gone), tuple(marks), 2 * EDGE + CELL * max(ends), badges)


def _cell(offset: int, cell: tuple[str, int], *, is_new: bool = False, is_gone: bool = False) -> Cell:
    text, group = cell
    return Cell(EDGE + CELL * offset, offset, text, group, group % GROUPS, is_new, is_gone)
