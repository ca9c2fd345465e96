"""Drawings, which define how all views of a trace display the states of a spec.

For a spec without a drawing, views show a row for each component and a column for each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Never, TypeVar

import attrs

from leadline.checker.action import Step
from leadline.checker.support.escapes import visible

S = TypeVar("S")


def _cells(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(cells)


def _marks(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    return tuple(marks)


def _visible_texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(visible, texts))


def _visible_columns(columns: Mapping[str, str]) -> dict[str, str]:
    return {visible(name): visible(text) for name, text in columns.items()}


@attrs.frozen
class Cell:
    """One cell of a row, for example a record of a log.

    Attributes:
        text: the text in the cell.
        caption: a short text below the cell.
        group: a number that selects the colour. Cells of the same group have the same colour.
    """

    text: str = attrs.field(converter=visible)
    caption: str = attrs.field(default="", converter=visible)
    group: int = 0


@attrs.frozen
class Mark:
    """A named offset between the cells of a row, for example a high watermark. Offset 0 is before the first cell."""

    name: str = attrs.field(converter=visible)
    offset: int


@attrs.frozen(kw_only=True)
class Row:
    """One row of a state. It is a lane of the diagram and a line of the table.

    Attributes:
        columns: the text of each column, for tables.
        cells: the contents of the row, in order, for diagrams.
        marks: named offsets between the cells.
        badges: short texts about the row, shown separately.
        standing: short texts about what other rows know about this row. A change of these texts is not an event of the
            row.
        up: whether the process that the row represents is running; otherwise its lane is dotted.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict, converter=_visible_columns)
    cells: tuple[Cell, ...] = attrs.field(default=(), converter=_cells)
    marks: tuple[Mark, ...] = attrs.field(default=(), converter=_marks)
    badges: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    standing: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    up: bool = True


@attrs.frozen
class Message:
    """A message from one row to another.

    Attributes:
        source, target: the names of the rows.
        text: a short text, the label of the arrow.
        detail: additional text, shown if there is enough space.
    """

    source: str = attrs.field(converter=visible)
    target: str = attrs.field(converter=visible)
    text: str = attrs.field(converter=visible)
    detail: str = attrs.field(default="", converter=visible)

    @property
    def whole(self) -> str:
        """The text, followed by the detail if there is one."""
        return f"{self.text} ({self.detail})" if self.detail else self.text


@attrs.frozen
class Event:
    """The effect of a step on the outcome of a trace, and its reason.

    Attributes:
        state: the index of the state that the step led to, from 0.
        text: a description of what happened and why, as a clause without a full stop. Step numbers in it count the
            initial state as 1.
        label: one or two words for the diagram, for example ``committed`` or ``lost``; empty if the step is not a
            turning point.
        good: whether the label describes a desired outcome.
    """

    state: int
    text: str = attrs.field(converter=visible)
    label: str = attrs.field(default="", converter=visible)
    good: bool = False


def _none(_: object) -> tuple[Never, ...]:
    return ()


@attrs.frozen(eq=False, kw_only=True)
class Drawing(Generic[S]):
    """Functions that describe how to display the states of a spec.

    Attributes:
        rows: returns the rows of a state by name, in the order in which they are shown.
        messages: returns the messages that are in flight in a state.
        arrivals: returns the messages that arrive in a step. A message that was not in flight before was sent in the
            same step. A message that is no longer in flight and did not arrive is lost. A message that arrived and is
            still returned by `messages` waits at its receiver.
        events: takes the steps of a behaviour and returns the events that decided its outcome. Views show them as the
            explanation of a trace. Without events, views list the steps that wrote the values that the property and
            later steps read.
        legend: an explanation of the notation.

    Example:
        >>> from leadline.checker.drawing import Drawing, Row
        >>> drawing = Drawing(rows=lambda level: {"tank": Row(columns={"level": f"{level} l"})})
        >>> drawing.rows(3)["tank"].columns
        {'level': '3 l'}
    """

    rows: Callable[[S], Mapping[str, Row]]
    messages: Callable[[S], Iterable[Message]] = _none
    arrivals: Callable[[Step[S]], Iterable[Message]] = _none
    events: Callable[[Sequence[Step[S]]], Iterable[Event]] = _none
    legend: str = attrs.field(default="", converter=visible)
