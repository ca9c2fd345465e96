"""The leader and ISR according to the controller, and how brokers learn of them. Shared by all families of specs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import attrs

NO_EPOCH = -1
"""The leader epoch of a broker that knows of none, or before any leader was elected."""


@attrs.frozen(cache_hash=True)
class Quorum:
    """The truth in ZooKeeper or the controller: who leads, in which epoch, with which ISR.

    Attributes:
        leader: the leader; None if there is none.
        epoch: the leader epoch.
        isr: the in-sync replicas.
        elr: the eligible leader replicas (KIP-966); empty in all releases without them.
        last_known_leader: who led last when the ISR became empty (KIP-966); None otherwise.
    """

    leader: int | None
    epoch: int
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()
    last_known_leader: int | None = None


@attrs.frozen(cache_hash=True)
class Request:
    """A `LeaderAndIsr` request. Its leader epoch is its place among the requests.

    Attributes:
        leader: the leader; None if there is none.
        isr: the in-sync replicas.
        elected: whether its epoch began with an election; else with the removal of a follower from the ISR.
    """

    leader: int | None
    isr: frozenset[int]
    elected: bool = True


class Brokers(Protocol):
    """Bounds that say how many brokers there are, and which leader epoch is the last."""

    @property
    def brokers(self) -> int:
        """Brokers, each with a replica of the partition."""

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
    """An ISR as views draw it: the brokers in order, ``-`` if there is none."""
    return " ".join(map(str, sorted(isr))) or "-"
