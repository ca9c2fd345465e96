"""A follower: how it truncates its log, and what it asks its leader next."""

from __future__ import annotations

import attrs

from leadline.model.kafka.broker import Replica
from leadline.model.kafka.messages import EpochRequest, FetchRequest
from leadline.model.kafka.protocols import Protocol


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
