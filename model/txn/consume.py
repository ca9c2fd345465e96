"""What consumers can read: the high watermark, and the last stable offset."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn.bounds import partitions
from leadline.model.txn.messages import COMMIT
from leadline.model.txn.partition import Data, Partition
from leadline.model.txn.state import Transactions


@action("the high watermark of partition {partition} advances", partition=partitions, fair="weak each")
def advance_high_watermark(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The leader learns that one more entry is replicated."""
    own = state.partitions[partition]
    if state.bounds.lag and own.high_watermark < len(own.log):
        yield state.with_partition(partition, attrs.evolve(own, high_watermark=own.high_watermark + 1))


def last_stable_offset(partition: Partition, replicated_markers_only: bool = True) -> int:
    """Return the last stable offset of a partition.

    A transaction is unstable if it is open, or if its marker is not below the high watermark. The last stable offset is
    the offset of the first record in an unstable transaction, but at most the high watermark (KIP-98;
    ProducerStateManager.firstUnstableOffset).

    Parameters:
        replicated_markers_only: whether a marker must be below the high watermark to make its transaction stable.
    """
    for records, _, offset in partition.spans():
        if offset is None:
            unstable = [at for at, _ in records if at >= partition.believed_ended]
        else:
            is_replicated = offset < partition.high_watermark or not replicated_markers_only
            unstable = [] if is_replicated else [records[0][0]]
        if unstable:
            return min(unstable[0], partition.high_watermark)
    return partition.high_watermark


def stable(state: Transactions, partition: int) -> int:
    """Return the last stable offset of a partition in a state."""
    return last_stable_offset(state.partitions[partition], state.protocol.replicated_markers_only)


def read_committed(state: Transactions, partition: int) -> Iterator[Data]:
    """Yield the records of a partition that a read_committed consumer reads.

    These records are below the last stable offset, and the next marker after them is a commit marker.
    """
    end = stable(state, partition)
    for records, marker, _ in state.partitions[partition].spans():
        if marker is not None and marker.result == COMMIT:
            yield from (record for offset, record in records if offset < end)


def read_uncommitted(state: Transactions, partition: int) -> Iterator[Data]:
    """Yield the records of a partition that a read_uncommitted consumer reads: those below the high watermark."""
    own = state.partitions[partition]
    yield from (entry for entry in own.log[: own.high_watermark] if isinstance(entry, Data))
