"""Finds the messages of a trace: for each message, the step that sends it and the step that receives it.

The drawing of the spec defines the messages; see `leadline.checker.drawing.Drawing`.
"""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.drawing import Message
from leadline.checker.trace import Trace


@attrs.frozen
class Delivery:
    """The delivery of one message.

    Attributes:
        sent: the index of the first state after the message was sent. The initial state has the index 0.
        ended: the index of the first state after the message arrived or was lost, or None if the message is still in
            flight at the end of the trace.
        lost: whether the message was lost.
    """

    message: Message
    sent: int
    ended: int | None
    lost: bool = False

    @property
    def arrives(self) -> bool:
        """Whether the message arrives before the trace ends."""
        return self.ended is not None and not self.lost

    @property
    def at_once(self) -> bool:
        """Whether the message arrives in the same step in which it is sent."""
        return self.arrives and self.sent == self.ended


def deliveries(trace: Trace[Any]) -> tuple[Delivery, ...]:
    """Return the deliveries of all messages of a trace, in the order in which the messages are sent.

    Parameters:
        trace: the trace. The drawing of its spec returns the messages in each state.

    Raises:
        SpecError: if the drawing raised an exception, or returned a value of the wrong type.
    """
    spec, found = trace.spec, list[Delivery]()
    on_their_way = dict.fromkeys(spec.messages(trace.states[0]), 0)
    waiting = set[Message]()  # messages that have arrived but that the receiver has not processed yet
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
