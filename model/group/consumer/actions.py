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
from leadline.model.group.consumer.coordinator import heartbeat, left, refuses, removed
from leadline.model.group.consumer.state import DOWN, JOINING, MUTE, ConsumerGroup, started
from leadline.model.group.perturbed import PAUSED


@action("consumer {client} sends a heartbeat", client=clients, fair="weak each", effect="healing")
def send_heartbeat(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer sends ConsumerGroupHeartbeat, and gets the response. One that is no member joins."""
    if state.may_send(client):
        yield from heartbeat(state, client)


@action("consumer {client} begins to change its assignment", client=clients, fair="weak each", effect="healing")
def begin_reconciliation(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer revokes what it was not told: it commits offsets and calls onPartitionsRevoked. Heartbeats go on, and
    a newer assignment has to wait.
    """
    own = state.clients[client]
    if not own.stopped and own.taking is None and own.told != own.owned:
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
    for member in state.group.members:
        renewed = own.member_id == member.member_id and state.may_send(client) and refuses(state, client) == ""
        if state.client_of(member.member_id) == client and not renewed:
            yield removed(state, member.member_id)


@action("the rebalance time-out of consumer {client} passes", client=clients, fair="weak each", effect="healing")
def time_out_rebalance(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """The coordinator removes a member that has not revoked its partitions in time."""
    if not state.protocol.has_rebalance_timer:
        return
    for member in state.group.members:
        if member.revoking and state.client_of(member.member_id) == client and not _goes_on(state, client):
            yield removed(state, member.member_id)


def _goes_on(state: ConsumerGroup, client: int) -> bool:
    """Return whether a consumer has something to do: to change its assignment, or to tell or learn something."""
    own = state.clients[client]
    if own.stopped:
        return False
    return own.taking is not None or own.told != own.owned or any(after != state for after in heartbeat(state, client))


@action("consumer {client} starts", client=clients, fair="weak each", effect="healing")
def restart(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A consumer that has crashed or left starts again."""
    if state.clients[client].stopped == DOWN:
        yield state.with_client(client, started(state, client))


@action("consumer {client} goes on after its pause", client=clients, fair="weak each", effect="healing")
def resume(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A paused consumer goes on. It does not know what has happened in the meantime. One that does not revoke goes on
    when it need not.
    """
    own = state.clients[client]
    if own.stopped == PAUSED or (own.stopped == MUTE and own.owned <= own.told):
        yield state.with_client(client, attrs.evolve(own, stopped=""))


@action("consumer {client} sends heartbeats, but does not revoke", client=clients, effect="perturbing")
def mute(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """onPartitionsRevoked does not return, while heartbeats are sent."""
    own = state.clients[client]
    if state.may("mutes") and not own.stopped and own.taking is None and own.owned - own.told:
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
    if state.may("rejoins") and group.members and group.epoch == group.target_epoch:
        yield state.having("rejoins").with_group(attrs.evolve(group, epoch=group.epoch + 1))


@action("the coordinator fails over before it answers consumer {client}", client=clients, effect="perturbing")
def fail_over(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """A heartbeat is handled and persisted, but the response is lost. The next heartbeat reports everything."""
    if state.may("failovers") and state.may_send(client):
        yield from heartbeat(state.having("failovers"), client, answered=False)


ACTIONS: tuple[Action[ConsumerGroup, ...], ...] = (
    send_heartbeat,
    begin_reconciliation,
    end_reconciliation,
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
