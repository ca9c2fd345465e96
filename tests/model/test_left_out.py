"""Behaviour of Kafka that the model leaves out, put back: no promise depends on it.

`model/left-out.md` has the sizes of larger searches with the same actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import attrs

from leadline.checker import Action, Spec, action, component
from leadline.checker.engines import ENGINES
from leadline.checker.result import Verdict
from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import FENCED
from leadline.model.kafka.crash import registered, restart, started
from leadline.model.kafka.fetch import _fetch_of, _looked_at
from leadline.model.kafka.isr import shrink_isr
from leadline.model.kafka.messages import FetchRequest, FetchResponse
from leadline.model.kafka.releases import column_of
from leadline.model.kafka.state import Partition, initial_states
from leadline.model.quorum import brokers

PROMISES = (
    *("durable_as_promised", "durable_after_few_unclean_stops", "committed_never_lost", "reads_monotonic"),
    "reads_not_taken_back",
)


@attrs.frozen(cache_hash=True)
class Read:
    """A fetch request for which a leader has read its log, with the answer. It has not counted the offset yet."""

    request: FetchRequest
    answer: FetchResponse


@attrs.frozen(cache_hash=True)
class InTwoSteps(Partition):
    """A partition whose leaders can count a fetch offset later than they read their logs."""

    read: tuple[Read | None, ...] = component(each="broker", default=())


@action("broker {leader} reads its log for broker {follower}'s fetch request", leader=brokers, follower=brokers)
def read_log(state: InTwoSteps, leader: int, follower: int) -> Iterator[InTwoSteps]:
    request, replica = _fetch_of(state, leader, follower), state.replicas[leader]
    if request is None or state.read[follower] is not None or request.offset > replica.log.end_offset:
        return
    if state.protocol.diverges(replica, request, state.protocol.end_of_epoch) is None:
        records = replica.log.records[request.offset : request.offset + 1]
        yield with_read(state, follower, Read(request, FetchResponse(records, replica.high_watermark)))


@action("broker {follower}'s leader counts the offset of its fetch request, and answers", follower=brokers)
def count_offset(state: InTwoSteps, follower: int) -> Iterator[InTwoSteps]:
    read = state.read[follower]
    if read is None:
        return
    after = with_read(state, follower, None)
    leader = read.request.leader
    if state.believes_to_lead(leader) and leads_since(state, leader, read.request.epoch):
        after = cast(InTwoSteps, _looked_at(after, leader, follower, read.request))
    replica = after.replicas[follower]
    if replica.up and replica.in_flight == read.request and replica.log.end_offset == read.request.offset:
        after = after.with_replica(follower, attrs.evolve(replica, in_flight=read.answer))
    yield after


def leads_since(state: InTwoSteps, leader: int, epoch: int) -> bool:
    """Return whether a leader may still have the object that it read. A crash in between is not seen here, so that the
    search has more behaviour than Kafka.
    """
    later = [state.requests[each] for each in range(epoch, state.replicas[leader].epoch + 1)]
    return all(request is not None and request.leader == leader for request in later)


def with_read(state: InTwoSteps, follower: int, read: Read | None) -> InTwoSteps:
    return attrs.evolve(state, read=(*state.read[:follower], read, *state.read[follower + 1 :]))


def promising(name: str, *added: Action[Any, ...], **bounds: Any) -> Spec[Partition]:
    """Return a spec of 4.3 with more actions, and with the promises as properties."""
    column = column_of("kafka/4.3")
    assert column is not None
    protocol = attrs.evolve(column.protocol(), name=f"4.3-{name}")
    spec = KAFKA.spec(column, protocol)
    return attrs.evolve(
        spec,
        actions=[*actions_of(protocol), *added],
        bounds=attrs.evolve(column.bounds, acks="all", min_insync_replicas=2, records=1, missed_bounces=0, **bounds),
        properties=[each for each in (*spec.checks, *spec.optional) if each.name in PROMISES],
        optional=[],
    )


def is_kept(spec: Spec[Partition], *added: Action[Any, ...]) -> bool:
    """Return whether the promises hold with more actions, which lead to more states than without them."""
    assert {item.name for item in spec.checks} == set(PROMISES)
    result = ENGINES["compiled"](spec)
    without = attrs.evolve(spec, actions=[each for each in spec.actions if each not in added])
    assert result.statistics.distinct > ENGINES["compiled"](without).statistics.distinct
    return result.verdict is Verdict.HOLDS


# --- the sections of a lock in which a leader handles a fetch (`Partition.fetchRecords`) ------------------------


def in_two_steps() -> Spec[Partition]:
    """Return a spec in which a leader can note the offset of a fetch request later than it reads its log."""
    spec = promising("in-two-steps", read_log, count_offset, crashes=1, isr_shrinks=1)
    protocol = spec.initials()[0].protocol

    def initial(bounds: Bounds) -> Iterator[Partition]:
        for state in initial_states(bounds, protocol):
            fields = {field.name: getattr(state, field.name) for field in attrs.fields(Partition)}
            yield InTwoSteps(**fields, read=(None,) * bounds.brokers)

    return attrs.evolve(spec, initial_states=initial)


def test_reading_the_log_and_noting_the_offset() -> None:
    assert is_kept(in_two_steps(), read_log, count_offset)


# --- a start in three steps -------------------------------------------------------------------------------------


@action("broker {broker} restarts, and is fenced", broker=brokers)
def restart_fenced(state: Partition, broker: int) -> Iterator[Partition]:
    for _ in restart.function(state, broker):
        yield registered(started(state, broker), broker).with_registration(broker, FENCED)


def test_a_broker_that_is_fenced_after_a_start() -> None:
    assert is_kept(promising("fenced", restart_fenced, crashes=1, isr_shrinks=1, max_epoch=2), restart_fenced)


# --- several followers leave the ISR at once --------------------------------------------------------------------


@action("broker {leader} removes all other brokers from the ISR at once", leader=brokers)
def remove_all(state: Partition, leader: int) -> Iterator[Partition]:
    others = sorted(state.replicas[leader].isr - {leader})
    if len(others) > 1 and all(any(True for _ in shrink_isr.function(state, leader, each)) for each in others):
        for after in shrink_isr.function(state, leader, others[0]):
            replica = after.replicas[leader]
            assert replica.proposal is not None
            proposal = attrs.evolve(replica.proposal, isr=frozenset({leader}))
            yield after.with_replica(leader, attrs.evolve(replica, proposal=proposal))


def test_several_followers_that_leave_at_once() -> None:
    assert is_kept(promising("all-at-once", remove_all, brokers=3, crashes=0, isr_shrinks=2), remove_all)
