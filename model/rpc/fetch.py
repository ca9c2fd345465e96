"""Fetching: a follower's request, what the leader makes of it, and the response.

A follower always has a request in flight: it sends the next one as soon as it has handled a response.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import brokers
from model.rpc.high_watermark import with_leader
from model.rpc.isr import with_isr
from model.rpc.messages import FetchRequest, FetchResponse, OffsetOutOfRange
from model.rpc.state import Partition
from model.rpc.truncation import next_request, truncated


@action("broker {leader} handles broker {follower}'s fetch request and answers", leader=brokers, follower=brokers)
def handle_fetch(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A leader reads its log, updates the remote log end offset, tries its high watermark, and answers.

    An answer without records is what a request gets that has waited long enough. One that would teach the
    follower nothing is not sent: the request waits on.
    """
    request = _accepted(state, leader, follower)
    if request is None:
        return
    log = state.replicas[leader].log
    if request.offset > log.end_offset:
        answer = attrs.evolve(state.replicas[follower], in_flight=OffsetOutOfRange(log.end_offset))
        yield state.with_replica(follower, answer)
        return
    after = _looked_at(state, leader, follower, request)
    records = log.records[request.offset : request.offset + 1]
    told = state.protocol.tells(state.replicas[leader], after.replicas[leader])
    target = state.replicas[follower]
    if records or state.protocol.learns(request.offset, told) != target.high_watermark:
        yield after.with_replica(follower, attrs.evolve(target, in_flight=FetchResponse(records, told)))


@action("broker {leader} handles broker {follower}'s fetch request and lets it wait", leader=brokers, follower=brokers)
def park_fetch(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """Without records to send, a request waits in purgatory; what it says of the follower is used at once."""
    request = _accepted(state, leader, follower)
    if request is None or request.offset != state.replicas[leader].log.end_offset:
        return
    if state.replicas[leader].remote_leos[follower] != request.offset:
        yield _looked_at(state, leader, follower, request)


@action("broker {follower} handles the fetch response", follower=brokers)
def handle_fetch_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower appends the records, learns the leader's high watermark, and sends the next request."""
    replica = state.replicas[follower]
    match replica.in_flight:
        case FetchResponse(records=records, high_watermark=told):
            log = replica.log
            for record in records:
                log = log.append(record)
            watermark = state.protocol.learns(log.end_offset, told)
            fetched = attrs.evolve(replica, log=log, high_watermark=watermark)
        case OffsetOutOfRange(end_offset=end_offset):
            fetched = truncated(replica, end_offset)
        case _:
            return
    yield state.with_replica(follower, attrs.evolve(fetched, in_flight=next_request(fetched, asks=False)))


def _accepted(state: Partition, leader: int, follower: int) -> FetchRequest | None:
    """The fetch request of a follower, if it is for this believed leader, and not fenced."""
    request = state.replicas[follower].in_flight
    if not isinstance(request, FetchRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return None
    return request if state.protocol.accepts(state.replicas[leader].epoch, request.epoch) else None


def _looked_at(state: Partition, leader: int, follower: int, request: FetchRequest) -> Partition:
    """The state after a leader has learned from a fetch request how far the follower is.

    The follower may join the ISR by that, and the high watermark rise.
    """
    replica = state.replicas[leader]
    leos = replica.remote_leos
    if leos[follower] != request.offset:
        leos = (*leos[:follower], request.offset, *leos[follower + 1 :])
        replica = attrs.evolve(replica, remote_leos=leos)
    if follower not in replica.isr and state.protocol.admits(replica, request.offset) and state.is_true_leader(leader):
        state, replica = with_isr(state, replica, replica.isr | {follower})
    return with_leader(state, leader, replica)
