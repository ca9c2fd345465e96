"""Drawing: how a spec's states look, for every view of a trace.

A spec without a drawing is shown by its components: a row for each, a column for each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import Step
from leadline.checker.support.visible import visible

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
    """One cell of what a row holds, such as a record of a log.

    Attributes:
        text: what is in it.
        caption: a few words below that.
        group: cells of one group have one colour.
    """

    text: str = attrs.field(converter=visible)
    caption: str = attrs.field(default="", converter=visible)
    group: int = 0


@attrs.frozen
class Mark:
    """A named offset between the cells of a row, such as a high watermark. 0 is before the first cell."""

    name: str = attrs.field(converter=visible)
    offset: int


@attrs.frozen(kw_only=True)
class Row:
    """One row of a state: a lane of the diagram, a line of the table.

    Attributes:
        columns: texts by column, for tables.
        cells: what the row holds, in order, for diagrams.
        marks: offsets among the cells.
        badges: a few words about the row, each on its own.
        standing: a few words on what others know about the row. When they change, nothing has happened in the row.
        up: whether the row is running; the lane of one that is not is dotted.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict, converter=_visible_columns)
    cells: tuple[Cell, ...] = attrs.field(default=(), converter=_cells)
    marks: tuple[Mark, ...] = attrs.field(default=(), converter=_marks)
    badges: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    standing: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    up: bool = True


@attrs.frozen
class Message:
    """Something sent from one row to another.

    Attributes:
        source, target: the names of the rows.
        text: what is sent, in a few words: the label of an arrow.
        detail: the rest of it, where there is room.
    """

    source: str = attrs.field(converter=visible)
    target: str = attrs.field(converter=visible)
    text: str = attrs.field(converter=visible)
    detail: str = attrs.field(default="", converter=visible)

    @property
    def whole(self) -> str:
        """The text with the detail."""
        return f"{self.text} ({self.detail})" if self.detail else self.text


@attrs.frozen
class Event:
    """What a step of a trace meant for its outcome, and why it happened.

    Attributes:
        state: the state that the step led to, counted from 0.
        text: what happened and why, in a clause without a full stop. Where it names a step, the initial state is 1.
        label: a word or two for the diagram, such as ``committed`` or ``lost``; empty if the step is not a
            turning point.
        good: whether the label stands for what should happen.
    """

    state: int
    text: str = attrs.field(converter=visible)
    label: str = attrs.field(default="", converter=visible)
    good: bool = False


def _none(_: Any) -> tuple[Any, ...]:
    return ()


@attrs.frozen(eq=False, kw_only=True)
class Drawing(Generic[S]):
    """How the states of a spec are drawn.

    Attributes:
        rows: the rows of a state by name, in the order in which they are shown.
        messages: the messages on their way in a state.
        arrivals: the messages that arrive in a step. One that was not on its way before was sent in the same step.
            One that is no longer on its way and did not arrive is lost. One that arrived and is still there waits
            at its receiver.
        events: what decided the outcome of a behaviour, given its steps. Views show it as the explanation of a
            trace. Without any, they list the steps that wrote what the property and later steps read.
        legend: what the notation means.

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
