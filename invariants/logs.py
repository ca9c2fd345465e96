"""Properties of a single log, and properties that compare two logs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant
from leadline.invariants.known import ATOMIC_BEFORE_KIP_320, RPC_BEFORE_KIP_320, releases
from leadline.invariants.view import Complaint, PartitionView, ReplicaView


def _pairs(state: PartitionView) -> Iterator[tuple[tuple[int, ReplicaView], tuple[int, ReplicaView]]]:
    return itertools.combinations(state.replicas_of(), 2)


def distance_to_divergence(state: PartitionView) -> int:
    """Return 0 if any two logs have different records at the same offset, and 1 otherwise.

    A random search uses this number to find states that are close to a violation (see `Spec.distance`). Two such logs
    lead to lost or conflicting records unless one of the logs is truncated.

    Source: KIP-101, whose scenarios begin with such logs.
    """
    diverge = any(
        mine != theirs
        for (_, one), (_, other) in _pairs(state)
        for _, mine, theirs in one.log.beside(other.log, min(one.log.end_offset, other.log.end_offset))
    )
    return 0 if diverge else 1


def both_committed(state: PartitionView) -> bool:
    """Return whether any two replicas with the same leader and leader epoch both have a high watermark above 0."""
    return any(
        min(one.high_watermark, other.high_watermark) > 0
        and one.leader is not None
        and (one.leader, one.epoch) == (other.leader, other.epoch)
        for (_, one), (_, other) in _pairs(state)
    )


@invariant(
    "two replicas in the same leader epoch have the same record at every offset below both high watermarks, unless one "
    "of them has yet to truncate",
    source="seeds 001, 003, 004: the second scenario, inconsistent data; KIP-101",
    fails_in=(
        *("atomic/hw-truncation", "rpc/hw-truncation", "rpc/kip-101"),
        *releases("kafka/0.10.2", "kafka/2.1"),
        *releases("kafka/3.2-kraft", "kafka/3.9"),
    ),
    premise=both_committed,
)
def logs_prefix_consistent(state: PartitionView) -> Iterator[Complaint]:
    """Compares each pair of replicas that are in the same leader epoch.

    This property is kept because the second scenario in the articles on replication violates it, and because it also
    compares two followers, even on disks. In mutants, `follower_log_is_prefix`, which compares a follower with its
    leader, is violated earlier.
    """
    for (one, replica), (other, peer) in _pairs(state):
        committed = min(replica.high_watermark, peer.high_watermark)
        if not committed or replica.leader is None:
            continue
        if replica.leader != peer.leader or replica.epoch != peer.epoch:
            continue
        if state.has_to_truncate(one) or state.has_to_truncate(other):
            continue
        for offset, mine, theirs in replica.log.beside(peer.log, committed):
            if mine is not None and theirs is not None and mine != theirs:
                yield Complaint.about(
                    f"at offset {offset}, below both high watermarks, broker {one} has {mine} "
                    f"and broker {other} has {theirs}",
                    one,
                    other,
                    offset=offset,
                )


@invariant(
    "a follower in its leader's epoch has a prefix of the leader's log, unless it has yet to truncate",
    source="seed 003: a follower copies its leader's whole log in order; TLA+ specification, Kip320, first rule: a "
    "follower does not fetch before its whole log matches the leader's",
    fails_in=("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", *RPC_BEFORE_KIP_320),
)
def follower_log_is_prefix(state: PartitionView) -> Iterator[Complaint]:
    for follower, replica in state.replicas_of():
        if replica.leader is None or replica.leader == follower or state.has_to_truncate(follower):
            continue
        for _, leader in state.replicas_of((replica.leader,)):
            if leader.leader != replica.leader or leader.epoch != replica.epoch:
                continue
            for offset, record, held in replica.log.beside(leader.log, replica.log.end_offset):
                if record is not None and held != record:
                    yield Complaint.about(
                        f"broker {follower} follows broker {replica.leader} in epoch {replica.epoch}, and has {record} "
                        f"at offset {offset}; the leader has {held or 'no record'} there",
                        follower,
                        replica.leader,
                        offset=offset,
                    )
                    break


@invariant(
    "if two logs have records of the same leader epoch at the same offset, these records are the same, and so are all "
    "earlier ones",
    source="KIP-101: an epoch has one leader, which assigns each offset once; Raft's log matching property",
    fails_in=(*releases("kafka/0.10.2", "kafka/2.1"), *releases("kafka/3.2-kraft", "kafka/3.9")),
)
def log_matching(state: PartitionView) -> Iterator[Complaint]:
    """Compares each pair of logs, regardless of the leaders and epochs that the brokers have learned.

    This property is kept in the `kafka` family because it does not need the leaders or epochs of brokers, so it can be
    checked on disks. In that family, `follower_log_is_prefix` detects the same wrong rules. In the `atomic` family, one
    deliberately wrong rule violates only this property.
    """
    for (one, replica), (other, peer) in _pairs(state):
        different = []
        for last, mine, theirs in replica.log.beside(peer.log, min(replica.log.end_offset, peer.log.end_offset)):
            if mine is None or theirs is None:
                continue
            if mine != theirs:
                different.append((last, mine, theirs))
            if mine.epoch == theirs.epoch and mine.epoch >= 0:  # records from before KIP-101 have no epoch, -1 on disk
                for offset, ours, others in different:
                    yield Complaint.about(
                        f"brokers {one} and {other} both have a record of epoch {mine.epoch} at "
                        f"offset {last}, but at offset {offset} {ours} and {others}",
                        one,
                        other,
                        offset=offset,
                    )
                different = []


@invariant(
    "leader epochs never decrease from one offset of a log to the next",
    source="seeds 000, 001, 002: a leader epoch only increases; KIP-101",
    fails_in=(*ATOMIC_BEFORE_KIP_320, *RPC_BEFORE_KIP_320),
)
def epochs_monotonic_in_log(state: PartitionView) -> Iterator[Complaint]:
    """Checks each log separately.

    This property is kept in the `kafka` family because it needs only one log, so it can be checked on the disk of one
    broker. In the `atomic` family, one deliberately wrong rule violates only this property.
    """
    for broker, replica in state.replicas_of():
        for before, after in itertools.pairwise(replica.log.records):
            if after.epoch < before.epoch:
                yield Complaint.about(f"broker {broker} has {after} after {before}", broker)
