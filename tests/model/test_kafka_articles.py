"""The articles' worked examples, played on the `kafka` family step by step; each test says which passage it is.

The articles' A and B are brokers 0 and 1 here, except in seed 001, where B leads first.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker import Spec
from leadline.invariants.catalog import CATALOG
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.consume import readable
from leadline.model.kafka.fetch import handle_fetch, handle_fetch_response
from leadline.model.kafka.high_watermark import smallest_leo
from leadline.model.kafka.messages import EpochRequest, EpochResponse, FetchRequest, FetchResponse
from leadline.model.kafka.protocols import Protocol, the_old_high_watermark
from leadline.model.kafka.readings import the_leaders
from leadline.model.kafka.state import Partition
from leadline.model.kafka.truncation import handle_epoch_request, handle_epoch_response
from leadline.model.log import Log, Record
from tests.model.kafka_mutants import changed
from tests.model.kafka_states import HW_TRUNCATION, KIP_101, KIP_279, KIP_320, PROTOCOLS, follows, leads, partition
from tests.specs.scenario import Scenario


def playing(protocol: Protocol, **bounds: Any) -> Scenario[Partition]:
    return Scenario(CATALOG[f"rpc/{protocol.name}"].with_bounds({"crashes": 9, "records": 9, "max_epoch": 3} | bounds))


def records(count: int, epoch: int = 0, first: int = 0) -> str:
    """Some records in a row, as they are drawn."""
    return " ".join(f"m{value}@{epoch}" for value in range(first, first + count))


def values(replica: Replica) -> list[int]:
    return [record.value for record in replica.log.records]


def row(state: Partition) -> tuple[int, int, int, int, int]:
    """What seed 001's table says in a row: leader LEO, remote LEO, leader HW, follower LEO, follower HW."""
    leader, follower = state.replicas[0], state.replicas[1]
    return (
        leader.log.end_offset,
        leader.remote_leos[1],
        leader.high_watermark,
        follower.log.end_offset,
        follower.high_watermark,
    )


def one(steps: Any) -> Partition:
    (state,) = steps
    assert isinstance(state, Partition)
    return state


FETCH = "handle_fetch(leader=0, follower=1)"
RESPONSE = "handle_fetch_response(follower=1)"
ROUND = (FETCH, RESPONSE)
PARK = "park_fetch(leader=0, follower=1)"


# --- What a high watermark is: seeds 000, 002, 003 and 004 -----------------------------------------------------


def test_the_record_at_the_high_watermark_cannot_be_read() -> None:
    """Seeds 000 and 002, the figure with 15 records and high watermark 8; seed 003's comment 10: right-open."""
    leader = leads(0, f"{records(8)} ┃ {records(7, first=8)}")
    assert leader.log.end_offset == 15
    assert list(readable(leader)) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_log_end_offset_of_ten_is_ten_records() -> None:
    """Seed 003: LEO=10 means 10 records, at offsets 0 to 9."""
    held = leads(0, f"┃ {records(10)}").log
    assert held.end_offset == 10
    assert held.has(0)
    assert held.has(9)
    assert not held.has(10)


def test_the_high_watermark_is_the_smallest_end_offset_of_the_isr() -> None:
    """Seed 004: ends at 10, 8 and 7, so the high watermark is min(10, 8, 7) = 7, and 0 to 6 can be read."""
    leader = leads(0, f"{records(6)} ┃ {records(4, first=6)}", isr=[0, 1, 2], remote=[-1, 8, 6])
    first = follows(0, f"{records(6)} ┃ {records(2, first=6)}")
    second = follows(0, f"{records(6)} ┃ m6@0")
    before = partition(leader, first, second, isr=[0, 1, 2])
    after = one(handle_fetch(before, 0, 2)).replicas[0]
    assert after.high_watermark == min(10, 8, 7) == 7
    assert list(readable(after)) == [0, 1, 2, 3, 4, 5, 6]


def test_a_broker_outside_the_isr_does_not_hold_the_high_watermark_back() -> None:
    """Seed 004: the smallest of the ISR, not of all."""
    leader = leads(0, f"┃ {records(10)}", isr=[0, 1], remote=[-1, 8, 3])
    state = partition(leader, follows(0, "┃"), follows(0, "┃"))
    assert smallest_leo(state, 0, leader) == 8


def test_seed_004_sequence_diagram() -> None:
    """Seed 004: leader LEO 10, HW 7; follower LEO 7, HW 6; after one round the follower has LEO 8, HW 7."""
    leader = leads(0, f"{records(7)} ┃ {records(3, first=7)}", remote=[-1, 6])
    follower = follows(0, f"{records(6)} ┃ m6@0")
    assert follower.in_flight == FetchRequest(leader=0, epoch=0, offset=7)
    handled = one(handle_fetch(partition(leader, follower), 0, 1))
    assert handled.replicas[0].remote_leos[1] == 7
    assert handled.replicas[0].high_watermark == min(10, 7) == 7
    assert handled.replicas[1].in_flight == FetchResponse((Record(7, 0),), high_watermark=7)
    done = one(handle_fetch_response(handled, 1)).replicas[1]
    assert (done.log.end_offset, done.high_watermark) == (8, 7)


def test_a_follower_that_takes_the_leaders_high_watermark_as_it_is_goes_beyond_its_log() -> None:
    """Seed 004's pseudo-code sets the follower's high watermark without the minimum that seeds 000 to 003 have."""
    leader = leads(0, f"{records(2)} ┃", isr=[0])
    handled = one(handle_fetch(partition(leader, follows(0, "┃"), isr=[0], protocol=HW_TRUNCATION), 0, 1))
    assert one(handle_fetch_response(handled, 1)).replicas[1].high_watermark == 1
    wrong = Scenario(changed(HW_TRUNCATION, learns=the_leaders))
    wrong.play(["produce(leader=0)", "produce(leader=0)", "shrink_isr(leader=0, member=1)", *ROUND])
    assert wrong.violations()["hw_within_log"] == "broker 1 has high watermark 2, but its log ends at 1"


# --- One message, two rounds: seeds 000, 001, 002 and 003 --------------------------------------------------------


NINE_ROWS = [
    ("Producer Write", "produce(leader=0)", (1, 0, 0, 0, 0)),
    ("Follower Fetch", None, (1, 0, 0, 0, 0)),
    ("Leader Update HW", FETCH, (1, 0, 0, 0, 0)),
    ("Leader Response, Follower Update HW", RESPONSE, (1, 0, 0, 1, 0)),
    ("Follower Fetch, Leader Update HW", FETCH, (1, 1, 1, 1, 0)),
    ("Leader Response, Follower Update HW", RESPONSE, (1, 1, 1, 1, 1)),
]
"""Seed 001's table. Rows 3 and 4, 5 and 6 of its nine, and 7 and 8, are one step here: a broker does all it does
with a message at once. The fetch request is on its way as soon as there is nothing else for a follower to do."""


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_the_nine_row_table(protocol: Protocol) -> None:
    """Seed 001's table of the values after each step; seeds 000 and 002's figures; seed 000's comment of 2019-10-22."""
    scenario = playing(protocol)
    assert row(scenario.state) == (0, 0, 0, 0, 0)
    for _, step, expected in NINE_ROWS:
        if step is not None:
            scenario.play([step])
        assert row(scenario.state) == expected


def test_remote_leo_is_0_when_the_producer_request_is_handled() -> None:
    """Seed 003's comment 20: the text says remote LEO is 1 after the producer's request; it is 0."""
    scenario = playing(HW_TRUNCATION).play(["produce(leader=0)"])
    assert scenario.state.replicas[0].remote_leos[1] == 0


def test_a_response_without_records_carries_the_new_high_watermark() -> None:
    """Seed 003's comments 5 to 9, 15 and 17: remote LEO first, then the high watermark, then the response.

    That is so of a request that has waited, as the second one of the table has: it is read again as it completes.
    """
    scenario = playing(HW_TRUNCATION).play(["produce(leader=0)", *ROUND, FETCH])
    assert scenario.state.replicas[1].in_flight == FetchResponse((), high_watermark=1)
    scenario.play([RESPONSE])
    assert scenario.state.replicas[1].high_watermark == 1


def test_a_response_with_records_carries_the_old_high_watermark() -> None:
    """Seed 003's comments 14 and 16 are right where there are records to send: they are read with them."""
    scenario = playing(HW_TRUNCATION).play(["produce(leader=0)", "produce(leader=0)", *ROUND, FETCH])
    assert row(scenario.state)[:3] == (2, 1, 1)
    assert scenario.state.replicas[1].in_flight == FetchResponse((Record(1, 0),), high_watermark=0)
    scenario.play([RESPONSE, *ROUND])
    assert row(scenario.state) == (2, 2, 2, 2, 2)


def test_with_the_old_high_watermark_in_the_response_it_takes_three_rounds() -> None:
    """Seed 003's comment 14 and 16, the other reading."""
    spec = changed(HW_TRUNCATION, tells=the_old_high_watermark)
    scenario = Scenario(spec).play(["produce(leader=0)", *ROUND])
    assert not scenario.enabled(FETCH), "it would tell the follower nothing: the request waits"
    scenario.play([PARK])
    assert row(scenario.state) == (1, 1, 1, 1, 0)
    scenario.play([*ROUND])
    assert row(scenario.state) == (1, 1, 1, 1, 1)


def test_a_fetch_request_in_purgatory_is_woken_by_the_producer() -> None:
    """Seed 003's second case: the request waits at the leader when the record comes; then as in the first case."""
    scenario = playing(HW_TRUNCATION).play(["produce(leader=0)", *ROUND])
    assert scenario.state.replicas[1].in_flight == FetchRequest(0, 0, 1)
    scenario.play([PARK])
    waiting = scenario.state
    assert row(waiting) == (1, 1, 1, 1, 0)
    assert waiting.replicas[1].in_flight == FetchRequest(0, 0, 1)
    scenario.play(["produce(leader=0)", FETCH])
    assert scenario.state.replicas[1].in_flight == FetchResponse((Record(1, 0),), high_watermark=1)
    scenario.play([RESPONSE])
    assert row(scenario.state) == (2, 1, 1, 2, 1)


def test_without_records_the_first_request_just_waits() -> None:
    """Seed 003: at the beginning the follower fetches, but nothing happens, for there are no records."""
    scenario = playing(HW_TRUNCATION)
    assert not scenario.enabled(FETCH)
    assert not scenario.enabled("park_fetch(leader=0, follower=1)")


def test_three_replicas() -> None:
    """Seed 000's exercise: the same with three replicas. The high watermark waits for the slower follower."""
    other = ("handle_fetch(leader=0, follower=2)", "handle_fetch_response(follower=2)")
    scenario = playing(HW_TRUNCATION, brokers=3)

    def watermarks() -> list[int]:
        return [replica.high_watermark for replica in scenario.state.replicas]

    scenario.play(["produce(leader=0)", *ROUND, PARK])
    assert scenario.state.replicas[0].remote_leos[1:] == (1, 0)
    assert watermarks() == [0, 0, 0], "broker 2 has not fetched yet"
    scenario.play([*other])
    assert watermarks() == [0, 0, 0], "broker 2 has the record, but the leader does not know"
    scenario.play([other[0]])
    assert scenario.state.replicas[0].remote_leos[1:] == (1, 1)
    assert watermarks() == [1, 0, 0]
    scenario.play([other[1], *ROUND])
    assert watermarks() == [1, 1, 1]


@pytest.mark.parametrize(
    ("steps", "bounds", "raised_to"),
    [
        (["shrink_isr(leader=0, member=1)", "produce(leader=0)"], {}, 1),
        (["produce(leader=0)", *ROUND, PARK], {}, 1),
        (["produce(leader=0)", "shrink_isr(leader=0, member=1)"], {}, 1),
    ],
    ids=["produce", "fetch request", "ISR shrinks"],
)
def test_when_a_leader_tries_its_high_watermark(steps: list[str], bounds: dict[str, int], raised_to: int) -> None:
    """Seed 003, part four: on a producer's request, on a follower's, and when a replica falls out of the ISR."""
    scenario = playing(HW_TRUNCATION, **bounds).play(["produce(leader=0)"] if steps[0].startswith("shrink") else [])
    before = scenario.state.replicas[0].high_watermark
    scenario.play(steps)
    assert scenario.state.replicas[0].high_watermark >= raised_to > before


def test_a_new_leader_tries_its_high_watermark_at_once() -> None:
    """Seed 003, part four: and on becoming leader."""
    scenario = playing(KIP_320).play(
        [
            "produce(leader=0)",
            *ROUND,
            "crash(broker=0)",
            "controller_notices_failure(broker=0)",
            "controller_elects(broker=1)",
        ]
    )
    assert scenario.state.replicas[1].high_watermark == 0
    scenario.play(["become_leader(broker=1, epoch=1)"])
    assert scenario.state.replicas[1].high_watermark == 1


def test_acks_all_is_acknowledged_when_the_whole_isr_has_the_record() -> None:
    """Seed 000's comment of 2020-01-21: the producer waits until all of the ISR have fetched."""
    scenario = playing(KIP_320, acks="all").play(["produce(leader=0)", *ROUND])
    assert not scenario.state.acked
    scenario.play([PARK])
    assert [promise.record for promise in scenario.state.acked] == [Record(0, 0)]


@pytest.mark.parametrize(("acks", "acked"), [("0", 0), ("1", 1), ("all", 0)])
def test_acks_when_the_leader_has_written(acks: str, acked: int) -> None:
    """Seeds 000 and 002: with the default acks the producer is told as soon as the leader has written."""
    scenario = playing(KIP_320, acks=acks).play(["produce(leader=0)"])
    assert len(scenario.state.acked) == acked


def test_min_insync_replicas_refuses_acks_all_when_the_isr_is_too_small() -> None:
    """Seed 000's comment of 2020-04-14: min.insync.replicas goes with acks=all, and counts members of the ISR."""
    for acks, refused in (("all", True), ("1", False), ("0", False)):
        scenario = playing(KIP_320, acks=acks, min_insync_replicas=2).play(["produce(leader=0)"])
        scenario.play(["shrink_isr(leader=0, member=1)"])
        assert scenario.enabled("produce(leader=0)") is not refused


def test_the_isr_may_be_the_leader_alone_and_never_without_it() -> None:
    """Seed 002: the ISR necessarily includes the leader, and sometimes has no other member."""
    scenario = playing(KIP_320).play(["produce(leader=0)", "shrink_isr(leader=0, member=1)"])
    assert scenario.state.quorum.isr == {0}
    assert not scenario.enabled("shrink_isr(leader=0, member=0)")


def test_a_follower_that_catches_up_is_back_in_the_isr() -> None:
    """Seed 002: the ISR is adjusted all the time; a broker that has caught up rejoins it."""
    scenario = playing(KIP_320).play(["produce(leader=0)", "shrink_isr(leader=0, member=1)", *ROUND])
    assert scenario.state.quorum.isr == {0}
    scenario.play([PARK])
    assert scenario.state.quorum.isr == {0, 1}


def test_a_control_request_makes_a_data_request_void() -> None:
    """Seed 002: requests such as LeaderAndIsr can make PRODUCE and FETCH requests fail at once."""
    scenario = playing(KIP_320).play(["produce(leader=0)", FETCH])
    assert isinstance(scenario.state.replicas[1].in_flight, FetchResponse)
    scenario.play(["crash(broker=0)", "controller_notices_failure(broker=0)", "controller_elects(broker=1)"])
    scenario.play(["become_leader(broker=1, epoch=1)"])
    assert scenario.state.replicas[1].in_flight is None
    assert not scenario.enabled(RESPONSE)


# --- Lost data: the first figure of seeds 000, 001, 002 and 003; seed 004 ----------------------------------------


TWO_RECORDS_AND_A_STALE_FOLLOWER = ("produce(leader=0)", *ROUND, *ROUND, "produce(leader=0)", *ROUND, FETCH)
"""Both brokers have two records, the leader has HW 2, the follower HW 1: the response that tells is on its way."""

FOLLOWER_BOUNCES = ("crash(broker=1)", "restart(broker=1)", "become_follower(broker=1, epoch=0)")
LEADER_DIES = (
    "crash(broker=0)",
    "controller_notices_failure(broker=0)",
    "controller_elects(broker=1)",
    "become_leader(broker=1, epoch=1)",
)
LEADER_IS_BACK = ("restart(broker=0)", "become_follower(broker=0, epoch=1)")
ASKED_0 = ("handle_epoch_request(leader=0, follower=1)", "handle_epoch_response(follower=1)")
ASKED_1 = ("handle_epoch_request(leader=1, follower=0)", "handle_epoch_response(follower=0)")


def test_first_figure_before_kip_101() -> None:
    """Seeds 000, 001, 002 and 003: the follower truncates to HW 1, leads, and the old leader truncates too."""
    scenario = playing(HW_TRUNCATION).play(TWO_RECORDS_AND_A_STALE_FOLLOWER)
    assert row(scenario.state) == (2, 2, 2, 2, 1)
    scenario.play(FOLLOWER_BOUNCES)
    assert values(scenario.state.replicas[1]) == [0], "the record at offset 1 is deleted"
    scenario.play(LEADER_DIES)
    assert "m1@0 at offset 1" in scenario.violations()["committed_never_lost"]
    assert "m1@0 at offset 1" in scenario.violations()["acked_never_lost"]
    scenario.play(["restart(broker=0)", "become_follower(broker=0, epoch=1)"])
    fetched = "handle_fetch(leader=1, follower=0)", "handle_fetch_response(follower=0)"
    scenario.play(fetched)
    assert [values(replica) for replica in scenario.state.replicas] == [[0], [0]], "and so it is gone for ever"


def test_first_figure_with_leader_epochs() -> None:
    """Seeds 000, 001, 002 and 003, the second figure: LEO 2 is the answer, nobody truncates, the record is kept."""
    scenario = playing(KIP_101).play(TWO_RECORDS_AND_A_STALE_FOLLOWER).play(FOLLOWER_BOUNCES)
    assert scenario.state.replicas[1].in_flight == EpochRequest(leader=0, epoch=0, wanted=0)
    scenario.play(ASKED_0[:1])
    assert scenario.state.replicas[1].in_flight == EpochResponse(epoch=0, end_offset=2)
    scenario.play(ASKED_0[1:])
    assert values(scenario.state.replicas[1]) == [0, 1]
    scenario.play(LEADER_DIES)
    assert scenario.state.replicas[1].starts_own_epoch_at == 2, "the new entry (1, 2)"
    scenario.play(["produce(leader=1)"])
    assert scenario.state.replicas[1].log.records[2] == Record(2, epoch=1)
    scenario.play([*LEADER_IS_BACK, *ASKED_1])
    assert [values(replica) for replica in scenario.state.replicas] == [[0, 1], [0, 1, 2]]
    assert scenario.violations() == {}


@pytest.mark.parametrize("protocol", [KIP_101, KIP_279, KIP_320], ids=lambda protocol: protocol.name)
def test_the_leader_dies_before_it_answers(protocol: Protocol) -> None:
    """Seed 003's comment 18 and seed 000's of 2019-08-03: B asks, A dies. B never truncated, so nothing is lost."""
    scenario = playing(protocol).play(TWO_RECORDS_AND_A_STALE_FOLLOWER).play(FOLLOWER_BOUNCES)
    assert scenario.state.replicas[1].truncating
    scenario.play(LEADER_DIES)
    assert values(scenario.state.replicas[1]) == [0, 1]
    assert scenario.violations() == {}


def test_a_crash_between_the_log_and_the_high_watermark() -> None:
    """Seed 003: the follower dies after it has written the records and before it has moved its high watermark."""
    scenario = playing(HW_TRUNCATION).play(["produce(leader=0)", *ROUND, PARK, "produce(leader=0)", FETCH])
    assert scenario.state.replicas[1].in_flight == FetchResponse((Record(1, 0),), high_watermark=1)
    scenario.play(["crash_after_append(broker=1)"])
    dead = scenario.state.replicas[1]
    assert (values(dead), dead.high_watermark) == ([0, 1], 0)


def test_seed_004_lost_data() -> None:
    """Seed 004: leader 0 to 9, HW 8; follower 0 to 7, HW 7, restarts and deletes offset 7; it then leads."""
    leader = leads(0, f"{records(8)} ┃ {records(2, first=8)}", remote=[-1, 8])
    follower = follows(0, f"{records(7)} ┃ m7@0", in_flight=FetchResponse((), 8))
    state = partition(leader, follower, requests={0: (0, [0, 1])}, protocol=HW_TRUNCATION)
    scenario = starting_at(HW_TRUNCATION, state).play([*FOLLOWER_BOUNCES, *LEADER_DIES])
    assert values(scenario.state.replicas[1]) == [0, 1, 2, 3, 4, 5, 6]
    kept = starting_at(KIP_101, state).play([*FOLLOWER_BOUNCES, *ASKED_0, *LEADER_DIES])
    assert values(kept.state.replicas[1]) == [0, 1, 2, 3, 4, 5, 6, 7]


def starting_at(protocol: Protocol, state: Partition) -> Scenario[Partition]:
    """A scenario that starts in a hand-written state."""
    spec = CATALOG[f"rpc/{protocol.name}"]
    start = attrs.evolve(state, protocol=protocol)
    own: Spec[Partition] = attrs.evolve(spec, bounds=state.bounds, initial_states=lambda bounds: [start])
    return Scenario(own)


# --- Inconsistent data: the second figure of seeds 001 and 003; seed 004 -----------------------------------------


BOTH_DIE_AND_THE_SHORTER_LEADS = (
    "crash_losing_tail(broker=1, offset=1)",
    "crash(broker=0)",
    "restart(broker=1)",
    "controller_notices_failure(broker=0)",
    "controller_elects(broker=1)",
    "become_leader(broker=1, epoch=1)",
    "produce(leader=1)",
)


def test_second_figure_before_kip_101() -> None:
    """Seeds 001 and 003: both high watermarks are 2, and the records at offset 1 differ.

    The articles do not say how B can lack a record below A's high watermark. Here it had it, in the page cache.
    """
    scenario = playing(HW_TRUNCATION, lossy_crashes=1).play(TWO_RECORDS_AND_A_STALE_FOLLOWER)
    scenario.play(BOTH_DIE_AND_THE_SHORTER_LEADS)
    assert (values(scenario.state.replicas[1]), scenario.state.replicas[1].high_watermark) == ([0, 2], 2)
    scenario.play(LEADER_IS_BACK)
    assert [values(replica) for replica in scenario.state.replicas] == [[0, 1], [0, 2]]
    assert [replica.high_watermark for replica in scenario.state.replicas] == [2, 2]
    assert "at offset 1, below both high watermarks" in scenario.violations()["logs_prefix_consistent"]


def test_second_figure_by_an_unclean_election() -> None:
    """The other way to it: B was out of the ISR, so that A's high watermark went ahead, and is elected uncleanly."""
    scenario = playing(HW_TRUNCATION, unclean_leader_election=True).play(
        [
            "produce(leader=0)",
            *ROUND,
            PARK,
            "produce(leader=0)",
            "shrink_isr(leader=0, member=1)",
            "crash(broker=0)",
            "controller_notices_failure(broker=0)",
            "controller_elects_uncleanly(broker=1)",
            "become_leader(broker=1, epoch=1)",
            "produce(leader=1)",
            *LEADER_IS_BACK,
        ]
    )
    assert [values(replica) for replica in scenario.state.replicas] == [[0, 1], [0, 2]]
    assert [replica.high_watermark for replica in scenario.state.replicas] == [2, 2]
    assert "at offset 1, below both high watermarks" in scenario.violations()["logs_prefix_consistent"]


@pytest.mark.parametrize("protocol", [KIP_101, KIP_279, KIP_320], ids=lambda protocol: protocol.name)
def test_second_figure_with_leader_epochs(protocol: Protocol) -> None:
    """Seeds 001 and 003: the entry is (1, 1), the old leader truncates to 1 and fetches. Lost all the same."""
    scenario = playing(protocol, lossy_crashes=1).play(TWO_RECORDS_AND_A_STALE_FOLLOWER)
    scenario.play(BOTH_DIE_AND_THE_SHORTER_LEADS)
    assert scenario.state.replicas[1].starts_own_epoch_at == 1
    assert "m1@0 at offset 1" in scenario.violations()["committed_never_lost"]
    scenario.play(LEADER_IS_BACK)
    scenario.play(ASKED_1[:1])
    assert scenario.state.replicas[0].in_flight == EpochResponse(epoch=0, end_offset=1)
    scenario.play(ASKED_1[1:])
    assert values(scenario.state.replicas[0]) == [0]
    scenario.play(["handle_fetch(leader=1, follower=0)", "handle_fetch_response(follower=0)"])
    assert [values(replica) for replica in scenario.state.replicas] == [[0, 2], [0, 2]]
    assert "logs_prefix_consistent" not in scenario.violations()


def test_seed_004_inconsistent_data() -> None:
    """Seed 004's scenario: B leads and writes msg4, A is back, truncates and leads again, and writes msg5.

    As told, A follows B without fetching msg4, and leads all the same: it has to be elected from the ISR.
    The logs differ at offset 2, in either protocol, until B follows A; then leader epochs set that right.
    """
    for protocol in (HW_TRUNCATION, KIP_101):
        scenario = playing(protocol)
        scenario.play(["produce(leader=0)", "produce(leader=0)", *ROUND, *ROUND, FETCH, RESPONSE])
        scenario.play(["produce(leader=0)", "crash(broker=0)", "restart(broker=0)", "controller_elects(broker=1)"])
        scenario.play(["become_leader(broker=1, epoch=1)", "produce(leader=1)", "become_follower(broker=0, epoch=1)"])
        if protocol is KIP_101:
            scenario.play(ASKED_1)
        assert values(scenario.state.replicas[0]) == [0, 1], "A truncates"
        scenario.play(["controller_elects(broker=0)", "become_leader(broker=0, epoch=2)", "produce(leader=0)"])
        assert [values(replica) for replica in scenario.state.replicas] == [[0, 1, 4], [0, 1, 3]]
        scenario.play(["become_follower(broker=1, epoch=2)"])
        if protocol is KIP_101:
            scenario.play(ASKED_0)
        assert values(scenario.state.replicas[1]) == [0, 1], (
            "B truncates: its high watermark is 2, and so is the answer"
        )
        scenario.play(ROUND)
        assert [values(replica) for replica in scenario.state.replicas] == [[0, 1, 4], [0, 1, 4]]


# --- Leader epochs: the pairs of seeds 000, 001, 002, 003 and 004 -------------------------------------------------


@pytest.mark.parametrize(
    ("starts", "asked", "ends"),
    [
        ([(0, 0), (1, 120)], 0, 120),
        ([(0, 0), (1, 120)], 1, 150),
        ([(0, 0), (1, 100)], 0, 100),
        ([(0, 0), (1, 100), (2, 250)], 0, 100),
        ([(0, 0), (1, 100), (2, 250)], 1, 250),
        ([(0, 0), (1, 100), (2, 250)], 2, 280),
    ],
    ids=str,
)
@pytest.mark.parametrize("protocol", [KIP_101, KIP_279, KIP_320], ids=lambda protocol: protocol.name)
def test_pairs_of_epoch_and_start_offset(
    protocol: Protocol, starts: list[tuple[int, int]], asked: int, ends: int
) -> None:
    """Seeds 000, 002 and 003: (0, 0), (1, 120); seed 001: (0, 0), (1, 100); seed 004: and (2, 250).

    An epoch ends where the next one starts; the leader's own ends at its log end.
    """
    last = starts[-1][1] + 30
    bounds = [start for _, start in starts] + [last]
    held = Log(
        tuple(
            Record(offset, epoch)
            for (epoch, start), end in zip(starts, bounds[1:], strict=True)
            for offset in range(start, end)
        )
    )
    leader = Replica(held, epoch=starts[-1][0], leader=0)
    assert [held.first_offset_after(epoch - 1) for epoch, _ in starts] == [start for _, start in starts]
    assert leader.starts_own_epoch_at == starts[-1][1]
    assert protocol.answers(leader, asked, protocol.end_of_epoch) == EpochResponse(asked, ends)


def test_seed_004_no_data_lost() -> None:
    """Seed 004's second diagram: A had 0 to 9 of epoch 1, B leads in epoch 2 from 8 on; A asks and deletes 8 and 9."""
    old = follows(
        1, f"{records(8, epoch=1)} ┃ {records(2, epoch=1, first=8)}", epoch=2, in_flight=EpochRequest(1, 2, 1)
    )
    new = leads(1, f"{records(8, epoch=1)} ┃", epoch=2)
    assert new.starts_own_epoch_at == 8
    answered = one(handle_epoch_request(partition(old, new, leader=1, epoch=2), 1, 0))
    assert answered.replicas[0].in_flight == EpochResponse(epoch=1, end_offset=8)
    truncated = one(handle_epoch_response(answered, 0)).replicas[0]
    assert values(truncated) == list(range(8))
    assert truncated.in_flight == FetchRequest(leader=1, epoch=2, offset=8)


def test_kip_279_asks_again_until_both_know_the_epoch() -> None:
    """KIP-279: the follower has an epoch that the leader never had, and so drops it and asks about the one before."""
    follower = follows(0, "m0@0 m1@0 m2@2 ┃", epoch=3, in_flight=EpochRequest(0, 3, 2))
    leader = leads(0, "m0@0 m3@1 ┃", epoch=3)
    state = one(handle_epoch_request(partition(leader, follower, epoch=3, protocol=KIP_279), 0, 1))
    assert state.replicas[1].in_flight == EpochResponse(epoch=1, end_offset=2)
    state = one(handle_epoch_response(state, 1))
    assert values(state.replicas[1]) == [0, 1]
    assert state.replicas[1].in_flight == EpochRequest(0, 3, 0)
    state = one(handle_epoch_response(one(handle_epoch_request(state, 0, 1)), 1))
    assert values(state.replicas[1]) == [0]
    assert state.replicas[1].in_flight == FetchRequest(0, 3, 1)
