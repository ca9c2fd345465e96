"""Groups that change their protocol, and consumers with the classic protocol that are members of a consumer group
(KIP-848: online upgrade and downgrade). Kafka's GroupMetadataManager handles their requests in
classicGroupJoinToConsumerGroup, classicGroupSyncToConsumerGroup and classicGroupHeartbeatToConsumerGroup.

Such a member has no leader, and waits for nobody: JoinGroup is answered with its epoch, and SyncGroup with what it is
assigned. What it must revoke, it revokes before it joins again. While the group is a classic one, a rebalance is one
step, which is not in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.model.group.consumer.assignors import targets
from leadline.model.group.consumer.coordinator import ILLEGAL_GENERATION, reconciled, refuses, removed
from leadline.model.group.consumer.state import JOINED, MUTE, UNJOINED, Consumer, ConsumerGroup, Group, Member
from leadline.model.group.perturbed import NONE, NOTHING


def join(state: ConsumerGroup, client: int, answered: bool = True) -> Iterator[ConsumerGroup]:
    """Handle a JoinGroup request to a consumer group. Before it, onJoinPrepare gives up all partitions, unless the
    assignor is cooperative. A dynamic member has got its member id before (KIP-394).

    Yields:
        the next states, in which the response is lost if it is not `answered`.
    """
    own, group, bounds = state.clients[client], state.group, state.bounds
    if own.phase != UNJOINED or own.stopped or group.is_classic or not group.members:
        return
    if state.protocol.refuses_classic and not state.migrates:
        yield state.going_down(client)  # INCONSISTENT_GROUP_PROTOCOL, which KafkaConsumer.poll throws
        return
    own = own if bounds.classic_cooperative else attrs.evolve(own, owned=NOTHING)
    for after, member in reconciled(state.with_client(client, own), client, own.owned):
        timed = attrs.evolve(member, join_timer=False, sync_timer=state.protocol.watches_classic)
        told = attrs.evolve(own, member_id=member.member_id)
        if answered:
            told = attrs.evolve(told, epoch=member.epoch, phase=JOINED)
        yield after.with_group(after.group.with_member(timed)).with_client(client, told)


def sync(state: ConsumerGroup, client: int, answered: bool = True) -> Iterator[ConsumerGroup]:
    """Handle a SyncGroup request. A member joins again if the group has a newer epoch, unless it must revoke first. A
    consumer that has revoked partitions because of the response joins again by itself.
    """
    own, group = state.clients[client], state.group
    if own.phase != JOINED or own.stopped or group.is_classic:
        return
    error, member = refuses(state, client), group.member(own.member_id)
    if error != "" or member is None:
        yield _fenced(state, client, error)
    elif group.epoch > member.epoch and not member.revoking:
        yield _joins_again(state, client, member)
    else:
        revokes = own.owned - member.assigned != NOTHING
        told = attrs.evolve(own, owned=member.assigned, phase=UNJOINED if revokes else "")
        after = state.with_group(group.with_member(attrs.evolve(member, sync_timer=False)))
        yield after.with_client(client, told if answered else attrs.evolve(own, phase=UNJOINED))


def learn(state: ConsumerGroup, client: int, answered: bool = True) -> Iterator[ConsumerGroup]:
    """Handle a heartbeat of a classic member. A mute one does not act on the response."""
    own, group = state.clients[client], state.group
    if not state.may_send(client) or (own.phase != "" and own.stopped != MUTE):
        return
    error, member = refuses(state, client), group.member(own.member_id)
    if error != "" or member is None:
        if answered and own.stopped != MUTE:
            yield _fenced(state, client, error)
    elif state.protocol.tells_classic and not group.is_classic and _must_join(group, member):
        after = _joins_again(state, client, member)
        yield after if answered and own.stopped != MUTE else after.with_client(client, own)
    else:
        yield state


def _must_join(group: Group, member: Member) -> bool:
    """Return whether a heartbeat is answered with REBALANCE_IN_PROGRESS: the group has a newer epoch, the member must
    revoke partitions, or those that it waits for are free.
    """
    lacks = group.target_of(member.member_id) - member.assigned
    may_get = member.epoch == group.target_epoch and lacks != NOTHING and all(group.is_free(each) for each in lacks)
    return group.epoch > member.epoch or member.revoking != NOTHING or may_get


def _joins_again(state: ConsumerGroup, client: int, member: Member) -> ConsumerGroup:
    """Return the state after a response with REBALANCE_IN_PROGRESS: the coordinator awaits a JoinGroup request."""
    timed = attrs.evolve(member, join_timer=state.protocol.watches_classic)
    after = state.with_group(state.group.with_member(timed))
    return after.with_client(client, attrs.evolve(state.clients[client], phase=UNJOINED))


def _fenced(state: ConsumerGroup, client: int, error: str) -> ConsumerGroup:
    """Return the state after a consumer has learned that it is no member with this generation. It keeps its member id
    if only the generation is wrong (KAFKA-13419).
    """
    member_id = state.clients[client].member_id if error == ILLEGAL_GENERATION else NONE
    return state.with_client(client, Consumer(member_id=member_id, phase=UNJOINED))


def rebalanced(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
    """Yield the states after a rebalance of a classic group, or of an empty one that classic consumers join: those that
    go on are its members.
    """
    joining = [n for n, own in enumerate(state.clients) if state.uses_classic(n) and not own.stopped]
    is_free = not state.group.members and (state.protocol.migrates or state.group.epoch == 0)
    is_classic = state.group.is_classic or (joining != [] and is_free)
    if not is_classic or _agrees(state, joining) or state.group.epoch >= state.bounds.rebalances:
        return
    ids = {}
    for client in joining:
        member_id, known = state.clients[client].member_id, state.known_ids()
        ids[client] = member_id if state.group.member(member_id) is not None else state.fresh_id(client, known)
    for member in state.group.members:
        if member.member_id not in ids.values():
            state = removed(state, member.member_id)
    places = state.group.places
    for member_id in ids.values():
        places = (*places[:member_id], attrs.evolve(places[member_id], present=True), *places[member_id + 1 :])
    group = attrs.evolve(state.group, places=places, is_classic=True)
    for target in targets(group, state.bounds) if ids else [group.target]:
        yield _with_generation(state, attrs.evolve(group, target=target), ids)


def _agrees(state: ConsumerGroup, joining: list[int]) -> bool:
    """Return whether those consumers are the members of a stable group, and nobody else is."""
    group, clients = state.group, [state.clients[number] for number in joining]
    members = [group.member(client.member_id) for client in clients]
    if len(group.members) != len(clients) or (clients and NONE in group.target):
        return False
    return all(
        member is not None
        and (client.phase, client.epoch, client.owned) == ("", group.epoch, member.assigned)
        and member.epoch == group.epoch
        for client, member in zip(clients, members, strict=True)
    )


def _with_generation(state: ConsumerGroup, group: Group, ids: dict[int, int]) -> ConsumerGroup:
    """Return the state in which the members of a classic group own what the group's target gives them."""
    epoch = group.epoch + 1
    held = tuple(NONE if owner == NONE else epoch for owner in group.target)
    group = attrs.evolve(group, epoch=epoch, target_epoch=epoch, partition_epochs=held)
    for member_id in ids.values():
        owned = group.target_of(member_id)
        since = tuple(epoch if each in owned else NONE for each, _ in enumerate(group.places[member_id].since))
        group = group.with_member(
            Member(member_id, epoch=epoch, previous=epoch, target_epoch=epoch, assigned=owned, since=since)
        )
    state = state.with_group(group)
    for client, member_id in ids.items():
        own = Consumer(member_id=member_id, epoch=epoch, owned=group.target_of(member_id))
        if not state.bounds.classic_cooperative:  # it gives all up, and begins at committed offsets
            state = state.with_client(client, attrs.evolve(own, owned=NOTHING))
        state = state.with_client(client, own)
    return state
