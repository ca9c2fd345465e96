"""Failures of brokers, and transactions that time out."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn.bounds import partitions
from leadline.model.txn.coordinator import expired, failed_over, marker_of
from leadline.model.txn.group import group_of
from leadline.model.txn.partition import Marker
from leadline.model.txn.state import Transactions


@action("the coordinator aborts the transaction after its time-out", fair="weak")
def expire(state: Transactions) -> Iterator[Transactions]:
    """The coordinator aborts a transaction that is older than `transaction.timeout.ms`."""
    after = expired(state) if state.may("expiries") else None
    if after is not None:
        yield after.having("expiries")


def cannot_expire_again(state: Transactions) -> bool:
    """Return whether only the bound `expiries` prevents the coordinator from aborting a transaction after its time-out.

    Kafka's coordinator has no such bound. If a behaviour ends in such a state, it would continue in Kafka.
    """
    return not state.may("expiries") and expired(state) is not None


@action("another broker takes over as transaction coordinator")
def fail_over(state: Transactions) -> Iterator[Transactions]:
    """Another broker takes over as coordinator. A marker of the old coordinator may still be in flight."""
    after = failed_over(state) if state.may("failovers") else None
    if after is None:
        return
    after = after.having("failovers")
    yield after
    if state.may("delayed"):
        for partition in sorted(state.coordinator.pending):
            yield attrs.evolve(after.having("delayed"), late=after.late.add(marker_of(state, partition)))


@action("partition {partition} elects a leader that lacks the last entry of the log", partition=partitions)
def elect_uncleanly(state: Transactions, partition: int) -> Iterator[Transactions]:
    """A broker outside the ISR becomes leader and lacks the last entry, which may be a marker (KAFKA-20716)."""
    own = state.partitions[partition]
    if own.log and state.may("unclean_elections"):
        log = own.log[:-1]
        kept = isinstance(own.log[-1], Marker) and not state.protocol.forgets_lost_markers
        shorter = attrs.evolve(
            own,
            log=log,
            high_watermark=min(own.high_watermark, len(log)),
            believed_ended=len(log) if kept else min(own.believed_ended, len(log)),
        )
        after = state.having("unclean_elections").with_partition(partition, shorter).without_guards(partition)
        yield attrs.evolve(after, group=group_of(shorter)) if state.has_offsets(partition) else after
