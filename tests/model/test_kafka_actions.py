"""The actions of the `kafka` family: when each is enabled, and what it changes. Articles have their own tests."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.model.kafka.bounds import Spent
from leadline.model.kafka.broker import UNKNOWN_OFFSET, Replica
from leadline.model.kafka.controller import (
    controller_elects,
    controller_elects_uncleanly,
    controller_notices_failure,
    session_expires,
)
from leadline.model.kafka.crash import crash, crash_after_append, crash_losing_tail, followers_first, offsets, restart
from leadline.model.kafka.drawing import DRAWING
from leadline.model.kafka.epochs import known_from_election
from leadline.model.kafka.fetch import handle_fetch, handle_fetch_response, park_fetch
from leadline.model.kafka.follower import truncated
from leadline.model.kafka.isr import shrink_isr
from leadline.model.kafka.leadership import become_follower, become_leader
from leadline.model.kafka.messages import (
    EpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    Message,
    OffsetOutOfRange,
)
from leadline.model.kafka.produce import produce
from leadline.model.kafka.protocols import (
    Truncation,
    end_of_the_epoch_in_both,
    end_only,
    epoch_and_end,
    the_answer_or_own_high_watermark,
)
from leadline.model.kafka.state import Partition, initial_states
from leadline.model.kafka.truncation import handle_epoch_request, handle_epoch_response
from leadline.model.quorum import Quorum, Request
from tests.model.atomic_states import log
from tests.model.kafka_states import HW_TRUNCATION, KIP_279, KIP_320, ROOMY, down, follows, leads, partition, told


def only(steps: Any) -> Partition:
    (state,) = steps
    assert isinstance(state, Partition)
    return state


def none(steps: Any) -> bool:
    return list(steps) == []


RESTARTED = Replica(log("m0@0"))


# --- the initial state ----------------------------------------------------------------------------------------


def test_at_first_broker_0_leads_and_the_others_fetch() -> None:
    (state,) = initial_states(attrs.evolve(ROOMY, max_epoch=2), KIP_320)
    leader = Replica(epoch=0, leader=0, isr=frozenset({0, 1, 2}), remote_leos=(UNKNOWN_OFFSET, 0, 0))
    follower = Replica(epoch=0, leader=0, in_flight=FetchRequest(0, epoch=0, offset=0))
    assert state.replicas == (leader, follower, follower)
    assert state.quorum == Quorum(0, 0, frozenset({0, 1, 2}))
    assert state.requests == (Request(0, frozenset({0, 1, 2})), None, None)
    assert (state.next_value, state.spent, state.exposed, state.acked) == (0, Spent(), (), ())


# --- controller ---------------------------------------------------------------------------------------------


def test_a_failed_leader_leads_no_more_and_leaves_the_isr_without_a_new_epoch() -> None:
    after = only(controller_notices_failure(partition(down("┃"), follows(0, "┃")), 0))
    assert after.quorum == Quorum(None, 0, frozenset({1}))


def test_a_failed_leader_stays_in_the_isr_as_its_last_member() -> None:
    after = only(controller_notices_failure(partition(down("┃"), follows(0, "┃"), isr=[0]), 0))
    assert after.quorum == Quorum(None, 0, frozenset({0}))


def test_a_failed_follower_leaves_the_isr_in_a_new_epoch() -> None:
    after = only(controller_notices_failure(partition(leads(0, "┃"), down("┃")), 1))
    assert after.quorum == Quorum(0, 1, frozenset({0}))
    assert after.requests[1] == Request(0, frozenset({0}), elected=False)


def test_nothing_is_noticed_of_a_broker_that_runs_nor_of_one_that_is_out_already() -> None:
    assert none(controller_notices_failure(partition(leads(0, "┃"), follows(0, "┃")), 1))
    assert none(controller_notices_failure(partition(leads(0, "┃"), down("┃"), isr=[0]), 1))


def test_without_a_leader_only_a_member_that_leaves_the_isr_is_noticed() -> None:
    """A broker outside of the ISR and its last member cannot be removed: that would be a step to the same state."""
    leaderless = partition(follows(0, "┃"), down("┃"), down("┃"), leader=None, isr=[0, 1])
    assert only(controller_notices_failure(leaderless, 1)).quorum == Quorum(None, 0, frozenset({0}))
    assert none(controller_notices_failure(leaderless, 2))
    assert none(controller_notices_failure(attrs.evolve(leaderless, quorum=Quorum(None, 0, frozenset({1}))), 1))


def test_the_session_of_a_running_broker_expires_as_often_as_the_bounds_allow() -> None:
    twice = attrs.evolve(ROOMY, session_expiries=2)
    state = partition(leads(0, "┃"), follows(0, "┃"), follows(0, "┃"), isr=[0, 1, 2], bounds=twice)
    after = only(session_expires(state, 0))
    assert after.quorum == Quorum(None, 0, frozenset({1, 2}))
    assert after.believes_to_lead(0), "it does not know"
    assert after.spent.session_expiries == 1
    last = only(session_expires(after, 1))
    assert (last.quorum.isr, last.spent.session_expiries) == ({2}, 2)
    used_up = attrs.evolve(after, spent=attrs.evolve(after.spent, session_expiries=2))
    assert none(session_expires(used_up, 1)), "broker 1 would leave the ISR if the bounds allowed it"
    assert none(session_expires(attrs.evolve(state, bounds=ROOMY), 0))
    assert none(session_expires(state.with_replica(0, down("┃")), 0)), "it does not run"


@pytest.mark.parametrize(
    ("leader", "broker", "elected"),
    [(None, 0, True), (None, 1, True), (1, 0, True), (0, 1, False), (0, 0, False), (1, 1, False)],
)
def test_who_is_elected(leader: int | None, broker: int, elected: bool) -> None:
    """Any live member if there is no leader; the preferred leader instead of another one."""
    state = partition(leads(0, "┃"), follows(0, "┃"), leader=leader)
    steps = list(controller_elects(state, broker))
    assert [step.quorum for step in steps] == [Quorum(broker, 1, frozenset({0, 1}))] * elected


def test_only_a_live_member_of_the_isr_is_elected_within_the_epochs_there_are() -> None:
    assert none(controller_elects(partition(down("┃"), follows(0, "┃"), leader=None), 0))
    assert none(controller_elects(partition(RESTARTED, follows(0, "┃"), leader=None, isr=[1]), 0))
    assert none(controller_elects(partition(RESTARTED, follows(0, "┃"), leader=None, epoch=3), 0))


def test_the_last_leader_epoch_is_the_bound() -> None:
    leaderless = partition(follows(0, "┃"), leader=None, isr=[0], epoch=2)
    last = only(controller_elects(leaderless, 0))
    assert (last.quorum.epoch, ROOMY.max_epoch) == (3, 3)
    assert [request and request.leader for request in last.requests] == [None, None, None, 0]
    assert none(controller_elects(attrs.evolve(last, quorum=attrs.evolve(last.quorum, leader=None)), 0))


def test_an_unclean_election_takes_all_members_of_the_isr_to_be_down() -> None:
    allowed = attrs.evolve(ROOMY, unclean_leader_election=True)
    state = partition(down("┃ m0@0"), follows(0, "┃"), leader=None, isr=[0], bounds=allowed)
    assert only(controller_elects_uncleanly(state, 1)).quorum == Quorum(1, 1, frozenset({1}))
    assert none(controller_elects_uncleanly(attrs.evolve(state, bounds=ROOMY), 1))
    assert none(controller_elects_uncleanly(state.with_replica(0, RESTARTED), 1))
    assert none(controller_elects_uncleanly(state.with_replica(1, down("┃")), 1)), "it does not run"
    two = partition(down("┃"), follows(0, "┃"), RESTARTED, leader=None, isr=[0, 2], bounds=allowed)
    assert none(controller_elects_uncleanly(two, 1)), "one of two members runs"
    assert none(controller_elects_uncleanly(attrs.evolve(state, quorum=Quorum(0, 0, frozenset({0}))), 1))


# --- LeaderAndIsr -------------------------------------------------------------------------------------------


def test_a_new_leader_forgets_what_it_knew_of_followers_and_keeps_its_log() -> None:
    state = partition(follows(1, "m0@0 ┃ m1@0"), follows(0, "┃"), leader=0, epoch=2, requests={2: (0, [0, 1])})
    after = only(become_leader(state, 0, 2)).replicas[0]
    assert after == leads(0, "m0@0 ┃ m1@0", epoch=2)
    assert set(after.remote_leos) == {UNKNOWN_OFFSET}


def test_a_leader_is_who_is_named_by_a_request_that_it_obeys() -> None:
    state = partition(follows(1, "┃", epoch=1), down("┃"), leader=0, epoch=2, requests={1: (0, [0]), 2: (0, [0])})
    assert [epoch for epoch in range(4) if not none(become_leader(state, 0, epoch))] == [2]
    assert none(become_leader(state, 1, 2)), "another one is named"
    assert none(become_leader(state.with_replica(0, down("┃")), 0, 2))


def test_a_new_follower_asks_where_to_truncate_or_truncates_at_once() -> None:
    state = partition(follows(1, "m0@0 ┃ m1@0"), leads(1, "┃"), epoch=2, leader=1, requests={2: (1, [0, 1])})
    asking = only(become_follower(state, 0, 2)).replicas[0]
    assert (asking.log.end_offset, asking.in_flight) == (2, EpochRequest(1, 2, 0))
    before = attrs.evolve(state, protocol=HW_TRUNCATION)
    truncated = only(become_follower(before, 0, 2)).replicas[0]
    assert (truncated.log.end_offset, truncated.in_flight) == (1, FetchRequest(1, 2, 1))
    for drawn, request in (("┃", FetchRequest(1, 2, 0)), ("┃ m0@1", EpochRequest(1, 2, 1))):
        assert only(become_follower(state.with_replica(0, follows(1, drawn)), 0, 2)).replicas[0].in_flight == request
    assert none(become_follower(state, 1, 2)), "it is the one who leads"


def test_a_broker_obeys_only_a_higher_epoch_and_none_while_it_is_down() -> None:
    state = partition(follows(1, "┃", epoch=1), leads(1, "┃"), epoch=2, leader=1, requests={1: (1, [0]), 2: (1, [0])})
    assert none(become_follower(state, 0, 1))
    assert not none(become_follower(state, 0, 2))
    assert none(become_follower(state.with_replica(0, down("┃")), 0, 2))
    assert none(become_follower(state, 0, 3)), "there is no such request"
    assert none(become_follower(attrs.evolve(state, requests=(None, None, Request(None, frozenset({0})), None)), 0, 2))
    behind = follows(1, "┃", epoch=0)
    assert not none(become_follower(state.with_replica(0, behind), 0, 1)), "a late request, of an epoch that is over"


def test_a_broker_that_has_just_started_hears_of_the_current_leader_only() -> None:
    state = partition(RESTARTED, leads(1, "┃"), epoch=2, leader=1, requests={1: (1, [1]), 2: (1, [1])})
    assert none(become_follower(state, 0, 1))
    assert not none(become_follower(state, 0, 2))
    assert none(become_follower(attrs.evolve(state, quorum=Quorum(None, 2, frozenset({1}))), 0, 2))


# --- where an epoch ends --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "kip_101", "kip_279"),
    [
        (0, EpochResponse(0, 2), EpochResponse(0, 2)),
        (1, EpochResponse(1, 2), EpochResponse(0, 2)),
        (2, EpochResponse(2, 3), EpochResponse(2, 3)),
        (4, EpochResponse(4, 3), EpochResponse(4, 3)),
        (5, EpochResponse(5, None), EpochResponse(5, None)),
    ],
    ids=["has records", "has none, as it was skipped", "the last one with records", "its own", "later than its own"],
)
def test_what_a_leader_answers_about_an_epoch(wanted: int, kip_101: EpochResponse, kip_279: EpochResponse) -> None:
    """It has written nothing in its own epoch, 4, and knows all the same that the ones before have ended."""
    leader = leads(0, "┃ m0@0 m1@0 m2@2", epoch=4)
    assert end_only(leader, wanted, known_from_election) == kip_101
    assert epoch_and_end(leader, wanted, known_from_election) == kip_279


@pytest.mark.parametrize(("end_offset", "offset"), [(0, 0), (2, 2), (9, 3), (None, 1)])
def test_kip_101_truncates_to_the_answer_or_without_one_to_the_high_watermark(
    end_offset: int | None, offset: int
) -> None:
    follower = follows(1, "m0@0 ┃ m1@0 m2@0")
    assert the_answer_or_own_high_watermark(follower, EpochResponse(0, end_offset), known_from_election) == Truncation(
        offset
    )


@pytest.mark.parametrize(
    ("drawn", "answer", "truncation"),
    [
        ("┃ m0@0 m1@0", EpochResponse(0, 1), Truncation(1)),
        ("┃ m0@0", EpochResponse(0, 2), Truncation(1)),
        ("┃ m0@0 m1@0 m2@2", EpochResponse(0, 9), Truncation(2)),
        ("┃ m0@0 m1@2", EpochResponse(2, 2), Truncation(2)),
        ("┃ m0@0 m1@2", EpochResponse(1, 2), Truncation(1, asks_again=True)),
        ("┃ m0@2 m1@2", EpochResponse(1, 2), Truncation(0)),
    ],
    ids=[
        "the leader ends the epoch earlier",
        "the leader ends the epoch later",
        "later epochs go",
        "its last epoch, which has one record",
        "it does not know the epoch and has an earlier one",
        "it has later epochs only",
    ],
)
def test_kip_279_truncates_to_where_both_end_the_epoch(
    drawn: str, answer: EpochResponse, truncation: Truncation
) -> None:
    assert end_of_the_epoch_in_both(follows(1, drawn), answer, known_from_election) == truncation


@pytest.mark.parametrize(
    ("drawn", "offset", "left"),
    [
        ("m0@0 m1@0 ┃", 1, "m0@0 ┃"),
        ("┃ m0@0 m1@0", 1, "┃ m0@0"),
        ("m0@0 ┃", 1, "m0@0 ┃"),
        ("m0@0 ┃", 9, "m0@0 ┃"),
    ],
)
def test_truncation_takes_the_high_watermark_with_it(drawn: str, offset: int, left: str) -> None:
    after = truncated(KIP_320, follows(1, drawn, in_flight=EpochResponse(0, offset)), offset)
    assert after == follows(1, left, in_flight=EpochResponse(0, offset))


def test_an_answer_is_handled_once() -> None:
    state = partition(leads(0, "┃"), follows(0, "┃ m0@0", in_flight=EpochResponse(0, 0)))
    after = only(handle_epoch_response(state, 1))
    assert after.replicas[1] == follows(0, "┃", in_flight=FetchRequest(0, 0, 0))
    assert none(handle_epoch_response(after, 1))


def test_a_question_is_answered_by_the_leader_that_it_is_for() -> None:
    asking = follows(0, "┃ m0@0", in_flight=EpochRequest(0, 0, 0))
    state = partition(leads(0, "┃ m0@0"), asking, leads(2, "┃"))
    assert [leader for leader in range(3) if not none(handle_epoch_request(state, leader, 1))] == [0]
    assert only(handle_epoch_request(state, 0, 1)).replicas[1].in_flight == EpochResponse(0, 1)
    assert none(handle_epoch_request(state.with_replica(0, follows(2, "┃")), 0, 1)), "it does not lead"
    assert none(handle_epoch_request(state.with_replica(1, follows(0, "┃")), 0, 1)), "a fetch request is no question"
    assert none(handle_epoch_request(state, 0, 0))


# --- produce, fetch, ISR ------------------------------------------------------------------------------------


def test_a_zombie_accepts_records_too_and_a_follower_none() -> None:
    state = partition(leads(0, "┃"), leads(1, "┃", epoch=1), leader=1, epoch=1)
    assert only(produce(state, 0)).replicas[0].log == log("m0@0")
    assert none(produce(partition(follows(1, "┃")), 0))
    full = attrs.evolve(state, next_value=ROOMY.records)
    assert none(produce(full, 0))


def test_a_leader_acknowledges_only_records_of_its_own_epoch() -> None:
    """With acks=all. A client produced to the leader before the leader learned that it no longer leads."""
    bounds = attrs.evolve(ROOMY, acks="all")
    leader = leads(0, "┃ m0@0 m1@1", epoch=1, remote=[-1, 0])
    state = partition(leader, follows(0, "┃ m0@0 m1@1", epoch=1), epoch=1, bounds=bounds)
    after = only(handle_fetch(state, 0, 1))
    assert after.replicas[0].high_watermark == 2
    assert after.acked == (told("m1@1", 1, epoch=1),)
    assert after.exposed == (told("m0@0", 0, epoch=1), told("m1@1", 1, epoch=1))
    for acks in ("0", "1"):
        earlier = attrs.evolve(state, bounds=attrs.evolve(bounds, acks=acks))
        assert only(handle_fetch(earlier, 0, 1)).acked == (), "not by the high watermark"


@pytest.mark.parametrize(("required", "acked"), [(1, True), (2, True), (3, False)])
def test_with_too_small_an_isr_a_record_is_committed_and_not_acknowledged(required: int, acked: bool) -> None:
    bounds = attrs.evolve(ROOMY, acks="all", min_insync_replicas=required)
    state = partition(leads(0, "┃ m0@0", remote=[-1, 0]), follows(0, "┃ m0@0"), bounds=bounds)
    after = only(handle_fetch(state, 0, 1))
    assert after.replicas[0].high_watermark == 1
    assert after.acked == (told("m0@0", 0, epoch=0),) * acked


def test_only_kip_320_fences_what_comes_from_another_epoch() -> None:
    for protocol, taken in ((KIP_279, True), (KIP_320, False)):
        state = partition(leads(0, "┃ m0@1", epoch=1), follows(0, "┃"), epoch=1, protocol=protocol)
        assert none(handle_fetch(state, 0, 1)) is not taken
        asking = follows(0, "┃ m0@0", in_flight=EpochRequest(0, 0, 0))
        assert none(handle_epoch_request(state.with_replica(1, asking), 0, 1)) is not taken


def test_a_request_is_only_for_the_broker_that_it_is_sent_to_if_that_leads() -> None:
    state = partition(leads(0, "┃ m0@0"), follows(2, "┃"), leads(2, "┃"))
    assert none(handle_fetch(state, 0, 1))
    assert none(handle_fetch(partition(follows(1, "┃ m0@0"), follows(0, "┃")), 0, 1))


def test_a_leader_handles_as_a_fetch_only_what_is_one() -> None:
    asking = follows(0, "┃ m0@0", in_flight=EpochRequest(0, 0, 0))
    answered = follows(0, "┃", in_flight=FetchResponse((), high_watermark=0))
    state = partition(leads(0, "┃ m0@0"), asking, answered)
    for take in (handle_fetch, park_fetch):
        assert [follower for follower in range(3) if not none(take(state, 0, follower))] == []


def test_a_request_that_finds_no_records_waits_once_and_tells_how_far_its_sender_is() -> None:
    leader = leads(0, "┃ m0@0", remote=[-1, 0, -1])
    state = partition(leader, follows(0, "┃ m0@0"), follows(0, "┃"))
    after = only(park_fetch(state, 0, 1))
    assert after.replicas[0] == leads(0, "m0@0 ┃", remote=[-1, 1, -1])
    assert after.replicas[1:] == state.replicas[1:], "the request is still there"
    assert none(park_fetch(after, 0, 1)), "it tells nothing new"
    assert none(park_fetch(state, 0, 2)), "there is a record to send"


def test_a_fetch_offset_beyond_the_leaders_log_is_answered_with_its_end() -> None:
    state = partition(leads(0, "┃ m0@0"), follows(0, "┃ m0@0 m1@0"), protocol=KIP_279)
    after = only(handle_fetch(state, 0, 1))
    assert after.replicas[1].in_flight == OffsetOutOfRange(1)
    assert after.replicas[0] == state.replicas[0]
    truncated = only(handle_fetch_response(after, 1)).replicas[1]
    assert (truncated.log, truncated.in_flight) == (log("m0@0"), FetchRequest(0, 0, 1))


def test_who_fetches_from_the_high_watermark_on_joins_the_isr() -> None:
    leader = leads(0, "m0@0 ┃", isr=[0], remote=[-1, -1])
    behind, caught_up = follows(0, "┃"), follows(0, "┃ m0@0")
    assert only(handle_fetch(partition(leader, behind, isr=[0]), 0, 1)).quorum.isr == {0}
    joined = only(handle_fetch(partition(leader, caught_up, isr=[0]), 0, 1))
    assert joined.quorum.isr == joined.replicas[0].isr == {0, 1}
    zombie = only(handle_fetch(partition(leader, caught_up, isr=[0], leader=1, epoch=1), 0, 1))
    assert zombie.quorum.isr == zombie.replicas[0].isr == {0}


def test_with_kip_320_who_joins_the_isr_has_to_reach_the_start_of_the_epoch() -> None:
    leader = leads(0, "┃ m0@0", epoch=1, isr=[0, 2], remote=[-1, -1, -1])
    for protocol, isr in ((KIP_279, {0, 1, 2}), (KIP_320, {0, 2})):
        state = partition(leader, follows(0, "┃", epoch=1), epoch=1, isr=[0, 2], protocol=protocol)
        assert only(handle_fetch(state, 0, 1)).quorum.isr == isr


def test_the_isr_loses_who_lags_and_is_written_by_the_true_leader_only() -> None:
    lagging = partition(leads(0, "┃ m0@0", remote=[-1, 0]), follows(0, "┃"))
    after = only(shrink_isr(lagging, 0, 1))
    assert after.quorum == Quorum(0, 0, frozenset({0}))
    assert after.replicas[0].high_watermark == 1
    assert none(shrink_isr(partition(leads(0, "┃ m0@0", remote=[-1, 1]), follows(0, "┃ m0@0")), 0, 1))
    assert none(shrink_isr(attrs.evolve(lagging, quorum=Quorum(0, 1, frozenset({0, 1}))), 0, 1))
    assert none(shrink_isr(lagging, 0, 0))
    assert none(shrink_isr(after, 0, 1)), "it has left already"


# --- crash and restart --------------------------------------------------------------------------------------


def test_every_broker_may_crash_and_lose_any_record() -> None:
    """The order is that in which a search shows the first of several shortest traces."""
    assert list(followers_first(ROOMY)) == [2, 1, 0]
    assert list(offsets(ROOMY)) == list(range(9))


def test_a_crash_leaves_log_and_high_watermark() -> None:
    state = partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "┃"))
    after = only(crash(state, 0))
    assert (after.replicas[0], after.spent.crashes) == (down("m0@0 ┃ m1@0"), 1)
    assert none(crash(after, 0))
    assert none(crash(attrs.evolve(state, spent=Spent(crashes=ROOMY.crashes)), 0))


def test_a_crash_in_the_middle_of_a_response_leaves_the_records_and_the_old_high_watermark() -> None:
    fetched = FetchResponse(log("m1@0").records, high_watermark=1)
    state = partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "┃ m0@0", in_flight=fetched))
    assert only(crash_after_append(state, 1)).replicas[1] == down("┃ m0@0 m1@0")
    assert none(crash_after_append(state, 0))
    nothing = follows(0, "┃ m0@0", in_flight=FetchResponse((), high_watermark=1))
    assert none(crash_after_append(state.with_replica(1, nothing), 1)), "there is nothing to append"


def test_a_lost_tail_takes_the_high_watermark_with_it() -> None:
    losing = attrs.evolve(ROOMY, lossy_crashes=1)
    state = partition(leads(0, "m0@0 m1@0 ┃"), bounds=losing)
    assert only(crash_losing_tail(state, 0, 1)).replicas[0] == down("m0@0 ┃")
    assert only(crash_losing_tail(state, 0, 0)).replicas[0] == down("┃")
    assert none(crash_losing_tail(state, 0, 2))
    assert none(crash_losing_tail(attrs.evolve(state, bounds=ROOMY), 0, 0))


def test_a_follower_that_is_back_was_never_missed_and_a_leader_was() -> None:
    follower = only(restart(partition(leads(0, "┃"), down("┃ m0@0")), 1))
    assert (follower.replicas[1], follower.quorum) == (RESTARTED, Quorum(0, 0, frozenset({0, 1})))
    leader = only(restart(partition(down("┃ m0@0"), follows(0, "┃")), 0))
    assert leader.quorum == Quorum(None, 0, frozenset({0, 1}))
    assert none(restart(follower, 1))


# --- how a state is drawn -----------------------------------------------------------------------------------


def test_a_drawing_has_brokers_what_is_in_flight_requests_and_clients() -> None:
    state = partition(
        leads(0, "m0@0 ┃ m1@0", remote=[-1, 1, -1]),
        follows(0, "┃ m0@0"),
        down("m0@0 ┃"),
        epoch=1,
        requests={0: (0, {0, 1}), 1: (0, {0, 1})},
        exposed=[told("m0@0", 0, epoch=0)],
    )
    log = {"ISR": "-", "log": "┃ m0@0", "HW": "0", "LEO": "1", "remote": ""}
    assert {name: row.columns for name, row in DRAWING.rows(state).items()} == {
        "controller": {"role": "leader: 0", "epoch": "1", "ISR": "0 1"},
        "producers": {"log": "-"},
        "broker 0": {
            "role": "leads",
            "epoch": "0",
            "ISR": "0 1",
            "log": "m0@0 ┃ m1@0",
            "HW": "1",
            "LEO": "2",
            "remote": "1:1 2:?",
        },
        "broker 1": {"role": "follows 0", "epoch": "0", **log},
        "broker 2": {"role": "down", "epoch": "-", **log, "log": "m0@0 ┃", "HW": "1"},
        "consumers": {"log": "m0@0"},
    }
    assert [(message.source, message.target, message.whole) for message in DRAWING.messages(state)] == [
        ("controller", "broker 0", "LeaderAndIsr, epoch 1 (leader 0, ISR 0 1)"),
        ("controller", "broker 1", "LeaderAndIsr, epoch 1 (leader 0, ISR 0 1)"),
        ("broker 1", "broker 0", "fetch 1, epoch 0"),
    ]
    restarted = DRAWING.rows(partition(RESTARTED, leader=None))
    roles = [restarted[name].columns["role"] for name in ("controller", "broker 0")]
    assert roles == ["no leader", "-"]


@pytest.mark.parametrize(
    ("message", "drawn"),
    [
        (FetchResponse((), high_watermark=1), "nothing, HW 1"),
        (FetchResponse(log("m0@0 m1@1").records, high_watermark=1), "m0@0 m1@1, HW 1"),
        (EpochRequest(0, 0, 0), "epoch 0?"),
        (EpochResponse(0, 2), "epoch 0: 2"),
        (EpochResponse(1, None), "epoch 1: ?"),
    ],
)
def test_messages_show_what_they_say(message: Message, drawn: str) -> None:
    assert str(message) == drawn
