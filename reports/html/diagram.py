"""The space-time diagram: a lane for each row, time downwards, messages as arrows."""

from __future__ import annotations

import attrs

from reports.spacetime import Arrow, Drawn, SpaceTime

LANE = 84
"""Pixels between two lanes."""

STEP = 38
"""Pixels between two steps."""

GUTTER = 34
"""Pixels left of the first lane, for the numbers of the steps."""

HEAD = 30
"""Pixels above the first step, for the names of the lanes."""

GAP = 7
"""Pixels between an arrow and the dots at its ends."""


APART = 13
"""Pixels between two arrows of one step."""


@attrs.frozen
class Line:
    """A piece of a lane, or an arrow.

    Attributes:
        looks: how it is drawn: ``up`` or ``down`` of a lane; ``sent``, ``lost`` or ``waiting`` of an arrow.
        text: what is written beside it.
        step: the step that it ends in, or belongs to.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    looks: str
    text: str = ""
    step: int = 0

    @property
    def anchor(self) -> str:
        """Which end of its text is at `label_x`: of a slanted arrow, the one at the arrow's head."""
        if self.y1 == self.y2:
            return "middle"
        return "end" if self.x1 < self.x2 else "start"

    @property
    def label_x(self) -> float:
        """Where its text is: above the middle of a level arrow, below the head of a slanted one."""
        return (self.x1 + self.x2) / 2 if self.y1 == self.y2 else self.x2

    @property
    def label_y(self) -> float:
        """Where its text is, from above. See `label_x`."""
        return self.y2 - 4 if self.y1 == self.y2 else self.y2 + 13


@attrs.frozen
class Dot:
    """Where a step happened: ``event``, or ``stop`` and ``start`` where a row goes down and comes back."""

    x: float
    y: float
    step: int
    looks: str


@attrs.frozen
class Diagram:
    """All that is drawn, in pixels. Steps are `STEP` high; the names of the lanes are above, in `HEAD`."""

    width: int
    height: int
    names: tuple[tuple[int, str], ...]
    steps: tuple[tuple[int, int], ...]
    lanes: tuple[Line, ...]
    arrows: tuple[Line, ...]
    dots: tuple[Dot, ...]
    step_height: int = STEP
    head: int = HEAD


def diagram_of(diagram: SpaceTime) -> Diagram:
    """Where everything of a diagram is."""
    count = len(diagram.touched)
    x = {row: GUTTER + LANE * place + LANE // 2 for place, row in enumerate(diagram.rows)}
    y = [STEP * number + STEP // 2 for number in range(count)]
    height = STEP * count
    up = {row: [picture.get(row, Drawn()).up for picture in diagram.pictures] for row in diagram.rows}
    return Diagram(
        width=GUTTER + LANE * len(diagram.rows),
        height=height,
        names=tuple((x[row], row) for row in diagram.rows),
        steps=tuple((number + 1, STEP * number) for number in range(count)),
        lanes=tuple(line for row in diagram.rows for line in _lane(x[row], y, height, up[row])),
        arrows=tuple(
            _apart(_arrow(arrow, x, y, height), _among_level_ones(arrow, diagram.arrows)) for arrow in diagram.arrows
        ),
        dots=tuple(
            Dot(x[row], y[number], number + 1, _looks(up[row], number))
            for number, rows in enumerate(diagram.touched)
            for row in rows
        ),
    )


def _among_level_ones(arrow: Arrow, arrows: tuple[Arrow, ...]) -> float:
    """Which of the messages that arrive in the step they are sent in this one is: from the middle of them."""
    level = [other for other in arrows if other.sent == other.ended == arrow.sent]
    return level.index(arrow) - (len(level) - 1) / 2 if arrow in level else 0


def _apart(line: Line, place: float) -> Line:
    return attrs.evolve(line, y1=line.y1 + APART * place, y2=line.y2 + APART * place)


def _lane(x: int, y: list[int], height: int, up: list[bool]) -> list[Line]:
    """A lane in pieces: from each state to the next."""
    ends = [*y[1:], height]
    return [Line(x, y[number], x, ends[number], "up" if up[number] else "down") for number in range(len(y))]


def _looks(up: list[bool], number: int) -> str:
    before = up[max(number - 1, 0)]
    return "event" if up[number] == before else "start" if up[number] else "stop"


def _arrow(arrow: Arrow, x: dict[str, int], y: list[int], height: int) -> Line:
    """An arrow, which ends short of its row if it is lost, and at the foot while it is on its way."""
    x1, y1 = x[arrow.source], y[arrow.sent]
    x2, y2 = x[arrow.target], height if arrow.ended is None else y[arrow.ended]
    side = GAP if x2 > x1 else -GAP
    step = (len(y) if arrow.ended is None else arrow.ended) + 1
    if arrow.arrives:
        return Line(x1 + side, y1, x2 - side, y2, "sent", arrow.text, step)
    return Line(
        x1 + side,
        y1,
        x1 + (x2 - x1) * 0.75,
        y1 + (y2 - y1) * 0.75,
        "lost" if arrow.lost else "waiting",
        arrow.text,
        step,
    )
