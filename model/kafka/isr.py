"""Changes of the ISR by the leader.

Up to 2.6, the leader writes the ISR to ZooKeeper with compare-and-set, and waits for the result. In 2.7 and later, it
sends an `AlterPartition` request to the controller. Until it receives the response, it uses the union of the old and
the proposed ISR. Therefore its high watermark cannot advance beyond the log of any broker that is in the controller's
ISR (KIP-497). The controller accepts the request if the ISR has not changed since it was sent. A leader has at most one
request in flight, even after it has learned that the ISR has changed. Within a leader epoch, only the leader adds
members. Therefore the leader epoch and the ISR together identify the partition epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import ANSWERED, BEHIND, CURRENT, Replica
from leadline.model.kafka.controller import build, with_quorum_isr
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.messages import Proposal
from leadline.model.kafka.state import P, Partition
from leadline.model.quorum import brokers


def leaders_with_late_records(bounds: Bounds) -> range:
    """Return the brokers that can receive responses before they apply the metadata log. By default, there are none."""
    return brokers(bounds) if bounds.late_records or bounds.reassignments else range(0)


@action(
    "broker {leader} removes the lagging broker {member} from the ISR",
    leader=brokers,
    member=brokers,
    effect="perturbing",
)
def shrink_isr(state: Partition, leader: int, member: int) -> Iterator[Partition]:
    """A leader removes a follower from the ISR if the follower has not caught up for `replica.lag.time.max.ms`.

    The model has no clock. A leader can remove any follower whose remote log end offset differs from the leader's own
    log end offset. A follower that fetches from this leader can be removed as often as the bounds allow. After the
    removal, a record is committed if all remaining members of the ISR have it.
    """
    replica = state.replicas[leader]
    if member == leader or not state.is_true_leader(leader) or member not in replica.isr or replica.proposal:
        return
    follower = state.replicas[member]
    fetches = follower.leader == leader and follower.epoch == replica.epoch
    protocol = state.rules_of(leader)
    if not protocol.lags(replica.remote_leos[member], replica.log.end_offset, fetches):
        return
    if fetches:
        if not state.may("isr_shrinks"):
            return
        state = state.having("isr_shrinks")
    isr = replica.isr - {member}
    replica = attrs.evolve(replica, caught_up=replica.caught_up - {member})
    if not protocol.in_flight:
        after, shrunk = with_isr(state, replica, isr)
        yield with_leader(after, leader, shrunk)
    elif not state.protocol.epoch_for_shrink or state.quorum.epoch < state.bounds.max_epoch:
        yield state.with_replica(leader, attrs.evolve(replica, proposal=_proposed(replica, isr)))


@action(
    "broker {follower} has not caught up with broker {leader} for replica.lag.time.max.ms",
    leader=brokers,
    follower=brokers,
    effect="healing",
)
def falls_behind(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A follower outside the ISR has not caught up within `replica.lag.time.max.ms`, so the high watermark no longer
    waits for it.

    The model has no clock, so this can happen at any time. It is not fair: a produce request may time out before
    (`request.timeout.ms`), so no property of progress may rely on it (KAFKA-15021).
    """
    replica = state.replicas[leader]
    if state.rules_of(leader).waits_for_caught_up and follower in replica.caught_up:
        yield with_leader(state, leader, attrs.evolve(replica, caught_up=replica.caught_up - {follower}))


def expanded(state: P, leader: int, replica: Replica, follower: int, *, outdated: bool) -> P:
    """Return the state after a leader has added a follower to the ISR, or has asked the controller to add it.

    The leader also tries to advance its high watermark.

    Parameters:
        state: the state before the leader handles the fetch request.
        leader: the true leader.
        replica: the leader's replica after it has handled the fetch request.
        follower: the broker that joins the ISR.
        outdated: whether the fetch request came from an earlier incarnation of the follower.
    """
    isr = replica.isr | {follower}
    if state.rules_of(leader).in_flight:
        return with_leader(state, leader, attrs.evolve(replica, proposal=_proposed(replica, isr, outdated=outdated)))
    after, larger = with_isr(state, replica, isr)
    return with_leader(after, leader, larger)


def _proposed(replica: Replica, isr: frozenset[int], *, outdated: bool = False) -> Proposal:
    return Proposal(isr, replica.isr, outdated=outdated, stale=replica.metadata == BEHIND)


def with_isr(state: P, replica: Replica, isr: frozenset[int]) -> tuple[P, Replica]:
    """Change the ISR in the same epoch, and return the new state and the true leader's new replica.

    No request is sent to the brokers.
    """
    return with_quorum_isr(state, isr), attrs.evolve(replica, isr=isr)


@action(
    "the controller handles broker {leader}'s AlterPartition request",
    leader=brokers,
    fair="weak each",
    effect="healing",
)
def handle_alter_partition(state: Partition, leader: int) -> Iterator[Partition]:
    """The controller accepts or rejects the ISR that a leader proposes.

    The controller rejects a request from a broker that is not the leader in the current leader epoch, a request that
    was sent before the ISR changed, and a request that adds a broker that may not join the ISR. In KRaft before 3.6, a
    leader epoch begins when the ISR shrinks (KAFKA-15021).
    """
    replica = state.replicas[leader]
    proposal = replica.proposal
    if proposal is None or not proposal.sent or replica.old_answer:
        return  # a broker has one request in flight, and sends the next one after the response
    answered = attrs.evolve(proposal, sent=False, outdated=False) if proposal.awaited else None
    handled = state.with_replica(leader, attrs.evolve(replica, proposal=answered))
    if (
        proposal.stale
        or not state.is_true_leader(leader)
        or state.quorum.isr != proposal.known
        or not _all_may_join(state, proposal)
    ):
        yield handled
    else:
        yield from build(handled, proposal.isr, bumps=state.protocol.epoch_for_shrink)


def _all_may_join(state: Partition, proposal: Proposal) -> bool:
    may_join = state.protocol.may_join
    return all(may_join(state.registrations[broker], proposal.outdated) for broker in sorted(proposal.isr))


@action("broker {leader} learns which brokers are in the ISR", leader=brokers, fair="weak each", effect="healing")
def hear_isr(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader learns the ISR of its own epoch from the response to its request or from the metadata log.

    If the bounds allow it, the leader receives the response first, and applies the record of the same change later.
    """
    if not state.is_true_leader(leader) or not state.rules_of(leader).in_flight:
        return
    replica, isr = state.replicas[leader], state.quorum.isr
    if replica.metadata == BEHIND:
        return
    proposal = replica.proposal
    if proposal is None or not proposal.awaited or proposal.sent or proposal.dropped:
        if replica.isr == isr:
            return
        left = None if proposal is None or proposal.dropped else attrs.evolve(proposal, awaited=False)
        replica = attrs.evolve(replica, caught_up=_caught_up(state, leader, replica))
        yield with_leader(state, leader, attrs.evolve(replica, isr=isr, proposal=left, metadata=CURRENT))
    else:
        answered = attrs.evolve(replica, isr=isr, proposal=None, caught_up=_caught_up(state, leader, replica))
        if not state.rules_of(leader).raises_when_answered:
            yield state.with_replica(leader, answered)
            return
        yield with_leader(state, leader, answered)
        if replica.metadata == CURRENT and state.may("late_records") and replica.isr != isr == proposal.isr:
            late = attrs.evolve(answered, metadata=ANSWERED)
            yield with_leader(state.having("late_records"), leader, late)


def _caught_up(state: Partition, leader: int, replica: Replica) -> frozenset[int]:
    """Return the followers outside the ISR that have caught up, after a leader has learned the ISR of its epoch.

    A member that the controller has removed, because it is fenced or shuts down, was in sync until then. A member that
    the leader has asked to remove was not.
    """
    if not state.rules_of(leader).waits_for_caught_up:
        return replica.caught_up
    asked = replica.isr if replica.proposal is None else replica.proposal.isr
    return replica.caught_up | ((replica.isr & asked) - state.quorum.isr)


@action(
    "broker {leader} receives the response to a request from an earlier epoch",
    leader=brokers,
    fair="weak each",
    effect="healing",
)
def hear_old_answer(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader receives the response to its `AlterIsr` request from an earlier leader epoch. The response changes
    nothing.

    In 2.7 and 2.8, the response also removes a newer request that waits to be sent. The leader then waits forever for
    the response to the removed request (KAFKA-12686).
    """
    replica, proposal = state.replicas[leader], state.replicas[leader].proposal
    if replica.old_answer:
        left = None if proposal is None else attrs.evolve(proposal, sent=False, dropped=True)
        yield state.with_replica(leader, attrs.evolve(replica, old_answer=False, proposal=left))


@action(
    "broker {leader} applies the record of a change that it has heard of",
    leader=leaders_with_late_records,
    fair="weak each",
    effect="healing",
)
def apply_record(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader applies a record of the metadata log. The record describes an ISR change that the leader already knows
    from a response, or a change of the replicas.

    If the leader already knows of the change, the record has the leader's partition epoch, and is applied again
    (`Partition.makeLeader`, KAFKA-13790). The leader then discards its newer proposal, but the request that contains it
    stays in flight or queued. The rule `same_record` defines in which releases this happens.
    """
    replica = state.replicas[leader]
    if replica.metadata == CURRENT or not state.is_true_leader(leader):
        return
    proposal = replica.proposal
    if replica.metadata == BEHIND:
        left = None if proposal is None or not proposal.sent else attrs.evolve(proposal, awaited=False)
        assigned = frozenset(state.assignment.replicas)
        replica = attrs.evolve(replica, caught_up=_caught_up(state, leader, replica))
        applied = attrs.evolve(replica, isr=state.quorum.isr, assigned=assigned, proposal=left, metadata=CURRENT)
    elif proposal is None or not state.rules_of(leader).forgets_newer_proposals:
        applied = attrs.evolve(replica, metadata=CURRENT)
    else:
        left = attrs.evolve(proposal, awaited=False) if proposal.sent else None
        applied = attrs.evolve(replica, proposal=left, metadata=CURRENT)
    yield with_leader(state, leader, applied)
