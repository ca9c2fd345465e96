"""Properties of leadership: a leader is in the ISR, is the only leader in its epoch, and is alive when it is
elected.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.view import Complaint, PartitionView
from leadline.model.kafka.state import Partition


@invariant(
    "the leader is in the ISR",
    source="seed 002: the ISR necessarily includes the leader; TLA+ specification, LeaderInIsr",
)
def leader_in_isr(state: PartitionView) -> Iterator[Complaint]:
    """Checks the quorum's leader and every broker that believes it leads.

    This property is kept in the `kafka` family because the election itself violates it, after 7 states. The other
    properties are violated only later, when the new leader lacks a record. In the `atomic` family, one deliberately
    wrong rule violates only this property.
    """
    isr = state.quorum.isr - state.quorum.elr  # on disks, the first contains the second
    if state.quorum.leader is not None and state.quorum.leader not in isr:
        yield Complaint.about(
            f"the quorum's leader is broker {state.quorum.leader}, the quorum's ISR holds {_named(isr)}",
            state.quorum.leader,
        )
    for leader, replica in state.believed_leaders():
        if leader not in replica.isr:
            yield Complaint.about(f"broker {leader} leads, its own ISR holds {_named(replica.isr)}", leader)


def _named(isr: frozenset[int]) -> str:
    return " and ".join(f"broker {broker}" for broker in sorted(isr)) or "nobody"


@invariant(
    "no two brokers believe that they lead in the same leader epoch",
    source="seeds 000, 001, 002, 003: each change of leader has a leader epoch of its own",
)
def one_leader_per_epoch(state: PartitionView) -> Iterator[Complaint]:
    """Compares all brokers that believe they lead.

    This property is kept in the specs of releases because every rule that compares leader epochs relies on it. In these
    specs, no deliberately wrong rule makes two brokers lead in the same epoch, because each election is part of a
    larger step. In `rpc/kip-320` and in the `atomic` family, one deliberately wrong rule violates only this property.
    """
    leaders: dict[int, int] = {}
    for leader, replica in state.believed_leaders():
        other = leaders.setdefault(replica.epoch, leader)
        if other != leader:
            yield Complaint.about(f"brokers {other} and {leader} both lead in epoch {replica.epoch}", other, leader)


@step_invariant(
    "the controller elects only brokers that it considers alive",
    source="KIP-966: the last known leader is elected if it is unfenced; KAFKA-19522",
)
def leaders_elected_alive(before: Partition, after: Partition) -> Iterator[Complaint]:
    """Checks each election.

    This property applies only to the `kafka` family, in which the controller can consider a running broker dead.
    """
    leader = after.quorum.leader
    elected = after.quorum.epoch > before.quorum.epoch and leader != before.quorum.leader
    if elected and leader is not None and not after.considers_alive(leader):
        yield Complaint.about(
            f"broker {leader} is elected in epoch {after.quorum.epoch}, but the controller does not consider it alive",
            leader,
        )
