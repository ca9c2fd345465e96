"""Writing records and markers to the log of a partition."""

from __future__ import annotations

import attrs

from leadline.model.txn.group import after_marker
from leadline.model.txn.messages import NO_SEQUENCE, Produce, WriteMarker
from leadline.model.txn.partition import Data, Marker
from leadline.model.txn.producer import OK, REFUSED, Response
from leadline.model.txn.state import FENCED, Transactions


def needs_verification(state: Transactions, request: Produce) -> bool:
    """Return whether the leader must ask the coordinator before it appends a record, because no transaction is open."""
    return state.protocol.verifies and not request.verified and not _has_open(state, request)


def _has_open(state: Transactions, request: Produce) -> bool:
    """Return whether a record belongs to a transaction that the leader considers open (hasOngoingTransaction)."""
    partition = state.partitions[request.partition]
    is_own = not state.protocol.compares_open_epoch or partition.producer_epoch == request.epoch
    return partition.is_open and is_own


def append_record(state: Transactions, request: Produce) -> tuple[Transactions, Response] | None:
    """Append a record, or refuse it.

    Returns:
        The next state and the response, or None if too many entries are above the high watermark or the leader has to
        ask the coordinator first.
    """
    partition, bounds = state.partitions[request.partition], state.bounds
    if needs_verification(state, request):
        return None
    if state.protocol.fences_records(partition.producer_epoch, request.epoch):
        return state, Response(FENCED)
    if state.protocol.verifies and state.protocol.guards and not _has_open(state, request) and not request.guarded:
        return state, Response(REFUSED)
    expected = partition.next_sequence if request.epoch == partition.producer_epoch else 0
    if state.protocol.checks_sequences and request.sequence not in (expected, NO_SEQUENCE):
        is_duplicate = request.epoch == partition.producer_epoch and request.sequence < expected
        return state, Response(OK if is_duplicate else REFUSED)
    if bounds.lag and len(partition.log) - partition.high_watermark == bounds.lag:
        return None
    record = Data(request.epoch, request.sequence, request.transaction)
    after = state.with_partition(request.partition, partition.appended(record, bounds.lag))
    if state.has_offsets(request.partition):
        after = attrs.evolve(after, group=attrs.evolve(state.group, pending=request.transaction))
    return after, Response(OK)


def write_marker_to(state: Transactions, request: WriteMarker) -> Transactions | None:
    """Append a marker, unless its producer epoch or coordinator epoch is lower than the highest one that the leader
    knows.

    Returns:
        The next state, or None if the marker is refused or too many entries are above the high watermark.
    """
    partition, bounds = state.partitions[request.partition], state.bounds
    if request.epoch < partition.producer_epoch:
        return None
    if state.protocol.fences_coordinators and request.coordinator_epoch < partition.coordinator_epoch:
        return None
    if bounds.lag and len(partition.log) - partition.high_watermark == bounds.lag:
        return None
    marker = Marker(request.result, request.epoch, request.coordinator_epoch)
    written = state.with_partition(request.partition, partition.appended(marker, bounds.lag))
    if state.has_offsets(request.partition):
        written = after_marker(written, marker)
    return written.without_guards(request.partition)
