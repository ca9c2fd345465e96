"""Leadership: who may lead, and in which epoch."""

from __future__ import annotations

from collections.abc import Iterator

from checker.properties import invariant
from invariants.view import Complaint, PartitionView


@invariant(
    "the leader is in the ISR",
    source="seed 002: the ISR necessarily includes the leader; TLA+ specification, LeaderInIsr",
)
def leader_in_isr(state: PartitionView) -> Iterator[Complaint]:
    if state.quorum.leader is not None and state.quorum.leader not in state.quorum.isr:
        yield Complaint.about(
            f"the quorum's leader is broker {state.quorum.leader}, the quorum's ISR holds {_named(state.quorum.isr)}",
            state.quorum.leader,
        )
    for leader, replica in state.believed_leaders():
        if leader not in replica.isr:
            yield Complaint.about(f"broker {leader} leads, its own ISR holds {_named(replica.isr)}", leader)


def _named(isr: frozenset[int]) -> str:
    return " and ".join(f"broker {broker}" for broker in sorted(isr)) or "nobody"


@invariant(
    "no two brokers believe to lead in the same leader epoch",
    source="seeds 000, 001, 002, 003: each change of leader has a leader epoch of its own",
)
def one_leader_per_epoch(state: PartitionView) -> Iterator[Complaint]:
    leaders: dict[int, int] = {}
    for leader, replica in state.believed_leaders():
        other = leaders.setdefault(replica.epoch, leader)
        if other != leader:
            yield Complaint.about(f"brokers {other} and {leader} both lead in epoch {replica.epoch}", other, leader)
