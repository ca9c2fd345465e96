"""The observations that a recorder would make of a behaviour of the model.

This module is the reverse of `leadline.brokers.conformance`. It shows which rules a behaviour would confirm if brokers
executed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.following import HIDDEN_ACTIONS, FollowedRelease
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.seen import Answer, SeenDiverging, SeenFetch, SeenOutOfRange, SeenRecords
from leadline.model.kafka.messages import Diverging, EpochRequest, EpochResponse, FetchRequest, FetchResponse, Message
from leadline.model.kafka.rolls import Rolling
from leadline.model.kafka.state import Partition

Taken = tuple[str, tuple[int, ...], Partition, Partition]
"""A step: the name of the action, its values, and the states before and after it."""

See = Callable[[Window], Observation[Partition]]
"""Makes the observation of a step, in a time window."""


def seen(followed: FollowedRelease, steps: Iterable[Taken]) -> Iterator[tuple[int, See]]:
    """Yield the number of each step that can be observed, and a function that makes the observation.

    Parameters:
        followed: the release against which the observations will be checked.
        steps: the steps, in order.
    """
    make = Observations(followed)
    asked: dict[int, tuple[SeenFetch, Answer]] = {}
    for time, (name, values, before, after) in enumerate(steps):
        see = _see(make, name, values, before, after, asked)
        if see is not None:
            yield time, see


def _see(
    make: Observations,
    name: str,
    values: tuple[int, ...],
    before: Partition,
    after: Partition,
    asked: dict[int, tuple[SeenFetch, Answer]],
) -> See | None:
    if name in HIDDEN_ACTIONS:
        return None
    broker, other = values[0], values[-1]
    replica = after.replicas[broker]
    match name:
        case "begin_shutdown" if after.quorum == before.quorum:
            return None
        case "stop":
            return lambda w: make.stopped(w, broker, optional=True)
        case "produce":
            base, value = replica.log.end_offset - 1, replica.log.records[-1].value
            return lambda w: make.produced(w, broker, (value,), "all", base)
        case "handle_fetch":
            request = before.replicas[other].in_flight
            assert isinstance(request, FetchRequest)
            fetch = _seen_fetch(other, request, before)
            told = _seen_answer(after.replicas[other].in_flight, request.offset, replica.high_watermark)
            assert told is not None
            asked[other] = fetch, told
            return lambda w: make.fetch_answered(w, fetch, told, arrives=True)
        case "handle_fetch_response":
            fetch, answer = asked[broker]
            following = replica.in_flight
            then = _seen_fetch(broker, following, after) if isinstance(following, FetchRequest) else None
            return lambda w: make.response_handled(w, fetch, answer, then)
        case "handle_epoch_request":
            question, answered = before.replicas[other].in_flight, after.replicas[other].in_flight
            assert isinstance(question, EpochRequest)
            assert isinstance(answered, EpochResponse)
            end = answered.epoch, answered.end_offset
            return lambda w: make.epoch_answered(w, broker, other, question.wanted, *end)
        case "handle_epoch_response":
            request = replica.in_flight
            offset = request.offset if isinstance(request, FetchRequest) else None
            return lambda w: make.epoch_response_handled(w, broker, offset)
        case "become_leader" | "become_follower":
            announced = before.requests[other]
            assert announced is not None
            assert announced.leader is not None
            leader, isr = announced.leader, announced.isr
            return lambda w: make.learned(w, broker, leader, other, isr, optional=False)
        case "shrink_isr" if replica.proposal is None:
            return lambda w: make.isr_written(w, broker, after.quorum.isr)
        case "shrink_isr":
            proposal = replica.proposal
            assert proposal is not None
            return lambda w: make.proposed(w, broker, replica.epoch, proposal.isr)
        case "handle_alter_partition":
            quorum = after.quorum
            result = (quorum.leader, quorum.epoch, quorum.isr)
            return lambda w: make.proposal_handled(w, broker, None if quorum == before.quorum else result)
        case "crash" | "crash_after_append":
            return lambda w: make.killed(w, broker)
        case "crash_losing_tail":
            return lambda w: make.killed(w, broker, cut_to=other)
        case "restart":
            stage = after.stages[broker] if isinstance(after, Rolling) else 0
            return lambda w: make.restarted(w, broker, stage)
    if after.quorum == before.quorum:
        return lambda w: make.fenced(w, broker, fenced=name == "session_expires")
    decided = after.quorum
    stopping = frozenset({broker}) if name == "begin_shutdown" else frozenset()
    return lambda w: make.decided(w, decided.leader, decided.epoch, decided.isr, may_shut_down=stopping)


def _seen_fetch(follower: int, request: FetchRequest, state: Partition) -> SeenFetch:
    rules = state.rules_of(follower)
    names = rules.sends_last_epoch.__name__ != "nothing"
    epoch = request.epoch if rules.names_epoch else None
    in_session = not state.rules_of(request.leader).keeps_session_epochs
    return SeenFetch(request.leader, follower, epoch, request.offset, request.last_epoch, names, in_session)


def _seen_answer(message: Message | None, offset: int, high_watermark: int) -> Answer | None:
    """Return a response. It contains the leader's high watermark, even if the follower ignores it."""
    match message:
        case FetchResponse(records=records, high_watermark=watermark):
            told = tuple((record.value, record.epoch) for record in records)
            return SeenRecords(told, watermark, offset if told else None)
        case Diverging(epoch=epoch, end_offset=end):
            return SeenDiverging(epoch, end, high_watermark)
        case EpochResponse() | EpochRequest() | FetchRequest() | None:
            return None
    return SeenOutOfRange()
