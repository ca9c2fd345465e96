"""The state of the `txn` family: the coordinator's metadata for one transactional id, the producers, and the
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.bag import Bag
from leadline.checker.state import component, constant
from leadline.model.txn.bounds import Bounds, Spent
from leadline.model.txn.messages import ABORT, COMMIT, Produce, Request
from leadline.model.txn.partition import NO_EPOCH, Marker, Partition
from leadline.model.txn.protocols import Protocol

EMPTY = "Empty"
ONGOING = "Ongoing"
PREPARE_COMMIT = "PrepareCommit"
PREPARE_ABORT = "PrepareAbort"
COMPLETE_COMMIT = "CompleteCommit"
COMPLETE_ABORT = "CompleteAbort"

PREPARE = {COMMIT: PREPARE_COMMIT, ABORT: PREPARE_ABORT}
COMPLETE = {PREPARE_COMMIT: COMPLETE_COMMIT, PREPARE_ABORT: COMPLETE_ABORT}
RESULTS = {PREPARE_COMMIT: COMMIT, COMPLETE_COMMIT: COMMIT, PREPARE_ABORT: ABORT, COMPLETE_ABORT: ABORT}

OFFSETS = 0
"""With the bound `groups`, the partition that has the offsets of a consumer group: one of `__consumer_offsets`."""

NEW = "new"
READY = "ready"
OPEN = "open"
MUST_ABORT = "must abort"
MUST_BUMP = "must bump its epoch"
MUST_RESTART = "must re-initialise"
FENCED = "fenced"
FAILED = "failed"


@attrs.frozen(cache_hash=True)
class Coordinator:
    """The transaction coordinator's metadata for the transactional id (Kafka's TransactionMetadata).

    Attributes:
        state: the state of the transaction, such as `ONGOING`.
        epoch: the producer epoch.
        last_epoch: the producer epoch before a producer last requested a higher one by sending its own epoch (KIP-360),
            or `NO_EPOCH`.
        partitions: the partitions of the transaction.
        pending: the partitions to which a marker must still be written.
        coordinator_epoch: how often the coordinator has failed over.
    """

    state: str = EMPTY
    epoch: int = 0
    last_epoch: int = NO_EPOCH
    partitions: frozenset[int] = frozenset()
    pending: frozenset[int] = frozenset()
    coordinator_epoch: int = 0

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is decided, and markers are being written."""
        return self.state in COMPLETE

    @property
    def unclosed(self) -> frozenset[int]:
        """The partitions on which the coordinator still has to end the transaction."""
        return self.pending if self.is_prepared else self.partitions


@attrs.frozen(cache_hash=True)
class Producer:
    """The state of a producer.

    Attributes:
        mode: what the producer can do next, such as `READY` or `OPEN`.
        epoch: its producer epoch.
        transaction: the number of its current transaction, or 0.
        added: the partitions that it has added to its transaction.
        written: for each partition, the number of records that it has sent in its transaction.
        sequences: for each partition, the next sequence number.
        request: the request whose response the producer is waiting for, or None.
        then: the mode that the producer will have once its transaction has ended: `MUST_BUMP`, `MUST_RESTART` or
            `READY`.
    """

    mode: str = NEW
    epoch: int = NO_EPOCH
    transaction: int = 0
    added: frozenset[int] = frozenset()
    written: tuple[int, ...] = ()
    sequences: tuple[int, ...] = ()
    request: Request | None = None
    then: str = READY

    def initialised(self, epoch: int) -> Producer:
        """Return the producer with a new producer epoch. Sequence numbers begin at 0 again."""
        zeros = (0,) * len(self.sequences)
        return Producer(mode=READY, epoch=epoch, written=zeros, sequences=zeros)


@attrs.frozen(cache_hash=True)
class Group:
    """What the group coordinator has in memory of the offsets that transactions commit. See `leadline.model.txn.group`.

    Attributes:
        offset: the transaction that has committed the offset at which consumers go on, or 0.
        pending: the transaction of the producer's last offset that is not committed yet, or 0.
        completions: the markers in the log whose offsets the coordinator has not taken over yet, oldest first.
    """

    offset: int = 0
    pending: int = 0
    completions: tuple[Marker, ...] = ()


@attrs.frozen(cache_hash=True)
class Promise:
    """The outcome that a producer requested for a transaction, and whether it was told that the request succeeded.

    States record this only for the properties.

    Attributes:
        asked: `COMMIT` or `ABORT`, or an empty string if the producer has not asked yet.
        told: whether the producer was told that the request succeeded.
    """

    asked: str = ""
    told: bool = False


@attrs.frozen(cache_hash=True)
class Transactions:
    """A state of the `txn` family.

    Attributes:
        begun: the number of transactions that producers have begun.
        initialised: the highest producer epoch that a producer has received in a response to an `InitProducerId`
            request.
        late: the in-flight requests whose responses no producer is waiting for.
        spent: how often each perturbation has happened.
        promises: the promises about each transaction. Transactions are numbered from 1.
        coordinator: the transaction coordinator.
        group: the offsets of a consumer group, which change only with the bound `groups`.
        producers: the producers, which have the same transactional id.
        protocol: the rules of the broker and client releases.
        bounds: the limits of the state space.
    """

    begun: int
    initialised: int
    late: Bag[Request]
    spent: Spent = component()
    promises: tuple[Promise, ...] = component(each="transaction")
    coordinator: Coordinator = component()
    group: Group = component()
    producers: tuple[Producer, ...] = component(each="producer")
    partitions: tuple[Partition, ...] = component(each="partition")
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def may(self, perturbation: str) -> bool:
        """Return whether the bounds allow the given perturbation to happen once more."""
        limit: int = getattr(self.bounds, perturbation)
        return limit > 0 and getattr(self.spent, perturbation) < limit

    def having(self, perturbation: str) -> Transactions:
        """Count the given perturbation once more, and return the new state."""
        spent = attrs.evolve(self.spent, **{perturbation: getattr(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)

    def with_producer(self, number: int, producer: Producer) -> Transactions:
        """Return the state with a producer replaced."""
        known = self.producers
        return attrs.evolve(self, producers=(*known[:number], producer, *known[number + 1 :]))

    def with_partition(self, number: int, partition: Partition) -> Transactions:
        """Return the state with a partition replaced."""
        known = self.partitions
        return attrs.evolve(self, partitions=(*known[:number], partition, *known[number + 1 :]))

    def with_promise(self, transaction: int, promise: Promise) -> Transactions:
        """Return the state with the promises about a transaction replaced."""
        known = self.promises
        return attrs.evolve(self, promises=(*known[: transaction - 1], promise, *known[transaction:]))

    def promise(self, transaction: int) -> Promise:
        """Return the promises about a transaction."""
        return self.promises[transaction - 1]

    def has_offsets(self, partition: int) -> bool:
        """Return whether a partition has the offsets of a consumer group."""
        return self.bounds.groups > 0 and partition == OFFSETS

    def requests(self) -> Iterator[Request]:
        """Yield the requests in flight: first those whose responses producers are waiting for, then late requests."""
        yield from (producer.request for producer in self.producers if producer.request is not None)
        yield from self.late

    def without_guards(self, partition: int) -> Transactions:
        """Mark the verifications of all requests to a partition as no longer valid, and return the new state
        (KAFKA-14884).
        """
        if not self.protocol.guards or not any(_is_guarded(request, partition) for request in self.requests()):
            return self
        producers = tuple(
            attrs.evolve(each, request=_unguarded(each.request, partition)) if each.request is not None else each
            for each in self.producers
        )
        late = Bag(_unguarded(request, partition) for request, count in self.late.items() for _ in range(count))
        return attrs.evolve(self, producers=producers, late=late)


def _is_guarded(request: Request, partition: int) -> bool:
    return isinstance(request, Produce) and request.partition == partition and request.guarded


def _unguarded(request: Request, partition: int) -> Request:
    if isinstance(request, Produce) and request.partition == partition:
        return attrs.evolve(request, guarded=False)
    return request


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Transactions]:
    """Yield the initial state: producer 0 has producer epoch 0, and the logs are empty."""
    zeros = (0,) * bounds.partitions
    first = Producer(mode=READY, epoch=0, written=zeros, sequences=zeros)
    yield Transactions(
        begun=0,
        initialised=0,
        late=Bag(),
        spent=Spent(),
        promises=(Promise(),) * bounds.transactions,
        coordinator=Coordinator(),
        group=Group(),
        producers=(first, *(Producer(written=zeros, sequences=zeros),) * (bounds.producers - 1)),
        partitions=(Partition(),) * bounds.partitions,
        protocol=protocol,
        bounds=bounds,
    )
