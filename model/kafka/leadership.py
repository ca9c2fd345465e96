"""The reaction of a broker to a new leader epoch, which it learns from the controller."""

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
    """A broker obeys a request that names it as leader. It keeps its log, and does not know the followers' log end
    offsets yet.

    A broker that has just started receives the current ISR. Other brokers receive the ISR with which the epoch began.
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
    """A broker obeys a request that names a different broker as leader: it truncates, asks where to truncate, or
    fetches.

    Up to 2.0, a broker that already follows that leader continues to fetch without truncating (KAFKA-7164).
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
    """Return a follower that continues to fetch in a new epoch. Its request in flight is changed to the new epoch.

    In releases in which followers continue to fetch, leaders do not check the epoch of a request.
    """
    request = follower.in_flight
    if isinstance(request, FetchRequest | EpochRequest):
        request = attrs.evolve(request, epoch=epoch)
    return attrs.evolve(follower, epoch=epoch, in_flight=request)


def _heard(state: Partition, broker: int, epoch: int) -> Partition:
    """Return the state after a broker has received a request. A request from before a restart of the broker is
    counted.
    """
    late = state.replicas[broker].leader is None and not state.is_current(epoch)
    return state.having("late_requests") if late else state
