"""Logs whose start moves: logs, the actions that move starts, known bugs in their releases, and pinned searches."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker.engines import explore
from leadline.checker.result import Verdict
from leadline.model.kafka.bounds import Bounds, Spent
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.crash import crash, stop
from leadline.model.kafka.deletion import (
    answer_deletion,
    delete_records,
    handle_offsets_request,
    handle_offsets_response,
    retain,
)
from leadline.model.kafka.fetch import handle_fetch, handle_fetch_response
from leadline.model.kafka.messages import (
    Diverging,
    EarliestOffset,
    Failed,
    FetchRequest,
    FetchResponse,
    OffsetOutOfRange,
    OffsetsRequest,
)
from leadline.model.kafka.releases import column_of
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record, StartedLog, empty_from
from leadline.reports.loading import load_spec
from tests.model.kafka_states import follows, leads, partition

M0, M1, M2 = Record(0, 0), Record(1, 1), Record(2, 1)
WHOLE = Log((M0, M1, M2))

BOUNDS = Bounds(records=3, deletes=1, retentions=1, crashes=1, max_epoch=1)


def protocol(name: str) -> Any:
    column = column_of(name)
    assert column is not None
    return column.protocol()


LATEST = protocol("kafka/4.3")


def state(leader: Replica, follower: Replica, rules: Any = LATEST, bounds: Bounds = BOUNDS) -> Partition:
    leader = attrs.evolve(leader, remote_starts=leader.remote_starts or (0, 0))
    return partition(leader, follower, bounds=bounds, protocol=rules)


def the_leader(log: Log, high_watermark: int, **fields: Any) -> Replica:
    return attrs.evolve(leads(0, "┃", remote=(-1, 0)), log=log, high_watermark=high_watermark, **fields)


def the_follower(log: Log, high_watermark: int, **fields: Any) -> Replica:
    return attrs.evolve(follows(0, "┃"), log=log, high_watermark=high_watermark, **fields)


def only(successors: Any) -> Partition:
    (after,) = successors
    assert isinstance(after, Partition)
    return after


# --- logs ---------------------------------------------------------------------------------------------------------


def test_a_log_is_read_from_its_start_and_keeps_its_offsets() -> None:
    log = WHOLE.started_from(1)
    assert (log.start_offset, log.first_offset, log.end_offset) == (1, 0, 3)
    assert [log.has(offset) for offset in range(4)] == [False, True, True, False]
    assert (log[1], log[2], log.between(0, 2), log.between(2, 9)) == (M1, M2, (M1,), (M2,))
    assert log.drawn(2) == "from 1: m1@1 ┃ m2@1"
    assert list(log.beside(WHOLE, 2)) == [(1, M1, M1)]
    assert log.append(Record(3, 2)).end_offset == 4


def test_retention_forgets_records_that_deletion_leaves_on_disk() -> None:
    assert WHOLE.started_from(2) == StartedLog((M0, M1, M2), 2, 0)
    assert WHOLE.without_segments_below(2) == StartedLog((M2,), 2, 2)
    assert WHOLE.started_from(2).without_segments_below(3) == StartedLog((), 3, 3, removed_epoch=1)


def test_a_log_whose_start_is_0_is_no_started_log() -> None:
    assert WHOLE.started_from(2).truncate_to(0) == Log() == empty_from(0)
    assert WHOLE.started_from(2).as_loaded_from(0) == WHOLE


def test_the_epoch_cache_begins_at_the_start_of_the_log() -> None:
    """LeaderEpochFileCache.truncateFromStart."""
    assert list(WHOLE.started_from(2).starts(0)) == [(1, 2)]
    assert list(Log((M0, M0, M1)).started_from(1).starts(0)) == [(0, 1), (1, 2)]
    assert list(WHOLE.started_from(3).starts(0)) == [(1, 3)]
    assert list(WHOLE.without_segments_below(3).starts(0)) == [(1, 3)]
    assert (WHOLE.without_segments_below(3).last_epoch, empty_from(3).last_epoch) == (1, None)
    assert WHOLE.without_segments_below(3).as_loaded_from(3).last_epoch is None


def test_a_truncation_below_the_first_segment_leaves_an_empty_log_that_starts_there() -> None:
    assert WHOLE.without_segments_below(2).truncate_to(1) == StartedLog((), 1, 1)
    assert WHOLE.started_from(2).truncate_to(1) == StartedLog((M0,), 1, 0)


# --- deletion -----------------------------------------------------------------------------------------------------


def test_a_leader_deletes_up_to_its_high_watermark_and_answers_when_all_have_done_so() -> None:
    before = state(the_leader(WHOLE, 2), the_follower(WHOLE, 1))
    assert not list(delete_records(before, 0, 3))
    after = only(delete_records(before, 0, 2))
    assert (after.replicas[0].log.start_offset, after.deletable, after.deleted) == (2, 2, 0)
    assert not list(answer_deletion(after, 0))
    heard = after.with_replica(0, attrs.evolve(after.replicas[0], remote_starts=(-1, 2)))
    assert only(answer_deletion(heard, 0)).deleted == 2
    assert only(answer_deletion(after.with_registration(1, "fenced"), 0)).deleted == 2, "dead brokers do not count"


def test_before_kip_107_no_records_are_deleted_on_request() -> None:
    assert not list(delete_records(state(the_leader(WHOLE, 2), the_follower(WHOLE, 1), protocol("kafka/0.10.2")), 0, 1))


@pytest.mark.parametrize(("release", "most"), [("kafka/0.10.2", 3), ("kafka/0.11", 3), ("kafka/2.0.0", 1)])
def test_retention_stops_at_the_high_watermark_since_kafka_5634(release: str, most: int) -> None:
    before = state(the_leader(WHOLE, 1), the_follower(WHOLE, 1), protocol(release))
    assert [offset for offset in range(1, 4) if list(retain(before, 0, offset))] == list(range(1, most + 1))


def test_a_killed_broker_may_find_an_older_start_but_none_below_its_first_segment() -> None:
    log = WHOLE.without_segments_below(1).started_from(2)
    before = state(the_leader(log, 2), the_follower(WHOLE, 1))
    found = {after.replicas[0].log.start_offset for after in crash(before, 0)}
    assert found == {1, 2}
    leaving = before.with_registration(0, "shutting down")
    assert {after.replicas[0].log for after in stop(leaving, 0)} == {StartedLog((M2,), 2, 2)}


# --- out of range -------------------------------------------------------------------------------------------------


def test_a_follower_below_the_start_asks_twice_and_the_leader_can_move_in_between() -> None:
    request = FetchRequest(0, 0, 0)
    before = state(the_leader(WHOLE.started_from(2), 3), the_follower(Log(), 0, in_flight=request))
    asked = only(handle_fetch(before, 0, 1))
    assert asked.replicas[1].in_flight == OffsetsRequest(0, 0)
    latest = only(handle_offsets_request(asked, 0, 1))
    assert latest.replicas[1].in_flight == OffsetOutOfRange(3)
    again = only(handle_offsets_response(latest, 1))
    assert again.replicas[1].in_flight == OffsetsRequest(0, 0, earliest=True)
    moved = again.with_replica(0, attrs.evolve(again.replicas[0], log=WHOLE.started_from(3)))
    after = only(handle_offsets_response(only(handle_offsets_request(moved, 0, 1)), 1)).replicas[1]
    assert (after.log, after.high_watermark) == (StartedLog((), 3, 3), 3)
    assert after.in_flight == FetchRequest(0, 0, 3, start=3)


@pytest.mark.parametrize(("release", "answer"), [("kafka/2.8", Diverging), ("kafka/2.8.1", OffsetsRequest)])
def test_a_leader_tests_the_start_before_it_compares_logs_since_kafka_12996(release: str, answer: type) -> None:
    leader = the_leader(Log((M0, M0, M0, Record(3, 2))).started_from(2), 3, epoch=2)
    follower = the_follower(Log((M1,)), 0, epoch=2, in_flight=FetchRequest(0, 2, 1, last_epoch=1))
    after = only(handle_fetch(state(leader, follower, protocol(release)), 0, 1))
    assert type(after.replicas[1].in_flight) is answer


def test_a_follower_with_the_longer_log_truncates_to_the_end_of_its_leaders() -> None:
    before = state(the_leader(Log((M0,)), 1), the_follower(WHOLE, 1, in_flight=OffsetOutOfRange(1)))
    assert only(handle_offsets_response(before, 1)).replicas[1].log == Log((M0,))


def test_a_follower_that_has_caught_up_meanwhile_keeps_its_log() -> None:
    before = state(the_leader(WHOLE.started_from(2), 3), the_follower(WHOLE, 1, in_flight=EarliestOffset(2)))
    assert only(handle_offsets_response(before, 1)).replicas[1].log == WHOLE


@pytest.mark.parametrize(
    ("release", "watermark"), [("kafka/0.11", 1), ("kafka/2.2", 1), ("kafka/2.4", 1), ("kafka/2.5", 3)]
)
def test_the_high_watermark_follows_a_full_truncation_since_kafka_9491(release: str, watermark: int) -> None:
    follower = the_follower(Log((M0,)), 1, in_flight=EarliestOffset(3))
    before = state(the_leader(WHOLE.started_from(3), 3), follower, protocol(release))
    assert only(handle_offsets_response(before, 1)).replicas[1].high_watermark == watermark


@pytest.mark.parametrize(("release", "dead"), [("kafka/2.2", {0}), ("kafka/2.4", set())])
def test_a_start_above_the_own_high_watermark_ends_the_fetching(release: str, dead: set[int]) -> None:
    follower = the_follower(Log((M0,)), 0, in_flight=FetchResponse((M1,), 3, 3))
    after = only(handle_fetch_response(state(the_leader(WHOLE, 3), follower, protocol(release)), 1)).replicas[1]
    assert (after.in_flight, after.dead_fetchers) == (Failed(), dead)


# --- searches -----------------------------------------------------------------------------------------------------

ONE_DELETION = {"deletes": 1, "records": 1, "max_epoch": 1, "crashes": 2, "missed_bounces": 0, "isr_shrinks": 0}


def searched(name: str, *properties: str, **bounds: object) -> Any:
    return explore(load_spec(name).with_bounds(bounds).with_properties(properties))


@pytest.mark.parametrize(
    ("name", "bounds", "size"),
    [
        ("kafka/2.4", {"deletes": 0}, (2_284, 24)),
        ("kafka/2.4", {"deletes": 1}, (19_765, 33)),
        ("kafka/2.4", {"retentions": 1}, (12_798, 32)),
        ("kafka/2.5", ONE_DELETION, (4_381, 21)),
    ],
)
def test_sizes_of_searches(name: str, bounds: dict[str, int], size: tuple[int, int]) -> None:
    result = searched(name, "followers_go_on", **bounds)
    assert (result.statistics.distinct, result.statistics.depth) == size


@pytest.mark.parametrize(
    ("name", "broken"),
    [("kafka/2.2", False), ("kafka/2.4", True), ("kafka/2.4+low_hw=start", False), ("kafka/2.5", False)],
)
def test_kafka_9491_is_in_2_4_0_only(name: str, broken: bool) -> None:
    result = searched(name, "leader_hw_from_start", **ONE_DELETION)
    assert result.verdict is (Verdict.VIOLATED if broken else Verdict.HOLDS)


@pytest.mark.parametrize(("value", "length"), [("after-records", 8), ("with-records", 12)])
def test_a_start_that_is_read_after_the_records_ends_the_fetching_before_kafka_7104(value: str, length: int) -> None:
    """With the fix, the first follower that stops is one with an unknown high watermark (KAFKA-3978)."""
    name = f"kafka/0.11+retention=high-watermark+response_start={value}"
    (trace,) = searched(name, "followers_go_on", retentions=1, max_epoch=0).properties[0].traces
    assert len(trace) == length


def test_promises_are_judged_by_offset() -> None:
    """Nothing that an operator has deleted counts as lost, and a record above the start does."""
    name = "committed_never_lost"
    assert searched("kafka/4.3", name, deletes=1, retentions=1, crashes=1).verdict is Verdict.HOLDS
    lossy = searched("kafka/4.3", name, deletes=1, records=2, crashes=0, lossy_crashes=1, missed_bounces=1)
    assert lossy.verdict is Verdict.VIOLATED


def test_spent_counts_deletions() -> None:
    after = only(retain(state(the_leader(WHOLE, 2), the_follower(WHOLE, 1)), 1, 1))
    assert after.spent == Spent(retentions=1)
