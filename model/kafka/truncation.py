"""Truncation before fetching: the `OffsetsForLeaderEpoch` request and its response."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.follower import next_request, truncated_by_answer
from leadline.model.kafka.messages import EpochRequest, EpochResponse
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers


@action(
    "broker {leader} answers broker {follower}'s OffsetsForLeaderEpoch request",
    leader=brokers,
    follower=brokers,
    fair="weak each",
    effect="healing",
)
def handle_epoch_request(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A broker that believes it leads responds with the end offset of an epoch, which it looks up in its leader epoch
    cache.

    With KIP-320, the broker rejects a request from a follower in a different leader epoch.
    """
    target = state.replicas[follower]
    request = target.in_flight
    if not isinstance(request, EpochRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return
    if state.accepts(leader, follower, request.epoch):
        source, protocol = state.replicas[leader], state.rules_of(leader)
        answer = protocol.answers(source, request.wanted, protocol.end_of_epoch)
        yield state.with_replica(follower, attrs.evolve(target, in_flight=answer))


@action("broker {follower} learns where to truncate", follower=brokers, fair="weak each", effect="healing")
def handle_epoch_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower truncates its log according to the rule of its protocol, and then either fetches or asks about an
    earlier epoch.
    """
    replica, protocol = state.replicas[follower], state.rules_of(follower)
    if isinstance(replica.in_flight, EpochResponse):
        shorter, asks_again = truncated_by_answer(protocol, replica, replica.in_flight)
        request = next_request(protocol, shorter, asks=asks_again)
        yield state.with_replica(follower, attrs.evolve(shorter, in_flight=request))
