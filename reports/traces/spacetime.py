"""Make space-time diagrams. They show in which rows each step of a trace happened, and the messages between rows.

The spec determines which messages are shown. A step happens in the rows that it changes, and in those that send or
receive its messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from leadline.checker.drawing import Row
from leadline.checker.trace import Trace
from leadline.checker.traces.deliveries import Delivery, deliveries
from leadline.reports.traces.rows import REST, Rows


@attrs.frozen
class SpaceTime:
    """A trace as a space-time diagram.

    Attributes:
        lanes: the names of the rows, in order.
        deliveries: the messages, in the order in which they were sent.
        touched: for each state, the names of the rows in which the preceding step happened. Rows that send messages
            come first.
        rows: the rows of each state.
    """

    lanes: tuple[str, ...]
    deliveries: tuple[Delivery, ...]
    touched: tuple[tuple[str, ...], ...]
    rows: tuple[Rows, ...]

    @property
    def has_pictures(self) -> bool:
        """True if a row has cells, marks or badges, which a table cannot show."""
        return any(row.cells or row.marks or row.badges for rows in self.rows for row in rows.values())


def space_time(rows: Sequence[Rows], trace: Trace[object] | None = None) -> SpaceTime:
    """Return the space-time diagram of a trace.

    Parameters:
        trace: the trace, or None if its spec is not available. There are then no messages.
    """
    sent = deliveries(trace) if trace is not None else ()
    lanes = dict.fromkeys([name for state in rows for name in state] or [REST])
    lanes.update(dict.fromkeys(end for each in sent for end in (each.message.source, each.message.target)))
    held = [{name: attrs.evolve(row, standing=()) for name, row in state.items()} for state in rows]
    touched: list[tuple[str, ...]] = [()]
    for number in range(1, len(rows)):
        changed = [name for name in lanes if held[number].get(name) != held[number - 1].get(name)]
        touched.append(tuple(dict.fromkeys([*_ends(sent, number), *changed])))
    return SpaceTime(tuple(lanes), sent, tuple(touched), tuple(rows))


def losses(before: Rows, after: Rows) -> Iterator[str]:
    """Yield a phrase about each log that loses cells in a step, for example because it is truncated."""
    for name, row in after.items():
        kept, held = len(row.cells), before.get(name, Row()).cells
        if row.is_log and held[kept:]:
            yield f"{name} loses {', '.join(cell.text for cell in held[kept:])} from offset {kept}"


def _ends(sent: Sequence[Delivery], number: int) -> Iterator[str]:
    """Yield the names of the rows that send or receive a message in a step. Senders come before receivers."""
    arriving = [each for each in sent if each.arrives and each.ended == number]
    at_once = [each.message for each in arriving if each.at_once]
    receivers = {message.target for message in at_once}
    yield from (message.source for message in at_once if message.source not in receivers)
    for message in at_once:
        yield from (message.source, message.target)
    yield from (each.message.target for each in arriving)
    yield from (each.message.source for each in sent if each.sent == number)
