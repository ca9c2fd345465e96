"""Deliveries: what became of each message of a trace, by the drawing of its spec."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.drawing import Message
from leadline.checker.trace import Trace


@attrs.frozen
class Delivery:
    """A message, and what became of it.

    Attributes:
        message: the message.
        sent: the state in which it was on its way first, or in which it was sent and arrived at once; counted from 0.
        ended: the state in which it had arrived or was lost; None while it is still on its way at the end.
        lost: whether it never arrives.
    """

    message: Message
    sent: int
    ended: int | None
    lost: bool = False

    @property
    def arrives(self) -> bool:
        """Whether it arrives in the trace."""
        return self.ended is not None and not self.lost

    @property
    def at_once(self) -> bool:
        """Whether it arrives in the step in which it is sent."""
        return self.arrives and self.sent == self.ended


def deliveries(trace: Trace[Any]) -> tuple[Delivery, ...]:
    """The messages of a trace, in the order in which they were sent.

    Raises:
        SpecError: the drawing misbehaved.
    """
    spec, found = trace.spec, list[Delivery]()
    on_their_way = dict.fromkeys(spec.messages(trace.states[0]), 0)
    waiting = set[Message]()  # arrived, and kept there for a later step
    for number, step in enumerate(trace.steps, start=1):
        arrived = spec.arrivals(step)
        new = [message for message in arrived if message not in waiting]
        found += [Delivery(message, on_their_way.pop(message, number), number) for message in new]
        left = spec.messages(step.after)
        gone = [message for message in on_their_way if message not in left]
        found += [Delivery(message, on_their_way.pop(message), number, lost=True) for message in gone]
        waiting = (waiting | set(arrived)) & set(left)
        on_their_way = {message: on_their_way.get(message, number) for message in left if message not in waiting}
    found += [Delivery(message, sent, None) for message, sent in on_their_way.items()]
    return tuple(sorted(found, key=lambda delivery: delivery.sent))
