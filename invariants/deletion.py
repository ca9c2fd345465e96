"""Properties of logs whose start moves: what DeleteRecords and retention promise, and what they must not break.

The other properties judge records by offset: `leadline.invariants.promises` does not miss a record that an operator has
asked to delete, or that retention has deleted on some broker. With the bounds `deletes` and `retentions` at 0, logs
start at offset 0, and the properties here are checked only if they are named.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant
from leadline.invariants.view import Complaint
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.messages import Failed
from leadline.model.kafka.state import Partition


def starts_move(bounds: Bounds) -> bool:
    return bounds.starts


def deletes_records(bounds: Bounds) -> bool:
    return bounds.deletes != 0


def log_started_later(state: Partition) -> bool:
    return any(replica.log.start_offset > 0 for replica in state.replicas)


def deletion_answered(state: Partition) -> bool:
    return state.deleted > 0


@invariant(
    "records below the offset of an answered DeleteRecords request cannot be read again, while a running member of the "
    "ISR has deleted them",
    source="KIP-107: the low watermark is the smallest log start offset of all live replicas; "
    "UnifiedLog.maybeIncrementLogStartOffset: the deletion may be lost only if all in-sync replicas stop uncleanly",
    premise=deletion_answered,
    applies=deletes_records,
)
def deleted_not_read_again(state: Partition) -> Iterator[Complaint]:
    """Checks every broker that believes it leads.

    This property is kept because no other property notices that deleted records are back. By default, mutants delete
    none.

    A broker that is killed may find an older log start offset on its disk. So records come back if every member of the
    ISR is killed, or after an unclean election of a broker that was down during the deletion.
    """
    if not any(
        state.replicas[member].up and state.replicas[member].log.start_offset >= state.deleted
        for member in sorted(state.quorum.isr)
    ):
        return
    for leader, replica in state.believed_leaders():
        start = replica.log.start_offset
        if start < min(state.deleted, replica.high_watermark):
            yield Complaint.about(
                f"the records below offset {state.deleted} are deleted, as a leader has answered; broker {leader} "
                f"leads with a log that starts at {start} and has {replica.log[start]} there",
                leader,
                offset=start,
            )


@invariant(
    "the high watermark of a leader is not below the start of its log",
    source="Log.updateHighWatermark, 2.4; KAFKA-3978, KAFKA-9491",
    fails_in=("kafka/0.10.2", "kafka/0.11", "kafka/2.4"),
    premise=log_started_later,
    applies=starts_move,
)
def leader_hw_from_start(state: Partition) -> Iterator[Complaint]:
    """Checks every broker that believes it leads. With a lower high watermark, it serves neither consumers nor
    followers, or tells followers a high watermark that they cannot use.

    This property is kept because it is violated as soon as such a broker leads. By default, mutants delete no records.

    The high watermark of a follower may be lower, up to 2.3 for as long as it has not fetched: it harms only when the
    follower leads.
    """
    for leader, replica in state.believed_leaders():
        if replica.high_watermark < replica.log.start_offset:
            yield Complaint.about(
                f"broker {leader} leads with high watermark {replica.high_watermark}, "
                f"but its log starts at {replica.log.start_offset}",
                leader,
                offset=replica.log.start_offset,
            )


@invariant(
    "no follower stops fetching because of an error in what its leader tells it",
    source="KAFKA-5634, KAFKA-7104, KAFKA-12996; KIP-461",
    premise=log_started_later,
    applies=starts_move,
)
def followers_go_on(state: Partition) -> Iterator[Complaint]:
    """Checks every follower. A partition whose fetching has failed is not fetched again before the next leader epoch
    and, before 2.3, before a restart of the broker, together with all other partitions that it fetches from the same
    leader.

    This property is kept because a follower that has stopped fetching violates no other invariant. By default, mutants
    delete no records.
    """
    for broker, replica in enumerate(state.replicas):
        if isinstance(replica.in_flight, Failed):
            yield Complaint.about(f"broker {broker} has stopped fetching from broker {replica.leader}", broker)
