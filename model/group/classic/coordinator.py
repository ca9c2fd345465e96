"""The group coordinator: how it handles requests, and what ends the phases of a rebalance (Kafka's GroupCoordinator).

Each function takes the state and returns the next one. Responses that wait, to JoinGroup and SyncGroup requests, are
given to the consumers when the phase ends.
"""

from __future__ import annotations

import attrs

from leadline.model.group.classic.assignors import assigned
from leadline.model.group.classic.state import (
    COMPLETING,
    CONSUMING,
    EMPTY,
    JOINED,
    JOINING,
    PREPARING,
    REJOINING,
    STABLE,
    SYNCING,
    UNJOINED,
    Classic,
    Consumer,
    Group,
    Member,
)
from leadline.model.group.perturbed import NONE, NOTHING


def with_group(state: Classic, group: Group) -> Classic:
    """Return the state with the coordinator's group replaced."""
    return attrs.evolve(state, group=group)


def fenced(state: Classic, client: int) -> Classic:
    """Return the state after a consumer has learned that its member id is unknown: it resets id and generation.

    If that happens during a rebalance, some releases do not call onJoinPrepare again, and keep the partitions
    (KAFKA-12983).
    """
    own = state.clients[client]
    keeps = own.phase != CONSUMING and own.phase != UNJOINED and state.protocol.keeps_when_fenced
    if not state.protocol.forgets_fenced:
        return state.with_client(client, attrs.evolve(own, member_id=NONE, phase=REJOINING, plan=(), stopped=""))
    return state.with_client(
        client,
        attrs.evolve(own, member_id=NONE, generation=NONE, phase=REJOINING if keeps else UNJOINED, plan=(), stopped=""),
    )


def outdated(state: Classic, client: int) -> Classic:
    """Return the state after a consumer has learned that its generation is not the group's (ILLEGAL_GENERATION)."""
    own = state.clients[client]
    after = fenced(state, client)
    if not state.protocol.keeps_member_id:
        return after
    return after.with_client(client, attrs.evolve(after.clients[client], member_id=own.member_id))


def join(state: Classic, client: int) -> Classic:
    """Handle a JoinGroup request."""
    own, group, protocol = state.clients[client], state.group, state.protocol
    if own.member_id == NONE:
        member_id = state.fresh_id(client, state.known_ids())
        old = next((m for m in group.members if state.bounds.static and state.client_of(m.member_id) == client), None)
        if old is not None:
            return _replaced(state, client, old, member_id)
        if protocol.requires_member_id and not state.bounds.static:
            pending = with_group(state, attrs.evolve(group, pending=group.pending | {member_id}))
            return pending.with_client(client, attrs.evolve(own, member_id=member_id, phase=REJOINING))
        return _added(state, client, Member(member_id, watched=protocol.watches_new_members))
    if own.member_id in group.pending:
        member = Member(own.member_id, watched=protocol.watches_new_members)
        return _added(with_group(state, attrs.evolve(group, pending=group.pending - {own.member_id})), client, member)
    member_or_none = group.member(own.member_id)
    if member_or_none is None:
        return fenced(state, client)
    same = (member_or_none.claims, member_or_none.claimed_since) == claims_of(state, own)
    leads = group.leader == own.member_id
    if (group.state == COMPLETING and same) or (group.state == STABLE and same and not leads):
        return _answered(state, client)
    return _added(state, client, member_or_none)


def claims_of(state: Classic, own: Consumer) -> tuple[frozenset[int], int]:
    """Return what a consumer says in its JoinGroup request that it owns, and since which generation."""
    return (own.owned, own.owned_since) if state.bounds.cooperative else (NOTHING, NONE)


def _added(state: Classic, client: int, member: Member) -> Classic:
    """Add a member that joins, or that joins again, to the join phase, which begins if it has not."""
    if state.group.state != PREPARING:
        state = rebalancing(state)
    own = state.clients[client]
    claims, since = claims_of(state, own)
    joined = attrs.evolve(member, joined=True, synced=True, claims=claims, claimed_since=since)
    after = with_group(state, state.group.with_member(joined))
    return after.with_client(client, attrs.evolve(own, member_id=member.member_id, phase=JOINING, plan=()))


def _replaced(state: Classic, client: int, old: Member, member_id: int) -> Classic:
    """Give a static member that has restarted a new id. A stable group needs no rebalance (KIP-345)."""
    leader = member_id if state.group.leader == old.member_id else state.group.leader
    group = state.group.without(frozenset({old.member_id}))
    member = attrs.evolve(old, member_id=member_id, watched=True)
    after = with_group(state, attrs.evolve(group.with_member(member), leader=leader))
    after = after.with_client(client, attrs.evolve(after.clients[client], member_id=member_id))
    if state.group.state != STABLE:
        return _added(after, client, member)
    after = attrs.evolve(after, persisted=stored(after.group))
    return _answered(after, client, may_lead=False)


def _answered(state: Classic, client: int, may_lead: bool = True) -> Classic:
    """Answer a JoinGroup request: the consumer learns the generation, and the leader the members."""
    own, group = state.clients[client], state.group
    leads = may_lead and group.leader == own.member_id
    plan = assigned(group.members, state.bounds, state.protocol) if leads else ()
    return state.with_client(client, attrs.evolve(own, phase=JOINED, generation=group.generation, plan=plan))


def rebalancing(state: Classic) -> Classic:
    """Begin a join phase. Consumers that wait for a SyncGroup response join again, and keep their partitions."""
    group = state.group
    members = tuple(attrs.evolve(member, joined=False, synced=True) for member in group.members)
    clients = tuple(
        attrs.evolve(client, phase=REJOINING) if client.phase == SYNCING else client for client in state.clients
    )
    return attrs.evolve(state, group=attrs.evolve(group, state=PREPARING, members=members), clients=clients)


def removed(state: Classic, member_ids: frozenset[int]) -> Classic:
    """Remove members or pending ids. Unless only pending ids are removed, a join phase begins."""
    was_member = any(member.member_id in member_ids for member in state.group.members)
    after = with_group(state, state.group.without(member_ids))
    return rebalancing(after) if was_member and after.group.state in (COMPLETING, STABLE) else after


def next_generation(state: Classic) -> Classic:
    """End the join phase, and answer the JoinGroup requests."""
    group = attrs.evolve(state.group, generation=state.group.generation + 1)
    joined = [member.member_id for member in group.members if member.joined]
    if not joined:
        empty = attrs.evolve(group, state=EMPTY, leader=NONE)
        return attrs.evolve(state, group=empty, persisted=stored(empty))
    leader = group.leader if group.leader in joined else joined[0]
    members = tuple(attrs.evolve(member, joined=False, synced=False) for member in group.members)
    state = with_group(state, attrs.evolve(group, state=COMPLETING, leader=leader, members=members))
    for number, client in enumerate(state.clients):
        if client.phase == JOINING and client.member_id in joined:
            state = _answered(state, number)
    return state


def sync(state: Classic, client: int) -> Classic:
    """Handle a SyncGroup request."""
    own, group = state.clients[client], state.group
    member = group.member(own.member_id)
    if member is None:
        return fenced(state, client)
    if own.generation != group.generation:
        return outdated(state, client)
    if group.state == PREPARING:
        return state.with_client(client, attrs.evolve(own, phase=REJOINING, plan=()))
    state = with_group(state, group.with_member(attrs.evolve(member, synced=True, watched=True)))
    if group.state == STABLE:
        return _consuming(state, client)
    state = state.with_client(client, attrs.evolve(own, phase=SYNCING, plan=()))
    if own.plan and group.leader == own.member_id:
        return _stable(state, dict(own.plan))
    return state


def _stable(state: Classic, plan: dict[int, frozenset[int]]) -> Classic:
    """Persist the leader's assignment, and answer the SyncGroup requests."""
    members = tuple(
        attrs.evolve(member, assignment=plan.get(member.member_id, NOTHING)) for member in state.group.members
    )
    group = attrs.evolve(state.group, state=STABLE, members=members)
    state = attrs.evolve(state, group=group, persisted=stored(group))
    for number, client in enumerate(state.clients):
        if client.phase == SYNCING:
            state = _consuming(state, number)
    return state


def _consuming(state: Classic, client: int) -> Classic:
    """Answer a SyncGroup request. A cooperative consumer that gives up partitions joins again (KIP-429)."""
    own = state.clients[client]
    member = next(member for member in state.group.members if member.member_id == own.member_id)
    cooperative = state.bounds.cooperative
    phase = UNJOINED if cooperative and own.owned - member.assignment else CONSUMING
    since = own.generation if cooperative and state.protocol.claims_have_generations else NONE
    return state.with_client(
        client, attrs.evolve(own, phase=phase, owned=member.assignment, owned_since=since, plan=(), stopped="")
    )


def stored(group: Group) -> Group:
    """Return what is persisted of a group. Join phases, pending ids, missing SyncGroup requests and timers are not."""
    members = tuple(attrs.evolve(member, joined=False, synced=True, watched=True) for member in group.members)
    return attrs.evolve(group, members=members, pending=NOTHING)
