"""What a group coordinator knows of the offsets that transactions commit (`TxnOffsetCommit`, Kafka's GroupMetadata).

The offset that a transaction commits is represented by the number of the transaction. Consumers of the group go on at
the offset that the coordinator has in memory. It reads the log only when it becomes coordinator.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn.messages import COMMIT
from leadline.model.txn.partition import Marker, Partition
from leadline.model.txn.state import OFFSETS, Group, Transactions


def group_of(partition: Partition) -> Group:
    """Return what a new group coordinator reads from the log of the partition with the group's offsets."""
    committed = [records[-1][1] for records, marker, _ in partition.spans() if marker and marker.result == COMMIT]
    still_open = [records[-1][1] for records, marker, _ in partition.spans() if marker is None]
    return Group(
        offset=committed[-1].transaction if committed else 0, pending=still_open[-1].transaction if still_open else 0
    )


def after_marker(state: Transactions, marker: Marker) -> Transactions:
    """Return the state after a marker has been appended to the partition with the group's offsets."""
    waiting = attrs.evolve(state.group, completions=(*state.group.completions, marker))
    return attrs.evolve(state, group=_completed(waiting) if state.protocol.materialises_with_marker else waiting)


def has_not_answered(state: Transactions) -> bool:
    """Return whether the group coordinator has appended the marker of the transaction coordinator, and answers only
    once it has taken over the offsets (KAFKA-17507).
    """
    own = state.coordinator.coordinator_epoch
    return state.protocol.materialises_before_answer and own in [
        marker.coordinator_epoch for marker in state.group.completions
    ]


@action("the group coordinator takes over the offsets of a transaction that has ended", fair="weak")
def materialise(state: Transactions) -> Iterator[Transactions]:
    """A background thread of the group coordinator, which does one such task after the other, takes over the pending
    offsets of the producer if the marker was a commit, and drops them otherwise (handleTxnCompletion). It does not know
    of which transaction the pending offsets are.
    """
    if not state.group.completions:
        return
    own, marker = state.coordinator, state.group.completions[0]
    answers = has_not_answered(state) and marker.coordinator_epoch == own.coordinator_epoch
    pending = own.pending - {OFFSETS} if answers else own.pending
    yield attrs.evolve(state, group=_completed(state.group), coordinator=attrs.evolve(own, pending=pending))


def _completed(group: Group) -> Group:
    marker, *later = group.completions
    offset = group.pending if group.pending and marker.result == COMMIT else group.offset
    return Group(offset=offset, completions=tuple(later))
