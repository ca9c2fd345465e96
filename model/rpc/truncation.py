"""Truncation: what a follower throws away before it fetches. `OffsetsForLeaderEpoch`, its request and response."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import brokers
from model.rpc.messages import EpochRequest, EpochResponse, FetchRequest
from model.rpc.state import Partition, Replica


@action(
    "broker {leader} answers where the epoch ends that broker {follower} asks about", leader=brokers, follower=brokers
)
def handle_epoch_request(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """Whoever takes itself for the leader looks into its leader epoch cache; with KIP-320 only in the same epoch."""
    target = state.replicas[follower]
    request = target.in_flight
    if not isinstance(request, EpochRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return
    source = state.replicas[leader]
    if state.protocol.accepts(source.epoch, request.epoch):
        answer = state.protocol.answers(source, request.wanted)
        yield state.with_replica(follower, attrs.evolve(target, in_flight=answer))


@action("broker {follower} is told where to truncate", follower=brokers)
def handle_epoch_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower truncates by its protocol's rule, and fetches, or asks again."""
    replica = state.replicas[follower]
    if isinstance(replica.in_flight, EpochResponse):
        truncation = state.protocol.truncates_to(replica, replica.in_flight)
        shorter = truncated(replica, truncation.offset)
        asks = truncation.asks_again and state.protocol.asks(shorter.log)
        yield state.with_replica(follower, attrs.evolve(shorter, in_flight=next_request(shorter, asks=asks)))


def truncated(replica: Replica, offset: int) -> Replica:
    """A replica with only the records below an offset; its high watermark goes no further than that."""
    if offset >= replica.log.end_offset:
        return replica
    return attrs.evolve(
        replica, log=replica.log.truncate_to(offset), high_watermark=min(offset, replica.high_watermark)
    )


def next_request(follower: Replica, *, asks: bool) -> FetchRequest | EpochRequest:
    """What a follower sends to its leader next.

    Parameters:
        follower: its replica, which names a leader.
        asks: whether it asks about the epoch of its last record, rather than fetch from its log end on.
    """
    assert follower.leader is not None
    last_epoch = follower.log.last_epoch
    if asks and last_epoch is not None:
        return EpochRequest(follower.leader, follower.epoch, last_epoch)
    return FetchRequest(follower.leader, follower.epoch, follower.log.end_offset)
