"""Consuming: which records can be read from a leader.

Consumers are not part of the state, and reading is not a step: a record counts as read as soon as it can be.
Reading late finds less. So the consumer that properties speak of has read all that there was to read: its
position is the end of that, and the epoch it knows that of the leader which showed it the last record.
"""

from __future__ import annotations

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.state import Promise


def readable(leader: Replica) -> range:
    """The offsets that consumers can read from a leader: below its high watermark, which is not one of them."""
    return range(leader.high_watermark)


def exposed_by(leader: Replica, exposed: tuple[Promise, ...]) -> tuple[Promise, ...]:
    """All that consumers could ever read, given what they could before: at each offset, what was first read there."""
    new = [Promise(leader.log[offset], offset, leader.epoch) for offset in readable(leader)[len(exposed) :]]
    return (*exposed, *new)
