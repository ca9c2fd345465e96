"""The bounds of a search, and counters for the perturbations that have happened so far."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from leadline.checker.bounds import bound


@attrs.frozen
class Bounds:
    """The limits that make the state space finite. They limit perturbations, but not recovery."""

    partitions: int = bound(2, "partitions that transactions write to", at_least=1, at_most=4)
    transactions: int = bound(2, "transactions that producers begin in all", at_least=1, at_most=9)
    records: int = bound(1, "records that a transaction writes to each partition", at_least=1, at_most=9)
    producers: int = bound(1, "producers with the same transactional id, one after the other", at_least=1, at_most=4)
    groups: int = bound(
        0, "consumer groups whose offsets the transactions commit, in partition 0", at_least=0, at_most=1
    )
    delayed: int = bound(1, "requests that arrive after their sender has given up waiting", at_least=0, at_most=9)
    lost_responses: int = bound(0, "responses that do not arrive", at_least=0, at_most=9)
    expiries: int = bound(0, "transactions that the coordinator aborts after a time-out", at_least=0, at_most=9)
    failovers: int = bound(0, "failovers of the transaction coordinator", at_least=0, at_most=9)
    unclean_elections: int = bound(
        0, "unclean elections of a partition's leader that lose the last entry of its log", at_least=0, at_most=9
    )
    lag: int = bound(0, "entries of a log that may be above the high watermark", at_least=0, at_most=9)


@attrs.frozen(cache_hash=True)
class Spent:
    """How often each perturbation that `Bounds` limits has happened."""

    delayed: int = 0
    lost_responses: int = 0
    expiries: int = 0
    failovers: int = 0
    unclean_elections: int = 0


def partitions(bounds: Bounds) -> Sequence[int]:
    """Return the partitions, numbered from 0."""
    return range(bounds.partitions)


def producers(bounds: Bounds) -> Sequence[int]:
    """Return the producers, numbered from 0."""
    return range(bounds.producers)
