"""The leader's high watermark: when it advances, and which records become readable or acknowledged."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.consume import exposed_by
from leadline.model.kafka.state import Partition, Promise


def with_leader(state: Partition, leader: int, replica: Replica) -> Partition:
    """Return a state with a changed replica of a leader, whose high watermark is advanced if possible.

    A leader tries to advance its high watermark when it becomes the leader, when it handles produce and fetch requests,
    and when the ISR changes. Consumers can then read the records below the high watermark, and producers that use
    acks=all receive their acknowledgements.

    Parameters:
        state: the state before.
        leader: a broker that believes it leads.
        replica: the leader's replica, whose log, ISR or remote log end offsets may have changed.
    """
    if not state.protocol.may_raise(replica, state.bounds):
        return state.with_replica(leader, replica)
    watermark = smallest_leo(state, leader, replica)
    if watermark <= replica.high_watermark:
        return state.with_replica(leader, replica)
    raised = attrs.evolve(replica, high_watermark=watermark)
    after = attrs.evolve(state.with_replica(leader, raised), exposed=exposed_by(raised, state.exposed))
    if state.bounds.acks == "all":
        after = attrs.evolve(after, acked=_acknowledged(after, replica.high_watermark, raised))
    return after


def smallest_leo(state: Partition, leader: int, replica: Replica) -> int:
    """Return the smallest log end offset of the brokers that count towards the high watermark, including the leader.

    For brokers other than the leader, the log end offset that the leader stores is used.
    """
    return min(
        replica.log.end_offset if broker == leader else replica.remote_leos[broker]
        for broker in sorted(state.protocol.counts(replica) | {leader})
    )


def _acknowledged(state: Partition, before: int, replica: Replica) -> tuple[Promise, ...]:
    """Return the records acknowledged with acks=all so far, after a leader has advanced its high watermark.

    Records of an earlier epoch are not acknowledged, because their producers received an error when the leader changed.
    If the ISR is too small, producers receive the error that there are not enough replicas.

    Parameters:
        state: the state before.
        before: the high watermark before it advanced.
        replica: the leader's replica with the new high watermark.
    """
    if len(replica.maximal_isr) < state.bounds.min_insync_replicas:
        return state.acked
    passed = [(offset, replica.log[offset]) for offset in range(before, replica.high_watermark)]
    new = [Promise(record, offset, replica.epoch) for offset, record in passed if record.epoch == replica.epoch]
    return (*state.acked, *new)
