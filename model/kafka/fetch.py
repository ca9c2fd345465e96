"""Fetching: a follower sends a request, the leader handles it, and the follower handles the response.

A follower always has one request or response in flight, because it sends the next request when it handles the response.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.broker import CURRENT, FENCED, FORGOTTEN, KNOWN, UNTIL_EMPTY, Replica
from leadline.model.kafka.epochs import EpochEnd
from leadline.model.kafka.follower import next_request, truncated, truncated_by_answer
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.isr import expanded
from leadline.model.kafka.log_start import asks_for_offset, is_out_of_range, told_start
from leadline.model.kafka.messages import (
    Diverging,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    LateFetch,
    OffsetOutOfRange,
)
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.state import Partition
from leadline.model.quorum import NO_EPOCH, brokers


@action(
    "broker {leader} handles broker {follower}'s fetch request and answers",
    leader=brokers,
    follower=brokers,
    fair="weak each",
    effect="healing",
)
def handle_fetch(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A leader handles a fetch request: it updates the remote log end offset and its high watermark, and responds.

    The leader sends a response without records when a request has waited in purgatory for long enough. If there are no
    records and the follower would not learn a new high watermark, the leader sends no response, and the request keeps
    waiting.

    If the start of a log can move, a fetch offset outside of the leader's log is answered with OFFSET_OUT_OF_RANGE, and
    the follower asks for the offset at which the leader's log ends (`deletion.handle_offsets_request`).

    If a late response has truncated the follower's log since the follower sent this request, the response to this
    request does not match the log. The follower then stops fetching until the next leader epoch.
    """
    request = _fetch_of(state, leader, follower)
    if request is None:
        return
    source, protocol, receiver = state.replicas[leader], state.rules_of(leader), state.rules_of(follower)
    end = _divergence(state, leader, request)
    if end is not None:
        told = source.high_watermark if receiver.learns_before_truncating else None
        start = source.log.start_offset if receiver.learns_before_truncating and receiver.carries_starts else 0
        answer = attrs.evolve(state.replicas[follower], in_flight=Diverging(end.epoch, end.end_offset, told, start))
        after = _looked_at(state, leader, follower, request) if protocol.counts_diverging else state
        yield after.with_replica(follower, answer)
        return
    log = source.log
    if state.bounds.starts and (request.offset > log.end_offset or is_out_of_range(protocol, source, request)):
        yield state.with_replica(follower, asks_for_offset(state.replicas[follower], earliest=False))
        return
    if request.offset > log.end_offset:
        answer = attrs.evolve(state.replicas[follower], in_flight=OffsetOutOfRange(log.end_offset))
        yield state.with_replica(follower, answer)
        return
    after = _looked_at(state, leader, follower, request)
    records = log.between(request.offset, request.offset + 1)
    told = protocol.tells(source, after.replicas[leader], bool(records))
    target = state.replicas[follower]
    start = log.start_offset if receiver.carries_starts else 0
    if request.offset != target.log.end_offset:
        yield after.with_replica(follower, attrs.evolve(target, in_flight=None))
    elif (
        records
        or target.last_epoch == UNTIL_EMPTY
        or receiver.learns(request.offset, told) != target.high_watermark
        or (state.bounds.starts and _is_news(receiver, target, request, start))
    ):
        yield after.with_replica(follower, attrs.evolve(target, in_flight=FetchResponse(records, told, start)))


def _divergence(state: Partition, leader: int, request: FetchRequest) -> EpochEnd | None:
    """Return where the follower's last epoch ends in a leader's log if the leader finds that the logs differ, or None.

    A leader that first tests whether the fetch offset is below the start of its log does not compare such logs
    (KAFKA-12996).
    """
    source, protocol = state.replicas[leader], state.rules_of(leader)
    if state.bounds.starts and protocol.tests_start_first and is_out_of_range(protocol, source, request):
        return None
    return protocol.diverges(source, request, protocol.end_of_epoch)


def _is_news(protocol: Protocol, follower: Replica, request: FetchRequest, start: int) -> bool:
    """Return whether an empty response tells a follower a new log start offset, or lets it tell its own.

    In Kafka, a request waits at most `replica.fetch.wait.max.ms`, and the next one has the follower's new log start
    offset.
    """
    return protocol.carries_starts and (start > follower.log.start_offset or request.start < follower.log.start_offset)


@action(
    "broker {leader} receives broker {follower}'s fetch request and holds it in purgatory",
    leader=brokers,
    follower=brokers,
    fair="weak each",
    effect="healing",
)
def park_fetch(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A fetch request waits in purgatory if there are no records to send. The leader uses the request's offset
    immediately.
    """
    request = _fetch_of(state, leader, follower)
    if request is None or request.offset != state.replicas[leader].log.end_offset:
        return
    if state.replicas[leader].remote_leos[follower] == request.offset:
        return
    if _divergence(state, leader, request) is None and not _is_refused(state, leader, request):
        yield _looked_at(state, leader, follower, request)


def _is_refused(state: Partition, leader: int, request: FetchRequest) -> bool:
    """Return whether a leader answers a request with OFFSET_OUT_OF_RANGE because of the start of its log."""
    return state.bounds.starts and is_out_of_range(state.rules_of(leader), state.replicas[leader], request)


def handled_again(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """Yield the state after a leader has handled a repeated fetch request. The follower may now join the ISR."""
    request = _fetch_of(state, leader, follower)
    if request is None or state.replicas[leader].remote_leos[follower] != request.offset:
        return
    if _divergence(state, leader, request) is None:
        yield _looked_at(state, leader, follower, request)


@action("broker {follower} handles the fetch response", follower=brokers, fair="weak each", effect="healing")
def handle_fetch_response(state: Partition, follower: int) -> Iterator[Partition]:
    """A follower appends the records, adopts the leader's high watermark, and sends the next request.

    The follower truncates its log if the response says that the logs diverge (KIP-595), or that the fetch offset is
    beyond the leader's log. In the latter case, up to 2.0, the broker exits unless unclean leader election is enabled
    (KAFKA-7414).
    """
    replica, protocol = state.replicas[follower], state.rules_of(follower)
    match replica.in_flight:
        case FetchResponse(records=records, high_watermark=told, start=start):
            log = replica.log
            for record in records:
                log = log.append(record)
            watermark = protocol.learns(log.end_offset, told)
            forgets = not records and replica.last_epoch != KNOWN
            fetched = attrs.evolve(
                replica,
                log=log,
                high_watermark=watermark,
                last_epoch=FORGOTTEN if forgets else KNOWN,
                empty_epoch=NO_EPOCH if records else replica.empty_epoch,
            )
            if state.bounds.starts:
                fetched = told_start(protocol, fetched, start)
        case OffsetOutOfRange() if protocol.exits_out_of_range and not state.bounds.unclean_leader_election:
            yield state.with_replica(
                follower, replica.renewed(log=replica.log, high_watermark=replica.high_watermark, up=False)
            )
            return
        case OffsetOutOfRange(end_offset=end_offset):
            fetched = attrs.evolve(truncated(protocol, replica, end_offset), last_epoch=KNOWN)
        case Diverging(epoch=epoch, end_offset=end_offset, high_watermark=None):
            answer = EpochResponse(epoch, end_offset)
            fetched, _ = truncated_by_answer(protocol, replica, answer)
        case _:
            return
    request = next_request(protocol, fetched, asks=False)
    yield state.with_replica(follower, attrs.evolve(fetched, in_flight=request))


@action(
    "broker {follower} takes the high watermark of a diverging fetch response",
    follower=brokers,
    fair="weak each",
    effect="healing",
)
def learn_before_truncating(state: Partition, follower: int) -> Iterator[Partition]:
    """Up to 3.4.0, a follower adopts the leader's high watermark before it truncates its log (KAFKA-14704)."""
    replica, protocol = state.replicas[follower], state.rules_of(follower)
    match replica.in_flight:
        case Diverging(high_watermark=int(told), start=start) as response:
            watermark = protocol.learns(replica.log.end_offset, told)
            heard = attrs.evolve(response, high_watermark=None, start=0)
            knows = attrs.evolve(replica, high_watermark=watermark, in_flight=heard)
            knows = told_start(protocol, knows, start) if state.bounds.starts else knows
            yield state.with_replica(follower, knows)


@action(
    "broker {broker} truncates its log by a fetch response from an earlier leader epoch",
    broker=brokers,
    fair="weak each",
    effect="healing",
)
def truncate_late(state: Partition, broker: int) -> Iterator[Partition]:
    """In 2.8.0, a fetcher may truncate the log when its broker already leads or follows a new leader
    (KAFKA-13207).

    If the broker follows a new leader, its next fetch request was created before the truncation, and therefore contains
    the old log end offset.
    """
    replica, protocol = state.replicas[broker], state.rules_of(broker)
    response = replica.late_response
    if response is None:
        return
    answer = EpochResponse(response.epoch, response.end_offset)
    shorter, _ = truncated_by_answer(protocol, replica, answer)
    if isinstance(shorter.in_flight, FetchResponse) and shorter.log != replica.log:
        shorter = attrs.evolve(shorter, in_flight=None)
    yield state.with_replica(broker, attrs.evolve(shorter, late_response=None))


# --- late fetch requests ------------------------------------------------------------------------------------


@action(
    "broker {follower}'s connection breaks while its fetch request is in flight", follower=brokers, effect="perturbing"
)
def delay_fetch(state: Partition, follower: int) -> Iterator[Partition]:
    """A fetch request is still in flight after its connection broke.

    The follower may send the request again, crash, or follow a new leader.
    """
    request = state.replicas[follower].in_flight
    if state.may("late_fetches") and isinstance(request, FetchRequest) and state.late[follower] is None:
        yield state.having("late_fetches").with_late(follower, LateFetch(request))


@action("broker {leader} handles a delayed fetch request from broker {follower}", leader=brokers, follower=brokers)
def handle_late_fetch(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A leader handles a fetch request whose connection broke: it uses the fetch offset, but the response is lost.

    In 3.5 and 3.6, the leader decides whether the follower may join the ISR, and then reads the follower's broker epoch
    again. If the follower has restarted and the leader has handled a new fetch request in between, the leader sends the
    new broker epoch to the controller, although its decision was based on the previous one (KAFKA-15221).

    Since 3.7 with KRaft, the leader rejects the request if the follower has since registered again and is not fenced
    (`Replica.updateFetchStateOrThrow`).
    """
    late = state.late[follower]
    request = None if late is None else _accepted(state, leader, follower, late.request)
    if late is None or request is None:
        return
    assigned = state.replicas[leader].assigned if state.bounds.moves else None
    if assigned is not None and follower not in assigned:
        return
    handled = state.with_late(follower, None)
    source, protocol = state.replicas[leader], state.rules_of(leader)
    if late.restarted and protocol.refuses_earlier_life and state.registrations[follower].status != FENCED:
        yield handled
        return
    if request.offset > source.log.end_offset or _divergence(state, leader, request) is not None:
        yield handled
        return
    if _is_refused(state, leader, request):
        yield handled
        return
    yield _looked_at(handled, leader, follower, request, outdated=late.restarted)
    newer = _accepted(state, leader, follower, state.replicas[follower].in_flight)
    if protocol.reads_incarnation_twice and late.restarted and newer is not None:
        yield _looked_at(handled, leader, follower, request, seen=newer.offset)


def may_join_by_fetching_again(state: Partition, leader: int, follower: int) -> bool:
    """Return whether a follower would join the ISR if the leader handled the follower's request in purgatory again.

    In Kafka, a request waits at most `replica.fetch.wait.max.ms`, and the follower then sends it again. The model
    leaves out requests that tell the leader nothing new.
    """
    request, replica = _fetch_of(state, leader, follower), state.replicas[leader]
    return (
        request is not None
        and not _is_refused(state, leader, request)
        and request.offset == replica.log.end_offset == replica.remote_leos[follower]
        and replica.metadata == CURRENT
        and _joins(state, leader, follower, request)
        and state.protocol.may_join(state.registrations[follower], False)
    )


def _joins(state: Partition, leader: int, follower: int, request: FetchRequest) -> bool:
    """Return whether a leader proposes to add a follower to the ISR when it handles the follower's fetch request."""
    replica = state.replicas[leader]
    return (
        follower not in replica.isr
        and replica.proposal is None
        and state.rules_of(leader).admits(replica, request.offset)
        and state.is_true_leader(leader)
    )


def _accepted(state: Partition, leader: int, follower: int, request: object) -> FetchRequest | None:
    """Return the request if it is a fetch request that a leader accepts. Otherwise, return None.

    The request must be sent to this broker. The broker must believe that it leads, and must accept the request's epoch,
    which it does not know if the request continues a fetch session (KAFKA-9338).
    """
    if not isinstance(request, FetchRequest) or request.leader != leader or not state.believes_to_lead(leader):
        return None
    knows = state.rules_of(leader).keeps_session_epochs
    return request if not knows or state.accepts(leader, follower, request.epoch) else None


def _fetch_of(state: Partition, leader: int, follower: int) -> FetchRequest | None:
    """Return a follower's fetch request if the leader accepts it. Otherwise, return None.

    A leader rejects a request from a broker that, as far as the leader knows, is not a replica (UNKNOWN_LEADER_EPOCH).
    """
    request = _accepted(state, leader, follower, state.replicas[follower].in_flight)
    if request is None or not state.bounds.moves:
        return request
    assigned = state.replicas[leader].assigned
    return request if assigned is None or follower in assigned else None


def _looked_at(
    state: Partition,
    leader: int,
    follower: int,
    request: FetchRequest,
    *,
    outdated: bool = False,
    seen: int | None = None,
) -> Partition:
    """Return the state after a leader has learned a follower's log end offset from a fetch request.

    In this state, the follower may have joined the ISR, and the high watermark may have advanced.

    Parameters:
        state: the state before the leader handled the request.
        leader, follower: the broker that handled the request, and the broker that sent it.
        request: the fetch request that determines whether the follower may join the ISR.
        outdated: whether the follower has restarted since it sent the request.
        seen: the follower's log end offset as the leader stores it after the step, if the leader handled a second fetch
            request in the meantime. The default is the offset of `request`.
    """
    replica, protocol = state.replicas[leader], state.rules_of(leader)
    joins = _joins(state, leader, follower, request)
    offset = request.offset if seen is None else seen
    leos = replica.remote_leos
    if leos[follower] != offset:
        leos = (*leos[:follower], offset, *leos[follower + 1 :])
        replica = attrs.evolve(replica, remote_leos=leos)
    if state.bounds.starts and replica.remote_starts[follower] != request.start:
        starts = (*replica.remote_starts[:follower], request.start, *replica.remote_starts[follower + 1 :])
        replica = attrs.evolve(replica, remote_starts=starts)
    if protocol.waits_for_caught_up and follower not in replica.isr and request.offset >= replica.log.end_offset:
        replica = attrs.evolve(replica, caught_up=replica.caught_up | {follower})
    if joins:
        return expanded(state, leader, replica, follower, outdated=outdated and protocol.names_incarnations)
    return with_leader(state, leader, replica)
