"""The brokers that believe they lead, and the true leader. All families of specs use this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs

from leadline.model.quorum import Quorum


class HasLeader(Protocol):
    """A replica that stores the leader and the leader epoch that its broker has learned."""

    @property
    def leader(self) -> int | None: ...
    @property
    def epoch(self) -> int: ...


R = TypeVar("R", bound=HasLeader)


class Leadership(Generic[R]):
    """Base class for the states of specs. A state has a quorum, and a replica for each broker."""

    __slots__ = ()
    quorum: Quorum
    replicas: tuple[R, ...]

    def believes_to_lead(self, broker: int) -> bool:
        """Return whether a broker believes that it leads, even if it was deposed (a zombie leader)."""
        return self.replicas[broker].leader == broker

    def is_true_leader(self, broker: int) -> bool:
        """Return whether a broker is the quorum's leader and has learned that it leads in the current leader epoch."""
        return (
            self.quorum.leader == broker
            and self.believes_to_lead(broker)
            and self.replicas[broker].epoch == self.quorum.epoch
        )

    def believed_leaders(self) -> Iterator[tuple[int, R]]:
        """Return a (broker, replica) pair for each broker that believes it leads."""
        return ((broker, replica) for broker, replica in enumerate(self.replicas) if replica.leader == broker)

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, R]]:
        """Return a (broker, replica) pair for each of the given brokers, in ascending order.

        Parameters:
            brokers: the brokers, or None for all brokers.
        """
        if brokers is None:
            return enumerate(self.replicas)
        return ((broker, self.replicas[broker]) for broker in sorted(brokers))

    def with_replica(self, broker: int, replica: R) -> Self:
        """Return the state with the replica of a broker replaced."""
        state: Any = self  # only subclasses are attrs classes, so `attrs.evolve` would not accept the type of `self`
        replicas = (*self.replicas[:broker], replica, *self.replicas[broker + 1 :])
        changed: Self = attrs.evolve(state, replicas=replicas)
        return changed
