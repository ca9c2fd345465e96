"""What running brokers have shown: rules that were found by comparing the model with sources and with recordings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.engines.compiled import explore
from leadline.checker.engines.oracle import OracleSearch
from leadline.invariants.promises import REQUESTED_NOT_PROMISED, by_design
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import FORGOTTEN, Replica
from leadline.model.kafka.drawing import DRAWING, KRAFT_DRAWING
from leadline.model.kafka.messages import Diverging
from leadline.model.kafka.state import Partition
from leadline.reports.loading import load_spec
from tests.model.kafka_states import OF_RELEASE
from tests.specs.scenario import Scenario

UNCLEAN = {"records": 1, "acks": "all", "max_epoch": 2, "crashes": 1, "missed_bounces": 0, "unclean_elections": 1}


def reached(name: str, **bounds: Any) -> list[Partition]:
    """Every state of a release in small bounds."""
    search = OracleSearch(
        load_spec(name).with_bounds({"records": 1, "max_epoch": 1, **bounds}), Limits(keep_going=True)
    )
    search.run()
    return [state for state in search.arrivals if isinstance(state, Partition)]


def played(name: str, steps: Iterable[str], **bounds: Any) -> Scenario[Partition]:
    """Steps of a release with two brokers. After each crash, the newest possible high watermark is on disk."""
    spec: Spec[Any] = load_spec(name).with_bounds({"brokers": 2, "records": 2, "acks": "all", **bounds})
    scenario: Scenario[Partition] = Scenario(spec)
    for step in steps:
        reached_by = [after for taken, after in scenario.spec.successors(scenario.state) if str(taken) == step]
        assert reached_by, f"{step} is not enabled in {scenario.state}"
        scenario.states.append(max(reached_by, key=newest_high_watermarks))
    return scenario


def newest_high_watermarks(state: Partition) -> tuple[int, ...]:
    return tuple(replica.high_watermark for replica in state.replicas)


def earlier(states: list[Partition]) -> bool:
    """Whether a leader has acknowledged a record of an earlier epoch."""
    return any(promise.record.epoch < promise.epoch for state in states for promise in state.acked)


def test_a_leader_acknowledges_what_waits_from_an_earlier_epoch() -> None:
    bounds = {"acks": "all", "crashes": 1, "missed_bounces": 0}
    assert earlier(reached("kafka/3.3", **bounds))
    assert not earlier(reached("kafka/3.3+acknowledgement=own-epoch", **bounds))


def test_a_record_that_is_acknowledged_in_a_later_epoch_is_lost_in_an_unclean_election() -> None:
    found = explore(load_spec("kafka/3.3").with_bounds(UNCLEAN).with_properties(["acked_never_lost"]))
    without = load_spec("kafka/3.3+acknowledgement=own-epoch").with_bounds(UNCLEAN)
    assert found.verdict is Verdict.VIOLATED
    assert by_design(found.of("acked_never_lost")) == REQUESTED_NOT_PROMISED
    assert explore(without.with_properties(["acked_never_lost"])).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("name", "needed"), [("kafka/3.6", 3), ("kafka/3.7", 2), ("kafka/3.9-zk", 2)])
def test_acks_all_needs_no_more_members_than_there_are_replicas_since_3_7(name: str, needed: int) -> None:
    assert OF_RELEASE[name].min_isr(Replica(), Bounds(brokers=2, min_insync_replicas=3)) == needed


@pytest.mark.parametrize(
    ("name", "forgets"), [("kafka/3.5", False), ("kafka/3.5.1", True), ("kafka/3.6-zk", True), ("kafka/3.7", False)]
)
def test_a_follower_forgets_its_last_epoch_after_an_empty_response(name: str, forgets: bool) -> None:
    states = reached(name, crashes=1, missed_bounces=0, isr_shrinks=0)
    assert any(replica.last_epoch == FORGOTTEN for state in states for replica in state.replicas) == forgets


@pytest.mark.parametrize(
    ("name", "requests", "unclean"),
    [("kafka/3.6", 0, False), ("kafka/3.6", 1, True), ("kafka/3.9", 0, True), ("kafka/3.6-zk", 0, True)],
)
def test_kraft_elects_uncleanly_before_3_9_only_on_request(name: str, requests: int, unclean: bool) -> None:
    bounds = {"records": 0, "max_epoch": 2, "crashes": 2, "missed_bounces": 0}
    states = reached(name, **bounds, unclean_leader_election=True, unclean_elections=requests)
    elections = {
        (state.quorum.isr, after.quorum.isr)
        for state in states
        for _, after in load_spec(name).successors(state)
        if isinstance(after, Partition) and after.quorum.epoch > state.quorum.epoch
    }
    assert any(not before & after for before, after in elections) == unclean


@pytest.mark.parametrize(("name", "newer"), [("kafka/2.8+hw_checkpoint=older", False), ("kafka/2.8", True)])
def test_a_high_watermark_on_disk_can_be_above_the_one_in_memory(name: str, newer: bool) -> None:
    states = reached(name, records=2, acks="all", max_epoch=2, crashes=1, isr_shrinks=1)
    assert any(replica.newest_checkpoint for state in states for replica in state.replicas) == newer


@pytest.mark.parametrize("name", ["kafka/0.10.2", "kafka/3.0", "kafka/3.2-kraft", "kafka/4.1"])
def test_a_broker_that_is_shutting_down_starts_no_fetcher(name: str) -> None:
    steps = ["begin_shutdown(broker=0)", "become_leader(broker=1, epoch=1)", "become_follower(broker=0, epoch=1)"]
    broker = played(name, steps, max_epoch=1, shutdowns=1).state.replicas[0]
    assert (broker.leader, broker.in_flight) == (1, None)


def test_a_leader_that_shuts_down_has_nothing_to_truncate() -> None:
    """Its log is compared with those of its followers until they follow another leader."""
    state = played("kafka/3.9", ["begin_shutdown(broker=0)"], max_epoch=1, shutdowns=1).state
    assert state.believes_to_lead(0)
    assert not state.has_to_truncate(0)


UNNOTICED = [
    *("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
    *("crash(broker=0)", "controller_notices_failure(broker=0)", "become_leader(broker=1, epoch=1)"),
    *("restart(broker=0)", "become_follower(broker=0, epoch=1)", "handle_fetch(leader=1, follower=0)"),
    *("handle_alter_partition(leader=1)", "hear_isr(leader=1)", "handle_fetch_response(follower=0)"),
    *("crash_losing_tail(broker=1, offset=0)", "restart(broker=1)", "become_leader(broker=1, epoch=1)"),
    "produce(leader=1)",
]
"""The leader loses its only record, of an earlier epoch, and restarts unnoticed; then it writes another record."""

LOST = [
    *("park_fetch(leader=1, follower=0)", "crash(broker=1)"),
    *("controller_notices_failure(broker=1)", "become_leader(broker=0, epoch=2)"),
]
"""The follower is considered caught up, and is elected after the leader fails."""

UNNOTICED_BOUNDS = {
    "min_insync_replicas": 2,
    "max_epoch": 2,
    "crashes": 2,
    "lossy_crashes": 1,
    "missed_bounces": 1,
    "isr_shrinks": 0,
}


@pytest.mark.parametrize("name", ["kafka/3.5.1", "kafka/3.6"])
def test_a_leader_that_restarts_unnoticed_does_not_see_that_a_log_without_its_last_epoch_differs(name: str) -> None:
    """KAFKA-15510: a record is lost that both brokers had acknowledged. With the last epoch, the follower truncates."""
    end = played(name, [*UNNOTICED, *LOST], **UNNOTICED_BOUNDS)
    assert {"acked_never_lost", "durable_as_promised"} <= end.violations().keys()
    kept = played(f"{name}+last_fetched_epoch=kept", UNNOTICED, **UNNOTICED_BOUNDS)
    assert not kept.enabled(LOST[0])
    step = "handle_fetch(leader=1, follower=0)"
    assert isinstance(kept.play([step]).state.replicas[0].in_flight, Diverging)


TRUNCATED = [
    *("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
    *("handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)", "crash(broker=1)"),
    *("controller_notices_failure(broker=1)", "restart(broker=1)", "crash_losing_tail(broker=0, offset=0)"),
    *("controller_notices_failure(broker=0)", "restart(broker=0)", "become_leader(broker=0, epoch=1)"),
    *("become_follower(broker=1, epoch=1)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
    *("park_fetch(leader=0, follower=1)", "handle_alter_partition(leader=0)", "hear_isr(leader=0)"),
    *("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
    *("crash(broker=1)", "controller_notices_failure(broker=1)", "restart(broker=1)"),
    "become_follower(broker=1, epoch=1)",
]
"""The only member of the ISR loses a committed record, so its follower truncates, fetches another one and restarts."""


@pytest.mark.parametrize("name", ["kafka/4.0", "kafka/4.1"])
def test_a_follower_shows_a_record_too_early_after_a_restart_with_its_high_watermark_from_before(name: str) -> None:
    bounds = {"max_epoch": 2, "crashes": 2, "lossy_crashes": 1, "missed_bounces": 0, "isr_shrinks": 0}
    older, newer = (played(each, TRUNCATED, **bounds) for each in (f"{name}+hw_checkpoint=older", name))
    assert [end.state.replicas[0].high_watermark for end in (older, newer)] == [0, 0]
    assert [end.state.replicas[1].high_watermark for end in (older, newer)] == [0, 1]
    assert ["follower_reads" in end.violations() for end in (older, newer)] == [False, True]
    assert older.violations().keys() == newer.violations().keys() - {"follower_reads"}


@pytest.mark.parametrize("name", ["kafka/4.1", "kafka/4.3"])
def test_an_acknowledged_record_is_lost_if_both_brokers_shut_down_uncleanly(name: str) -> None:
    bounds = {"records": 1, "acks": "all", "min_insync_replicas": 2, "max_epoch": 2, "crashes": 1, "lossy_crashes": 1}
    found = explore(load_spec(name).with_bounds(bounds).with_properties(["durable_as_promised"]))
    assert found.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("name", "announced"), [("kafka/3.9-zk", "LeaderAndIsr"), ("kafka/3.9", "PartitionChangeRecord")]
)
def test_a_leader_epoch_is_announced_by_the_message_of_its_controller(name: str, announced: str) -> None:
    spec = load_spec(name)
    drawing = spec.drawing
    assert drawing is (DRAWING if announced == "LeaderAndIsr" else KRAFT_DRAWING)
    later = [state for state in reached(name, records=0, crashes=1) if state.quorum.epoch == 1]
    texts = {message.text for state in later for message in drawing.messages(state) if message.source == "controller"}
    assert f"{announced}, epoch 1" in texts
