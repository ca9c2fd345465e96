"""The actions of the classic protocol.

Those that a running system goes on to do are healing and fair: requests, the ends of phases, time-outs and restarts. A
time-out passes only when those consumers that can go on have done so; a consumer that is slower than a time-out is a
paused one.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import Action, action
from leadline.model.group.actions import OFFSETS, PAUSES
from leadline.model.group.bounds import clients
from leadline.model.group.classic.coordinator import (
    fenced,
    join,
    next_generation,
    outdated,
    removed,
    sync,
)
from leadline.model.group.classic.state import (
    COMPLETING,
    CONSUMING,
    DOWN,
    JOINED,
    MUTE,
    PREPARING,
    REJOINING,
    STABLE,
    UNJOINED,
    Classic,
    Consumer,
)
from leadline.model.group.perturbed import NONE, NOTHING, PAUSED


@action("consumer {client} sends JoinGroup", client=clients, fair="weak each", effect="healing")
def send_join(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer joins. Before that, onJoinPrepare gives up its partitions, unless the assignor is cooperative and the
    consumer is still a member.
    """
    own = state.clients[client]
    if own.stopped or own.phase not in (UNJOINED, REJOINING):
        return
    if own.phase == UNJOINED and (own.generation == NONE or not state.bounds.cooperative):
        own = attrs.evolve(own, owned=NOTHING, owned_since=NONE)
    yield join(state.with_client(client, attrs.evolve(own, phase=REJOINING)), client)


@action("the coordinator ends the join phase", fair="weak", effect="healing")
def end_join_phase(state: Classic) -> Iterator[Classic]:
    """All members have joined, and no member id is pending."""
    ends = state.group.state == PREPARING and not (state.awaited and state.protocol.awaits_members)
    if ends and state.group.generation < state.bounds.rebalances:
        yield next_generation(state)


@action("consumer {client} sends SyncGroup", client=clients, fair="weak each", effect="healing")
def send_sync(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer asks for its assignment. The leader sends the assignment of all members."""
    own = state.clients[client]
    if own.phase == JOINED and not own.stopped:
        yield sync(state, client)


@action("consumer {client} sends a heartbeat", client=clients, fair="weak each", effect="healing")
def send_heartbeat(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer learns from the response that it was removed, or that a rebalance has begun."""
    own, group = state.clients[client], state.group
    if own.stopped or own.phase != CONSUMING:
        return
    if group.member(own.member_id) is None:
        yield fenced(state, client)
    elif own.generation != group.generation:
        yield outdated(state, client)
    elif group.state == PREPARING:
        yield state.with_client(client, attrs.evolve(own, phase=UNJOINED))


@action("the session of a member of consumer {client} expires", client=clients, fair="weak each", effect="healing")
def expire_session(state: Classic, client: int) -> Iterator[Classic]:
    """The coordinator removes a member without heartbeats. Members whose requests wait for a response are not removed.
    A pending member id expires, too.
    """
    group = state.group
    for member in group.members:
        waits = member.joined if group.state == PREPARING else group.state == COMPLETING and member.synced
        silent = member.watched and not waits and not state.sends_heartbeats(member.member_id)
        if silent and state.client_of(member.member_id) == client:
            yield removed(state, frozenset({member.member_id}))
    for member_id in sorted(group.pending):
        if state.client_of(member_id) == client and not state.acts(member_id):
            yield removed(state, frozenset({member_id}))


@action("the rebalance time-out passes", fair="weak", effect="healing")
def time_out_join(state: Classic) -> Iterator[Classic]:
    """The join phase ends without those that have not joined. Static members stay until their session expires."""
    group, awaited = state.group, state.awaited
    if group.state != PREPARING or not awaited or any(state.acts(member_id) for member_id in awaited):
        return
    if state.bounds.static and not any(member.joined for member in group.members):
        return
    gone = frozenset() if state.bounds.static else frozenset(awaited) - group.pending
    if group.generation < state.bounds.rebalances:
        yield next_generation(removed(state, gone))


@action("the time-out for SyncGroup requests passes", fair="weak", effect="healing")
def time_out_sync(state: Classic) -> Iterator[Classic]:
    """The coordinator removes the members that have not sent SyncGroup (KAFKA-12890)."""
    awaited = state.awaited if state.group.state in (COMPLETING, STABLE) else []
    if state.protocol.has_sync_timer and awaited and not any(state.acts(member_id) for member_id in awaited):
        yield removed(state, frozenset(awaited))


@action("consumer {client} starts", client=clients, fair="weak each", effect="healing")
def restart(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer that has crashed or left starts again."""
    if state.clients[client].phase == DOWN:
        yield state.with_client(client, Consumer())


@action("consumer {client} goes on after its pause", client=clients, fair="weak each", effect="healing")
def resume(state: Classic, client: int) -> Iterator[Classic]:
    """A paused consumer goes on. It does not know what has happened in the meantime. A mute one goes on only after it
    was removed.
    """
    own = state.clients[client]
    if own.stopped == PAUSED or (own.stopped == MUTE and state.group.member(own.member_id) is None):
        yield state.with_client(client, attrs.evolve(own, stopped=""))


@action("consumer {client} sends heartbeats, but no SyncGroup", client=clients, effect="perturbing")
def mute(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer has got its generation and does not go on, while its heartbeat thread does (KAFKA-12890)."""
    own = state.clients[client]
    if state.may("mutes") and own.phase == JOINED and not own.stopped:
        yield state.having("mutes").with_client(client, attrs.evolve(own, stopped=MUTE))


@action("consumer {client} leaves the group", client=clients, effect="perturbing")
def leave(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer closes, and sends LeaveGroup. A static member does not send it."""
    own = state.clients[client]
    if state.may("leaves") and own.phase == CONSUMING and not own.stopped and not state.bounds.static:
        left = removed(state, frozenset({own.member_id}))
        yield left.having("leaves").with_client(client, Consumer(phase=DOWN))


@action("consumer {client} leads the group and joins again", client=clients, effect="perturbing")
def rejoin(state: Classic, client: int) -> Iterator[Classic]:
    """The leader has noticed a change of the topics, and joins again so that the group rebalances."""
    own = state.clients[client]
    if state.may("rejoins") and own.phase == CONSUMING and not own.stopped and state.group.leader == own.member_id:
        yield state.having("rejoins").with_client(client, attrs.evolve(own, phase=UNJOINED))


@action("another broker becomes coordinator", effect="perturbing")
def fail_over(state: Classic) -> Iterator[Classic]:
    """The new coordinator knows what is persisted. Requests that wait are answered with NOT_COORDINATOR."""
    if state.may("failovers"):
        yield state.having("failovers").with_next_coordinator()


ACTIONS: tuple[Action[Classic, ...], ...] = (
    send_join,
    end_join_phase,
    send_sync,
    send_heartbeat,
    expire_session,
    time_out_join,
    time_out_sync,
    restart,
    resume,
    *PAUSES,
    mute,
    leave,
    rejoin,
    fail_over,
    *OFFSETS,
)


def would_rebalance_more(state: Classic) -> bool:
    """Return whether only the bound `rebalances` prevents the end of a join phase."""
    return state.group.state == PREPARING and state.group.generation >= state.bounds.rebalances
