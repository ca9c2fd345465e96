"""Liveness properties of consumer groups: a rebalance ends, and all consumers get their share.

Requests, time-outs, restarts and the ends of pauses are fair. Perturbations are not, and their number is bounded. The
properties whose names end in ``recovers`` need no fairness: from every reachable state, what a running system does must
lead to a stable group.
"""

from __future__ import annotations

from leadline.checker.properties import eventually_always, leads_to, recoverable
from leadline.model.group.classic.state import COMPLETING, JOINING, PREPARING, SYNCING, Classic
from leadline.model.group.consumer.state import ConsumerGroup
from leadline.model.group.perturbed import C, Perturbed


@recoverable(
    "from every state, all consumers can become members of a stable group that reads all partitions",
    by_healing=True,
    source="KAFKA-12890, KAFKA-9752: groups that are stuck",
)
def group_recovers(state: Perturbed[C]) -> bool:
    return state.settled


@eventually_always(
    "in the end, all consumers are members of a stable group that reads all partitions",
    quiet=True,
    source="KIP-62; KAFKA-12890, KAFKA-9752",
)
def group_settles(state: Perturbed[C]) -> bool:
    return state.settled


def completing(state: Classic) -> bool:
    """Return whether the coordinator waits for the assignment of the leader."""
    return state.group.state == COMPLETING


def preparing(state: Classic) -> bool:
    """Return whether the coordinator waits for members to join."""
    return state.group.state == PREPARING


@leads_to(
    "a group leaves CompletingRebalance",
    after=completing,
    source="KAFKA-12890: Consumer group stuck in CompletingRebalance; KAFKA-9752",
)
def completing_ends(state: Classic) -> bool:
    return state.group.state != COMPLETING


@leads_to("a group leaves PreparingRebalance", after=preparing, source="KIP-62: the rebalance time-out; KAFKA-7909")
def preparing_ends(state: Classic) -> bool:
    return state.group.state != PREPARING


def request_waits(state: Classic) -> bool:
    """Return whether a consumer waits for the response to a JoinGroup or SyncGroup request."""
    return any(client.phase in (JOINING, SYNCING) for client in state.clients)


@leads_to(
    "the coordinator answers all JoinGroup and SyncGroup requests",
    after=request_waits,
    source="the classic protocol: responses wait for the end of a phase; KAFKA-12890",
)
def requests_answered(state: Classic) -> bool:
    return not request_waits(state)


def revocation_due(state: ConsumerGroup) -> bool:
    """Return whether a member of a group with the consumer protocol must revoke partitions."""
    return any(member.revoking for member in state.group.members)


@leads_to(
    "no member has partitions to revoke for ever",
    after=revocation_due,
    source="KIP-848: a member that does not revoke within the rebalance time-out is removed; KAFKA-16249",
)
def revocation_ends(state: ConsumerGroup) -> bool:
    return not revocation_due(state)
