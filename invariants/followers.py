"""Properties of followers: the log end offset that a leader stores for each follower, and the records that consumers
read.

These properties apply only to the `kafka` family. In the `atomic` family, leaders read the logs of followers directly.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant
from leadline.invariants.known import RPC, releases
from leadline.model.kafka.consume import readable
from leadline.model.kafka.state import Partition
from leadline.model.log import Record


@invariant(
    "the remote log end offset that a leader keeps for a follower in its own epoch is not beyond that follower's log",
    source="seeds 000, 002, 003: remote LEO is the offset of the follower's last fetch request",
    fails_in=RPC,
)
def remote_leo_not_ahead(state: Partition) -> Iterator[str]:
    """Compares each leader with its followers in the same leader epoch.

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
    """Return whether consumers may read a record from a follower in this state."""
    return state.protocol.followers_serve and any(
        replica.up
        and replica.leader is not None
        and min(replica.high_watermark, replica.log.end_offset) > 0
        and not state.believes_to_lead(follower)
        for follower, replica in enumerate(state.replicas)
    )


@invariant(
    "if consumers read from followers, every record below the high watermark of a running follower could be read from "
    "a leader at the same offset, or can be read there now",
    source="KIP-392; KAFKA-14704",
    fails_in=(*releases("kafka/2.8", "kafka/3.3-zk"), *releases("kafka/3.2-kraft", "kafka/3.7")),
    premise=a_follower_serves,
)
def follower_reads(state: Partition) -> Iterator[str]:
    if not state.protocol.followers_serve:
        return
    for follower, replica in enumerate(state.replicas):
        if not replica.up or replica.leader is None or state.believes_to_lead(follower):
            continue
        for offset in range(min(replica.high_watermark, replica.log.end_offset)):
            shown = state.exposed[offset].record if offset < len(state.exposed) else None
            if replica.log[offset] != shown and not _shown_by_a_leader(state, offset, replica.log[offset]):
                yield (
                    f"broker {follower} lets consumers read {replica.log[offset]} at offset {offset}; "
                    f"leaders have shown {shown or 'nothing'} there"
                )


def _shown_by_a_leader(state: Partition, offset: int, record: Record) -> bool:
    return any(offset in readable(leader) and leader.log[offset] == record for _, leader in state.believed_leaders())
