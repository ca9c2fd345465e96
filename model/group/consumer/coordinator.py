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
GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND"
ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
FATAL = (FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, GROUP_ID_NOT_FOUND)
"""The errors with which a consumer stops: KafkaConsumer.poll throws them."""


def heartbeat(state: ConsumerGroup, client: int, answered: bool = True) -> Iterator[ConsumerGroup]:
    """Handle a heartbeat: one exchange of a request and its response, unless the response is lost.

    Yields:
        the next states: one for each target assignment of the assignor if a new one is computed.
    """
    own = state.clients[client]
    error = refuses(state, client)
    if error != "":
        if answered:
            fatal = error in FATAL
            forgets = state.protocol.forgets_fenced
            yield state.going_down(client) if fatal else state.with_client(client, fenced(own, forgets))
        return
    report = report_of(own)
    for after, updated in reconciled(state, client, report):
        told = _answered(state, client, updated, report) if answered else attrs.evolve(own, sent=None)
        yield after.with_client(client, told)


def reconciled(state: ConsumerGroup, client: int, report: Report) -> Iterator[tuple[ConsumerGroup, Member]]:
    """Yield the states after a request with which a consumer joins or reports, and its member there. A group that was a
    classic one is a consumer group then: its generation is the epoch, and its assignment the target.
    """
    own, group, protocol = state.clients[client], attrs.evolve(state.group, is_classic=False), state.protocol
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
        yield state.with_group(with_member(state, assigned, before, updated)), updated


def refuses(state: ConsumerGroup, client: int) -> str:
    """Return the error with which a heartbeat is refused, or an empty string. A heartbeat with the previous epoch is
    accepted, because the response with the new one may have been lost.
    """
    own, protocol, group = state.clients[client], state.protocol, state.group
    error = _instance_refused(state, client)
    if error != "":
        return error
    member = group.member(own.member_id)
    if group.is_classic and not state.uses_classic(client):
        changes = own.epoch == JOINING and (state.migrates or (protocol.migrates and not group.members))
        return "" if changes else GROUP_ID_NOT_FOUND
    if member is None:
        return "" if own.epoch == JOINING else UNKNOWN_MEMBER_ID
    if state.uses_classic(client):
        return "" if own.epoch == (group.epoch if group.is_classic else member.epoch) else ILLEGAL_GENERATION
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


def with_member(state: ConsumerGroup, group: Group, member: Member, updated: Member) -> Group:
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
    is_static = state.instance_of(client) != NONE
    if member is None or (is_static and not state.protocol.sends_instance):
        return state
    if not is_static or not state.protocol.keeps_left:
        return removed(state, member.member_id)
    since = tuple(min(epoch, JOINING) for epoch in member.since)
    away = attrs.evolve(member, epoch=LEFT, revoking=NOTHING, since=since)
    return state.with_group(with_member(state, state.group, member, away))


def removed(state: ConsumerGroup, member_id: int) -> ConsumerGroup:
    """Remove a member. Its partitions are free at once. The next heartbeat computes a new target assignment. Without
    the last consumer that does not have the classic protocol, the group is a classic one with the same epoch.
    """
    group = state.group
    member = group.member(member_id)
    held = NOTHING if member is None else member.held
    left = group if member is None else group.without(member)
    only_classic = left.members != () and all(state.uses_classic(state.client_of(m.member_id)) for m in left.members)
    is_classic = group.is_classic or (only_classic and state.migrates)
    group = attrs.evolve(
        left,
        epoch=group.epoch + (not is_classic),
        is_classic=is_classic,
        target=tuple(NONE if owner == member_id else owner for owner in group.target),
        partition_epochs=tuple(NONE if p in held else epoch for p, epoch in enumerate(group.partition_epochs)),
    )
    if not group.members and state.protocol.follows_when_empty:
        group = attrs.evolve(group, target_epoch=group.epoch)
    return state.with_group(group)
