"""How a follower truncates its log, and which request it sends to its leader next."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import FORGOTTEN, Replica
from leadline.model.kafka.log_start import failed
from leadline.model.kafka.messages import EpochRequest, EpochResponse, Failed, FetchRequest
from leadline.model.kafka.protocols import Protocol
from leadline.model.quorum import NO_EPOCH


def truncated(protocol: Protocol, replica: Replica, offset: int) -> Replica:
    """Return the replica with its log truncated to `offset`, and its high watermark lowered to at most `offset`.

    An unknown high watermark (-1) cannot be truncated to: the fetcher fails (KAFKA-3978).
    """
    if offset >= replica.log.end_offset:
        return replica
    if offset < 0:
        return failed(protocol, replica)
    return attrs.evolve(
        replica,
        log=replica.log.truncate_to(offset),
        high_watermark=min(offset, replica.high_watermark),
        empty_epoch=NO_EPOCH,
    )


def truncated_by_answer(protocol: Protocol, replica: Replica, answer: EpochResponse) -> tuple[Replica, bool]:
    """Return a follower's replica after it has learned from its leader where an epoch ends. Also return whether the
    follower then asks about an earlier epoch.

    Up to 2.6.0, a truncation that removes no record also keeps an epoch without records in the leader epoch cache. The
    follower then asks about the same epoch again (KAFKA-10706).
    """
    truncation = protocol.truncates_to(replica, answer, protocol.end_of_epoch)
    shorter = truncated(protocol, replica, truncation.offset)
    if protocol.drops_empty_epoch:
        shorter = attrs.evolve(shorter, empty_epoch=NO_EPOCH)
    return shorter, truncation.asks_again


def next_request(protocol: Protocol, follower: Replica, *, asks: bool) -> FetchRequest | EpochRequest | Failed:
    """Return the next request from a follower to its leader. A follower whose fetcher has failed sends none.

    Parameters:
        protocol: the rules of the release.
        follower: the follower's replica, which has a leader.
        asks: whether the follower may ask where to truncate before it fetches. It asks only if `Protocol.asks_about`
            returns an epoch.

    Returns:
        An `OffsetsForLeaderEpoch` request, or a fetch request that starts at the log end offset.
    """
    if isinstance(follower.in_flight, Failed) or follower.leader in follower.dead_fetchers:
        return Failed()
    if follower.leader is None:
        raise ValueError("a replica without a leader cannot send a request")
    wanted = protocol.asks_about(follower) if asks else None
    if wanted is not None:
        return EpochRequest(follower.leader, follower.epoch, wanted)
    last_epoch = None if follower.last_epoch == FORGOTTEN else protocol.sends_last_epoch(follower)
    start = follower.log.start_offset if protocol.carries_starts else 0
    return FetchRequest(follower.leader, follower.epoch, follower.log.end_offset, last_epoch, start)
