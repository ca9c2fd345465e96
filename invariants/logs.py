"""Logs: what each may hold, and what two of them must share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from checker.properties import invariant
from invariants.known import ATOMIC_BEFORE_KIP_320, RPC_BEFORE_KIP_320, releases
from invariants.view import PartitionView, ReplicaView


def _pairs(state: PartitionView) -> Iterator[tuple[tuple[int, ReplicaView], tuple[int, ReplicaView]]]:
    return itertools.combinations(enumerate(state.replicas), 2)


@invariant(
    "two replicas in the same leader epoch agree on every offset below both high watermarks, "
    "each being the leader or past its truncation",
    source="seeds 001, 003, 004: the second scenario, inconsistent data; KIP-101",
    fails_in=(
        *("atomic/hw-truncation", "rpc/hw-truncation", "rpc/kip-101"),
        *releases("kafka/0.10.2", "kafka/2.1"),
        *releases("kafka/3.2-kraft", "kafka/3.7"),
    ),
)
def logs_prefix_consistent(state: PartitionView) -> Iterator[str]:
    for (one, replica), (other, peer) in _pairs(state):
        committed = min(replica.high_watermark, peer.high_watermark)
        if not committed or replica.leader is None:
            continue
        if replica.leader != peer.leader or replica.epoch != peer.epoch:
            continue
        if state.has_to_truncate(one) or state.has_to_truncate(other):
            continue
        shared = min(committed, replica.log.end_offset, peer.log.end_offset)
        for offset in range(shared):
            if replica.log[offset] != peer.log[offset]:
                yield (
                    f"at offset {offset}, below both high watermarks, broker {one} has {replica.log[offset]} "
                    f"and broker {other} has {peer.log[offset]}"
                )


@invariant(
    "a follower in its leader's epoch that is past its truncation has a prefix of the leader's log",
    source="seed 003: a follower copies its leader's log whole and in order; TLA+ specification, Kip320, first rule: "
    "no fetching before a follower's log matches its leader's up to its own end",
    fails_in=("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", *RPC_BEFORE_KIP_320),
)
def follower_log_is_prefix(state: PartitionView) -> Iterator[str]:
    for follower, replica in enumerate(state.replicas):
        if replica.leader is None or replica.leader == follower:
            continue
        leader = state.replicas[replica.leader]
        if leader.leader != replica.leader or leader.epoch != replica.epoch or state.has_to_truncate(follower):
            continue
        for offset, record in enumerate(replica.log.records):
            held = leader.log[offset] if leader.log.has(offset) else None
            if held != record:
                yield (
                    f"broker {follower} follows broker {replica.leader} in epoch {replica.epoch}, and has {record} "
                    f"at offset {offset}; the leader has {held or 'nothing'} there"
                )
                break


@invariant(
    "where two logs hold records of the same leader epoch at the same offset, they are the same record, "
    "and so is everything before",
    source="KIP-101: an epoch has one leader, which gives each offset once; Raft's log matching property",
    fails_in=(*releases("kafka/0.10.2", "kafka/2.1"), *releases("kafka/3.2-kraft", "kafka/3.7")),
)
def log_matching(state: PartitionView) -> Iterator[str]:
    for (one, replica), (other, peer) in _pairs(state):
        shared = min(replica.log.end_offset, peer.log.end_offset)
        for last in range(shared):
            if replica.log[last].epoch == peer.log[last].epoch:
                for offset in range(last + 1):
                    if replica.log[offset] != peer.log[offset]:
                        yield (
                            f"brokers {one} and {other} both have a record of epoch {replica.log[last].epoch} at "
                            f"offset {last}, but at offset {offset} {replica.log[offset]} and {peer.log[offset]}"
                        )


@invariant(
    "leader epochs never go down from one offset of a log to the next",
    source="seeds 000, 001, 002: a leader epoch is a number that only grows; KIP-101",
    fails_in=(*ATOMIC_BEFORE_KIP_320, *RPC_BEFORE_KIP_320),
)
def epochs_monotonic_in_log(state: PartitionView) -> Iterator[str]:
    for broker, replica in enumerate(state.replicas):
        for before, after in itertools.pairwise(replica.log.records):
            if after.epoch < before.epoch:
                yield f"broker {broker} has {after} after {before}"
