"""The bounds of a search, and counters for the perturbations that have happened so far."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from leadline.checker.bounds import bound


@attrs.frozen
class Bounds:
    """The limits that make the state space finite. They limit perturbations, but not recovery.

    A perturbation happens only if `perturbations` and the bound of its kind both allow it.
    """

    clients: int = bound(2, "consumers of the group", at_least=1, at_most=4)
    partitions: int = bound(2, "partitions that the group reads", at_least=1, at_most=4)
    perturbations: int = bound(1, "perturbations of all kinds together", at_least=0, at_most=9)
    crashes: int = bound(1, "crashes of consumers, which restart", at_least=0, at_most=9)
    pauses: int = bound(1, "pauses of consumers that are longer than all time-outs", at_least=0, at_most=9)
    leaves: int = bound(1, "consumers that leave the group, and join again later", at_least=0, at_most=9)
    failovers: int = bound(1, "failovers of the group coordinator", at_least=0, at_most=9)
    delayed: int = bound(0, "offset commits that arrive late", at_least=0, at_most=9)
    mutes: int = bound(1, "consumers that send heartbeats and hold up a rebalance", at_least=0, at_most=9)
    rejoins: int = bound(1, "new assignments, as when a topic gets partitions", at_least=0, at_most=9)
    expiries: int = bound(0, "times that committed offsets expire", at_least=0, at_most=9)
    lost_commits: int = bound(0, "failovers that lose the last offset commit", at_least=0, at_most=9)
    rebalances: int = bound(12, "generations, or group epochs", at_least=1, at_most=99)
    records: int = bound(0, "records written to each partition; 0 leaves offsets out", at_least=0, at_most=3)
    reset_to_latest: bool = bound(False, "consumers have auto.offset.reset=latest")
    static: bool = bound(False, "consumers have a group.instance.id (KIP-345)")


@attrs.frozen(cache_hash=True)
class Spent:
    """How often each perturbation that `Bounds` limits has happened."""

    crashes: int = 0
    pauses: int = 0
    leaves: int = 0
    failovers: int = 0
    delayed: int = 0
    mutes: int = 0
    rejoins: int = 0
    expiries: int = 0
    lost_commits: int = 0

    @property
    def total(self) -> int:
        """The number of perturbations of all kinds."""
        of_consumers = self.crashes + self.pauses + self.leaves + self.mutes + self.rejoins
        return of_consumers + self.failovers + self.delayed + self.expiries + self.lost_commits


def clients(bounds: Bounds) -> Sequence[int]:
    """Return the consumers, numbered from 0."""
    return range(bounds.clients)


def committing(bounds: Bounds) -> Sequence[int]:
    """Return the consumers that commit offsets: none without records."""
    return range(bounds.clients if bounds.records else 0)


def written(bounds: Bounds) -> Sequence[int]:
    """Return the partitions to which records are written."""
    return range(bounds.partitions if bounds.records else 0)
