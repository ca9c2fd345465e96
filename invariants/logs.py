"""Logs: what each may hold, and what two of them must share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant
from leadline.invariants.known import ATOMIC_BEFORE_KIP_320, RPC_BEFORE_KIP_320, releases
from leadline.invariants.view import Complaint, PartitionView, ReplicaView


def _pairs(state: PartitionView) -> Iterator[tuple[tuple[int, ReplicaView], tuple[int, ReplicaView]]]:
    return itertools.combinations(state.replicas_of(), 2)


def distance_to_divergence(state: PartitionView) -> int:
    """How far two logs are from holding different records at the same offset: 0 if two do, else 1.

    A distance for random searches: see `Spec.distance`. Data diverges or is lost where such logs are not mended.

    Source: KIP-101, whose scenarios begin so.
    """
    diverge = any(
        mine != theirs
        for (_, one), (_, other) in _pairs(state)
        for _, mine, theirs in one.log.beside(other.log, min(one.log.end_offset, other.log.end_offset))
    )
    return 0 if diverge else 1


def both_committed(state: PartitionView) -> bool:
    """Two replicas in the same leader epoch have a high watermark above 0."""
    return any(
        min(one.high_watermark, other.high_watermark) > 0
        and one.leader is not None
        and (one.leader, one.epoch) == (other.leader, other.epoch)
        for (_, one), (_, other) in _pairs(state)
    )


@invariant(
    "two replicas in the same leader epoch agree on every offset below both high watermarks, "
    "each being the leader or past its truncation",
    source="seeds 001, 003, 004: the second scenario, inconsistent data; KIP-101",
    fails_in=(
        *("atomic/hw-truncation", "rpc/hw-truncation", "rpc/kip-101"),
        *releases("kafka/0.10.2", "kafka/2.1"),
        *releases("kafka/3.2-kraft", "kafka/3.7"),
    ),
    premise=both_committed,
)
def logs_prefix_consistent(state: PartitionView) -> Iterator[Complaint]:
    """Any two replicas of an epoch.

    It stays because it is the articles' second scenario, and because it compares two followers of an epoch, on disks
    too. In the mutants `follower_log_is_prefix`, which compares a follower and its leader, is violated earlier.
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
    "a follower in its leader's epoch that is past its truncation has a prefix of the leader's log",
    source="seed 003: a follower copies its leader's log whole and in order; TLA+ specification, Kip320, first rule: "
    "no fetching before a follower's log matches its leader's up to its own end",
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
    "where two logs hold records of the same leader epoch at the same offset, they are the same record, "
    "and so is everything before",
    source="KIP-101: an epoch has one leader, which gives each offset once; Raft's log matching property",
    fails_in=(*releases("kafka/0.10.2", "kafka/2.1"), *releases("kafka/3.2-kraft", "kafka/3.7")),
)
def log_matching(state: PartitionView) -> Iterator[Complaint]:
    """Any two logs, whatever their brokers believe.

    It stays in the `kafka` family because it needs to know neither leaders nor epochs of brokers, so that it can be
    checked on disks; there `follower_log_is_prefix` finds what it finds. In the `atomic` family it finds a mistake
    alone.
    """
    for (one, replica), (other, peer) in _pairs(state):
        different = []
        for last, mine, theirs in replica.log.beside(peer.log, min(replica.log.end_offset, peer.log.end_offset)):
            if mine is None or theirs is None:
                continue
            if mine != theirs:
                different.append((last, mine, theirs))
            if mine.epoch == theirs.epoch:
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
    "leader epochs never go down from one offset of a log to the next",
    source="seeds 000, 001, 002: a leader epoch is a number that only grows; KIP-101",
    fails_in=(*ATOMIC_BEFORE_KIP_320, *RPC_BEFORE_KIP_320),
)
def epochs_monotonic_in_log(state: PartitionView) -> Iterator[Complaint]:
    """Each log by itself.

    It stays in the `kafka` family because it needs one log only, so that it can be checked on the disk of one broker.
    In the `atomic` family it finds a mistake alone.
    """
    for broker, replica in state.replicas_of():
        for before, after in itertools.pairwise(replica.log.records):
            if after.epoch < before.epoch:
                yield Complaint.about(f"broker {broker} has {after} after {before}", broker)
