"""Space and time: where each step of a trace happened, and what was sent from there to where.

A spec may say how it is drawn, by methods of its state class, which return plain values:

``picture()``
    ``{row: {"cells": [(text, group), ...], "marks": {name: offset}, "badges": [text, ...], "standing": [text, ...],
    "up": bool}}``: for each row that is a lane of the diagram, what it holds, in cells coloured by their group, with
    marks at offsets; a few words about it, and what others know of it; whether it runs. Each key may be left out.
``messages()``
    ``[(from, to, text), ...]``: what is on its way between rows.
``arrivals(before, action, parameters)``
    ``[(from, to, text), ...]``: what arrived in the step to this state. What was not on its way before was
    sent in the same step. What is on its way no more and did not arrive is lost; what arrived and is still
    there waits at its receiver.

A spec without these is drawn by its lanes: a step happens in the rows that it changes. All texts are `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from checker.trace import Trace
from checker.visible import visible
from reports.lanes import REST, Lanes

Message = tuple[str, str, str]
"""The row that sends, the row that receives, and what is sent."""


@attrs.frozen
class Drawn:
    """What one row holds.

    Attributes:
        cells: the text of each cell with the group that colours it, by offset.
        marks: offsets with a name.
        badges: a few words about the row.
        standing: a few words about what others know of it: when they change, nothing happens in this row.
        up: whether it runs.
    """

    cells: tuple[tuple[str, int], ...] = ()
    marks: dict[str, int] = attrs.field(factory=dict)
    badges: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    up: bool = True


@attrs.frozen
class Arrow:
    """A message from one row to another.

    Attributes:
        source, target: the rows.
        text: what is sent.
        sent: the frame in which it was sent.
        ended: the frame in which it arrived or was lost; None while it is still on its way at the end.
        lost: whether it never arrives.
    """

    source: str
    target: str
    text: str
    sent: int
    ended: int | None
    lost: bool = False

    @property
    def arrives(self) -> bool:
        """Whether it arrives in the trace."""
        return self.ended is not None and not self.lost


@attrs.frozen
class SpaceTime:
    """A trace as a diagram has it.

    Attributes:
        rows: the lanes, in order.
        arrows: the messages, in the order in which they were sent.
        touched: for each frame, the rows in which the step happened, causes first.
        pictures: for each frame, what each row holds; empty if the spec does not say.
    """

    rows: tuple[str, ...]
    arrows: tuple[Arrow, ...]
    touched: tuple[tuple[str, ...], ...]
    pictures: tuple[dict[str, Drawn], ...]


def space_time(lanes: list[Lanes], trace: Trace[Any] | None = None) -> SpaceTime:
    """Where the steps of a trace happened.

    Parameters:
        lanes: the rows of each state.
        trace: the trace, if its spec is at hand.
    """
    pictures: list[dict[str, Drawn]] = [{} for _ in lanes] if trace is None else [*map(_picture, trace.states)]
    arrows = list(_arrows(trace)) if trace is not None else []
    rows = dict.fromkeys(row for picture in pictures for row in picture)
    rows = rows or dict.fromkeys([row for state in lanes for row in state] or [REST])
    rows.update(dict.fromkeys(end for arrow in arrows for end in (arrow.source, arrow.target)))
    held: list[dict[str, Any]] = [
        {row: attrs.evolve(drawn, standing=()) for row, drawn in picture.items()} for picture in pictures
    ]
    held = held if any(pictures) else [*lanes]
    touched: list[tuple[str, ...]] = [()]
    for number in range(1, len(lanes)):
        ends = _ends(arrows, number)
        changed = [row for row in rows if held[number].get(row) != held[number - 1].get(row)]
        touched.append(tuple(dict.fromkeys([*ends, *changed])))
    return SpaceTime(tuple(rows), tuple(arrows), tuple(touched), tuple(pictures))


def losses(before: dict[str, Drawn], after: dict[str, Drawn]) -> Iterator[str]:
    """What rows no longer hold after a step, in words."""
    for row, drawn in after.items():
        kept, held = len(drawn.cells), before.get(row, Drawn()).cells
        if held[kept:]:
            yield f"{row} loses {', '.join(text for text, _ in held[kept:])} from offset {kept} on"


def _ends(arrows: Sequence[Arrow], number: int) -> Iterator[str]:
    """The rows that send or receive in a step, a sender before its receiver, where the two are in this step."""
    arriving = [arrow for arrow in arrows if arrow.arrives and arrow.ended == number]
    at_once = [arrow for arrow in arriving if arrow.sent == number]
    receivers = {arrow.target for arrow in at_once}
    yield from (arrow.source for arrow in at_once if arrow.source not in receivers)
    for arrow in at_once:
        yield from (arrow.source, arrow.target)
    yield from (arrow.target for arrow in arriving)
    yield from (arrow.source for arrow in arrows if arrow.sent == number)


def _picture(state: Any) -> dict[str, Drawn]:
    said: Mapping[str, Mapping[str, Any]] = state.picture() if callable(getattr(state, "picture", None)) else {}
    return {
        visible(row): Drawn(
            cells=tuple((visible(text), group) for text, group in row_said.get("cells", ())),
            marks={visible(name): offset for name, offset in row_said.get("marks", {}).items()},
            badges=tuple(map(visible, row_said.get("badges", ()))),
            standing=tuple(map(visible, row_said.get("standing", ()))),
            up=row_said.get("up", True),
        )
        for row, row_said in said.items()
    }


def _arrows(trace: Trace[Any]) -> Iterator[Arrow]:
    """The messages of a trace, in the order in which they were sent."""
    arrows: list[Arrow] = []
    on_their_way = dict.fromkeys(_messages(trace.states[0]), 0)
    waiting = set[Message]()  # arrived, and kept there for a later step
    for number, step in enumerate(trace.steps, start=1):
        arrived = _arrived(step.before, step.instance.action.name, step.instance.arguments, step.after)
        new = [message for message in arrived if message not in waiting]
        arrows += [Arrow(*message, on_their_way.pop(message, number), number) for message in new]
        left = _messages(step.after)
        gone = [message for message in on_their_way if message not in left]
        arrows += [Arrow(*message, on_their_way.pop(message), number, lost=True) for message in gone]
        waiting = (waiting | set(arrived)) & set(left)
        on_their_way = {message: on_their_way.get(message, number) for message in left if message not in waiting}
    arrows += [Arrow(*message, sent, None) for message, sent in on_their_way.items()]
    return iter(sorted(arrows, key=lambda arrow: arrow.sent))


def _messages(state: Any) -> list[Message]:
    return _visible(state.messages()) if callable(getattr(state, "messages", None)) else []


def _arrived(before: Any, action: str, parameters: dict[str, Any], after: Any) -> list[Message]:
    return _visible(after.arrivals(before, action, parameters)) if callable(getattr(after, "arrivals", None)) else []


def _visible(messages: Iterable[Message]) -> list[Message]:
    return [(visible(source), visible(target), visible(text)) for source, target, text in messages]
