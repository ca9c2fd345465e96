"""Promises: what clients were told, and what became of it. Of the `rpc` family, which keeps it as ghost state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checker.properties import invariant, step_invariant
from invariants.known import RPC
from invariants.view import Complaint
from model.rpc.consume import readable
from model.rpc.state import Partition, Promise


@invariant(
    "a record that consumers could read, or that was acknowledged with acks=all, is in the log of every later "
    "leader at the same offset",
    source="seeds 000, 001, 002, 003: the first scenario, lost data; seed 004: what is below HW survives any failure",
    fails_in=RPC,
)
def committed_never_lost(state: Partition) -> Iterator[Complaint]:
    yield from _lost(state, state.exposed, "could be read from")


@invariant(
    "a record that was acknowledged to its producer is in the log of every later leader at the same offset",
    source="seeds 000, 001, 003: with min.insync.replicas=1 a record counts as written once the leader has it. "
    "By design this fails with acks=1, where a clean election picks a follower that has not fetched it",
    fails_in=RPC,
)
def acked_never_lost(state: Partition) -> Iterator[Complaint]:
    yield from _lost(state, state.acked, "was acknowledged by")


@step_invariant(
    "what consumers could once read at an offset, they never read otherwise",
    source="seed 002: monotonic reads, a message is not there at one time and gone at another",
    fails_in=RPC,
)
def reads_monotonic(before: Partition, after: Partition) -> Iterator[Complaint]:
    for leader, replica in after.believed_leaders():
        for promise in before.exposed:
            if promise.offset in readable(replica) and replica.log[promise.offset] != promise.record:
                yield Complaint.about(
                    f"{promise.record} could be read at offset {promise.offset}; "
                    f"now broker {leader} has {replica.log[promise.offset]} there",
                    leader,
                    offset=promise.offset,
                )


def _lost(state: Partition, promises: Iterable[Promise], how: str) -> Iterator[Complaint]:
    for leader, replica in state.believed_leaders():
        for promise in promises:
            log, offset = replica.log, promise.offset
            held = log[offset] if log.has(offset) else None
            if replica.epoch > promise.epoch and held != promise.record:
                yield Complaint.about(
                    f"{promise.record} at offset {offset} {how} {promise.teller}; "
                    f"broker {leader}, which leads in epoch {replica.epoch}, has {held or 'nothing'} there",
                    leader,
                    offset=offset,
                )
