"""The leader and ISR according to the controller, and the requests that announce them. Shared by all families."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import attrs

NO_EPOCH = -1
"""The leader epoch of a broker that knows none, and the one before the first election."""


@attrs.frozen(cache_hash=True)
class Quorum:
    """The leader, epoch and ISR stored in ZooKeeper or by the controller.

    Attributes:
        leader: the leader; None if there is none.
        epoch: the leader epoch.
        isr: the in-sync replicas.
        elr: the eligible leader replicas (KIP-966); always empty in releases without them.
        last_known_leader: the last member of the ISR before it became empty (KIP-966); None otherwise.
    """

    leader: int | None
    epoch: int
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()
    last_known_leader: int | None = None


@attrs.frozen(cache_hash=True)
class Request:
    """A `LeaderAndIsr` request. Its leader epoch is its index among the requests.

    Attributes:
        leader: the leader; None if there is none.
        isr: the in-sync replicas.
        elected: whether its epoch began with an election; if not, it began with the removal of a follower from the ISR.
    """

    leader: int | None
    isr: frozenset[int]
    elected: bool = True


class Brokers(Protocol):
    """Bounds with the number of brokers and the last leader epoch."""

    @property
    def brokers(self) -> int:
        """The number of brokers, each with a replica of the partition."""

    @property
    def max_epoch(self) -> int:
        """The last leader epoch; the first is 0."""


def brokers(bounds: Brokers) -> range:
    """The brokers, numbered from 0."""
    return range(bounds.brokers)


def epochs(bounds: Brokers) -> range:
    """The leader epochs, from 0."""
    return range(bounds.max_epoch + 1)


def drawn_isr(isr: Iterable[int]) -> str:
    """The text of an ISR: the brokers in order, or ``-`` if it is empty."""
    return " ".join(map(str, sorted(isr))) or "-"
