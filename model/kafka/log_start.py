"""What the start of a log means for fetching: offsets that are out of range, and starts that leaders tell followers.

Everything here has an effect only if the bounds let the start of a log move (`Bounds.starts`).
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.model.kafka.broker import KNOWN, UNKNOWN_OFFSET, Replica
from leadline.model.kafka.messages import Failed, FetchRequest, OffsetsRequest
from leadline.model.kafka.protocols import AT_ONCE, KEPT, UNKNOWN, Protocol
from leadline.model.log import empty_from
from leadline.model.quorum import NO_EPOCH


def is_out_of_range(protocol: Protocol, leader: Replica, request: FetchRequest) -> bool:
    """Return whether a leader answers a fetch request with OFFSET_OUT_OF_RANGE because of the start of its log.

    In 2.4.0, a leader answers every request so while its own high watermark is below the start of its log, because it
    looks up the position of the high watermark (KAFKA-9491).
    """
    return request.offset < leader.log.start_offset or is_stuck(protocol, leader)


def is_stuck(protocol: Protocol, leader: Replica) -> bool:
    """Return whether a leader cannot use its high watermark, because it is below the start of its log (KAFKA-9491)."""
    return protocol.low_hw == KEPT and leader.high_watermark < leader.log.start_offset


def asks_for_offset(follower: Replica, *, earliest: bool) -> Replica:
    """Return a follower's replica after it has learned that its fetch offset is out of range, and has asked its leader
    for the offset at which the leader's log starts or ends (`AbstractFetcherThread.fetchOffsetAndTruncate`).
    """
    if follower.leader is None:
        raise ValueError("a replica without a leader cannot send a request")
    return attrs.evolve(follower, in_flight=OffsetsRequest(follower.leader, follower.epoch, earliest))


def failed(protocol: Protocol, follower: Replica) -> Replica:
    """Return a follower's replica after an error in its fetcher.

    Before 2.3, the error ends the thread that fetches from this leader. Since KIP-461, only the partition fails, until
    the next leader epoch.
    """
    dead = follower.dead_fetchers
    if protocol.fails_whole_fetcher and follower.leader is not None:
        dead |= {follower.leader}
    return attrs.evolve(follower, in_flight=Failed(), dead_fetchers=dead)


def told_start(protocol: Protocol, follower: Replica, start: int) -> Replica:
    """Return a follower's replica after it has adopted the high watermark and the log start offset of a response.

    A log start offset above its own high watermark is an error (`UnifiedLog.maybeIncrementLogStartOffset`).

    Parameters:
        protocol: the rules of the release.
        follower: the follower's replica, with its new high watermark.
        start: the leader's log start offset.
    """
    follower = with_high_watermark_in_log(protocol, follower)
    if not protocol.carries_starts:
        return follower
    if start > follower.high_watermark:
        return failed(protocol, follower)
    if start <= follower.log.start_offset:
        return follower
    return attrs.evolve(follower, log=follower.log.started_from(start))


def with_high_watermark_in_log(protocol: Protocol, replica: Replica) -> Replica:
    """Return a replica whose high watermark is not below the start of its log, since 2.4
    (`UnifiedLog.updateHighWatermark`).
    """
    if protocol.low_hw not in (KEPT, AT_ONCE) or replica.high_watermark >= replica.log.start_offset:
        return replica
    return attrs.evolve(replica, high_watermark=replica.log.start_offset)


def leads_with(protocol: Protocol, replica: Replica) -> Replica:
    """Return the replica of a new leader, with the high watermark that it has if its own is below the start of its log.

    Up to 1.0.1, such a high watermark becomes unknown (KAFKA-3978).
    """
    if replica.high_watermark >= replica.log.start_offset or protocol.low_hw == KEPT:
        return replica
    watermark = UNKNOWN_OFFSET if protocol.low_hw == UNKNOWN else replica.log.start_offset
    return attrs.evolve(replica, high_watermark=watermark)


def fully_truncated(protocol: Protocol, replica: Replica, start: int) -> Replica:
    """Return the replica after it has removed its whole log, and begins again with an empty one.

    Before 2.4.1, the high watermark stays where it was (KAFKA-9491).

    Parameters:
        protocol: the rules of the release.
        replica: the replica.
        start: the offset at which the empty log starts.
    """
    watermark = start if protocol.low_hw == AT_ONCE else replica.high_watermark
    return attrs.evolve(
        replica, log=empty_from(start), high_watermark=watermark, empty_epoch=NO_EPOCH, last_epoch=KNOWN
    )


def loaded_after_kill(protocol: Protocol, down: Replica) -> Iterator[Replica]:
    """Yield the replica of a broker that was killed, with each log start offset that it can find when it starts again.

    The log start offset is written to its checkpoint every `log.flush.start.offset.checkpoint.interval.ms`. Whole
    segments below it are deleted at any time (`LogLoader`: the larger of the checkpoint and of the base offset of the
    first segment).
    """
    for start in range(down.log.start_offset, down.log.first_offset - 1, -1):
        yield with_high_watermark_in_log(protocol, attrs.evolve(down, log=down.log.as_loaded_from(start)))
