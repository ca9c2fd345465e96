"""How a broker reacts when it learns of a new leader epoch from the controller."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.broker import UNKNOWN_OFFSET, Replica
from leadline.model.kafka.follower import next_request, truncated
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.messages import EpochRequest, FetchRequest
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers, epochs


@action("broker {broker} learns that it is the leader for epoch {epoch}", broker=brokers, epoch=epochs)
def become_leader(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names it as leader. It knows nothing about its followers yet, and keeps its log.

    A broker that has just started gets the current ISR; others get the ISR with which the epoch began.
    """
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader != broker:
        return
    just_started = state.replicas[broker].leader is None and state.is_current(epoch)
    leading = attrs.evolve(
        state.replicas[broker],
        epoch=epoch,
        leader=broker,
        isr=state.quorum.isr if just_started else request.isr,
        remote_leos=(UNKNOWN_OFFSET,) * state.bounds.brokers,
        in_flight=None,
        proposal=None,
    )
    yield with_leader(_heard(state, broker, epoch), broker, leading)


@action("broker {broker} learns of the leader for epoch {epoch} and follows it", broker=brokers, epoch=epochs)
def become_follower(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names another leader: it truncates, asks where to truncate, or just fetches.

    Up to 2.0 it continues as before if it already follows that leader (KAFKA-7164).
    """
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader is None or request.leader == broker:
        return
    replica = state.replicas[broker]
    if replica.leader == request.leader and state.protocol.follows_on(replica.epoch, epoch, request.elected):
        yield state.with_replica(broker, _in_epoch(replica, epoch))
        return
    following = Replica(replica.log, replica.high_watermark, epoch=epoch, leader=request.leader)
    following = truncated(following, state.protocol.truncates_first_to(following))
    asking = attrs.evolve(following, in_flight=next_request(state.protocol, following, asks=True))
    yield _heard(state, broker, epoch).with_replica(broker, asking)


def _in_epoch(follower: Replica, epoch: int) -> Replica:
    """A follower that continues in another epoch. Its request in flight gets the new epoch, which no leader checks."""
    request = follower.in_flight
    if isinstance(request, FetchRequest | EpochRequest):
        request = attrs.evolve(request, epoch=epoch)
    return attrs.evolve(follower, epoch=epoch, in_flight=request)


def _heard(state: Partition, broker: int, epoch: int) -> Partition:
    """The state after a broker receives a request, counted if it was sent before the broker's restart."""
    late = state.replicas[broker].leader is None and not state.is_current(epoch)
    return state.having("late_requests") if late else state
