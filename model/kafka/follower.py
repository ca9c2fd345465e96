"""How a follower truncates its log, and which request it sends to its leader next."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import FORGOTTEN, Replica
from leadline.model.kafka.messages import EpochRequest, FetchRequest
from leadline.model.kafka.protocols import Protocol


def truncated(replica: Replica, offset: int) -> Replica:
    """Return the replica with its log truncated to `offset`, and its high watermark lowered to at most `offset`."""
    if offset >= replica.log.end_offset:
        return replica
    return attrs.evolve(
        replica, log=replica.log.truncate_to(offset), high_watermark=min(offset, replica.high_watermark)
    )


def next_request(protocol: Protocol, follower: Replica, *, asks: bool) -> FetchRequest | EpochRequest:
    """Return the request that a follower sends to its leader next.

    Parameters:
        protocol: the rules of the release.
        follower: the follower's replica, which has a leader.
        asks: whether the follower may ask where to truncate before it fetches. It asks only if the protocol requires
            this and the log is not empty.

    Returns:
        An `OffsetsForLeaderEpoch` request, or a fetch request that starts at the log end offset.
    """
    if follower.leader is None:
        raise ValueError("a replica without a leader cannot send a request")
    wanted = protocol.asks_about(follower.log) if asks else None
    if wanted is not None:
        return EpochRequest(follower.leader, follower.epoch, wanted)
    last_epoch = None if follower.last_epoch == FORGOTTEN else protocol.sends_last_epoch(follower.log)
    return FetchRequest(follower.leader, follower.epoch, follower.log.end_offset, last_epoch)
