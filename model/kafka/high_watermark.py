"""The leader's high watermark: when it advances, and which clients learn of it."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.consume import exposed_by
from leadline.model.kafka.state import Partition, Promise


def with_leader(state: Partition, leader: int, replica: Replica) -> Partition:
    """The state with another replica of a leader, whose high watermark is advanced if possible.

    A leader tries this when it becomes leader, on produce and fetch requests, and when the ISR changes. Consumers can
    read the records that are now below the high watermark, and producers that wait for it get their acknowledgement.

    Parameters:
        state: the state before.
        leader: a broker that believes it leads.
        replica: its replica, whose log, ISR or remote log end offsets may have changed.
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
    """The smallest log end offset of the brokers that count towards the high watermark, including the leader."""
    return min(
        replica.log.end_offset if broker == leader else replica.remote_leos[broker]
        for broker in sorted(state.protocol.counts(replica) | {leader})
    )


def _acknowledged(state: Partition, before: int, replica: Replica) -> tuple[Promise, ...]:
    """The acknowledged records with acks=all, after a leader's high watermark has advanced.

    Records of an earlier epoch are not acknowledged: their producers got the error that the leader has changed. If the
    ISR is too small, producers get the error that there are not enough replicas.
    """
    if len(replica.maximal_isr) < state.bounds.min_insync_replicas:
        return state.acked
    passed = [(offset, replica.log[offset]) for offset in range(before, replica.high_watermark)]
    new = [Promise(record, offset, replica.epoch) for offset, record in passed if record.epoch == replica.epoch]
    return (*state.acked, *new)
