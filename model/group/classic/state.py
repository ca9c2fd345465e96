"""The state of a group with the classic protocol: the coordinator's group, what it has persisted, and the consumers."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.state import component, constant
from leadline.model.group.bounds import Spent
from leadline.model.group.classic.bounds import Bounds
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.offsets import Offsets, first_offsets, no_positions
from leadline.model.group.perturbed import NONE, NOTHING, PAUSED, Client, Commit, Perturbed

EMPTY = "Empty"
PREPARING = "PreparingRebalance"
COMPLETING = "CompletingRebalance"
STABLE = "Stable"

DOWN = "down"
UNJOINED = "unjoined"
REJOINING = "rejoining"
JOINING = "joining"
JOINED = "joined"
SYNCING = "syncing"
CONSUMING = "consuming"
MUTE = "mute"

IN_GENERATION = (JOINED, SYNCING, CONSUMING)

Plan = tuple[tuple[int, frozenset[int]], ...]
"""An assignment: pairs of a member id and its partitions, in the order of ids."""


@attrs.frozen(cache_hash=True)
class Consumer(Client):
    """The state of a consumer.

    Attributes:
        phase: `DOWN`; `UNJOINED`, before a JoinGroup request, which onJoinPrepare precedes; `REJOINING`, the same, but
            onJoinPrepare has been called; `JOINING`, waiting for the response; `JOINED`, before its SyncGroup request;
            `SYNCING`, waiting for the response; or `CONSUMING`.
        generation: the generation of its last JoinGroup response, or `NONE` if it was reset.
        owned_since: the generation of its last SyncGroup response. Only the cooperative assignor reads it.
        plan: the assignment that it will send as leader of its generation.
    """

    phase: str = UNJOINED
    generation: int = NONE
    owned_since: int = NONE
    plan: Plan = ()


@attrs.frozen(cache_hash=True)
class Member:
    """The coordinator's metadata of a member (Kafka's MemberMetadata).

    Attributes:
        member_id: the member id.
        joined: whether its JoinGroup request of the join phase has arrived.
        synced: whether its SyncGroup request of the generation has arrived, or need not.
        watched: whether its session timer runs.
        claims: the partitions that it said it owns when it joined.
        claimed_since: the generation in which it got them.
        assignment: the partitions of its last assignment.
    """

    member_id: int
    joined: bool = False
    synced: bool = True
    watched: bool = True
    claims: frozenset[int] = NOTHING
    claimed_since: int = NONE
    assignment: frozenset[int] = NOTHING


@attrs.frozen(cache_hash=True)
class Group:
    """The coordinator's metadata of the group (Kafka's GroupMetadata).

    Attributes:
        state: the state of the group, such as `STABLE`.
        generation: the generation. It changes when a join phase ends.
        leader: the member id of the leader, or `NONE`.
        members: the members, in the order of their ids.
        pending: the member ids that were handed out and have not joined yet (KIP-394).
    """

    state: str = EMPTY
    generation: int = 0
    leader: int = NONE
    members: tuple[Member, ...] = ()
    pending: frozenset[int] = NOTHING

    def member(self, member_id: int) -> Member | None:
        """Return the member with the given id, or None."""
        return next((member for member in self.members if member.member_id == member_id), None)

    def with_member(self, member: Member) -> Group:
        """Return the group with a member added or replaced."""
        others = [each for each in self.members if each.member_id != member.member_id]
        return attrs.evolve(self, members=tuple(sorted([*others, member], key=lambda each: each.member_id)))

    def without(self, member_ids: frozenset[int]) -> Group:
        """Return the group without some members. If the leader is one of them, there is none."""
        left = tuple(member for member in self.members if member.member_id not in member_ids)
        leader = NONE if self.leader in member_ids else self.leader
        return attrs.evolve(self, members=left, leader=leader, pending=self.pending - member_ids)


@attrs.frozen(cache_hash=True)
class Classic(Perturbed[Consumer]):
    """A state of a group with the classic protocol.

    Attributes:
        late: the offset commit in flight, or None.
        spent: how often each perturbation has happened.
        group: what the coordinator has in memory.
        persisted: what a new coordinator reads from __consumer_offsets.
        clients: the consumers.
        offsets: what was committed and read.
        protocol: the rules of the release.
        bounds: the limits of the state space.
    """

    late: Commit | None
    spent: Spent = component()
    group: Group = component()
    persisted: Group = component()
    clients: tuple[Consumer, ...] = component(each="consumer")
    offsets: Offsets = component()
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    @property
    def settled(self) -> bool:
        """Whether the group is stable, all consumers read what is assigned to them, and all partitions are read."""
        group = self.group
        if group.state != STABLE or len(group.members) != len(self.clients):
            return False
        for client in self.clients:
            member = group.member(client.member_id)
            if client.phase != CONSUMING or client.stopped or client.generation != group.generation or member is None:
                return False
            if client.owned != member.assignment:
                return False
        return all(any(p in client.owned for client in self.clients) for p in range(self.bounds.partitions))

    def known_ids(self) -> frozenset[int]:
        """Return all member ids that anybody knows, so that new ones differ from them."""
        groups = (self.group, self.persisted)
        known = {member.member_id for group in groups for member in group.members} | self.group.pending
        return frozenset(
            known | {client.member_id for client in self.clients} | {self.late.member_id if self.late else NONE}
        )

    @property
    def is_empty(self) -> bool:
        """Whether the coordinator knows the group as empty."""
        return self.group.state == EMPTY

    def is_down(self, number: int) -> bool:
        """Return whether a consumer is not running."""
        return self.clients[number].phase == DOWN

    def going_down(self, number: int) -> Classic:
        """Return the state after a consumer has stopped running."""
        return self.with_client(number, Consumer(phase=DOWN))

    def has_joined(self, number: int) -> bool:
        """Return whether a consumer is running and has a member id."""
        return not self.is_down(number) and self.clients[number].member_id != NONE

    def commit_of(self, number: int) -> Commit | None:
        """Return the offset commit that a consumer can send, or None. It may commit also when it has learned of a
        rebalance, and not once it joins (AbstractCoordinator.generationIfStable).
        """
        own = self.clients[number]
        commits = own.phase == CONSUMING or (own.phase == UNJOINED and own.member_id != NONE)
        if self.awaits_commit(number) or not own.owned or not commits or own.stopped:
            return None
        return Commit(own.member_id, own.generation, own.owned, own.positions)

    def accepts(self, commit: Commit) -> bool:
        """Return whether the coordinator accepts an offset commit. A rebalance does not prevent it before the end of
        the join phase, because consumers learn of the rebalance from heartbeats.
        """
        group, protocol = self.group, self.protocol
        if self.bounds.transactional and not protocol.checks_transactional:
            return True
        if group.member(commit.member_id) is None:
            return False
        if commit.epoch != group.generation and protocol.compares_generation:
            return False
        return group.state in (STABLE, PREPARING) or protocol.commits_in_completing

    def with_next_coordinator(self) -> Classic:
        """Return the state after a failover. The new coordinator knows what is persisted. Requests that wait are
        answered with NOT_COORDINATOR.
        """
        tells_first = self.protocol.requires_member_id and not self.bounds.static
        consumers = []
        for each in self.clients:
            if each.phase == JOINING and not tells_first and self.persisted.member(each.member_id) is None:
                each = attrs.evolve(each, member_id=NONE, phase=REJOINING)  # nobody has told it its id
            elif each.phase in (JOINING, SYNCING):
                each = attrs.evolve(each, phase=REJOINING)
            consumers.append(each)
        return attrs.evolve(self, group=self.persisted, clients=tuple(consumers))

    def acts(self, member_id: int) -> bool:
        """Return whether a consumer with the given member id sends its next request. Time-outs wait for it."""
        client = self.clients[self.client_of(member_id)]
        return client.member_id == member_id and client.stopped == "" and client.phase != DOWN

    def sends_heartbeats(self, member_id: int) -> bool:
        """Return whether a consumer with the given member id sends heartbeats that renew its session."""
        client = self.clients[self.client_of(member_id)]
        if client.stopped == MUTE and not self.renewed_while_mute(client):
            return False
        return client.member_id == member_id and client.stopped != PAUSED and client.phase != DOWN

    def renewed_while_mute(self, client: Consumer) -> bool:
        """Return whether heartbeats of a mute consumer renew its session: if it has the group's generation. Consumers
        send no heartbeats while they join before KAFKA-10134.
        """
        return self.protocol.renews_in_completing and client.generation == self.group.generation

    @property
    def awaited(self) -> list[int]:
        """The member ids whose requests the coordinator awaits: to end the join phase, or the synchronisation.

        Without members, the join phase ends at once, because its time-out is the longest one of the members.
        """
        if self.group.state == PREPARING and not self.group.members:
            return []
        if self.group.state == PREPARING:
            left = [member.member_id for member in self.group.members if not member.joined]
            return sorted([*left, *self.group.pending])
        return [member.member_id for member in self.group.members if not member.synced]


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Classic]:
    """Yield the initial state: the group is empty, and the consumers have not joined."""
    yield Classic(
        late=None,
        spent=Spent(),
        group=Group(),
        persisted=Group(),
        clients=(Consumer(positions=no_positions(bounds)),) * bounds.clients,
        offsets=first_offsets(bounds),
        protocol=protocol,
        bounds=bounds,
    )
