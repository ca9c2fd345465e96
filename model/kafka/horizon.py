"""Open states, in which Kafka would take a step that the model leaves out. See `Spec.cut`.

`max_epoch` bounds the search. It is not part of the protocol: in Kafka, another leader epoch can always begin.
Therefore, a state is not stuck if `max_epoch` blocks an election, the removal of a failed broker, or another step that
Kafka guarantees. The bound `records` is different: it defines the workload, and producers need not write more.
"""

from __future__ import annotations

from leadline.model.kafka.assignment import completed
from leadline.model.kafka.broker import SHUTTING_DOWN
from leadline.model.kafka.controller import isr_without, may_be_elected
from leadline.model.kafka.fetch import may_join_by_fetching_again
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers


def ends_at_a_bound(state: Partition) -> bool:
    """Return whether the model leaves out a step that Kafka guarantees. The step would begin one more leader epoch than
    the bounds allow, or a follower would join the ISR by sending a fetch request again.
    """
    everyone = brokers(state.bounds)
    if another_epoch_is_due(state):
        return True
    leader = state.quorum.leader
    return leader is not None and any(may_join_by_fetching_again(state, leader, follower) for follower in everyone)


def another_epoch_is_due(state: Partition) -> bool:
    """Return whether the last leader epoch that the bounds allow has begun, and a step that Kafka guarantees would
    begin another one.

    The election of the preferred leader is not such a step, because `auto.leader.rebalance.enable` may be off.
    """
    quorum = state.quorum
    if quorum.epoch < state.bounds.max_epoch:
        return False
    if state.bounds.moves and _would_complete(state):
        return True
    if quorum.leader is None:
        return any(may_be_elected(state, broker) for broker in brokers(state.bounds))
    return any(_would_be_removed(state, broker) for broker in brokers(state.bounds)) or _would_shrink(state)


def _would_be_removed(state: Partition, broker: int) -> bool:
    """Return whether the controller would begin an epoch to remove a failed or stopping follower from the ISR."""
    if broker == state.quorum.leader or not state.protocol.epoch_for_removal:
        return False
    replica = state.replicas[broker]
    leaves = not replica.up or replica.offline or state.registrations[broker].status == SHUTTING_DOWN
    return leaves and isr_without(state, broker) != state.quorum.isr


def _would_complete(state: Partition) -> bool:
    """Return whether the controller would begin an epoch to complete a reassignment that removes a replica, if all
    replicas were in the ISR.
    """
    assignment = state.assignment
    done, _ = completed(assignment, frozenset(assignment.replicas), state.protocol.completes)
    return bool(assignment.removing) and done.replicas != assignment.replicas


def _would_shrink(state: Partition) -> bool:
    """Return whether the controller would begin an epoch because it accepts a smaller ISR from the leader."""
    if not state.protocol.epoch_for_shrink:
        return False
    leader = state.quorum.leader
    proposal = None if leader is None or not state.is_true_leader(leader) else state.replicas[leader].proposal
    return proposal is not None and proposal.sent and not proposal.stale and proposal.isr < state.quorum.isr
