"""Consuming: which records can be read from a leader.

Consumers are not part of the state, and reading is not a step: a record counts as read as soon as it can be read. A
consumer that reads later could only find less. The consumer in properties has therefore read every record that could be
read. Its position is the end of these records, and its epoch is that of the leader that exposed the last one.
"""

from __future__ import annotations

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.state import Promise


def readable(leader: Replica) -> range:
    """The offsets that consumers can read from a leader, which are those below its high watermark."""
    return range(leader.high_watermark)


def exposed_by(leader: Replica, exposed: tuple[Promise, ...]) -> tuple[Promise, ...]:
    """The records that consumers could ever read, given those so far: at each offset, the first one exposed."""
    new = [Promise(leader.log[offset], offset, leader.epoch) for offset in readable(leader)[len(exposed) :]]
    return (*exposed, *new)
