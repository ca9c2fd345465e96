"""The leader and ISR according to the controller, and the requests that announce them. All families use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Protocol

import attrs

from leadline.checker.identities import identity

BrokerId = Annotated[int, identity("broker")]
"""The number of a broker. A search with symmetry permutes these numbers."""

NO_EPOCH = -1
"""The leader epoch before the first election, and of a broker that has not received a request yet."""


@attrs.frozen(cache_hash=True)
class Quorum:
    """The leader, leader epoch and ISR of the partition, as stored in ZooKeeper or by the controller.

    Attributes:
        leader: the broker that leads, or None if the partition has no leader.
        epoch: the leader epoch.
        isr: the in-sync replicas.
        elr: the eligible leader replicas (KIP-966). Always empty in releases without an ELR.
        last_known_leader: the last member of the ISR before the ISR became empty (KIP-966), or None if the ISR has
            members or the release does not record this broker.
    """

    leader: BrokerId | None
    epoch: int
    isr: frozenset[BrokerId]
    elr: frozenset[BrokerId] = frozenset()
    last_known_leader: BrokerId | None = None


@attrs.frozen(cache_hash=True)
class Request:
    """A `LeaderAndIsr` request from the controller. The state stores requests by leader epoch.

    Attributes:
        leader: the broker that leads, or None if the partition has no leader.
        isr: the in-sync replicas.
        elected: True if the leader epoch began with an election, False if it began with the removal of a follower from
            the ISR.
        replicas: the replicas in order, or None if every broker always has a replica.
    """

    leader: BrokerId | None
    isr: frozenset[BrokerId]
    elected: bool = True
    replicas: tuple[BrokerId, ...] | None = None


class Brokers(Protocol):
    """The bounds that every family of specs has: the number of brokers, and the last leader epoch."""

    @property
    def brokers(self) -> int:
        """The number of brokers. Each broker has a replica of the partition."""

    @property
    def max_epoch(self) -> int:
        """The last leader epoch. The first leader epoch is 0."""


def brokers(bounds: Brokers) -> range:
    """Return the brokers, numbered from 0."""
    return range(bounds.brokers)


def epochs(bounds: Brokers) -> range:
    """Return the leader epochs within the bounds, starting from 0."""
    return range(bounds.max_epoch + 1)


def drawn_isr(isr: Iterable[int]) -> str:
    """Return an ISR as text: the brokers in ascending order, or ``-`` if the ISR is empty."""
    return " ".join(map(str, sorted(isr))) or "-"
