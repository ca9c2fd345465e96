"""A leader reads its log for a fetch request in one step, and counts the fetch offset in a later one.

Kafka does this in separate sections of a lock (`Partition.fetchRecords`), so that a record of the metadata log or an
append can come in between. The model does both at once. Searches with both forms find no difference for the promises;
`model/README.md` has the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import attrs

from leadline.checker import Spec, action, component
from leadline.checker.engines import ENGINES
from leadline.checker.result import Verdict
from leadline.invariants.catalog import kafka
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.fetch import _fetch_of, _looked_at
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


def in_two_steps() -> Spec[Partition]:
    column = column_of("kafka/4.3")
    assert column is not None
    protocol = attrs.evolve(column.protocol(), name="4.3-in-two-steps")

    def initial(bounds: Bounds) -> Iterator[Partition]:
        for state in initial_states(bounds, protocol):
            fields = {field.name: getattr(state, field.name) for field in attrs.fields(Partition)}
            yield InTwoSteps(**fields, read=(None,) * bounds.brokers)

    spec = kafka(protocol, column)
    bounds = attrs.evolve(
        column.bounds, acks="all", min_insync_replicas=2, records=1, crashes=1, isr_shrinks=1, missed_bounces=0
    )
    checks = [each for each in (*spec.checks, *spec.optional) if each.name in PROMISES]
    actions = [*actions_of(protocol), read_log, count_offset]
    return attrs.evolve(spec, initial_states=initial, actions=actions, bounds=bounds, properties=checks, optional=[])


def test_no_promise_depends_on_reading_and_counting_at_once() -> None:
    spec = in_two_steps()
    assert {item.name for item in spec.checks} == set(PROMISES)
    result = ENGINES["compiled"](spec)
    assert result.verdict is Verdict.HOLDS
    at_once = attrs.evolve(spec, actions=[each for each in spec.actions if each not in (read_log, count_offset)])
    assert result.statistics.distinct > 2 * ENGINES["compiled"](at_once).statistics.distinct
