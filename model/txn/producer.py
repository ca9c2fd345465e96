"""Producers: the requests that they send, and how they handle responses and time-outs."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.txn.bounds import partitions, producers
from leadline.model.txn.messages import (
    ABORT,
    COMMIT,
    NO_SEQUENCE,
    AddPartitions,
    EndTxn,
    InitProducerId,
    Produce,
    Request,
)
from leadline.model.txn.partition import NO_EPOCH
from leadline.model.txn.state import (
    MUST_ABORT,
    MUST_BUMP,
    MUST_RESTART,
    NEW,
    OPEN,
    READY,
    Producer,
    Promise,
    Transactions,
)

OK = "ok"
REFUSED = "refused"


@attrs.frozen
class Response:
    """A response to a producer's request.

    Attributes:
        outcome: `OK`; `FENCED`; `FAILED` for an error after which the producer cannot continue; or `REFUSED` for an
            error after which it can only abort its transaction.
        epoch: the producer epoch in the response, or `NO_EPOCH`.
    """

    outcome: str
    epoch: int = NO_EPOCH


@action("producer {producer} asks for a producer epoch (InitProducerId)", producer=producers)
def initialise(state: Transactions, producer: int) -> Iterator[Transactions]:
    """A producer sends `InitProducerId` because it has started, or because it needs a higher epoch (KIP-360)."""
    own = state.producers[producer]
    if own.request is None and own.mode in (NEW, MUST_BUMP, MUST_RESTART):
        expected = own.epoch if own.mode == MUST_BUMP else None
        yield _sending(state, producer, own, InitProducerId(producer, expected))


@action(
    "producer {producer} adds partition {partition} to its transaction (AddPartitionsToTxn)",
    producer=producers,
    partition=partitions,
)
def add_partition(state: Transactions, producer: int, partition: int) -> Iterator[Transactions]:
    """A producer adds a partition to its transaction before it writes to the partition. The first partition begins a
    transaction.
    """
    for begun, own in _in_transaction(state, producer):
        if partition not in own.added:
            yield _sending(begun, producer, own, AddPartitions(own.epoch, partition, own.transaction))


@action("producer {producer} sends a record to partition {partition}", producer=producers, partition=partitions)
def produce(state: Transactions, producer: int, partition: int) -> Iterator[Transactions]:
    """A producer sends a record to a partition of its transaction. With KIP-890 part 2, it does not have to add
    the partition first.
    """
    for begun, own in _in_transaction(state, producer):
        if own.written[partition] == state.bounds.records:
            continue
        if not state.protocol.bumps and partition not in own.added:
            continue
        has_sequence = not state.has_offsets(partition)
        sequence = own.sequences[partition] if has_sequence else NO_SEQUENCE
        request = Produce(own.epoch, sequence, partition, own.transaction)
        sequences = _one_more(own.sequences, partition) if has_sequence else own.sequences
        sent = attrs.evolve(own, written=_one_more(own.written, partition), sequences=sequences)
        yield _sending(begun, producer, sent, request)


@action(
    "producer {producer} asks to {result} its transaction (EndTxn)",
    producer=producers,
    result=[COMMIT, ABORT],
)
def end(state: Transactions, producer: int, result: str) -> Iterator[Transactions]:
    """A producer commits or aborts its transaction. After an error, it can only abort."""
    own = state.producers[producer]
    if own.request is None and (own.mode == OPEN or (own.mode == MUST_ABORT and result == ABORT)):
        asked = state.with_promise(own.transaction, Promise(asked=result))
        yield _sending(asked, producer, own, EndTxn(own.epoch, result, own.transaction))


@action("a request of producer {producer} times out and is sent again; the first one is late", producer=producers)
def retry(state: Transactions, producer: int) -> Iterator[Transactions]:
    """A producer sends its request again with the same sequence number or result. The first request stays in flight."""
    own = state.producers[producer]
    if own.request is not None and state.may("delayed"):
        delayed = attrs.evolve(state.having("delayed"), late=state.late.add(own.request))
        yield delayed.with_producer(producer, _retrying(state, own))


@action("a record of producer {producer} times out, and its transaction must be aborted", producer=producers)
def give_up(state: Transactions, producer: int) -> Iterator[Transactions]:
    """A producer gives up on a record after `delivery.timeout.ms`. The request stays in flight."""
    own = state.producers[producer]
    if isinstance(own.request, Produce) and state.may("delayed"):
        delayed = attrs.evolve(state.having("delayed"), late=state.late.add(own.request))
        yield delayed.with_producer(producer, _giving_up(state, own))


def after_lost_response(state: Transactions, producer: int) -> Iterator[Transactions]:
    """Yield the states after the response to a request has been lost: the producer sends the request again, or gives up
    on its record.
    """
    own = state.producers[producer]
    yield state.with_producer(producer, _retrying(state, own))
    if isinstance(own.request, Produce):
        yield state.with_producer(producer, _giving_up(state, own))


def _in_transaction(state: Transactions, producer: int) -> Iterator[tuple[Transactions, Producer]]:
    """Yield the state and the producer, with a new transaction if the producer has no open one."""
    own = state.producers[producer]
    if own.request is not None:
        return
    if own.mode == OPEN:
        yield state, own
    elif own.mode == READY and state.begun < state.bounds.transactions:
        written = (0,) * len(own.written)
        number = state.begun + 1
        yield attrs.evolve(state, begun=number), attrs.evolve(own, mode=OPEN, transaction=number, written=written)


def _sending(state: Transactions, producer: int, own: Producer, request: Request) -> Transactions:
    return state.with_producer(producer, attrs.evolve(own, request=request))


def _one_more(counts: tuple[int, ...], index: int) -> tuple[int, ...]:
    return (*counts[:index], counts[index] + 1, *counts[index + 1 :])


def _retrying(state: Transactions, own: Producer) -> Producer:
    request = own.request
    if isinstance(request, Produce):
        request = attrs.evolve(request, verified=False, guarded=False)
    return attrs.evolve(own, request=request, then=_after_timeout(state, own))


def _giving_up(state: Transactions, own: Producer) -> Producer:
    bumps = state.protocol.bumps_after_produce and not state.protocol.bumps
    then = MUST_BUMP if bumps and own.then == READY else _after_timeout(state, own)
    return attrs.evolve(own, request=None, mode=MUST_ABORT, then=then)


def _after_timeout(state: Transactions, own: Producer) -> str:
    return MUST_RESTART if state.protocol.restarts_after_timeout else own.then


def received(state: Transactions, producer: int, response: Response) -> Transactions:
    """Return the state after a producer has received the response to its request."""
    own = state.producers[producer]
    match response.outcome:
        case "ok":
            return _succeeded(state, producer, own, response.epoch)
        case "refused":
            return state.with_producer(producer, attrs.evolve(own, request=None, mode=MUST_ABORT))
        case _:
            gone = Producer(mode=response.outcome, written=own.written, sequences=own.sequences)
            zeros = (0,) * len(own.written)
            return state.with_producer(producer, attrs.evolve(gone, written=zeros, sequences=zeros))


def _succeeded(state: Transactions, producer: int, own: Producer, epoch: int) -> Transactions:
    match own.request:
        case InitProducerId():
            known = attrs.evolve(state, initialised=max(epoch, state.initialised))
            return known.with_producer(producer, own.initialised(epoch))
        case AddPartitions(partition=partition):
            added = attrs.evolve(own, request=None, added=own.added | {partition})
            return state.with_producer(producer, added)
        case EndTxn(result=result, transaction=transaction):
            ended = own.initialised(epoch) if state.protocol.bumps else attrs.evolve(own, request=None, mode=READY)
            ended = attrs.evolve(
                ended, mode=own.then, then=READY, transaction=0, added=frozenset(), written=(0,) * len(own.written)
            )
            told = state.with_promise(transaction, Promise(asked=result, told=True))
            return told.with_producer(producer, ended)
        case _:
            return state.with_producer(producer, attrs.evolve(own, request=None))
