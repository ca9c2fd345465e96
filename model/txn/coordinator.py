"""The transaction coordinator: how it handles requests, and how it ends transactions."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn.append import write_marker_to
from leadline.model.txn.bounds import partitions
from leadline.model.txn.group import has_not_answered
from leadline.model.txn.messages import ABORT, AddPartitions, EndTxn, InitProducerId, Produce, WriteMarker
from leadline.model.txn.partition import NO_EPOCH
from leadline.model.txn.producer import OK, REFUSED, Response
from leadline.model.txn.state import (
    COMPLETE,
    EMPTY,
    FAILED,
    FENCED,
    ONGOING,
    PREPARE,
    RESULTS,
    Coordinator,
    Transactions,
)

Handled = tuple[Transactions, Response | None]
"""The state after a request was handled, and the response. If the response is None, the producer repeats the request.

Handlers return None if nothing changes and the producer repeats the request (CONCURRENT_TRANSACTIONS).
"""


def initialised(state: Transactions, request: InitProducerId) -> Handled | None:
    """Handle an `InitProducerId` request. An ongoing transaction is aborted with a higher producer epoch, which no
    producer receives.
    """
    own = state.coordinator
    if own.is_prepared:
        return None
    if own.state == ONGOING:
        bumped = attrs.evolve(own, epoch=own.epoch + 1, last_epoch=NO_EPOCH)
        return _with(state, _prepared(bumped, ABORT)), None
    epoch = own.epoch + state.protocol.initialises_with_higher_epoch
    if request.expected is None:
        return _with(state, attrs.evolve(own, state=EMPTY, epoch=epoch, last_epoch=NO_EPOCH)), Response(OK, epoch)
    if request.expected == own.epoch:
        return _with(state, attrs.evolve(own, state=EMPTY, epoch=epoch, last_epoch=own.epoch)), Response(OK, epoch)
    if request.expected == own.last_epoch:
        return state, Response(OK, own.epoch)
    return state, Response(FENCED)


def added(state: Transactions, request: AddPartitions | Produce) -> Handled | None:
    """Handle an `AddPartitionsToTxn` request from a producer or, with KIP-890 part 2, from a partition's leader."""
    own = state.coordinator
    if state.protocol.fences_adding(own.epoch, request.epoch):
        return state, Response(FENCED)
    if own.is_prepared and state.protocol.waits_for_markers:
        return None
    known = own.partitions if own.state == ONGOING else frozenset()
    ongoing = attrs.evolve(own, state=ONGOING, partitions=known | {request.partition}, pending=frozenset())
    return _with(state, ongoing), Response(OK)


def verified(state: Transactions, request: Produce) -> Handled | None:
    """Handle a request from a partition's leader, which asks whether the partition is part of the transaction
    (KIP-890).
    """
    own = state.coordinator
    if state.protocol.bumps:
        return added(state, request)
    if state.protocol.fences_adding(own.epoch, request.epoch):
        return state, Response(FENCED)
    if own.is_prepared:
        return None
    return state, Response(OK if request.partition in own.partitions else REFUSED)


def ended(state: Transactions, request: EndTxn) -> Handled | None:
    """Handle an `EndTxn` request. The response is sent once the outcome is in the coordinator's log, before any marker
    is written.
    """
    own, protocol = state.coordinator, state.protocol
    if protocol.bumps and own.is_prepared:
        return None  # the markers come first, whoever asks (KAFKA-18464, `TransactionCoordinator.endTransaction`)
    is_retry = protocol.bumps and request.epoch + 1 == own.epoch
    if not protocol.ends(own.epoch, request.epoch) and not (is_retry and own.state in RESULTS):
        return state, Response(FENCED)
    if own.state == ONGOING or (protocol.bumps and request.result == ABORT and not is_retry):
        epoch = own.epoch + protocol.bumps
        ending = attrs.evolve(own, epoch=epoch, last_epoch=own.epoch if protocol.bumps else own.last_epoch)
        return _with(state, _prepared(ending, request.result)), Response(OK, epoch)
    if own.state not in RESULTS or (protocol.bumps and not is_retry):
        return state, Response(FAILED)
    if RESULTS[own.state] != request.result and protocol.compares_results:
        return state, Response(FAILED)
    return None if own.is_prepared else (state, Response(OK, own.epoch))


@action("the coordinator writes its marker to partition {partition}", partition=partitions, fair="weak each")
def write_marker(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The coordinator writes a commit or abort marker to a partition of the transaction."""
    own = state.coordinator
    if not own.is_prepared or partition not in own.pending:
        return
    if state.has_offsets(partition) and has_not_answered(state):
        return
    written = write_marker_to(state, marker_of(state, partition))
    if written is not None:
        is_answered = not (state.has_offsets(partition) and has_not_answered(written))
        yield _with(written, attrs.evolve(own, pending=own.pending - {partition}) if is_answered else own)


@action("the coordinator completes the transaction", fair="weak")
def complete(state: Transactions) -> Iterator[Transactions]:
    """The coordinator completes a transaction after all its markers are written."""
    own = state.coordinator
    if own.is_prepared and not own.pending and not (own.partitions and _abandoned(state)):
        yield _with(state, attrs.evolve(own, state=COMPLETE[own.state], partitions=frozenset()))


def _abandoned(state: Transactions) -> bool:
    """Return whether the coordinator has failed over and the rules do not let it write the remaining markers."""
    return not state.protocol.resumes and state.spent.failovers > 0


def marker_of(state: Transactions, partition: int) -> WriteMarker:
    """Return the `WriteTxnMarkers` request that the coordinator sends to the leader of a partition."""
    own = state.coordinator
    is_old = state.protocol.bumps and not state.protocol.marker_epoch_bumped and own.last_epoch != NO_EPOCH
    epoch = own.last_epoch if is_old else own.epoch
    return WriteMarker(partition, RESULTS[own.state], epoch, own.coordinator_epoch)


def expired(state: Transactions) -> Transactions | None:
    """Abort an expired transaction and return the new state, or None if no transaction is ongoing."""
    own = state.coordinator
    if own.state != ONGOING:
        return None
    epoch = own.epoch + state.protocol.bumps_expired
    return _with(state, _prepared(attrs.evolve(own, epoch=epoch, last_epoch=NO_EPOCH), ABORT))


def failed_over(state: Transactions) -> Transactions | None:
    """Return the state after another broker has become coordinator and has read the coordinator's log.

    The new coordinator writes markers again to all partitions of a prepared transaction. If the failover changes
    nothing in the model, the result is None.
    """
    own = state.coordinator
    forgets = own.last_epoch != NO_EPOCH and not state.protocol.keeps_last_epoch and not state.protocol.bumps
    if not own.is_prepared and not forgets:
        return None
    pending = own.partitions if own.is_prepared and state.protocol.resumes else frozenset[int]()
    return _with(
        state,
        attrs.evolve(
            own,
            pending=pending,
            last_epoch=NO_EPOCH if forgets else own.last_epoch,
            coordinator_epoch=own.coordinator_epoch + 1,
        ),
    )


def _prepared(coordinator: Coordinator, result: str) -> Coordinator:
    partitions = coordinator.partitions if coordinator.state == ONGOING else frozenset[int]()
    return attrs.evolve(coordinator, state=PREPARE[result], partitions=partitions, pending=partitions)


def _with(state: Transactions, coordinator: Coordinator) -> Transactions:
    return attrs.evolve(state, coordinator=coordinator)
