"""Properties of followers: the log end offset that a leader stores for each follower, and the records that consumers
read from followers.

These properties apply only to the `kafka` family. In the `atomic` family, leaders read the logs of followers directly.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.known import RPC, releases
from leadline.model.kafka.broker import SHUTTING_DOWN
from leadline.model.kafka.consume import readable
from leadline.model.kafka.messages import OffsetOutOfRange
from leadline.model.kafka.state import Partition
from leadline.model.log import Record


@invariant(
    "the remote log end offset that a leader keeps for a follower in its own epoch is not beyond that follower's log",
    source="seeds 000, 002, 003: remote LEO is the offset of the follower's last fetch request",
    fails_in=RPC,
)
def remote_leo_not_ahead(state: Partition) -> Iterator[str]:
    """Compares each leader with the followers that are in its leader epoch.

    This property is kept because it finds a wrong remote log end offset in the step that sets it, with a trace of 3
    states instead of 4. The other properties are violated only after the wrong offset has caused the high watermark to
    advance.
    """
    for leader, replica in state.believed_leaders():
        for follower, known in enumerate(replica.remote_leos):
            target = state.replicas[follower]
            in_its_epoch = target.leader == leader and target.epoch == replica.epoch and follower != leader
            if in_its_epoch and known > target.log.end_offset:
                yield (
                    f"broker {leader} assumes that broker {follower}'s log end offset is {known}, "
                    f"but it is {target.log.end_offset}"
                )


def a_follower_serves(state: Partition) -> bool:
    """Return whether consumers can read any record from a follower in this state."""
    return any(
        _serves(state, follower) and min(replica.high_watermark, replica.log.end_offset) > 0
        for follower, replica in enumerate(state.replicas)
    )


def _serves(state: Partition, follower: int) -> bool:
    """Return whether consumers read from a broker that follows. Its leader sends them there, and both must know how to
    (KIP-392).
    """
    if not state.rules_of(follower).followers_serve:
        return False
    replica = state.replicas[follower]
    leader = replica.leader
    return replica.up and leader not in (None, follower) and state.rules_of(leader).followers_serve


@invariant(
    "if consumers read from followers, every record below the high watermark of a running follower could be read from "
    "a leader at the same offset, or can be read there now",
    source="KIP-392; KAFKA-14704",
    fails_in=(*releases("kafka/2.8", "kafka/3.3-zk"), *releases("kafka/3.2-kraft", "kafka/3.9")),
    premise=a_follower_serves,
)
def follower_reads(state: Partition) -> Iterator[str]:
    for follower, replica in enumerate(state.replicas):
        if not _serves(state, follower):
            continue
        for offset in range(replica.log.start_offset, min(replica.high_watermark, replica.log.end_offset)):
            shown = next((promise.record for promise in state.exposed if promise.offset == offset), None)
            if replica.log[offset] != shown and not _shown_by_a_leader(state, offset, replica.log[offset]):
                yield (
                    f"broker {follower} lets consumers read {replica.log[offset]} at offset {offset}; "
                    f"leaders have shown {shown or 'nothing'} there"
                )


def _shown_by_a_leader(state: Partition, offset: int, record: Record) -> bool:
    return any(offset in readable(leader) and leader.log[offset] == record for _, leader in state.believed_leaders())


@step_invariant(
    "no broker exits because its log is longer than its leader's log",
    source="KAFKA-3410, KAFKA-7414",
    fails_in=releases("kafka/0.10.2", "kafka/2.0.0"),
)
def brokers_keep_running(before: Partition, after: Partition) -> Iterator[str]:
    """Checks followers that handle an OFFSET_OUT_OF_RANGE error. Crashes and shutdowns do not violate this property.

    This property is kept because no other property detects brokers that exit. It is not needed to detect any mutant of
    4.1: since 2.8, a diverging response makes a follower truncate its log before its fetch offset can be beyond the end
    of the leader's log.
    """
    if before.spent != after.spent:
        return
    for broker, replica in enumerate(before.replicas):
        exits = replica.up and not after.replicas[broker].up
        if exits and isinstance(replica.in_flight, OffsetOutOfRange) and not _shuts_down(before, broker):
            yield (
                f"broker {broker} exits: its log ends at {replica.log.end_offset}, "
                f"and that of its leader at {replica.in_flight.end_offset}"
            )


def _shuts_down(state: Partition, broker: int) -> bool:
    return state.registrations[broker].status == SHUTTING_DOWN
