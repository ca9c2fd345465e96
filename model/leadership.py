"""The brokers that believe they lead, and the true leader. Shared by all families of specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs

from leadline.model.quorum import Quorum


class HasLeader(Protocol):
    """A replica that has the leader and epoch known to its broker."""

    @property
    def leader(self) -> int | None: ...
    @property
    def epoch(self) -> int: ...


R = TypeVar("R", bound=HasLeader)


class Leadership(Generic[R]):
    """Base class for the state of a family, which has a quorum and a replica for each broker."""

    __slots__ = ()
    quorum: Quorum
    replicas: tuple[R, ...]

    def believes_to_lead(self, broker: int) -> bool:
        """Whether a broker believes that it leads, even if it is a zombie."""
        return self.replicas[broker].leader == broker

    def is_true_leader(self, broker: int) -> bool:
        """Whether a broker is the quorum's leader and knows it in the current epoch."""
        return (
            self.quorum.leader == broker
            and self.believes_to_lead(broker)
            and self.replicas[broker].epoch == self.quorum.epoch
        )

    def believed_leaders(self) -> Iterator[tuple[int, R]]:
        """The brokers that believe they lead, each with its replica."""
        return ((broker, replica) for broker, replica in enumerate(self.replicas) if replica.leader == broker)

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, R]]:
        """Pairs of broker and replica in order, for some brokers or all."""
        if brokers is None:
            return enumerate(self.replicas)
        return ((broker, self.replicas[broker]) for broker in sorted(brokers))

    def with_replica(self, broker: int, replica: R) -> Self:
        """Return the state with the replica of a broker replaced."""
        state: Any = self  # an attrs value, as only its class knows
        replicas = (*self.replicas[:broker], replica, *self.replicas[broker + 1 :])
        changed: Self = attrs.evolve(state, replicas=replicas)
        return changed
