"""How requests arrive: in time, late, or in time but with a response that is lost."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn import coordinator
from leadline.model.txn.append import append_record, needs_verification, write_marker_to
from leadline.model.txn.bounds import partitions, producers
from leadline.model.txn.messages import (
    ABORT,
    COMMIT,
    AddPartitions,
    EndTxn,
    InitProducerId,
    Produce,
    Request,
    WriteMarker,
)
from leadline.model.txn.producer import OK, after_lost_response, received
from leadline.model.txn.state import Transactions


def handled(state: Transactions, request: Request) -> coordinator.Handled | None:
    """Handle a request at the coordinator or at the leader of a partition.

    Returns:
        The next state and the response, or None if nothing changes and there is no response yet.
    """
    match request:
        case InitProducerId():
            return coordinator.initialised(state, request)
        case AddPartitions():
            return coordinator.added(state, request)
        case EndTxn():
            return coordinator.ended(state, request)
        case Produce():
            return append_record(state, request)
        case WriteMarker():
            written = write_marker_to(state, request)
            return None if written is None else (written, None)


@action("the coordinator handles the request of producer {producer}", producer=producers, fair="weak each")
def coordinator_handles(state: Transactions, producer: int) -> Iterator[Transactions]:
    """The coordinator handles a request, and the producer receives the response."""
    if isinstance(state.producers[producer].request, InitProducerId | AddPartitions | EndTxn):
        yield from _in_time(state, producer)


@action("the leader handles the record of producer {producer}", producer=producers, fair="weak each")
def leader_appends(state: Transactions, producer: int) -> Iterator[Transactions]:
    """The leader of a partition appends a record or refuses it, and the producer receives the response."""
    if isinstance(state.producers[producer].request, Produce):
        yield from _in_time(state, producer)


@action("the leader asks the coordinator about the record of producer {producer}", producer=producers, fair="weak each")
def leader_verifies(state: Transactions, producer: int) -> Iterator[Transactions]:
    """The leader of a partition asks the coordinator whether the partition is part of the transaction (KIP-890)."""
    request = state.producers[producer].request
    if not isinstance(request, Produce) or not needs_verification(state, request):
        return
    answer = coordinator.verified(state, request)
    if answer is None:
        return
    after, response = answer
    if response is None:
        raise ValueError("the coordinator always answers a question about a partition")
    if response.outcome == OK:
        own = after.producers[producer]
        yield after.with_producer(producer, attrs.evolve(own, request=_verified(after, request)))
    else:
        yield received(after, producer, response)


@action("a request of producer {producer} is handled, but its response is lost", producer=producers)
def lose_response(state: Transactions, producer: int) -> Iterator[Transactions]:
    """A request is handled, but its producer does not receive the response."""
    request = state.producers[producer].request
    if request is None or not state.may("lost_responses"):
        return
    answer = handled(state, request)
    if answer is not None and answer[1] is not None:
        yield from after_lost_response(answer[0].having("lost_responses"), producer)


@action("the late request to add partition {partition} arrives", partition=partitions)
def late_add(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The coordinator handles a late `AddPartitionsToTxn` request."""
    for request in _late(state):
        if isinstance(request, AddPartitions) and request.partition == partition:
            yield from _arriving(state, request)


@action("the late request to {result} arrives", result=[COMMIT, ABORT])
def late_end(state: Transactions, result: str) -> Iterator[Transactions]:
    """The coordinator handles a late `EndTxn` request."""
    for request in _late(state):
        if isinstance(request, EndTxn) and request.result == result:
            yield from _arriving(state, request)


@action("a late InitProducerId request arrives")
def late_init(state: Transactions) -> Iterator[Transactions]:
    """The coordinator handles a late `InitProducerId` request."""
    for request in _late(state):
        if isinstance(request, InitProducerId):
            yield from _arriving(state, request)


@action("the late record arrives at partition {partition}", partition=partitions)
def late_record(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The leader of a partition appends a late record."""
    for request in _late(state):
        if isinstance(request, Produce) and request.partition == partition:
            yield from _arriving(state, request)


@action("the leader of partition {partition} asks the coordinator about the late record", partition=partitions)
def late_verification(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The leader of a partition asks the coordinator about a late record (KIP-890)."""
    for request in _late(state):
        if not isinstance(request, Produce) or request.partition != partition:
            continue
        answer = coordinator.verified(state, request) if needs_verification(state, request) else None
        if answer is not None and answer[1] is not None and answer[1].outcome == OK:
            late = answer[0].late.remove(request).add(_verified(state, request))
            yield attrs.evolve(answer[0], late=late)


@action("the late marker arrives at partition {partition}", partition=partitions)
def late_marker(state: Transactions, partition: int) -> Iterator[Transactions]:
    """The leader of a partition writes a marker from a coordinator that has since failed over."""
    for request in _late(state):
        if isinstance(request, WriteMarker) and request.partition == partition:
            yield from _arriving(state, request)


def _in_time(state: Transactions, producer: int) -> Iterator[Transactions]:
    request = state.producers[producer].request
    if request is None:
        raise ValueError("a producer without a request gets no response")
    answer = handled(state, request)
    if answer is not None:
        after, response = answer
        yield after if response is None else received(after, producer, response)


def _late(state: Transactions) -> list[Request]:
    """Return the late requests without duplicates, in an order that is the same in every process."""
    return sorted(state.late, key=repr)


def _arriving(state: Transactions, request: Request) -> Iterator[Transactions]:
    """Yield the state after a late request has been handled.

    A request that changes nothing stays in flight, as if it were lost. Removing it would only rule out later states.
    """
    answer = handled(state, request)
    if answer is not None and answer[0] != state:
        after = answer[0]
        yield attrs.evolve(after, late=after.late.remove(request))


def _verified(state: Transactions, request: Produce) -> Produce:
    return attrs.evolve(request, verified=True, guarded=state.protocol.guards)
