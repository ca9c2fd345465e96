"""Properties of consumer groups: who owns a partition, whose offsets are accepted, and how the coordinator's state
changes. Those of states of any protocol are shared; the others are about the classic protocol.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant, step_witness, witness
from leadline.model.group.classic.state import (
    COMPLETING,
    CONSUMING,
    DOWN,
    EMPTY,
    IN_GENERATION,
    JOINED,
    MUTE,
    PREPARING,
    REJOINING,
    STABLE,
    SYNCING,
    UNJOINED,
    Classic,
)
from leadline.model.group.consumer.state import ConsumerGroup
from leadline.model.group.perturbed import NONE, C, Perturbed

BEFORE = {
    EMPTY: {PREPARING},
    PREPARING: {STABLE, COMPLETING, EMPTY},
    COMPLETING: {PREPARING},
    STABLE: {COMPLETING},
}
"""The states from which the coordinator may change to a state (GroupMetadata.validPreviousStates). The model does not
have Dead, which a group enters when it is unloaded or deleted.
"""


def failed_over(before: Classic, after: Classic) -> bool:
    """Return whether another broker has become coordinator in a step."""
    was, now = before.spent, after.spent
    return was.failovers != now.failovers or was.lost_commits != now.lost_commits


@step_invariant(
    "the state of a group changes only as the coordinator's table allows",
    source="GroupMetadata.validPreviousStates; ClassicGroupState since 3.7",
)
def group_transitions_valid(before: Classic, after: Classic) -> Iterator[str]:
    """After a failover, the new coordinator loads what is persisted, so that every change is allowed."""
    was, now = before.group.state, after.group.state
    if was != now and was not in BEFORE[now] and not failed_over(before, after):
        yield f"the state of the group changes from {was} to {now}"


@step_invariant(
    "the generation increases by one when a join phase ends, and does not change otherwise",
    source="GroupMetadata.initNextGeneration",
)
def generation_steps_by_one(before: Classic, after: Classic) -> Iterator[str]:
    was, now = before.group, after.group
    ends = was.state == PREPARING and now.state in (COMPLETING, EMPTY)
    if now.generation != was.generation + ends and not failed_over(before, after):
        yield f"the generation was {was.generation} in {was.state}, and is {now.generation} in {now.state}"


@invariant(
    "the assignment of a stable group gives a partition to one member only, and an eager assignor gives all away",
    source="KIP-429; KAFKA-12984: several consumers claim one partition",
)
def assignment_disjoint(state: Classic) -> Iterator[str]:
    if state.group.state != STABLE:
        return
    for partition in range(state.bounds.partitions):
        owners = [member.member_id for member in state.group.members if partition in member.assignment]
        if len(owners) > 1:
            yield f"partition {partition} is assigned to the members {owners} of generation {state.group.generation}"
        if not owners and not state.bounds.cooperative:
            yield f"partition {partition} is assigned to no member of generation {state.group.generation}"


@invariant(
    "members of a group do not own the same partition",
    source="the classic protocol: all members join before the next assignment; KIP-429, KAFKA-14639",
)
def one_owner_among_members(state: Classic) -> Iterator[str]:
    """Compares what members read. A static member stays in the group while it is paused, so that only those static
    members are compared that have joined the group's generation. A consumer that the coordinator has removed is none,
    whatever its generation: after a failover, a generation can come again.
    """
    group = state.group
    members = [
        (number, client)
        for number, client in enumerate(state.clients)
        if group.member(client.member_id) is not None
        and (not state.bounds.static or (client.generation == group.generation and client.phase in IN_GENERATION))
    ]
    for (one, own), (other, others) in itertools.combinations(members, 2):
        for partition in sorted(own.owned & others.owned):
            yield f"consumers {one} and {other} own partition {partition} in generation {group.generation}"


@invariant(
    "a consumer of a stable group's generation owns what the coordinator has assigned to it",
    source="the classic protocol: SyncGroup gives each member the leader's assignment",
)
def assignment_agreed(state: Classic) -> Iterator[str]:
    group = state.group
    for number, client in enumerate(state.clients):
        member = group.member(client.member_id)
        agrees = member is None or client.owned == member.assignment or client.generation != group.generation
        if group.state == STABLE and client.phase == CONSUMING and member is not None and not agrees:
            yield f"consumer {number} owns {sorted(client.owned)}, and is assigned {sorted(member.assignment)}"


@invariant(
    "an offset commit is accepted only from the member to which its partitions are assigned",
    source="the classic protocol: generations fence commits; KIP-447 for commits within transactions",
)
def commit_by_assignee(state: Classic) -> Iterator[str]:
    """Asks of the commit in flight whether it would be accepted if it arrived now."""
    commit = state.late
    if commit is not None and state.accepts(commit):
        member = state.group.member(commit.member_id)
        for partition in sorted(commit.partitions):
            if member is None or partition not in member.assignment:
                yield (
                    f"an offset of partition {partition} is accepted from member {commit.member_id} of generation "
                    f"{commit.epoch}, to which it is not assigned"
                )


@step_invariant(
    "a consumer that goes on does not forget the member id under which the group knows it",
    source="KAFKA-13419: after ILLEGAL_GENERATION, the group waits for a member that does not exist any more",
)
def member_id_kept(before: Classic, after: Classic) -> Iterator[str]:
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        forgets = was.phase != DOWN != now.phase and was.member_id != now.member_id
        if forgets and after.group.member(was.member_id) is not None and not failed_over(before, after):
            yield f"consumer {number} forgets its id {was.member_id}, which is still a member of the group"


@invariant(
    "a group has one member for each group.instance.id",
    source="KIP-345; ConsumerGroup.staticMembers; KAFKA-8500: two live consumers with the same group.instance.id",
)
def one_member_for_instance(state: Classic | ConsumerGroup) -> Iterator[str]:
    held = [state.instance_of(state.client_of(member.member_id)) for member in state.group.members]
    for instance in sorted(set(held) - {NONE}):
        if held.count(instance) > 1:
            yield f"{held.count(instance)} members of the group have the group.instance.id of consumer {instance}"


@invariant(
    "once nothing is left to do, all consumers are members of a stable group that reads all partitions",
    source="KAFKA-12890 and KAFKA-9752: groups that are stuck",
    at_rest=True,
)
def stable_at_rest(state: Perturbed[C]) -> bool:
    """Compares only states in which no request, time-out, restart or end of a pause can change anything."""
    return state.settled


@invariant(
    "at no time do two consumers read the same partition",
    source="by design: a paused consumer reads until it learns that it was removed (KIP-62; 'zombie' of KIP-447)",
)
def one_reader(state: Perturbed[C]) -> Iterator[str]:
    """Violated by design: a consumer learns that it was removed only from the response to a request, and a group goes
    on without it. Generations fence its commits.
    """
    for (one, own), (other, others) in itertools.combinations(enumerate(state.clients), 2):
        for partition in sorted(own.owned & others.owned):
            yield f"consumers {one} and {other} read partition {partition}"


@invariant(
    "no consumer has a generation that its coordinator has not begun",
    source="by design: a generation is not persisted before the group is stable (GroupCoordinator.onCompleteJoin)",
)
def generation_known(state: Classic) -> Iterator[str]:
    """Violated by design: a new coordinator reads the last stable generation, and gives out the next one again."""
    for number, client in enumerate(state.clients):
        if client.generation > state.group.generation:
            yield f"consumer {number} has generation {client.generation}, and the group {state.group.generation}"


# --- witnesses ----------------------------------------------------------------------------------------------------


@witness("all consumers read their partitions in a stable group")
def group_stable(state: Perturbed[C]) -> bool:
    return state.settled


@step_witness("a consumer that reads learns from a heartbeat that the group rebalances")
def learns_of_rebalance(before: Classic, after: Classic) -> bool:
    return any(
        was.phase == CONSUMING != now.phase and was.member_id == now.member_id != NONE
        for was, now in zip(before.clients, after.clients, strict=True)
    )


@witness("a partition moves: a consumer of a later generation owns what another one has owned")
def partition_moves(state: Perturbed[C]) -> bool:
    return any(client.owned for client in state.clients[1:]) and state.settled


# --- the scenarios of the articles ------------------------------------------------------------------------------------


@witness("a consumer is down, and the others are a stable group of a later generation that reads all partitions")
def others_read_all(state: Classic) -> bool:
    reading = [client for client in state.clients if client.generation == state.group.generation]
    owned = {partition for client in reading if client.phase == CONSUMING for partition in client.owned}
    gone = any(client.phase == DOWN for client in state.clients)
    later = state.group.state == STABLE and state.group.generation > 1
    return gone and later and len(owned) == state.bounds.partitions


@witness("a follower has sent SyncGroup, and waits for the assignment of the leader")
def follower_waits_for_leader(state: Classic) -> bool:
    following = [client for client in state.clients if client.member_id != state.group.leader]
    return state.group.state == COMPLETING and any(client.phase == SYNCING for client in following)


@witness("an offset commit is in flight during the join phase, and would be accepted")
def commit_accepted_in_join_phase(state: Classic) -> bool:
    return state.late is not None and state.group.state == PREPARING and state.accepts(state.late)


@witness("an offset commit is in flight after the join phase, and would be refused")
def commit_refused_after_join_phase(state: Classic) -> bool:
    return state.late is not None and state.group.state in (COMPLETING, STABLE) and not state.accepts(state.late)


@witness("the last member of a group is gone, and the group is empty")
def group_emptied(state: Classic) -> bool:
    return state.group.state == EMPTY and state.group.generation > 0


SCENARIOS = (
    others_read_all,
    follower_waits_for_leader,
    commit_accepted_in_join_phase,
    commit_refused_after_join_phase,
    group_emptied,
)
"""Checked only if they are named."""


# --- the situations in which bugs of the archive do harm: see `leadline.invariants.situations` -----------------------


@witness("the coordinator waits for a SyncGroup request of a consumer that has crashed")
def awaited_member_gone(state: Classic) -> bool:
    owners = {client.member_id for client in state.clients}
    return state.group.state == COMPLETING and any(member_id not in owners for member_id in state.awaited)


@witness("the coordinator waits for a SyncGroup request of a consumer that sends only heartbeats")
def awaited_member_mute(state: Classic) -> bool:
    mute = {client.member_id for client in state.clients if client.stopped == MUTE}
    return state.group.state in (COMPLETING, STABLE) and any(member_id in mute for member_id in state.awaited)


@witness("a consumer with partitions sends a request of a rebalance, and is no member any more")
def removed_while_joining(state: Classic) -> bool:
    return any(
        client.phase in (UNJOINED, REJOINING, JOINED)
        and client.owned
        and client.member_id not in (NONE, *state.group.pending)
        and state.group.member(client.member_id) is None
        for client in state.clients
    )


@witness("a member has a generation that is not its coordinator's, and sends a request with it")
def sends_other_generation(state: Classic) -> bool:
    return any(
        client.phase in (JOINED, CONSUMING)
        and client.generation != state.group.generation
        and state.group.member(client.member_id) is not None
        for client in state.clients
    )


@witness("a member claims partitions for an older generation than another one")
def claims_for_older_generation(state: Classic) -> bool:
    members = state.group.members
    newest = max((member.claimed_since for member in members), default=NONE)
    return any(member.claims and member.claimed_since < newest for member in members)


SITUATIONS = (
    awaited_member_gone,
    awaited_member_mute,
    removed_while_joining,
    sends_other_generation,
    claims_for_older_generation,
)
"""Checked only if they are named."""
