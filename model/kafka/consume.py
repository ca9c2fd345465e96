"""The records that consumers can read from a leader.

The state has no consumers, and reading is not a step. A record counts as read as soon as it can be read, because a
consumer that reads later can only find fewer records. Properties therefore assume a consumer that has read every record
that could be read. The position of this consumer is the end of these records. Its leader epoch is the epoch of the
leader from which the last record could be read.
"""

from __future__ import annotations

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.state import NotKept, Promise


def readable(leader: Replica) -> range:
    """Return the offsets that consumers can read from a leader, which are those from the start of its log to its high
    watermark.
    """
    return range(leader.log.start_offset, leader.high_watermark)


def exposed_by(leader: Replica, exposed: tuple[Promise, ...]) -> tuple[Promise, ...]:
    """Return the records that consumers could read in any state so far.

    If different records could be read at an offset, the first of them is kept.

    Parameters:
        leader: a leader, whose high watermark may have advanced.
        exposed: the records that consumers could read in earlier states.
    """
    if isinstance(exposed, NotKept):
        return exposed
    known = {promise.offset for promise in exposed}
    new = [Promise(leader.log[offset], offset, leader.epoch) for offset in readable(leader) if offset not in known]
    return (*exposed, *new)
