"""The state of a group with the consumer protocol: the coordinator's group, and the consumers.

All of the coordinator's state but its timers is persisted, so that a new coordinator has the same state.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.state import component, constant
from leadline.model.group.bounds import Spent
from leadline.model.group.consumer.bounds import Bounds
from leadline.model.group.consumer.protocols import Protocol
from leadline.model.group.offsets import Offsets, first_offsets, no_positions
from leadline.model.group.perturbed import NONE, NOTHING, PAUSED, Client, Commit, Perturbed

JOINING = 0
"""The epoch of a heartbeat with which a consumer joins, and of a consumer that is no member."""

LEFT = -2
"""The epoch of a static member that has left, and keeps its assignment until its session expires."""

MUTE = "mute"
DOWN = "down"

UNJOINED = "unjoined"
JOINED = "joined"


@attrs.frozen(cache_hash=True)
class Consumer(Client):
    """The state of a consumer. `owned` are the partitions that it reads, and reports as owned.

    Attributes:
        epoch: the member epoch of its last response, or `JOINING`.
        told: the assignment of its last response.
        taking: the assignment to which it is changing: what it gives up is being revoked. None between changes.
        sent: what it reported last. None if the next heartbeat has a report in any case.
        phase: of a classic member, whose generation is `epoch`, and which does not use the other fields: `UNJOINED`,
            before a JoinGroup request; `JOINED`, before its SyncGroup request; or an empty string.
    """

    epoch: int = JOINING
    told: frozenset[int] = NOTHING
    taking: frozenset[int] | None = None
    sent: frozenset[int] | None = None
    phase: str = ""


@attrs.frozen(cache_hash=True)
class Member:
    """The coordinator's state of a member (Kafka's ConsumerGroupMember). Its state follows from the other fields: it
    is UNREVOKED_PARTITIONS while partitions are `revoking`, and UNRELEASED_PARTITIONS while `assigned` is not yet the
    target of the same epoch.

    Attributes:
        member_id: the member id.
        epoch: the member epoch.
        previous: the member epoch before.
        target_epoch: the epoch of the target assignment of its last change. Only 3.7 reads it.
        assigned: the partitions that it may own.
        revoking: the partitions that it must still revoke.
        since: for each partition, the epoch in which it was assigned, or `NONE`. Empty before KIP-1251.
        present: whether the group has a member with this id.
        join_timer, sync_timer: of a classic member, whether the timer for its next JoinGroup or SyncGroup request runs.
    """

    member_id: int
    epoch: int = JOINING
    previous: int = NONE
    target_epoch: int = NONE
    assigned: frozenset[int] = NOTHING
    revoking: frozenset[int] = NOTHING
    since: tuple[int, ...] = ()
    present: bool = True
    join_timer: bool = False
    sync_timer: bool = False

    @property
    def held(self) -> frozenset[int]:
        """The partitions that it may still own."""
        return self.assigned | self.revoking


@attrs.frozen(cache_hash=True)
class Group:
    """The coordinator's state of the group (Kafka's ConsumerGroup, or its ClassicGroup, whose generation is `epoch`).

    Attributes:
        epoch: the group epoch. It grows when a member or a subscription changes.
        target_epoch: the group epoch for which the target assignment was computed.
        target: for each partition, the member id to which it shall be assigned, or `NONE`.
        partition_epochs: for each partition, the epoch of the member that holds it, or `NONE` if it is free.
        places: for each member id, the member, which may not be present. So each member is a part of the state of its
            own, which engines learn, and the number of parts does not change.
        is_classic: whether it is a classic group.
    """

    epoch: int = 0
    target_epoch: int = 0
    target: tuple[int, ...] = ()
    partition_epochs: tuple[int, ...] = ()
    places: tuple[Member, ...] = component(each="member", default=())
    is_classic: bool = False

    @property
    def members(self) -> tuple[Member, ...]:
        """The members, in the order of their ids."""
        return tuple(member for member in self.places if member.present)

    def member(self, member_id: int) -> Member | None:
        """Return the member with the given id, or None."""
        found = self.places[member_id] if member_id != NONE else None
        return found if found is not None and found.present else None

    def with_member(self, member: Member) -> Group:
        """Return the group with a member added or replaced."""
        before, after = self.places[: member.member_id], self.places[member.member_id + 1 :]
        return attrs.evolve(self, places=(*before, member, *after))

    def without(self, member: Member) -> Group:
        """Return the group without a member."""
        return self.with_member(absent(member.member_id, member.since))

    def target_of(self, member_id: int) -> frozenset[int]:
        """Return the target assignment of a member."""
        return frozenset(partition for partition, owner in enumerate(self.target) if owner == member_id)

    def is_free(self, partition: int) -> bool:
        """Return whether no member holds a partition, according to its epoch."""
        return self.partition_epochs[partition] == NONE


def absent(member_id: int, since: tuple[int, ...]) -> Member:
    """Return what is in the place of a member that is not in the group."""
    return Member(member_id, since=(NONE,) * len(since), present=False)


@attrs.frozen(cache_hash=True)
class LateCommit(Commit):
    """An OffsetCommit request in flight.

    Attributes:
        lost: those of its partitions that its member has not held at some time since it was sent.
    """

    lost: frozenset[int] = NOTHING


@attrs.frozen(cache_hash=True)
class ConsumerGroup(Perturbed[Consumer]):
    """A state of a group with the consumer protocol.

    Attributes:
        late: the offset commit in flight, or None.
        spent: how often each perturbation has happened.
        group: what the coordinator knows.
        clients: the consumers.
        offsets: what was committed and read.
        protocol: the rules of the release.
        bounds: the limits of the state space.
    """

    late: LateCommit | None
    spent: Spent = component()
    group: Group = component()
    clients: tuple[Consumer, ...] = component(each="consumer")
    offsets: Offsets = component()
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def known_ids(self) -> frozenset[int]:
        """Return all member ids that anybody knows, so that new ones differ from them."""
        known = {member.member_id for member in self.group.members} | {client.member_id for client in self.clients}
        return frozenset(known | {self.late.member_id if self.late else NONE})

    def with_group(self, group: Group) -> ConsumerGroup:
        """Return the state with the coordinator's group replaced."""
        late = self.late
        if late is not None:
            member = group.member(late.member_id)
            lost = late.partitions - (NOTHING if member is None else member.held)
            late = attrs.evolve(late, lost=late.lost | lost)
        return attrs.evolve(self, group=group, late=late)

    def uses_classic(self, client: int) -> bool:
        """Return whether a consumer has the classic protocol."""
        return client >= len(self.clients) - self.bounds.classic_members

    @property
    def migrates(self) -> bool:
        """Whether the group may change its protocol while it has members."""
        return self.bounds.migrates and self.protocol.migrates

    @property
    def shares_instance(self) -> bool:
        """Whether two consumers have the same group.instance.id."""
        return self.bounds.static and self.bounds.same_instance and not self.uses_classic(1)

    def instance_of(self, client: int) -> int:
        """Return the number of a consumer's group.instance.id, or `NONE` if it is not static."""
        if not self.bounds.static or self.uses_classic(client):
            return NONE
        return 0 if client == 1 and self.shares_instance else client

    def holder_of(self, client: int) -> Member | None:
        """Return the member that has a static consumer's group.instance.id, or None."""
        instance = self.instance_of(client)
        for member in reversed(self.group.members if instance != NONE else ()):
            if self.instance_of(self.client_of(member.member_id)) == instance:
                return member
        return None

    @property
    def settled(self) -> bool:
        """Whether all consumers are members that have reached the target assignment, and all partitions are read. Of
        two consumers with the same group.instance.id, one is a member, and the other one owns nothing.
        """
        group, shared = self.group, self.shares_instance
        if (
            group.epoch != group.target_epoch
            or len(group.members) != len(self.clients) - shared
            or NONE in group.target
        ):
            return False
        for client in self.clients:
            member = group.member(client.member_id)
            if shared and member is None and client.epoch == JOINING and not client.owned:
                continue
            if client.stopped or client.taking is not None or client.phase or member is None:
                return False
            if not client.epoch == member.epoch == group.target_epoch:
                return False
            if not client.owned == member.assigned == group.target_of(client.member_id):
                return False
        return True

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.group.members

    def is_down(self, number: int) -> bool:
        """Return whether a consumer is not running."""
        return self.clients[number].stopped == DOWN

    def going_down(self, number: int) -> ConsumerGroup:
        """Return the state after a consumer has stopped running."""
        return self.with_client(number, Consumer(stopped=DOWN))

    def has_joined(self, number: int) -> bool:
        """Return whether a consumer believes that it is a member."""
        return self.clients[number].epoch != JOINING

    def commit_of(self, number: int) -> LateCommit | None:
        """Return the offset commit that a consumer can send, or None."""
        own = self.clients[number]
        if (
            self.awaits_commit(number)
            or not own.owned
            or not self.has_joined(number)
            or own.stopped
            or own.phase == JOINED
        ):
            return None
        member = self.group.member(own.member_id)
        lost = own.owned if member is None else own.owned - member.held
        return LateCommit(own.member_id, own.epoch, own.owned, own.positions, lost=lost)

    def accepts(self, commit: Commit) -> bool:
        """Return whether the coordinator accepts an offset commit (ConsumerGroup.validateOffsetCommit)."""
        member = self.group.member(commit.member_id)
        if member is None:
            return False
        if self.group.is_classic:
            return commit.epoch == self.group.epoch or not self.protocol.compares_commits
        if commit.epoch == member.epoch or not self.protocol.compares_commits:
            return True
        if not self.protocol.commits_since or commit.epoch > member.epoch:
            return False
        return all(p in member.held and member.since[p] <= commit.epoch for p in commit.partitions)

    def with_next_coordinator(self) -> ConsumerGroup:
        """Return the state after a failover: all but the timers of classic members is persisted. Such a member that has
        to revoke partitions gets a timer in their place (GroupMetadataManager.onLoaded).
        """
        if not self.bounds.classic_members:
            return self
        group, places = self.group, []
        for each in group.places:
            timed = self.uses_classic(self.client_of(each.member_id)) and each.revoking != NOTHING
            places.append(attrs.evolve(each, join_timer=timed, sync_timer=False))
        return attrs.evolve(self, group=attrs.evolve(group, places=tuple(places)))

    def may_send(self, client: int) -> bool:
        """Return whether a consumer sends heartbeats."""
        return self.clients[client].stopped not in (PAUSED, DOWN)


def places(number: int, partitions: int, protocol: Protocol) -> tuple[Member, ...]:
    """Return the places of the given number of member ids in a group that is empty."""
    since = (NONE,) * partitions if protocol.commits_since else ()
    return tuple(absent(member_id, since) for member_id in range(number))


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[ConsumerGroup]:
    """Yield the initial state: the group is empty, and the consumers have not joined. Of the member ids of a consumer,
    one is its own, one may be in a late commit, and each perturbation may leave one behind in the group.
    """
    nobody = (NONE,) * bounds.partitions
    ids = bounds.clients * (2 + bounds.perturbations)
    state = ConsumerGroup(
        late=None,
        spent=Spent(),
        group=Group(target=nobody, partition_epochs=nobody, places=places(ids, bounds.partitions, protocol)),
        clients=(Consumer(positions=no_positions(bounds)),) * bounds.clients,
        offsets=first_offsets(bounds),
        protocol=protocol,
        bounds=bounds,
    )
    for client in range(bounds.clients):
        state = state.with_client(client, started(state, client))
    yield state


def started(state: ConsumerGroup, client: int) -> Consumer:
    """Return a consumer that has just started. Since KIP-1082, it chooses its member id."""
    if state.uses_classic(client):
        return Consumer(phase=UNJOINED)
    if not state.protocol.names_itself:
        return Consumer()
    return Consumer(member_id=state.fresh_id(client, state.known_ids()))
