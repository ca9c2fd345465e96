"""Truncation: what a follower throws away before it fetches. `OffsetsForLeaderEpoch`, its request and response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from leadline.checker.action import action
from leadline.model.kafka.messages import EpochRequest, EpochResponse, FetchRequest
from leadline.model.kafka.state import Partition, Replica
from leadline.model.quorum import brokers

if TYPE_CHECKING:
    from leadline.model.kafka.protocols import Protocol


@action("broker {leader} answers broker {follower}'s OffsetsForLeaderEpoch request", leader=brokers, follower=brokers)
def handle_epoch_request(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """Whoever takes itself for the leader looks into its leader epoch cache; with KIP-320 only in the same epoch."""
    target = state.replicas[follower]
    request = target.in_flight
    if not isinstance(request, EpochRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return
    source, protocol = state.replicas[leader], state.protocol
    if protocol.accepts(source.epoch, request.epoch):
        answer = protocol.answers(source, request.wanted, protocol.end_of_epoch)
        yield state.with_replica(follower, attrs.evolve(target, in_flight=answer))


@action("broker {follower} learns where to truncate", follower=brokers)
def handle_epoch_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower truncates by its protocol's rule, and fetches, or asks again."""
    replica, protocol = state.replicas[follower], state.protocol
    if isinstance(replica.in_flight, EpochResponse):
        truncation = protocol.truncates_to(replica, replica.in_flight, protocol.end_of_epoch)
        shorter = truncated(replica, truncation.offset)
        request = next_request(protocol, shorter, asks=truncation.asks_again)
        yield state.with_replica(follower, attrs.evolve(shorter, in_flight=request))


def truncated(replica: Replica, offset: int) -> Replica:
    """A replica with only the records below an offset; its high watermark goes no further than that."""
    if offset >= replica.log.end_offset:
        return replica
    return attrs.evolve(
        replica, log=replica.log.truncate_to(offset), high_watermark=min(offset, replica.high_watermark)
    )


def next_request(protocol: Protocol, follower: Replica, *, asks: bool) -> FetchRequest | EpochRequest:
    """What a follower sends to its leader next.

    Parameters:
        protocol: the rules.
        follower: its replica, which names a leader.
        asks: whether it has to ask where to truncate, if its protocol does and its log has an epoch to ask about,
            before it fetches from its log end on.
    """
    assert follower.leader is not None
    wanted = protocol.asks_about(follower.log) if asks else None
    if wanted is not None:
        return EpochRequest(follower.leader, follower.epoch, wanted)
    last_epoch = protocol.sends_last_epoch(follower.log)
    return FetchRequest(follower.leader, follower.epoch, follower.log.end_offset, last_epoch)
