"""The ISR as its leader changes it.

Up to 2.6 the leader writes it to ZooKeeper under compare-and-set, and waits. Since then it asks the controller
by `AlterPartition`, and meanwhile reckons with the larger of the two: nobody whom the high watermark would leave
behind can be in the controller's ISR (KIP-497). The controller takes it if nothing has changed since it was sent.
A leader has one request in flight, also if it has heard of another ISR meanwhile, so that the same leader epoch and ISR
are the same partition epoch: in one leader epoch it is the leader alone that makes the ISR larger.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.controller import new_epoch, with_quorum_isr
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.messages import Proposal
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers


@action("broker {leader} removes the lagging broker {member} from the ISR", leader=brokers, member=brokers)
def shrink_isr(state: Partition, leader: int, member: int) -> Iterator[Partition]:
    """A member that has not fetched up to the leader's log end for `replica.lag.time.max.ms` is dropped.

    Time is abstracted: it may happen to any that the leader does not know to be there, and to one that runs and
    fetches from this leader as often as the bounds allow. What only this member lacked is then committed.
    """
    replica = state.replicas[leader]
    if member == leader or not state.is_true_leader(leader) or member not in replica.isr or replica.proposal:
        return
    follower = state.replicas[member]
    fetches = follower.leader == leader and follower.epoch == replica.epoch
    if not state.protocol.lags(replica.remote_leos[member], replica.log.end_offset, fetches):
        return
    if fetches:
        if not state.may("isr_shrinks"):
            return
        state = state.having("isr_shrinks")
    isr = replica.isr - {member}
    if not state.protocol.in_flight:
        after, shrunk = with_isr(state, replica, isr)
        yield with_leader(after, leader, shrunk)
    elif not state.protocol.epoch_for_shrink or state.quorum.epoch < state.bounds.max_epoch:
        yield state.with_replica(leader, attrs.evolve(replica, proposal=Proposal(isr, replica.isr)))


def expanded(state: Partition, leader: int, replica: Replica, follower: int, *, outdated: bool) -> Partition:
    """The state after a leader has taken a follower into the ISR, or asked the controller to, and tried its HW.

    Parameters:
        state: the state before.
        leader: the true leader.
        replica: its replica as a fetch request has left it.
        follower: who joins.
        outdated: whether the leader has judged an earlier incarnation of it.
    """
    isr = replica.isr | {follower}
    if state.protocol.in_flight:
        return with_leader(state, leader, attrs.evolve(replica, proposal=Proposal(isr, replica.isr, outdated=outdated)))
    after, larger = with_isr(state, replica, isr)
    return with_leader(after, leader, larger)


def with_isr(state: Partition, replica: Replica, isr: frozenset[int]) -> tuple[Partition, Replica]:
    """The quorum and the true leader's replica with another ISR: the epoch stays, and no request is sent."""
    return with_quorum_isr(state, isr), attrs.evolve(replica, isr=isr)


@action("the controller handles broker {leader}'s AlterPartition request", leader=brokers)
def handle_alter_partition(state: Partition, leader: int) -> Iterator[Partition]:
    """The controller takes the ISR that a leader asks for, or refuses it.

    It refuses one of another leader or leader epoch, one sent before the ISR changed, and one with a broker
    that must not join. A shrink begins a leader epoch in KRaft before 3.6 (KAFKA-15021).
    """
    replica = state.replicas[leader]
    proposal = replica.proposal
    if proposal is None or not proposal.sent:
        return
    answered = attrs.evolve(proposal, sent=False, outdated=False) if proposal.awaited else None
    handled = state.with_replica(leader, attrs.evolve(replica, proposal=answered))
    if not state.is_true_leader(leader) or state.quorum.isr != proposal.known or not _all_may_join(state, proposal):
        yield handled
    elif state.protocol.epoch_for_shrink and proposal.isr < proposal.known:
        yield from new_epoch(handled, leader, proposal.isr, elected=False)
    else:
        yield with_quorum_isr(handled, proposal.isr)


def _all_may_join(state: Partition, proposal: Proposal) -> bool:
    may_join = state.protocol.may_join
    return all(may_join(state.registrations[broker], proposal.outdated) for broker in sorted(proposal.isr))


@action("broker {leader} learns which brokers are in the ISR", leader=brokers)
def hear_isr(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader hears of the ISR in its own epoch: by the answer to its request, or from the metadata log."""
    if not state.is_true_leader(leader):
        return
    replica, isr = state.replicas[leader], state.quorum.isr
    proposal = replica.proposal
    if proposal is None or not proposal.awaited or proposal.sent:
        if replica.isr == isr:
            return
        left = None if proposal is None else attrs.evolve(proposal, awaited=False)
        yield with_leader(state, leader, attrs.evolve(replica, isr=isr, proposal=left))
    else:
        yield with_leader(state, leader, attrs.evolve(replica, isr=isr, proposal=None))
