"""Behaviour of Kafka that the model leaves out, put back: no promise depends on it.

`model/left-out.md` has the sizes of larger searches with the same actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from leadline.checker import Action, Property, Spec, action, component, invariant, witness
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
from leadline.model.quorum import NO_EPOCH, brokers
from leadline.reports.loading import load_spec

PAGE = Path(__file__).parents[2] / "model" / "left-out.md"

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
            fields = {str(field.alias): getattr(state, field.name) for field in attrs.fields(Partition)}
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


# --- the rows of model/left-out.md, each with its situation ------------------------------------------------------
#
# A search says something about a situation only if it reaches it. Each row therefore has a witness: the situation
# itself, not the premise of a property.


@witness("the high watermark waits for a follower outside the ISR")
def waits_for_a_follower(state: Partition) -> bool:
    return any(
        replica.caught_up - replica.maximal_isr
        and all(
            (replica.log.end_offset if member == leader else replica.remote_leos[member]) > replica.high_watermark
            for member in replica.maximal_isr
        )
        for leader, replica in state.believed_leaders()
    )


@witness("a leader leads on in another epoch, and knows the log end offset of a follower from before")
def leads_on_with_a_kept_offset(state: Partition) -> bool:
    return any(
        replica.epoch > 0
        and replica.starts_own_epoch_at == replica.log.end_offset
        and any(replica.remote_leos[each] > 0 for each in brokers(state.bounds) if each != leader)
        for leader, replica in state.believed_leaders()
    )


@witness("a leader begins another epoch between reading its log and counting the offset")
def epoch_begins_in_between(state: InTwoSteps) -> bool:
    return any(
        read is not None and state.replicas[read.request.leader].epoch > read.request.epoch for read in state.read
    )


@witness("a broker that is fenced since its start fetches")
def fetches_while_fenced(state: Partition) -> bool:
    return state.spent.crashes > 0 == state.spent.session_expiries and any(
        registration.status == FENCED and replica.up and isinstance(replica.in_flight, FetchRequest)
        for registration, replica in zip(state.registrations, state.replicas, strict=True)
    )


@witness("a leader removes two followers from the ISR at once")
def removes_two_at_once(state: Partition) -> bool:
    return any(
        replica.proposal is not None and len(replica.isr - replica.proposal.isr) > 1
        for _, replica in state.believed_leaders()
    )


@witness("a leader takes a follower to have more than it has, after a late fetch request")
def counts_a_late_fetch(state: Partition) -> bool:
    return state.spent.late_fetches > 0 and any(
        replica.epoch == state.replicas[each].epoch and replica.remote_leos[each] > state.replicas[each].log.end_offset
        for leader, replica in state.believed_leaders()
        for each in brokers(state.bounds)
        if each != leader
    )


@witness("a request and a response have been late")
def both_were_late(state: Partition) -> bool:
    return state.spent.late_fetches > 0 and state.spent.late_responses > 0


@witness("a follower knows an epoch in which nothing was written")
def follower_of_an_empty_epoch(state: Partition) -> bool:
    return any(replica.empty_epoch != NO_EPOCH for replica in state.replicas)


SETTINGS = {"acks": "all", "min_insync_replicas": 2, "missed_bounces": 0}
"""The configuration of the table."""


def with_rules(changed: str) -> Spec[Partition]:
    return cast("Spec[Partition]", load_spec(f"kafka/4.3{changed}"))


def fenced() -> Spec[Partition]:
    return promising("fenced", restart_fenced)


def at_once() -> Spec[Partition]:
    return promising("all-at-once", remove_all)


SITUATIONS: dict[str, tuple[Callable[[], Spec[Partition]], list[Property]]] = {
    "reading the log and noting the offset are two steps": (in_two_steps, [epoch_begins_in_between]),
    "a broker that restarts is fenced at first": (fenced, [fetches_while_fenced]),
    "a leader removes all others from the ISR at once": (at_once, [removes_two_at_once]),
    "`late_fetch=counted`": (lambda: with_rules("+late_fetch=counted"), [counts_a_late_fetch]),
    "late requests and responses": (lambda: with_rules(""), [both_were_late]),
    "`empty_epochs=true`": (lambda: with_rules("").with_bounds({"empty_epochs": True}), [follower_of_an_empty_epoch]),
}
"""For each row of the table, a function that returns the spec, and the situations that the row is about."""


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield what is added, the bounds, and after how many states the situations are reached, for each row."""
    text = PAGE.read_text().partition("The searches that the lines above name")[2].partition("\nIn all searches")[0]
    what = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and "brokers=" in line:
            bounds = next(cell for cell in cells if cell.startswith("`brokers="))
            what = what if cells[0] in (bounds, "the same") else cells[0]
            yield what, bounds.strip("`"), cells[-1]


ROWS = list(rows())


@pytest.mark.parametrize(("what", "bounds", "reached"), ROWS, ids=[f"{what}, {bounds}" for what, bounds, _ in ROWS])
def test_each_row_reaches_its_situation(what: str, bounds: str, reached: str) -> None:
    """Within the bounds of the row. A row whose situation is not reached would have to say "not decided"."""
    spec, situations = SITUATIONS[what]
    found = [reached_after(spec(), situation, bounds) for situation in situations]
    assert " and ".join(found) == reached


@pytest.mark.parametrize(("situation", "reached"), [(waits_for_a_follower, "7"), (leads_on_with_a_kept_offset, "10")])
def test_what_was_left_out_before_is_in_a_release(situation: Property, reached: str) -> None:
    """The rules `hw_waits` and `follower_leos`, from which a loss comes that was missed without them."""
    bounds = "brokers=3,records=1,max_epoch=2,crashes=1,isr_shrinks=1"
    assert reached_after(with_rules(""), situation, bounds) == reached


def reached_after(spec: Spec[Partition], situation: Property, bounds: str) -> str:
    """Return the number of states after which a search reaches a situation, or that this is not decided."""
    searched = attrs.evolve(spec.with_bounds(SETTINGS | values(bounds)), properties=[never(situation)], optional=[])
    (checked,) = ENGINES["compiled"](searched).properties
    return str(len(checked.traces[0])) if checked.traces else "not decided"


def never(situation: Property) -> Property:
    """Return an invariant that a situation violates. A search ends there, which it does not for a witness."""
    shown: Callable[[Any], object] = situation.function

    @invariant(f"not: {situation.sentence}")
    def not_yet(state: Any) -> bool:
        return not shown(state)

    return not_yet


def values(bounds: str) -> dict[str, int | bool]:
    pairs = (each.split("=") for each in bounds.split(","))
    return {name: value == "true" if value in ("true", "false") else int(value) for name, value in pairs}
