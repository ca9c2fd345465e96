"""The deletion of old records: DeleteRecords requests, retention, and what followers below the start of a log do."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.follower import next_request, truncated
from leadline.model.kafka.log_start import asks_for_offset, fully_truncated, is_stuck, with_high_watermark_in_log
from leadline.model.kafka.messages import EarliestOffset, FetchResponse, OffsetOutOfRange, OffsetsRequest
from leadline.model.kafka.state import P, Partition
from leadline.model.quorum import brokers


def leaders_that_delete(bounds: Bounds) -> range:
    """Return the brokers to which DeleteRecords requests can be sent. By default, there are none."""
    return brokers(bounds) if bounds.deletes else range(0)


def brokers_that_retain(bounds: Bounds) -> range:
    """Return the brokers whose retention can delete records. By default, there are none."""
    return brokers(bounds) if bounds.retentions else range(0)


def brokers_with_starts(bounds: Bounds) -> range:
    """Return the brokers whose log can have a start other than 0. By default, there are none."""
    return brokers(bounds) if bounds.starts else range(0)


def new_starts(bounds: Bounds) -> range:
    """Return the offsets at which a log can start after records have been deleted."""
    return range(1, bounds.records + 1)


@action(
    "an operator deletes the records below offset {offset} at broker {leader}",
    leader=leaders_that_delete,
    offset=new_starts,
    effect="perturbing",
)
def delete_records(state: Partition, leader: int, offset: int) -> Iterator[Partition]:
    """A broker that believes it leads handles a DeleteRecords request: it raises the start of its log (KIP-107).

    It answers when every replica has done so; see `answer_deletion`. It refuses an offset above its high watermark. The
    model has no requests for an offset below the start of the log, which change nothing.
    """
    if not state.rules_of(leader).deletes_records or not state.may("deletes") or not state.believes_to_lead(leader):
        return
    replica = state.replicas[leader]
    if not replica.log.start_offset < offset <= replica.high_watermark:
        return
    shorter = attrs.evolve(replica, log=replica.log.started_from(offset), deleting=offset)
    yield _asked(state.having("deletes"), offset).with_replica(leader, shorter)


@action(
    "broker {leader} answers that the records are deleted",
    leader=leaders_that_delete,
    fair="weak each",
    effect="healing",
)
def answer_deletion(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader answers a DeleteRecords request when its low watermark has reached the offset of the request.

    The low watermark is the smallest log start offset of the leader and of those other replicas whose brokers are alive
    as far as the leader knows (`Partition.lowWatermarkIfLeader`). It does not matter whether they are in the ISR.
    """
    replica = state.replicas[leader]
    if replica.deleting and state.believes_to_lead(leader) and _low_watermark(state, leader) >= replica.deleting:
        answered = attrs.evolve(state, deleted=max(state.deleted, replica.deleting))
        yield answered.with_replica(leader, attrs.evolve(replica, deleting=0))


def _low_watermark(state: Partition, leader: int) -> int:
    replica = state.replicas[leader]
    others = [
        start
        for broker, start in enumerate(replica.remote_starts)
        if broker != leader
        and state.considers_alive(broker)
        and (replica.assigned is None or broker in replica.assigned)
    ]
    return min([replica.log.start_offset, *others])


@action(
    "the retention of broker {broker} deletes the records below offset {offset}",
    broker=brokers_that_retain,
    offset=new_starts,
    effect="perturbing",
)
def retain(state: Partition, broker: int, offset: int) -> Iterator[Partition]:
    """A broker deletes its oldest segments, because they are too old or the log is too large
    (`UnifiedLog.deleteOldSegments`). Each replica does this by itself. In the model, a segment has one record.
    """
    replica, protocol = state.replicas[broker], state.rules_of(broker)
    if not state.may("retentions") or not replica.up or replica.offline or replica.leader is None:
        return
    if not replica.log.start_offset < offset <= min(protocol.retains_up_to(replica), replica.log.end_offset):
        return
    shorter = attrs.evolve(replica, log=replica.log.without_segments_below(offset))
    yield _asked(state.having("retentions"), offset).with_replica(broker, with_high_watermark_in_log(protocol, shorter))


def _asked(state: P, offset: int) -> P:
    return attrs.evolve(state, deletable=max(state.deletable, offset))


# --- out of range -------------------------------------------------------------------------------------------


@action(
    "broker {leader} answers broker {follower}'s ListOffsets request",
    leader=brokers_with_starts,
    follower=brokers_with_starts,
    fair="weak each",
    effect="healing",
)
def handle_offsets_request(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A broker that believes it leads tells a follower where its log ends or starts. With KIP-320, it rejects a request
    from a follower in a different leader epoch.
    """
    target = state.replicas[follower]
    request = target.in_flight
    if not isinstance(request, OffsetsRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return
    if not state.accepts(leader, follower, request.epoch):
        return
    source = state.replicas[leader]
    answer = EarliestOffset(source.log.start_offset) if request.earliest else OffsetOutOfRange(source.log.end_offset)
    yield state.with_replica(follower, attrs.evolve(target, in_flight=answer))


@action(
    "broker {follower} handles the ListOffsets response",
    follower=brokers_with_starts,
    fair="weak each",
    effect="healing",
)
def handle_offsets_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower whose fetch offset is out of range truncates its log to the end of its leader's log if this is
    shorter. Otherwise, it asks where the leader's log starts. If that is beyond its own log, it removes its whole log
    and begins again there (`AbstractFetcherThread.fetchOffsetAndTruncate`). No epoch is compared.

    The leader can change its log between its two answers. Up to 2.0, a follower with the longer log exits unless
    unclean leader election is enabled (KAFKA-7414).
    """
    replica, protocol = state.replicas[follower], state.rules_of(follower)
    match replica.in_flight:
        case OffsetOutOfRange(end_offset=end) if end < replica.log.end_offset:
            if protocol.exits_out_of_range and not state.bounds.unclean_leader_election:
                down = replica.renewed(log=replica.log, high_watermark=replica.high_watermark, up=False)
                yield state.with_replica(follower, down)
                return
            fetched = truncated(protocol, replica, end)
        case OffsetOutOfRange():
            yield state.with_replica(follower, asks_for_offset(replica, earliest=True))
            return
        case EarliestOffset(start=start) if start > replica.log.end_offset:
            fetched = fully_truncated(protocol, replica, start)
        case EarliestOffset():
            fetched = replica
        case _:
            return
    yield state.with_replica(follower, attrs.evolve(fetched, in_flight=next_request(protocol, fetched, asks=False)))


@action(
    "broker {leader} reads its high watermark and log start again before it answers broker {follower}'s fetch",
    leader=brokers_with_starts,
    follower=brokers_with_starts,
    effect="perturbing",
)
def read_start_again(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A leader reads its high watermark and the start of its log again after the records, and both may have advanced
    (`LogReadResult.updateLeaderReplicaInfo`, KAFKA-7104).

    Kafka does so only if the request has advanced the high watermark or the low watermark. The model does it after any
    request.
    """
    source, target, protocol = state.replicas[leader], state.replicas[follower], state.rules_of(leader)
    response = target.in_flight
    if not protocol.reads_start_again or not isinstance(response, FetchResponse):
        return
    if target.leader != leader or not state.believes_to_lead(leader):
        return
    if source.log.start_offset > response.start and not is_stuck(protocol, source):
        newer = attrs.evolve(response, high_watermark=source.high_watermark, start=source.log.start_offset)
        yield state.with_replica(follower, attrs.evolve(target, in_flight=newer))
