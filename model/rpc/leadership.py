"""What a broker does when a `LeaderAndIsr` request tells it who leads."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import Request, brokers, epochs
from model.rpc.high_watermark import with_leader
from model.rpc.state import UNKNOWN_OFFSET, Partition, Replica
from model.rpc.truncation import next_request, truncated


@action("broker {broker} hears that it leads in epoch {epoch}", broker=brokers, epoch=epochs)
def become_leader(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names it. It knows nothing of its followers yet, and keeps its log."""
    request = _obeyed(state, broker, epoch)
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
    request = _obeyed(state, broker, epoch)
    if request is None or request.leader is None or request.leader == broker:
        return
    replica = state.replicas[broker]
    following = Replica(replica.log, replica.high_watermark, epoch=epoch, leader=request.leader)
    if not state.protocol.asks(replica.log):
        following = truncated(following, replica.high_watermark)
    asking = attrs.evolve(following, in_flight=next_request(following, asks=state.protocol.asks(following.log)))
    yield state.with_replica(broker, asking)


def _obeyed(state: Partition, broker: int, epoch: int) -> Request | None:
    """The request of an epoch if a broker obeys it; None if there is none or it does not.

    A broker obeys only a higher epoch than it knows. One that has just started knows none, and hears from
    the controller of the current leader only.
    """
    replica = state.replicas[broker]
    if not replica.up or epoch <= replica.epoch:
        return None
    if replica.leader is None and (epoch != state.quorum.epoch or state.quorum.leader is None):
        return None
    return state.requests[epoch]
