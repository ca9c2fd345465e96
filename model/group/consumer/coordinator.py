"""The group coordinator: how it handles heartbeats, and how members are removed (Kafka's GroupMetadataManager)."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.model.group.consumer.assignors import targets
from leadline.model.group.consumer.protocols import Report
from leadline.model.group.consumer.state import JOINING, LEFT, Consumer, ConsumerGroup, Group, Member
from leadline.model.group.perturbed import NONE, NOTHING

UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
FENCED_MEMBER_EPOCH = "FENCED_MEMBER_EPOCH"
FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID"
FATAL = (FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID)
"""The errors with which a consumer stops: KafkaConsumer.poll throws them."""


def heartbeat(state: ConsumerGroup, client: int, answered: bool = True) -> Iterator[ConsumerGroup]:
    """Handle a heartbeat: one exchange of a request and its response, unless the response is lost.

    Yields:
        the next states: one for each target assignment of the assignor if a new one is computed.
    """
    own, group, protocol = state.clients[client], state.group, state.protocol
    error = refuses(state, client)
    if error != "":
        if answered:
            fatal = error in FATAL
            yield state.going_down(client) if fatal else state.with_client(client, fenced(own, protocol.forgets_fenced))
        return
    report = report_of(own)
    member_id = own.member_id if own.member_id != NONE else state.fresh_id(client, state.known_ids())
    member, old = group.member(member_id), state.holder_of(client)
    replaces = member is None and old is not None
    if member is None and old is not None:
        member = attrs.evolve(old, member_id=member_id, epoch=JOINING, previous=JOINING, target_epoch=NONE)
        group = _replaced(group, old, member, protocol.removes_replaced)
    elif member is None:
        member = attrs.evolve(group.places[member_id], present=True)
        group = attrs.evolve(group.with_member(member), epoch=group.epoch + 1)
    before = Member(member_id) if replaces else member
    for assigned in _assigned(state, group, again=replaces and protocol.recomputes_replaced):
        updated = protocol.reconciled(assigned, member, report, protocol)
        after = state.with_group(_with_member(state, assigned, before, updated))
        if answered:
            yield after.with_client(client, _answered(state, client, updated, report))
        else:
            yield after.with_client(client, attrs.evolve(own, sent=None))


def refuses(state: ConsumerGroup, client: int) -> str:
    """Return the error with which a heartbeat is refused, or an empty string. A heartbeat with the previous epoch is
    accepted, because the response with the new one may have been lost.
    """
    own, protocol = state.clients[client], state.protocol
    error = _instance_refused(state, client)
    if error != "":
        return error
    member = state.group.member(own.member_id)
    if member is None:
        return "" if own.epoch == JOINING else UNKNOWN_MEMBER_ID
    if own.epoch == member.epoch or not protocol.fences:
        return ""
    if own.epoch == JOINING and protocol.accepts_rejoin:
        return ""
    report = report_of(own)
    repeats = own.epoch == member.previous and report is not None and report <= member.assigned
    return "" if repeats else FENCED_MEMBER_EPOCH


def _instance_refused(state: ConsumerGroup, client: int) -> str:
    """Return the error of a static consumer whose group.instance.id belongs to another member, or an empty string. A
    consumer that joins may replace the one that has left.
    """
    own, holder = state.clients[client], state.holder_of(client)
    if holder is None:
        return ""
    is_own = holder.member_id == own.member_id
    if own.epoch != JOINING:
        return "" if is_own or not state.protocol.sends_instance else FENCED_INSTANCE_ID
    may_join = holder.epoch == LEFT or (is_own and state.protocol.accepts_own_instance)
    return "" if may_join or not state.protocol.awaits_leave else UNRELEASED_INSTANCE_ID


def report_of(own: Consumer) -> Report:
    """Return the owned partitions in the next heartbeat of a consumer. One that joins must own nothing."""
    if own.epoch == JOINING:
        return NOTHING
    return None if own.sent == own.owned else own.owned


def fenced(own: Consumer, forgets: bool = True) -> Consumer:
    """Return a consumer that has learned that it is no member with this epoch. It gives up all, and joins again."""
    return Consumer(member_id=own.member_id, owned=NOTHING if forgets else own.owned)


def _replaced(group: Group, old: Member, new: Member, removes: bool) -> Group:
    """Return the group after a consumer has taken over the assignment of a static member that has left (KIP-345)."""
    left = group.without(old) if removes else group
    return attrs.evolve(
        left.with_member(new),
        target=tuple(new.member_id if owner == old.member_id else owner for owner in group.target),
        partition_epochs=tuple(NONE if p in old.held else each for p, each in enumerate(group.partition_epochs)),
    )


def _assigned(state: ConsumerGroup, group: Group, again: bool) -> Iterator[Group]:
    """Yield the group with each possible target assignment, if the group epoch is ahead of the last one, or again."""
    if group.epoch <= group.target_epoch and not again:
        yield group
    elif group.epoch <= state.bounds.rebalances:
        for target in targets(group, state.bounds):
            yield attrs.evolve(group, target=target, target_epoch=group.epoch)


def _with_member(state: ConsumerGroup, group: Group, member: Member, updated: Member) -> Group:
    """Return the group with a member replaced, and with the partition epochs that follow from it."""
    epochs = list(group.partition_epochs)
    fields = ((member.assigned, updated.assigned), (member.revoking, updated.revoking))
    if not state.protocol.epochs_kept:  # each field for itself, one after the other: KAFKA-16147
        steps = [(was, now) for was, now in fields if was != now]
    else:
        steps = [(member.held, updated.held)]
    for was, now in steps:
        for partition in was:
            epochs[partition] = NONE
        for partition in now:
            epochs[partition] = updated.epoch
    return attrs.evolve(group.with_member(updated), partition_epochs=tuple(epochs))


def _answered(state: ConsumerGroup, client: int, member: Member, report: Report) -> Consumer:
    """Return the consumer after the response: it knows its epoch and its assignment."""
    own = state.clients[client]
    sent = own.sent if report is None else report
    changes_nothing = member.assigned == own.owned and own.taking is None
    if state.protocol.reports_reconciled and member.assigned != own.told and changes_nothing:
        sent = None  # a reconciliation that changes nothing is reported, too
    interrupted = state.protocol.new_epoch_interrupts and member.epoch != own.epoch
    return attrs.evolve(
        own,
        member_id=member.member_id,
        epoch=member.epoch,
        told=member.assigned,
        taking=None if interrupted else own.taking,
        sent=sent,
    )


def left(state: ConsumerGroup, client: int) -> ConsumerGroup:
    """Handle the last heartbeat of a consumer. Its epoch is -1, and the member is removed; that of a static one is -2,
    and the member keeps its assignment. Without the group.instance.id, -2 is refused.
    """
    member = state.group.member(state.clients[client].member_id)
    if member is None or (state.bounds.static and not state.protocol.sends_instance):
        return state
    if not state.bounds.static or not state.protocol.keeps_left:
        return removed(state, member.member_id)
    since = tuple(min(epoch, JOINING) for epoch in member.since)
    away = attrs.evolve(member, epoch=LEFT, revoking=NOTHING, since=since)
    return state.with_group(_with_member(state, state.group, member, away))


def removed(state: ConsumerGroup, member_id: int) -> ConsumerGroup:
    """Remove a member. Its partitions are free at once. The next heartbeat computes a new target assignment."""
    group = state.group
    member = group.member(member_id)
    held = NOTHING if member is None else member.held
    group = attrs.evolve(
        group if member is None else group.without(member),
        epoch=group.epoch + 1,
        target=tuple(NONE if owner == member_id else owner for owner in group.target),
        partition_epochs=tuple(NONE if p in held else epoch for p, epoch in enumerate(group.partition_epochs)),
    )
    if not group.members and state.protocol.follows_when_empty:
        group = attrs.evolve(group, target_epoch=group.epoch)
    return state.with_group(group)
