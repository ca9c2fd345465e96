"""What running brokers have shown: rules that were found by comparing the model with sources and with recordings."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.checker import Limits, Verdict
from leadline.checker.engines.compiled import explore
from leadline.checker.engines.oracle import OracleSearch
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import FORGOTTEN
from leadline.model.kafka.drawing import DRAWING, KRAFT_DRAWING
from leadline.model.kafka.state import Partition
from leadline.reports.loading import load_spec
from tests.model.kafka_states import OF_RELEASE

UNCLEAN = {"records": 1, "acks": "all", "max_epoch": 2, "crashes": 1, "missed_bounces": 0, "unclean_elections": 1}


def reached(name: str, **bounds: Any) -> list[Partition]:
    """Every state of a release in small bounds."""
    search = OracleSearch(
        load_spec(name).with_bounds({"records": 1, "max_epoch": 1, **bounds}), Limits(keep_going=True)
    )
    search.run()
    return [state for state in search.arrivals if isinstance(state, Partition)]


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
    assert explore(without.with_properties(["acked_never_lost"])).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("name", "needed"), [("kafka/3.6", 3), ("kafka/3.7", 2), ("kafka/3.9-zk", 2)])
def test_acks_all_needs_no_more_members_than_there_are_replicas_since_3_7(name: str, needed: int) -> None:
    assert OF_RELEASE[name].min_isr(Bounds(brokers=2, min_insync_replicas=3)) == needed


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


@pytest.mark.parametrize(("name", "newer"), [("kafka/2.8", False), ("kafka/2.8+hw_checkpoint=older-or-newer", True)])
def test_a_high_watermark_on_disk_can_be_above_the_one_in_memory(name: str, newer: bool) -> None:
    states = reached(name, records=2, acks="all", max_epoch=2, crashes=1, isr_shrinks=1)
    assert any(replica.newest_checkpoint for state in states for replica in state.replicas) == newer


def test_4_1_loses_an_acknowledged_record_if_both_brokers_shut_down_uncleanly() -> None:
    bounds = {"records": 1, "acks": "all", "min_insync_replicas": 2, "max_epoch": 2, "crashes": 1, "lossy_crashes": 1}
    found = explore(load_spec("kafka/4.1").with_bounds(bounds).with_properties(["durable_as_promised"]))
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
