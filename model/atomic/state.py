"""The state of one partition, for the `atomic` family."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.bounds import bound
from leadline.checker.state import component, constant
from leadline.model.atomic.protocols import Protocol
from leadline.model.atomic.replica import Replica
from leadline.model.leadership import Leadership
from leadline.model.quorum import NO_EPOCH, Quorum, Request


@attrs.frozen
class Bounds:
    """The limits that make the state space finite."""

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    log_size: int = bound(2, "records that a log has room for", at_least=0, at_most=9)
    records: int = bound(2, "records that producers write in all", at_least=0, at_most=9)
    max_epoch: int = bound(1, "the last leader epoch; the first is 0", at_least=0, at_most=9)


@attrs.frozen(cache_hash=True)
class Partition(Leadership[Replica]):
    """A state of the partition: the quorum, the requests that the controller has sent, and the replicas.

    Attributes:
        next_value: the value of the next record that a producer writes.
        quorum: the true leader, leader epoch and ISR.
        requests: the `LeaderAndIsr` requests, indexed by leader epoch. The last element contains the requests that were
            sent before the first election, so that `NO_EPOCH` is a valid index. In the shipped specs, the controller
            sends one request in each epoch. Requests are never removed, because they can arrive late, twice or never.
        replicas: the replica of each broker.
        protocol: the rules of the protocol.
        bounds: the limits of the state space.
    """

    next_value: int
    quorum: Quorum = component()
    requests: tuple[frozenset[Request], ...] = component(each="epoch")
    replicas: tuple[Replica, ...] = component(each="broker")
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def announcing(self, quorum: Quorum) -> Partition:
        """Return the state after the quorum has changed and a request has announced the new quorum."""
        requests = list(self.requests)
        requests[quorum.epoch] |= {Request(quorum.leader, quorum.isr)}
        return attrs.evolve(self, quorum=quorum, requests=tuple(requests))

    def sent_in(self, epoch: int) -> list[Request]:
        """Return the requests of a leader epoch. Requests with a larger ISR come first."""
        return sorted(self.requests[epoch], key=_order)

    def has_to_truncate(self, broker: int) -> bool:
        """Return whether a follower must still truncate, in a protocol in which followers truncate only when they
        fetch.
        """
        replica = self.replicas[broker]
        return replica.leader is not None and self.protocol.diverges(self.replicas[replica.leader].log, replica.log)

    def still_to_hear(self, epoch: int) -> frozenset[int]:
        """Return the brokers that have not yet reached the given epoch. Return an empty set if no request of the epoch
        names a leader.
        """
        if all(request.leader is None for request in self.requests[epoch]):
            return frozenset()
        return frozenset(broker for broker, replica in enumerate(self.replicas) if replica.epoch < epoch)


def _order(request: Request) -> tuple[int, list[int], int]:
    """Return a sort key for a request. Requests must be sorted because the order of a frozenset can differ between
    processes.
    """
    leader = -1 if request.leader is None else request.leader
    return -len(request.isr), sorted(request.isr), leader


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Partition]:
    """Yield the initial state, in which there is no leader, all brokers are in the ISR, and all logs are empty."""
    yield Partition(
        next_value=0,
        quorum=Quorum(leader=None, epoch=NO_EPOCH, isr=frozenset(range(bounds.brokers))),
        requests=(frozenset(),) * (bounds.max_epoch + 2),
        replicas=(Replica(),) * bounds.brokers,
        protocol=protocol,
        bounds=bounds,
    )
