"""Consumers that can stop, member ids, commits, and counted perturbations: what does not depend on the protocol."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

import attrs

from leadline.model.group.bounds import Bounds, Spent

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
    """

    member_id: int = NONE
    owned: frozenset[int] = NOTHING
    stopped: str = ""


@attrs.frozen(cache_hash=True)
class Commit:
    """An OffsetCommit request.

    Attributes:
        member_id: the member id.
        epoch: the generation.
        partitions: the partitions whose offsets are committed.
    """

    member_id: int
    epoch: int
    partitions: frozenset[int]


C = TypeVar("C", bound=Client)


class Perturbed(Generic[C]):
    """What a state can do. Member ids name their consumer, which Kafka's ids do not: a consumer that
    forgets its id gets the next free one with the same remainder.
    """

    __slots__ = ()

    spent: Spent
    bounds: Bounds
    clients: tuple[C, ...]

    @property
    def settled(self) -> bool:
        """Whether all consumers are members that agree with the coordinator, and all partitions are read."""
        raise NotImplementedError

    def may(self, perturbation: str) -> bool:
        """Return whether the bounds allow the given perturbation to happen once more."""
        limit: int = getattr(self.bounds, perturbation)
        if not limit or not self.bounds.perturbations:
            return False
        return self.spent.total < self.bounds.perturbations and getattr(self.spent, perturbation) < limit

    def having(self, perturbation: str) -> Self:
        """Count the given perturbation once more, and return the new state."""
        spent = attrs.evolve(self.spent, **{perturbation: getattr(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)  # type: ignore[misc]

    def with_client(self, number: int, client: C) -> Self:
        """Return the state with a consumer replaced."""
        known = self.clients
        return attrs.evolve(self, clients=(*known[:number], client, *known[number + 1 :]))  # type: ignore[misc]

    def client_of(self, member_id: int) -> int:
        """Return the consumer to which a member id was given."""
        return member_id % self.bounds.clients

    def fresh_id(self, client: int, known: frozenset[int]) -> int:
        """Return a member id for a consumer that is not one of the known ones."""
        member_id = client
        while member_id in known:
            member_id += self.bounds.clients
        return member_id
