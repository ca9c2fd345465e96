"""Draw space-time diagrams. Each process has a vertical lane, time runs downwards, and messages are arrows."""

from __future__ import annotations

import attrs

from leadline.checker.drawing import Row
from leadline.checker.traces.deliveries import Delivery
from leadline.reports.html.labels import Label, Segment, placed
from leadline.reports.traces.spacetime import SpaceTime

LANE = 88
"""The distance between two lanes, in pixels."""

STEP = 38
"""The distance between two steps, in pixels."""

GUTTER = 34
"""The width of the column of step numbers, to the left of the first lane, in pixels."""

HEAD = 30
"""The height of the names of the lanes, above the first step, in pixels."""

BACK = 30
"""The width of the area to the right of the lanes, for the line from the end of a loop to its start, in pixels."""

GAP = 7
"""The distance between an arrow and the dots at its ends, in pixels."""


APART = 15
"""The distance between two arrows in the same step, in pixels."""


@attrs.frozen
class Line:
    """A segment of a lane, an arrow, or the line that shows a loop.

    Attributes:
        x1: the horizontal position of the start, in pixels.
        y1: the vertical position of the start, in pixels.
        x2: the horizontal position of the end, in pixels.
        y2: the vertical position of the end, in pixels.
        looks: the CSS class: ``up`` or ``down`` for a lane, ``sent``, ``lost`` or ``waiting`` for an arrow, and
            ``loop`` for the line that shows a loop.
        text: the complete text of the message. Empty if the line is not an arrow.
        step: for an arrow, the number of the step in which the arrow ends.
        label: for an arrow, its label, or None if there is no room for a label.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    looks: str
    text: str = ""
    step: int = 0
    label: Label | None = None


@attrs.frozen
class Dot:
    """A dot on a lane. It shows that a step happened in the row that the lane represents.

    Attributes:
        x: the horizontal position in pixels.
        y: the vertical position in pixels.
        step: the number of the step.
        looks: the CSS class: ``stop`` if the process in this row stops, ``start`` if it starts again, otherwise
            ``event``.
    """

    x: float
    y: float
    step: int
    looks: str


@attrs.frozen
class Diagram:
    """The shapes of a diagram. All positions and sizes are in pixels.

    Attributes:
        height: the height of the diagram, without the names of the lanes.
        names: the name of each lane, with its horizontal position.
        steps: the number of each step, with its vertical position.
        loop: the line that connects the end of the loop to its start, or None if the trace has no loop.
        head: the height of the lane names.
    """

    width: int
    height: int
    names: tuple[tuple[int, str], ...]
    steps: tuple[tuple[int, int], ...]
    lanes: tuple[Line, ...]
    arrows: tuple[Line, ...]
    dots: tuple[Dot, ...]
    loop: Line | None = None
    step_height: int = STEP
    head: int = HEAD


def diagram_of(diagram: SpaceTime, loop: int | None = None) -> Diagram:
    """Return the shapes of a space-time diagram.

    Parameters:
        loop: the index of the state at which the loop of the trace starts, or None if the trace has no loop.
    """
    count = len(diagram.touched)
    width = GUTTER + LANE * len(diagram.lanes)
    x = {row: GUTTER + LANE * place + LANE // 2 for place, row in enumerate(diagram.lanes)}
    y = [STEP * number + STEP // 2 for number in range(count)]
    height = STEP * count
    up = {row: [rows.get(row, Row()).up for rows in diagram.rows] for row in diagram.lanes}
    arrows = [
        _apart(_arrow(each, x, y, height), _among_level_ones(each, diagram.deliveries)) for each in diagram.deliveries
    ]
    dots = tuple(
        Dot(x[row], y[number], number + 1, _looks(up[row], number))
        for number, rows in enumerate(diagram.touched)
        for row in rows
    )
    return Diagram(
        width=width if loop is None else width + BACK,
        height=height,
        names=tuple((x[row], row) for row in diagram.lanes),
        steps=tuple((number + 1, STEP * number) for number in range(count)),
        lanes=tuple(line for row in diagram.lanes for line in _lane(x[row], y, height, up[row])),
        arrows=_labelled(arrows, dots, width),
        dots=dots,
        loop=None if loop is None else Line(width + BACK / 2, y[-1], width + BACK / 2, y[loop], "loop"),
    )


def _labelled(arrows: list[Line], dots: tuple[Dot, ...], width: int) -> tuple[Line, ...]:
    segments = [(Segment(line.x1, line.y1, line.x2, line.y2), line.text) for line in arrows]
    labels = placed(segments, [(dot.x, dot.y) for dot in dots], GUTTER - 4, width)
    return tuple(attrs.evolve(line, label=label) for line, label in zip(arrows, labels, strict=True))


def _among_level_ones(arrow: Delivery, arrows: tuple[Delivery, ...]) -> float:
    """Return the position of an arrow among the horizontal arrows of the same step. The position in the middle is 0."""
    level = [other for other in arrows if other.at_once and other.sent == arrow.sent]
    return level.index(arrow) - (len(level) - 1) / 2 if arrow in level else 0


def _apart(line: Line, place: float) -> Line:
    return attrs.evolve(line, y1=line.y1 + APART * place, y2=line.y2 + APART * place)


def _lane(x: int, y: list[int], height: int, up: list[bool]) -> list[Line]:
    """Return the segments of a lane. Each segment connects a state to the next state."""
    ends = [*y[1:], height]
    return [Line(x, y[number], x, ends[number], "up" if up[number] else "down") for number in range(len(y))]


def _looks(up: list[bool], number: int) -> str:
    before = up[max(number - 1, 0)]
    return "event" if up[number] == before else "start" if up[number] else "stop"


def _arrow(arrow: Delivery, x: dict[str, int], y: list[int], height: int) -> Line:
    """Return the arrow of a message.

    If the message is lost or still in flight, the arrow ends before it reaches the lane of the receiver.
    """
    x1, y1 = x[arrow.message.source], y[arrow.sent]
    x2, y2 = x[arrow.message.target], height if arrow.ended is None else y[arrow.ended]
    side = GAP if x2 > x1 else -GAP
    step = (len(y) if arrow.ended is None else arrow.ended) + 1
    if arrow.arrives:
        return Line(x1 + side, y1, x2 - side, y2, "sent", arrow.message.text, step)
    return Line(
        x1 + side,
        y1,
        x1 + (x2 - x1) * 0.75,
        y2,
        "lost" if arrow.lost else "waiting",
        arrow.message.text,
        step,
    )
