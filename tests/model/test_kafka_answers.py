"""The known results of the `kafka` family, with the counts of our own runs."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.checker import Limits, Result, Verdict, fuzz
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import explore
from leadline.checker.settings import RandomSettings
from leadline.invariants.catalog import CATALOG
from leadline.invariants.families.kafka import PROPERTIES as KAFKA_PROPERTIES
from leadline.model.kafka.protocols import at_the_start_of_the_epoch
from tests.model.kafka_mutants import changed
from tests.model.kafka_states import KIP_279
from tests.specs.scenario import Scenario
from tests.suite.samples import sampled

PROTOCOLS = ("hw-truncation", "kip-101", "kip-279", "kip-320")
ARTICLES = {"brokers": 2, "records": 2, "max_epoch": 1, "crashes": 2, "acks": "1", "min_insync_replicas": 1}
EVEN_IF_A_LEADER_DIES = [
    item.name
    for item in KAFKA_PROPERTIES
    if not item.kind.is_witness and item.name not in ("acked_never_lost", "reads_not_taken_back")
]
"""All but what acks=1 cannot promise, and what takes KIP-207."""


def searched(protocol: str, names: list[str] | None = None, **bounds: Any) -> Result:
    spec = CATALOG[f"rpc/{protocol}"].with_bounds(ARTICLES | bounds)
    return explore(spec if names is None else spec.with_properties(names))


def found(result: Result) -> dict[str, int]:
    """The states of the shortest counterexample to each violated property."""
    violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED]
    for item in violated:
        scenario = Scenario(result.spec).play(map(str, item.traces[0].instances))
        assert item.property.name in scenario.violations()
    return {item.property.name: len(item.traces[0]) for item in violated}


def steps(result: Result, name: str) -> list[str]:
    return [str(instance) for instance in result.of(name).traces[0].instances]


def test_before_kip_101_a_committed_record_is_lost_as_in_the_articles_first_figure() -> None:
    result = searched("hw-truncation", ["committed_never_lost"])
    assert found(result) == {"committed_never_lost": 12}
    assert steps(result, "committed_never_lost") == [
        "produce(leader=0)",
        "handle_fetch(leader=0, follower=1)",
        "handle_fetch_response(follower=1)",
        "handle_fetch(leader=0, follower=1)",
        "crash(broker=1)",
        "restart(broker=1)",
        "become_follower(broker=1, epoch=0)",
        "crash(broker=0)",
        "controller_notices_failure(broker=0)",
        "controller_elects(broker=1)",
        "become_leader(broker=1, epoch=1)",
    ]


@pytest.mark.parametrize(
    ("bounds", "states"),
    [
        ({"lossy_crashes": 1}, 11),
        ({"unclean_leader_election": True}, 10),
        ({}, 15),
        ({"crashes": 1}, None),
    ],
    ids=["loss of what was not flushed", "unclean election", "after the first figure's truncation", "one crash"],
)
def test_before_kip_101_logs_diverge_as_in_the_articles_second_figure(bounds: dict[str, Any], states: int) -> None:
    """A lost tail or an unclean election is not needed: a truncation to a stale high watermark is enough."""
    expected = {} if states is None else {"logs_prefix_consistent": states}
    assert found(searched("hw-truncation", ["logs_prefix_consistent"], **bounds)) == expected


def test_kip_101_mends_the_divergence_after_an_unclean_election() -> None:
    """The shipped suite says so of a lost tail."""
    result = searched("kip-101", ["logs_prefix_consistent"], unclean_leader_election=True)
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, 10_829)


def test_kip_101_mends_the_loss_and_the_divergence_for_one_leader_change() -> None:
    assert "logs_prefix_consistent" in EVEN_IF_A_LEADER_DIES
    result = searched("kip-101", EVEN_IF_A_LEADER_DIES)
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, 10_482)


@pytest.mark.parametrize("protocol", sampled(PROTOCOLS, 3))
@pytest.mark.parametrize("cause", [{"lossy_crashes": 1}, {"unclean_leader_election": True}], ids=str)
def test_no_protocol_survives_a_lost_tail_or_an_unclean_election(protocol: str, cause: dict[str, Any]) -> None:
    """KIP-101's appendix says so of unclean elections with min.insync.replicas=1."""
    assert found(searched(protocol, ["committed_never_lost"], **cause)) == {"committed_never_lost": 7}


@pytest.mark.parametrize("protocol", sampled(PROTOCOLS, 3))
def test_acks_1_loses_acknowledged_records_by_design(protocol: str) -> None:
    result = searched(protocol, ["acked_never_lost"])
    assert found(result) == {"acked_never_lost": 6}
    assert steps(result, "acked_never_lost")[:2] == ["produce(leader=0)", "crash(broker=0)"]


def test_kip_101_fails_after_two_quick_leader_changes() -> None:
    """KIP-279: broker 1 asks about an epoch that broker 0 missed, and keeps a record that broker 0 never had."""
    result = searched("kip-101", ["logs_prefix_consistent"], max_epoch=2)
    assert found(result) == {"logs_prefix_consistent": 14}
    assert steps(result, "logs_prefix_consistent")[-5:-2] == [
        "become_follower(broker=1, epoch=2)",
        "handle_epoch_request(leader=0, follower=1)",
        "handle_epoch_response(follower=1)",
    ]


@pytest.mark.parametrize(("protocol", "states"), sampled([("kip-320", None), ("kip-101", 17)], 2))
def test_three_leader_changes_lose_committed_records_before_kip_320(protocol: str, states: int | None) -> None:
    """The shipped suite finds 19 states in KIP-279."""
    expected = {} if states is None else {"committed_never_lost": states}
    assert found(searched(protocol, ["committed_never_lost"], max_epoch=3)) == expected


THREE_BROKERS = {"brokers": 3, "records": 1, "max_epoch": 2, "crashes": 1}


def test_kip_279_lets_a_broker_into_the_isr_too_early() -> None:
    """KAFKA-7128: the new leader's high watermark is behind, and a broker that reached it lacks a committed record."""
    result = searched("kip-279", ["strong_isr"], **THREE_BROKERS)
    assert found(result) == {"strong_isr": 14}
    assert "handle_fetch(leader=1, follower=2)" in steps(result, "strong_isr")


def test_kip_279_truncates_by_a_zombie_leader() -> None:
    """KIP-320: broker 1 still counts for the leader of epoch 2 when the zombie of epoch 1 makes it truncate."""
    spec = changed(KIP_279, admits=at_the_start_of_the_epoch).with_bounds(THREE_BROKERS)
    result = explore(spec.with_properties(["strong_isr"]))
    assert found(result) == {"strong_isr": 15}
    taken = steps(result, "strong_isr")
    assert "park_fetch(leader=0, follower=1)" in taken
    assert taken[-4:] == [
        "become_leader(broker=2, epoch=1)",
        "become_follower(broker=1, epoch=1)",
        "handle_epoch_request(leader=2, follower=1)",
        "handle_epoch_response(follower=1)",
    ]


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        ({"max_epoch": 2}, (33_127, 64_984, 28)),
        (THREE_BROKERS, (49_360, 152_040, 33)),
    ],
    ids=["two brokers", "three brokers"],
)
def test_kip_320_holds_to_exhaustion(bounds: dict[str, Any], counts: tuple[int, int, int]) -> None:
    result = searched("kip-320", EVEN_IF_A_LEADER_DIES, **bounds)
    statistics = result.statistics
    assert result.verdict is Verdict.HOLDS
    assert (statistics.distinct, statistics.generated, statistics.depth) == counts


@pytest.mark.parametrize("seed", sampled(range(5), 5))
def test_fuzzing_finds_the_loss_from_every_seed(seed: int) -> None:
    spec = CATALOG["rpc/hw-truncation"].with_bounds({"records": 1, "isr_shrinks": 0})
    result = fuzz(spec.with_properties(["committed_never_lost"]), settings=RandomSettings(seed=seed))
    assert found(result)["committed_never_lost"] == 12  # the first figure


SMALL = [
    {"records": 1, "crashes": 1, "acks": "all", "unclean_leader_election": True, "lossy_crashes": 1},
    {"records": 1, "crashes": 0, "session_expiries": 1},
]


@pytest.mark.parametrize("bounds", sampled(SMALL[::-1], 2), ids=str)
@pytest.mark.parametrize("protocol", sampled(PROTOCOLS[2:] + PROTOCOLS[:2], 4))
def test_both_engines_agree(protocol: str, bounds: dict[str, Any]) -> None:
    spec = CATALOG[f"rpc/{protocol}"].with_bounds(ARTICLES | bounds)
    limits = Limits(keep_going=True)
    fast, slow = explore(spec, limits), oracle.explore(spec, limits)
    assert summary(fast) == summary(slow)


def summary(result: Result) -> tuple[Any, ...]:
    """What both engines have to agree on."""
    counts = result.statistics
    verdicts = [(item.property.name, item.verdict, *map(len, item.traces)) for item in result.properties]
    return counts.distinct, counts.generated, counts.depth, counts.actions, verdicts
