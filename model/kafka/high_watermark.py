"""The leader's high watermark: when it advances, and which records become readable or acknowledged."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.consume import exposed_by
from leadline.model.kafka.log_start import is_stuck
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.state import P, Partition, Promise
from leadline.model.quorum import NO_EPOCH


def with_leader(state: P, leader: int, replica: Replica) -> P:
    """Replace a leader's replica, advance its high watermark if possible, and return the new state.

    A leader tries to advance its high watermark when it becomes the leader, when it handles produce and fetch requests,
    and when the ISR changes. Consumers can then read the records below the high watermark, and producers that use
    acks=all receive their acknowledgements.

    Parameters:
        state: the state before the replica changes.
        leader: a broker that believes it leads.
        replica: the leader's replica, whose log, ISR or remote log end offsets may have changed.
    """
    protocol = state.rules_of(leader)
    if not protocol.may_raise(replica, state.bounds):
        return state.with_replica(leader, replica)
    if state.bounds.starts and is_stuck(protocol, replica):
        return state.with_replica(leader, replica)
    watermark = smallest_leo(state, leader, replica)
    if watermark <= replica.high_watermark:
        return state.with_replica(leader, replica)
    raised = attrs.evolve(replica, high_watermark=watermark)
    raised = attrs.evolve(raised, waits_from=waiting(raised, replica.waits_from))
    after = attrs.evolve(state.with_replica(leader, raised), exposed=exposed_by(raised, state.exposed))
    if state.bounds.acks == "all":
        after = attrs.evolve(after, acked=_acknowledged(after, protocol, replica, watermark))
    return after


def smallest_leo(state: Partition, leader: int, replica: Replica) -> int:
    """Return the smallest log end offset of the brokers that count towards the high watermark, including the leader.

    For brokers other than the leader, the log end offset that the leader stores is used. Only replicas that the leader
    knows of are counted.
    """
    counted = state.rules_of(leader).counts(replica) | _awaited(state, leader, replica) | {leader}
    if replica.assigned is not None:
        counted &= replica.assigned | {leader}
    return min(
        replica.log.end_offset if broker == leader else replica.remote_leos[broker] for broker in sorted(counted)
    )


def _awaited(state: Partition, leader: int, replica: Replica) -> frozenset[int]:
    """Return the followers outside the ISR that the high watermark waits for.

    Since 3.6, it does not wait for those that are fenced or shutting down (KAFKA-15021).
    """
    if state.rules_of(leader).waits_for_ineligible:
        return replica.caught_up
    return frozenset(broker for broker in replica.caught_up if state.considers_alive(broker))


def waiting(replica: Replica, first: int) -> int:
    """Return the first earlier epoch whose producers are still waiting for acknowledgements, or `NO_EPOCH` if there is
    none.

    Parameters:
        replica: the leader's replica.
        first: the first epoch whose producers may still be waiting, because the broker has led since then. `NO_EPOCH`
            if no producer is waiting.
    """
    if first == NO_EPOCH:
        return NO_EPOCH
    epochs = [record.epoch for record in replica.log.between(replica.high_watermark, replica.log.end_offset)]
    return min((epoch for epoch in epochs if first <= epoch < replica.epoch), default=NO_EPOCH)


def _acknowledged(state: Partition, protocol: Protocol, leader: Replica, high_watermark: int) -> tuple[Promise, ...]:
    """Return all acknowledged records after a leader's high watermark has advanced. The producers use acks=all.

    A record of an earlier epoch is acknowledged only if its producer is still waiting (see `Replica.waits_from`).
    Producers that wrote to an earlier leader have received an error, because the leader has changed. If the ISR is too
    small, producers receive an error, because there are not enough replicas.

    Parameters:
        state: the state after the step.
        protocol: the rules that the leader follows.
        leader: the leader's replica, which still has the high watermark from before the step.
        high_watermark: the high watermark after the step.
    """
    if len(leader.maximal_isr) < protocol.min_isr(leader, state.bounds):
        return state.acked
    first = leader.epoch if leader.waits_from == NO_EPOCH else leader.waits_from
    first_passed = max(leader.high_watermark, leader.log.start_offset)
    passed = [(offset, leader.log[offset]) for offset in range(first_passed, high_watermark)]
    new = [Promise(record, offset, leader.epoch) for offset, record in passed if first <= record.epoch <= leader.epoch]
    return (*state.acked, *new)
