"""What a broker does when a `LeaderAndIsr` request tells it who leads."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import brokers, epochs
from model.rpc.high_watermark import with_leader
from model.rpc.state import UNKNOWN_OFFSET, Partition, Replica
from model.rpc.truncation import next_request, truncated


@action("broker {broker} hears that it leads in epoch {epoch}", broker=brokers, epoch=epochs)
def become_leader(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names it. It knows nothing of its followers yet, and keeps its log."""
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader != broker:
        return
    leading = attrs.evolve(
        state.replicas[broker],
        epoch=epoch,
        leader=broker,
        isr=request.isr,
        remote_leos=(UNKNOWN_OFFSET,) * state.bounds.brokers,
        in_flight=None,
    )
    yield with_leader(state, broker, leading)


@action("broker {broker} hears of the leader of epoch {epoch} and follows it", broker=brokers, epoch=epochs)
def become_follower(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names another one: it truncates, or asks where to."""
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader is None or request.leader == broker:
        return
    replica = state.replicas[broker]
    following = Replica(replica.log, replica.high_watermark, epoch=epoch, leader=request.leader)
    if not state.protocol.asks(replica.log):
        following = truncated(following, replica.high_watermark)
    asking = attrs.evolve(following, in_flight=next_request(following, asks=state.protocol.asks(following.log)))
    yield state.with_replica(broker, asking)
