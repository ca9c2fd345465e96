"""Drawings: descriptions of how reports display the states of a spec.

For a spec without a drawing, reports show a row for each component and a column for each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Never, TypeVar

import attrs

from leadline.checker.action import Step
from leadline.checker.door import DRAWN, ROWS, VALUE, admit
from leadline.checker.support.escapes import visible

__all__ = ["Along", "Cell", "Drawing", "Event", "Mark", "Message", "Row"]

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
    """One cell of a row, for example a record in a log.

    Attributes:
        text: the text in the cell.
        caption: a short text below the cell.
        group: a number that determines the colour. Cells with the same number have the same colour.
    """

    text: str = attrs.field(converter=visible)
    caption: str = attrs.field(default="", converter=visible)
    group: int = 0


@attrs.frozen
class Mark:
    """A named position in a row of cells, for example the high watermark.

    Attributes:
        name: the name of the mark.
        offset: the number of cells before the mark.
    """

    name: str = attrs.field(converter=visible)
    offset: int


@attrs.frozen(kw_only=True)
class Row:
    """One row of a displayed state, for example one broker. In a table, it is shown as a line; in a diagram, as a lane.

    Attributes:
        columns: the text in each column of a table, keyed by the name of the column.
        cells: the cells of the row in order, for diagrams.
        marks: named positions between the cells.
        badges: short texts about the row, such as the role of a broker.
        standing: short texts about the row that depend on other rows, for example whether the controller has fenced a
            broker. If these texts change, the change is not shown as an event of the row.
        up: whether the process that the row represents is running. If not, the lane of the row in a diagram is dotted.
        is_log: whether the cells are those of a log, with offsets as their positions. If not, they are a set.
    """

    columns: Mapping[str, str] = attrs.field(factory=dict, converter=_visible_columns)
    cells: tuple[Cell, ...] = attrs.field(default=(), converter=_cells)
    marks: tuple[Mark, ...] = attrs.field(default=(), converter=_marks)
    badges: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    standing: tuple[str, ...] = attrs.field(default=(), converter=_visible_texts)
    up: bool = True
    is_log: bool = True


@attrs.frozen
class Message:
    """A message from one row to another row.

    Attributes:
        source: the name of the row that sent the message.
        target: the name of the row that receives the message.
        text: a short text, which labels the arrow.
        detail: a longer text, which is shown where there is enough space.
    """

    source: str = attrs.field(converter=visible)
    target: str = attrs.field(converter=visible)
    text: str = attrs.field(converter=visible)
    detail: str = attrs.field(default="", converter=visible)

    @property
    def whole(self) -> str:
        """The text, followed by the detail in parentheses if there is one."""
        return f"{self.text} ({self.detail})" if self.detail else self.text


@attrs.frozen
class Event:
    """An explanation of what a step contributed to the outcome of a trace.

    Attributes:
        state: the index of the state after the step. The initial state has the index 0.
        text: a clause without a full stop that says what happened and why. If the text mentions a step by its number,
            the initial state has the number 1.
        label: one or two words for a diagram, for example ``committed`` or ``lost``. An empty string if the step is not
            a turning point.
        good: whether the label describes a desired outcome.
    """

    state: int
    text: str = attrs.field(converter=visible)
    label: str = attrs.field(default="", converter=visible)
    good: bool = False


@attrs.frozen(eq=False)
class Along(Generic[S]):
    """A value that is computed along a trace, for people to look at.

    The value is not part of the state, so it adds no states, and actions and properties cannot read it. A value that a
    property needs belongs in the state; see `leadline.checker.state.history`.

    Attributes:
        start: returns the value in the initial state.
        update: takes the value before a step and the step, and returns the value after it.

    Example:
        >>> from leadline.checker.drawing import Along
        >>> writes = Along(lambda state: 0, lambda count, step: count + (step.action == "write"))
    """

    start: Callable[[S], Any]
    update: Callable[[Any, Step[S]], Any]


def _none(_: object) -> tuple[Never, ...]:
    return ()


def no_rows(_: object) -> dict[str, Row]:
    """Stands for the rows in a drawing that does not define them."""
    return {}


@attrs.frozen(eq=False, kw_only=True)
class Drawing(Generic[S]):
    """Functions that describe how to display the states of a spec.

    Attributes:
        rows: returns the rows of a state, keyed by name, in display order. By default, each component is a row.
        messages: returns the messages that are in flight in a state.
        arrivals: returns the messages that arrive in a step. If a message arrives but was not in flight before the
            step, it was sent in the same step. If a message arrives but `messages` still returns it after the step, the
            message waits at its receiver. A message that disappears from `messages` without arriving is lost.
        events: takes the steps of a trace in order and returns the events that decided its outcome. Reports show them
            as the explanation of the trace. If there are no events, reports instead list the steps that wrote the
            values that the property and later steps read.
        along: values that are computed along a trace and shown with each of its states, keyed by name.
        legend: an explanation of the notation.

    Example:
        >>> from leadline.checker.drawing import Drawing, Row
        >>> drawing = Drawing(rows=lambda level: {"tank": Row(columns={"level": f"{level} l"})})
        >>> drawing.rows(3)["tank"].columns
        {'level': '3 l'}
    """

    rows: Callable[[S], Mapping[str, Row]] = no_rows
    messages: Callable[[S], Iterable[Message]] = _none
    arrivals: Callable[[Step[S]], Iterable[Message]] = _none
    events: Callable[[Sequence[Step[S]]], Iterable[Event]] = _none
    along: Mapping[str, Along[S]] = attrs.field(factory=dict)
    legend: str = attrs.field(default="", converter=visible)

    def __attrs_post_init__(self) -> None:
        for name, takes in (("rows", "state"), ("messages", "state"), ("arrivals", "step"), ("events", "steps")):
            admit(f"the drawing's {name}", getattr(self, name), [takes], ROWS if name == "rows" else DRAWN)
        for name, value in self.along.items():
            admit(f"the start of {name} along traces", value.start, ["state"], VALUE)
            admit(f"the update of {name} along traces", value.update, ["value", "step"], VALUE)
