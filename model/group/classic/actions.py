"""The actions of the classic protocol.

Those that a running system goes on to do are healing and fair: requests, the ends of phases, time-outs and restarts. A
time-out passes only when those consumers that can go on have done so; a consumer that is slower than a time-out is a
paused one.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import Action, action
from leadline.model.group.bounds import clients, partitions
from leadline.model.group.classic.coordinator import (
    accepts,
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
    EMPTY,
    JOINED,
    JOINING,
    MUTE,
    PREPARING,
    REJOINING,
    STABLE,
    SYNCING,
    UNJOINED,
    Classic,
    Consumer,
)
from leadline.model.group.perturbed import NONE, NOTHING, PAUSED, Commit


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


@action("consumer {client} crashes", client=clients, effect="perturbing")
def crash(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer crashes."""
    if state.may("crashes") and state.clients[client].phase != DOWN:
        yield state.having("crashes").with_client(client, Consumer(phase=DOWN))


@action("consumer {client} is paused", client=clients, effect="perturbing")
def pause(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer stops for longer than all time-outs, as in a long garbage collection, and goes on later."""
    own = state.clients[client]
    if state.may("pauses") and own.phase != DOWN and own.member_id != NONE and not own.stopped:
        yield state.having("pauses").with_client(client, attrs.evolve(own, stopped=PAUSED))


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
        yield _failed_over(state.having("failovers"))


def _failed_over(state: Classic) -> Classic:
    tells_first = state.protocol.requires_member_id and not state.bounds.static
    consumers = []
    for each in state.clients:
        if each.phase == JOINING and not tells_first and state.persisted.member(each.member_id) is None:
            each = attrs.evolve(each, member_id=NONE, phase=REJOINING)  # nobody has told it its id
        elif each.phase in (JOINING, SYNCING):
            each = attrs.evolve(each, phase=REJOINING)
        consumers.append(each)
    return attrs.evolve(state, group=state.persisted, clients=tuple(consumers))


@action("consumer {client} sends an offset commit, which is delayed", client=clients, effect="perturbing")
def send_commit(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer commits the offsets of its partitions. The request arrives later."""
    late = _commit_of(state, client)
    if late is not None and state.late is None and state.may("delayed"):
        yield attrs.evolve(state.having("delayed"), late=late)


def _commit_of(state: Classic, client: int) -> Commit | None:
    """Return the offset commit of a consumer. It may commit also when it has learned of a rebalance, and not once it
    joins (AbstractCoordinator.generationIfStable), and waits for the response to a commit before.
    """
    own = state.clients[client]
    commits = own.phase == CONSUMING or (own.phase == UNJOINED and own.member_id != NONE)
    if state.awaits_commit(client) or not own.owned or not commits or own.stopped:
        return None
    return Commit(own.member_id, own.generation, own.owned, own.positions)


@action("the offset commit arrives")
def commit_arrives(state: Classic) -> Iterator[Classic]:
    """A commit arrives. Properties ask while it is in flight whether it would be accepted."""
    if state.late is not None:
        taken = state.committing(state.late) if accepts(state, state.late) else state
        yield attrs.evolve(taken, late=None)


@action("a record is written to partition {partition}", partition=partitions)
def write_record(state: Classic, partition: int) -> Iterator[Classic]:
    """A producer writes a record. Nothing is said about replication."""
    if state.may_write(partition):
        yield attrs.evolve(state, offsets=state.offsets.writing(partition))


@action("consumer {client} reads a record of partition {partition}", client=clients, partition=partitions)
def read_record(state: Classic, client: int, partition: int) -> Iterator[Classic]:
    """A consumer reads the next record, and its position moves."""
    if state.may_read(client, partition):
        yield state.reading(client, partition)


@action("consumer {client} commits its offsets", client=clients)
def commit(state: Classic, client: int) -> Iterator[Classic]:
    """A consumer commits its positions. A commit that is refused changes nothing; heartbeats tell the reason."""
    sent = _accepted_commit(state, client)
    if sent is not None:
        yield state.committing(sent)


def _accepted_commit(state: Classic, client: int) -> Commit | None:
    """Return the offset commit of a consumer if it changes what the coordinator knows."""
    sent = _commit_of(state, client)
    changes = sent is not None and state.offsets.differ_from(sent.positions) and accepts(state, sent)
    return sent if changes else None


@action(
    "another broker becomes coordinator before a commit of consumer {client} is replicated",
    client=clients,
    effect="perturbing",
)
def lose_commit(state: Classic, client: int) -> Iterator[Classic]:
    """The coordinator has appended a commit. The next one does not have it, and truncates the log of the first."""
    sent = _accepted_commit(state, client)
    if state.may("lost_commits") and sent is not None:
        yield _failed_over(state.losing(sent, answered=state.protocol.acknowledges_lost))


@action("the committed offsets expire", effect="perturbing")
def expire_offsets(state: Classic) -> Iterator[Classic]:
    """Nothing was committed for offsets.retention.minutes, or the group has been empty for as long (KIP-211)."""
    in_use = state.group.state != EMPTY
    if state.may("expiries") and state.offsets.are_committed and (state.protocol.expires_in_use or not in_use):
        yield state.expiring(in_use=in_use)


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
    crash,
    pause,
    mute,
    leave,
    rejoin,
    fail_over,
    send_commit,
    commit_arrives,
    write_record,
    read_record,
    commit,
    lose_commit,
    expire_offsets,
)


def would_rebalance_more(state: Classic) -> bool:
    """Return whether only the bound `rebalances` prevents the end of a join phase."""
    return state.group.state == PREPARING and state.group.generation >= state.bounds.rebalances
