"""Properties of promises to clients: records that consumers could read or that were acknowledged are not lost.

States of the `kafka` family record these promises, although no broker stores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.known import ALL_RELEASES, RPC, releases
from leadline.invariants.view import Complaint
from leadline.model.kafka.consume import readable
from leadline.model.kafka.state import Partition, Promise


def led_after_exposed(state: Partition) -> bool:
    """Return whether a broker leads in a later epoch than the epoch in which consumers could read a record."""
    return _led_after(state, state.exposed)


def led_after_acked(state: Partition) -> bool:
    """Return whether a broker leads in a later epoch than the epoch in which a record was acknowledged."""
    return _led_after(state, state.acked)


def something_exposed(state: Partition) -> bool:
    """Return whether consumers could read a record in this state or an earlier one."""
    return bool(state.exposed)


def led_after_durable(state: Partition) -> bool:
    """Return whether a record that must survive by KIP-966 was acknowledged, and a broker then led in a later epoch."""
    return _promises_durability(state) and led_after_acked(state)


def _led_after(state: Partition, promises: Iterable[Promise]) -> bool:
    return any(replica.epoch > promise.epoch for _, replica in state.believed_leaders() for promise in promises)


def _promises_durability(state: Partition) -> bool:
    if state.bounds.acks != "all" or state.bounds.unclean_leader_election:
        return False
    return state.spent.lossy_crashes < state.bounds.min_insync_replicas


@invariant(
    "a record that consumers could read, or that was acknowledged with acks=all, is in the log of every later "
    "leader at the same offset",
    source="seeds 000, 001, 002, 003: the first scenario, lost data; seed 004: records below HW survive any failure",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_exposed,
)
def committed_never_lost(state: Partition) -> Iterator[Complaint]:
    """Checks the records that consumers could read.

    This property is kept because it is the promise made to users, and because it is violated only when a broker that
    has lost a record leads. `leader_candidates_complete` is usually violated earlier, when such a broker could be
    elected.
    """
    yield from _lost(state, state.exposed, "could be read from")


@invariant(
    "a record that was acknowledged to its producer is in the log of every later leader at the same offset",
    source="seeds 000, 001, 003: with min.insync.replicas=1 a record counts as written once the leader has it. "
    "With acks=1 this fails by design: a clean election may choose a follower that has not fetched the record",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_acked,
)
def acked_never_lost(state: Partition) -> Iterator[Complaint]:
    """Checks the records that were acknowledged to producers.

    This property is kept because of acks=0 and acks=1, with which a record is acknowledged before consumers can read
    it. With acks=all, `committed_never_lost` finds the same mistakes.
    """
    yield from _lost(state, state.acked, "was acknowledged by")


@step_invariant(
    "consumers never read two different records at the same offset",
    source="seed 002: monotonic reads, a message that was visible does not disappear",
    fails_in=RPC,
    premise=something_exposed,
)
def reads_monotonic(before: Partition, after: Partition) -> Iterator[Complaint]:
    """Checks the records that consumers can read from any leader, even a deposed leader.

    This property is kept because it answers a question of the articles' readers, and because it covers what deposed
    leaders show. In mutants, `leader_candidates_complete` is violated earlier.
    """
    for leader, replica in after.believed_leaders():
        for promise in before.exposed:
            if promise.offset in readable(replica) and replica.log[promise.offset] != promise.record:
                yield Complaint.about(
                    f"{promise.record} could be read at offset {promise.offset}; "
                    f"now broker {leader} has {replica.log[promise.offset]} there",
                    leader,
                    offset=promise.offset,
                )


@invariant(
    "the log end offset that a later leader reports (ListOffsets) never excludes a record that consumers could read",
    source="seed 002: a message that was visible does not disappear; KIP-207, KAFKA-2334",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_exposed,
)
def reads_not_taken_back(state: Partition) -> Iterator[Complaint]:
    for leader, replica in state.believed_leaders():
        if not state.protocol.lists_offsets(replica):
            continue
        for promise in state.exposed:
            if promise.epoch < replica.epoch and promise.offset not in readable(replica):
                yield Complaint.about(
                    f"{promise.record} could be read at offset {promise.offset} in epoch {promise.epoch}; broker "
                    f"{leader}, which leads in epoch {replica.epoch}, says the log ends at {replica.high_watermark}",
                    leader,
                    offset=promise.offset,
                )


@invariant(
    "a record acknowledged with acks=all survives as long as fewer than min.insync.replicas brokers have lost the end "
    "of their log, and no election is unclean",
    source="KIP-966",
    fails_in=(*RPC, *releases("kafka/2.2", "kafka/4.0")),
    premise=led_after_durable,
)
def durable_as_promised(state: Partition) -> Iterator[Complaint]:
    if _promises_durability(state):
        yield from _lost(state, state.acked, "was acknowledged by")


PROMISES = tuple(
    item.name
    for item in (committed_never_lost, acked_never_lost, durable_as_promised, reads_monotonic, reads_not_taken_back)
)
"""The names of the properties that users of Kafka were promised. All other properties are for its developers."""


def _lost(state: Partition, promises: Iterable[Promise], how: str) -> Iterator[Complaint]:
    for leader, replica in state.believed_leaders():
        for promise in promises:
            log, offset = replica.log, promise.offset
            held = log[offset] if log.has(offset) else None
            if replica.epoch > promise.epoch and held != promise.record:
                yield Complaint.about(
                    f"{promise.record} at offset {offset} {how} {promise.teller}; "
                    f"broker {leader}, which leads in epoch {replica.epoch}, has {held or 'no record'} there",
                    leader,
                    offset=offset,
                )
