"""Consumers that can stop, member ids, commits, and counted perturbations: what does not depend on the protocol."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar

import attrs

from leadline.checker.update import field_of
from leadline.model.group.bounds import Bounds, Spent
from leadline.model.group.offsets import NO_OFFSET, NO_OFFSETS, Offsets

NONE = -1
NOTHING: frozenset[int] = frozenset()
PAUSED = "paused"


@attrs.frozen(cache_hash=True)
class Client:
    """What every consumer has.

    Attributes:
        member_id: the member id, or `NONE`.
        owned: the partitions that it reads.
        stopped: `PAUSED`, or another reason why it does not go on, or an empty string.
        positions: the offset of the next record of each partition, or `NO_OFFSET`. Empty without records.
    """

    member_id: int = NONE
    owned: frozenset[int] = NOTHING
    stopped: str = ""
    positions: tuple[int, ...] = NO_OFFSETS


@attrs.frozen(cache_hash=True)
class Commit:
    """An OffsetCommit request.

    Attributes:
        member_id: the member id.
        epoch: the generation.
        partitions: the partitions whose offsets are committed.
        positions: the offset of each partition, or `NO_OFFSET`. Empty without records.
    """

    member_id: int
    epoch: int
    partitions: frozenset[int]
    positions: tuple[int, ...] = NO_OFFSETS


class CommitRules(Protocol):
    """The rules about offset commits."""

    @property
    def expires_in_use(self) -> bool:
        """Whether offsets expire while the group has members."""

    @property
    def acknowledges_lost(self) -> bool:
        """Whether a coordinator that was replaced acknowledges a commit that is lost."""


C = TypeVar("C", bound=Client)


class Perturbed(Generic[C]):
    """What a state can do. Member ids name their consumer, which Kafka's ids do not: a consumer that
    forgets its id gets the next free one with the same remainder.
    """

    __slots__ = ()

    spent: Spent
    bounds: Bounds
    clients: tuple[C, ...]
    offsets: Offsets
    late: Commit | None
    protocol: CommitRules

    @property
    def settled(self) -> bool:
        """Whether all consumers are members that agree with the coordinator, and all partitions are read."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        raise NotImplementedError

    def is_down(self, number: int) -> bool:
        """Return whether a consumer is not running."""
        raise NotImplementedError

    def going_down(self, number: int) -> Self:
        """Return the state after a consumer has stopped running."""
        raise NotImplementedError

    def has_joined(self, number: int) -> bool:
        """Return whether a consumer is running and believes that it is a member."""
        raise NotImplementedError

    def commit_of(self, number: int) -> Commit | None:
        """Return the offset commit that a consumer can send, or None. It waits for the response to the one before."""
        raise NotImplementedError

    def accepts(self, commit: Commit) -> bool:
        """Return whether the coordinator accepts an offset commit."""
        raise NotImplementedError

    def with_next_coordinator(self) -> Self:
        """Return the state after a failover of the coordinator."""
        raise NotImplementedError

    def changed(self, **changes: Any) -> Self:
        """Return the state with other values of some fields."""
        return attrs.evolve(self, **changes)  # type: ignore[misc]

    def may(self, perturbation: str) -> bool:
        """Return whether the bounds allow the given perturbation to happen once more."""
        limit: int = field_of(self.bounds, perturbation)
        if not limit or not self.bounds.perturbations:
            return False
        return self.spent.total < self.bounds.perturbations and field_of(self.spent, perturbation) < limit

    def having(self, perturbation: str) -> Self:
        """Count the given perturbation once more, and return the new state."""
        spent = attrs.evolve(self.spent, **{perturbation: field_of(self.spent, perturbation) + 1})
        return self.changed(spent=spent)

    def with_client(self, number: int, client: C) -> Self:
        """Return the state with a consumer replaced. Where it owns new partitions, it begins at committed offsets."""
        known, offsets = self.clients, self.offsets
        if self.bounds.records:
            positions = tuple(self._position(known[number], client, each) for each in range(self.bounds.partitions))
            client = attrs.evolve(client, positions=positions)
            offsets = offsets.beginning(positions)
        clients = (*known[:number], client, *known[number + 1 :])
        return self.changed(clients=clients, offsets=offsets)

    def _position(self, before: C, after: C, partition: int) -> int:
        if partition not in after.owned:
            return NO_OFFSET
        if partition in before.owned:
            return before.positions[partition]
        return self.offsets.first_position(partition, self.bounds)

    def awaits_commit(self, number: int) -> bool:
        """Return whether the offset commit in flight is a consumer's own."""
        return self.late is not None and self.client_of(self.late.member_id) == number

    def may_write(self, partition: int) -> bool:
        """Return whether the bounds allow another record of a partition."""
        return bool(self.bounds.records) and self.offsets.written[partition] < self.bounds.records

    def may_read(self, number: int, partition: int) -> bool:
        """Return whether a consumer can read another record of a partition."""
        client = self.clients[number]
        if not self.bounds.records or client.stopped or partition not in client.owned:
            return False
        return client.positions[partition] < self.offsets.written[partition]

    def reading(self, number: int, partition: int) -> Self:
        """Return the state after a consumer has read the next record of a partition."""
        client = self.clients[number]
        after = tuple(position + (each == partition) for each, position in enumerate(client.positions))
        clients = (*self.clients[:number], attrs.evolve(client, positions=after), *self.clients[number + 1 :])
        return self.changed(clients=clients, offsets=self.offsets.reading(after))

    def committing(self, commit: Commit) -> Self:
        """Return the state after the coordinator has accepted an offset commit."""
        return self.changed(offsets=self.offsets.committing(commit.positions))

    def losing(self, commit: Commit) -> Self:
        """Return the state after the coordinator has lost an offset commit, which it may answer all the same."""
        answered = self.protocol.acknowledges_lost
        lost = self.offsets.committing(commit.positions, stored=False, answered=answered)
        return attrs.evolve(self.having("lost_commits"), offsets=lost)  # type: ignore[misc]

    def expiring(self) -> Self:
        """Return the state after all committed offsets have expired."""
        expired = self.offsets.expired(in_use=not self.is_empty)
        return attrs.evolve(self.having("expiries"), offsets=expired)  # type: ignore[misc]

    def client_of(self, member_id: int) -> int:
        """Return the consumer to which a member id was given."""
        _, client = divmod(member_id, self.bounds.clients)  # the compiled engine takes % for what may format text
        return client

    def instance_of(self, client: int) -> int:
        """Return the number of a consumer's group.instance.id, or `NONE` if it is not static."""
        return client if self.bounds.static else NONE

    def fresh_id(self, client: int, known: frozenset[int]) -> int:
        """Return a member id for a consumer that is not one of the known ones."""
        member_id = client
        while member_id in known:
            member_id += self.bounds.clients
        return member_id
