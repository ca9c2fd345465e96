"""The actions of the consumer protocol.

Those that a running system goes on to do are healing and fair: heartbeats, reconciliations, time-outs and restarts. A
time-out passes only when the consumer cannot go on; a consumer that is slower than a time-out is a paused one.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import Action, action
from leadline.model.group.actions import OFFSETS, PAUSES
from leadline.model.group.bounds import clients
from leadline.model.group.consumer.classic_members import join, learn, rebalanced, sync
from leadline.model.group.consumer.coordinator import heartbeat, left, refuses, removed
from leadline.model.group.consumer.state import DOWN, JOINED, JOINING, MUTE, ConsumerGroup, started
from leadline.model.group.perturbed import PAUSED


@action("consumer {client} sends a heartbeat", client=clients, fair="weak each", effect="healing")
def send_heartbeat(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer sends ConsumerGroupHeartbeat, and gets the response. One that is no member joins. A classic member
    sends Heartbeat.
    """
    if state.uses_classic(client):
        yield from learn(state, client)
    elif state.may_send(client):
        yield from heartbeat(state, client)


@action("classic consumer {client} sends JoinGroup", client=clients, fair="weak each", effect="healing")
def send_join(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A classic consumer joins a consumer group, or joins it again."""
    yield from join(state, client)


@action("classic consumer {client} sends SyncGroup", client=clients, fair="weak each", effect="healing")
def send_sync(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A classic member of a consumer group asks for its assignment."""
    yield from sync(state, client)


@action("the classic group rebalances", fair="weak", effect="healing")
def rebalance_classic(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
    """All classic consumers that go on join a classic group, or an empty one, and synchronise. The specs of the classic
    protocol have the steps of this.
    """
    yield from rebalanced(state)


@action("consumer {client} begins to change its assignment", client=clients, fair="weak each", effect="healing")
def begin_reconciliation(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer revokes what it was not told: it commits offsets and calls onPartitionsRevoked. Heartbeats go on, and
    a newer assignment has to wait.
    """
    own = state.clients[client]
    if not own.stopped and own.taking is None and own.told != own.owned and not state.uses_classic(client):
        yield state.with_client(client, attrs.evolve(own, taking=own.told))


@action("consumer {client} has changed its assignment", client=clients, fair="weak each", effect="healing")
def end_reconciliation(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer owns what it was told when it began. Its next heartbeat reports that."""
    own = state.clients[client]
    if not own.stopped and own.taking is not None:
        sent = None if state.protocol.reports_reconciled else own.sent
        yield state.with_client(client, attrs.evolve(own, owned=own.taking, taking=None, sent=sent))


@action("the session of a member of consumer {client} expires", client=clients, fair="weak each", effect="healing")
def expire_session(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """The coordinator removes a member without heartbeats. Heartbeats that are refused do not renew its session."""
    own = state.clients[client]
    goes_on = state.uses_classic(client) and own.stopped == ""
    for member in state.group.members if not state.group.is_classic else ():
        accepted = goes_on or (state.may_send(client) and refuses(state, client) == "")
        renewed = own.member_id == member.member_id and accepted
        if state.client_of(member.member_id) == client and not renewed:
            yield removed(state, member.member_id)


@action("the rebalance time-out of consumer {client} passes", client=clients, fair="weak each", effect="healing")
def time_out_rebalance(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """The coordinator removes a member that has not revoked its partitions in time, or a classic one that has not sent
    JoinGroup or SyncGroup in time.
    """
    if not state.protocol.has_rebalance_timer or state.group.is_classic:
        return
    for member in state.group.members:
        timed = member.join_timer or member.sync_timer if state.uses_classic(client) else member.revoking != frozenset()
        if timed and state.client_of(member.member_id) == client and not _goes_on(state, client):
            yield removed(state, member.member_id)


def _goes_on(state: ConsumerGroup, client: int) -> bool:
    """Return whether a consumer has something to do: to change its assignment, or to tell or learn something."""
    own = state.clients[client]
    if own.stopped or state.uses_classic(client):
        return own.stopped == ""
    return own.taking is not None or own.told != own.owned or any(after != state for after in heartbeat(state, client))


@action("consumer {client} starts", client=clients, fair="weak each", effect="healing")
def restart(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer that has crashed or left starts again."""
    if state.clients[client].stopped == DOWN:
        yield state.with_client(client, started(state, client))


@action("consumer {client} goes on after its pause", client=clients, fair="weak each", effect="healing")
def resume(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A paused consumer goes on. It does not know what has happened in the meantime. One that does not revoke goes on
    when it need not, and a classic one when it is no member any more.
    """
    own = state.clients[client]
    is_member = state.group.member(own.member_id) is not None
    unmuted = not is_member if state.uses_classic(client) else own.owned <= own.told
    if own.stopped == PAUSED or (own.stopped == MUTE and unmuted):
        yield state.with_client(client, attrs.evolve(own, stopped=""))


@action("consumer {client} sends heartbeats, but does not revoke", client=clients, effect="perturbing")
def mute(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """onPartitionsRevoked does not return, while heartbeats are sent. A classic member does not send SyncGroup."""
    own = state.clients[client]
    holds_up = (
        own.phase == JOINED
        if state.uses_classic(client)
        else own.taking is None and own.owned - own.told != frozenset()
    )
    if state.may("mutes") and not own.stopped and holds_up:
        yield state.having("mutes").with_client(client, attrs.evolve(own, stopped=MUTE))


@action("consumer {client} leaves the group", client=clients, effect="perturbing")
def leave(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer closes: it revokes its partitions, and sends a heartbeat with the epoch -1, or -2 if it is static."""
    own = state.clients[client]
    if state.may("leaves") and own.epoch != JOINING and not own.stopped:
        yield left(state, client).having("leaves").going_down(client)


@action("the topics or a subscription change", effect="perturbing")
def change_topics(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
    """The group epoch grows, so that the next heartbeat computes a new target assignment."""
    group = state.group
    if state.may("rejoins") and group.members and group.epoch == group.target_epoch and not group.is_classic:
        yield state.having("rejoins").with_group(attrs.evolve(group, epoch=group.epoch + 1))


@action("the coordinator fails over before it answers consumer {client}", client=clients, effect="perturbing")
def fail_over(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A heartbeat is handled and persisted, but the response is lost. The next heartbeat reports everything. A classic
    member joins again.
    """
    if not state.may("failovers"):
        return
    lost = state.having("failovers")
    if state.uses_classic(client):
        requests = (join, sync, learn)
        answers = [after for request in requests for after in request(lost, client, answered=False)]
    else:
        answers = [*heartbeat(lost, client, answered=False)] if state.may_send(client) else []
    for after in answers:
        yield after.with_next_coordinator()


ACTIONS: tuple[Action[ConsumerGroup, ...], ...] = (
    send_heartbeat,
    begin_reconciliation,
    end_reconciliation,
    send_join,
    send_sync,
    rebalance_classic,
    expire_session,
    time_out_rebalance,
    restart,
    resume,
    *PAUSES,
    mute,
    leave,
    change_topics,
    fail_over,
    *OFFSETS,
)


def would_rebalance_more(state: ConsumerGroup) -> bool:
    """Return whether the bound `rebalances` may prevent a new target assignment."""
    return state.group.epoch >= state.bounds.rebalances and state.group.members != ()
