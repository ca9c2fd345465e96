"""Progress of partitions in Kafka's releases: what holds, why it needs fairness, and what is open."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, Verdict
from leadline.checker.engines import compiled, oracle
from leadline.invariants.catalog import CATALOG, find
from leadline.invariants.families.kafka import LIVENESS as KAFKA_LIVENESS
from leadline.invariants.progress import RECOVERIES
from leadline.model.kafka.horizon import another_epoch_is_due
from leadline.model.kafka.releases import RELEASES
from leadline.model.kafka.state import Partition
from leadline.reports.traces.story import what_happened
from tests.suite.samples import EVERY

NAMES = [item.name for item in KAFKA_LIVENESS]

SMALL = {"records": 1, "max_epoch": 1, "crashes": 1, "isr_shrinks": 1, "acks": "all"}

STUCK = {"kafka/2.7", "kafka/2.7.2", "kafka/2.8", "kafka/2.8.1", "kafka/3.0"}
"""The releases with KAFKA-13091, which except for the last one also have KAFKA-12686."""

SAMPLE = ("kafka/0.10.2", "kafka/2.8", "kafka/3.3", "kafka/3.7")

SEARCHED = [column.name for column in RELEASES] if EVERY else SAMPLE


def checked(spec: Spec[Any]) -> Result:
    return compiled.explore(spec.with_properties(NAMES), Limits())


@functools.cache
def checked_small(name: str) -> Result:
    """What is found in a release within the small bounds, which several tests are about."""
    return checked(CATALOG[name].with_bounds(SMALL))


@pytest.mark.parametrize("name", SEARCHED)
def test_partitions_make_progress_except_where_they_were_stuck(name: str) -> None:
    result = checked_small(name)
    violated = {item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED}
    expected = {"all_committed_again", "writes_answered", "caught_up_in_isr", "isr_full_when_quiet", "can_recover"}
    if name == "kafka/3.0":  # KAFKA-12686 is fixed, KAFKA-13091 is not: a restart repairs what it leaves stuck
        expected -= {"caught_up_in_isr", "isr_full_when_quiet", "can_recover"}
    else:
        expected |= {"recoverable_caught_up_in_isr", "recoverable_isr_full_when_quiet"}
    assert violated == (expected if name in STUCK else set())


def test_each_property_needs_fairness() -> None:
    """Without it, each is violated, so none of them is vacuous. Recovery needs none."""
    spec = CATALOG["kafka/2.4"].with_bounds({**SMALL, "records": 2, "crashes": 2, "max_epoch": 2})
    unfair = attrs.evolve(spec, fairness=dict.fromkeys((action.name for action in spec.actions), ""))
    held = {item.property.name for item in checked(unfair).properties if item.verdict is Verdict.HOLDS}
    assert held == {"can_recover", *(item.name for item in RECOVERIES)}


def test_each_recovery_needs_repairs() -> None:
    """If what brokers do is no repair, none of them holds, so none of them is vacuous."""
    spec = CATALOG["kafka/2.4"].with_bounds(SMALL)
    none_heals = attrs.evolve(spec, actions=[attrs.evolve(action, effect="") for action in spec.actions])
    results = {item.property.name: item.verdict for item in checked(none_heals).properties}
    assert {results[item.name] for item in RECOVERIES} == {Verdict.VIOLATED}


def test_perturbations_are_not_fair_and_every_action_is_judged() -> None:
    for name in SEARCHED:
        for action in CATALOG[name].actions:
            assert not action.fair or action.effect == "healing", action.name
    actions = {action.name: action for column in RELEASES for action in CATALOG[column.name].actions}
    neither = {name for name, action in actions.items() if not action.fair and not action.effect}
    assert neither == {
        *("produce", "operator_elects_uncleanly", "update_min_insync_replicas", "reassign", "cancel_reassignment"),
        *("handle_late_fetch", "raise_min_insync_replicas"),
    }


BLOCKED = ("kafka/3.3",)
"""Releases in which `max_epoch` blocks a step within each of these bounds."""


def roomier(state: Partition) -> Partition:
    """The same state with bounds that allow one more leader epoch."""
    bounds = attrs.evolve(state.bounds, max_epoch=state.bounds.max_epoch + 1)
    return attrs.evolve(state, bounds=bounds, requests=(*state.requests, None))


@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("more", [{}, {"unclean_leader_election": True, "shutdowns": 1, "isr_shrinks": 0}])
def test_states_are_open_if_and_only_if_the_bound_alone_blocks_a_step(name: str, more: dict[str, Any]) -> None:
    """With one more epoch, a fair or healing step begins it, and without, the step is not possible at all.

    The election of the preferred leader does not count. A step that removes a failed leader is possible: it leaves the
    partition without a leader, and the next state is open.
    """
    spec = CATALOG[name].with_bounds({**SMALL, **more})
    search = oracle.OracleSearch(spec.with_properties([]), Limits())
    search.run()
    seen = set()
    for state in search.arrivals:
        steps = [each for each in spec.instances if spec.fair(each.action) or each.action.effect == "healing"]
        if state.quorum.leader is not None:
            steps = [each for each in steps if each.action.name != "controller_elects"]
        room = roomier(state)
        blocked = any(
            any(after.quorum.epoch > state.bounds.max_epoch for after in spec.take(each, room))
            and not any(after != state for after in spec.take(each, state))
            for each in steps
        )
        assert another_epoch_is_due(state) == blocked, state
        seen.add(blocked)
    assert len(seen) == 2 or name not in BLOCKED


def test_report_says_how_many_states_are_open() -> None:
    counts = checked(CATALOG["kafka/3.3"].with_bounds({**SMALL, "crashes": 2})).statistics.liveness
    assert counts is not None
    assert counts.open > 0
    without_room = checked(CATALOG["kafka/3.3"].with_bounds({**SMALL, "max_epoch": 0})).statistics.liveness
    assert without_room is not None
    assert without_room.open > 0


@pytest.mark.parametrize(
    ("rule", "name"), [("isr_answer=tried", "all_committed_again"), ("isr_pending=kept", "isr_full_when_quiet")]
)
def test_each_rule_decides_its_own_stuck_bug(rule: str, name: str) -> None:
    fixed = find(f"kafka/2.8.1+{rule}")
    assert fixed is not None
    with_fix = checked(fixed.with_bounds(SMALL))
    assert with_fix.of(name).verdict is Verdict.HOLDS
    assert checked_small("kafka/2.8.1").of(name).verdict is Verdict.VIOLATED


def test_a_high_watermark_does_not_wait_for_a_follower_that_shuts_down() -> None:
    """KAFKA-15021: either a new leader epoch or the eligibility of the follower ends the wait."""
    verdicts = {}
    for name in ("3.5.1+hw_waits=caught-up", "3.6+hw_waits=caught-up", "3.6+hw_waits=eligible"):
        spec = find(f"kafka/{name}")
        assert spec is not None
        result = checked(spec.with_bounds({**SMALL, "crashes": 0, "shutdowns": 1, "isr_shrinks": 0}))
        verdicts[name] = result.of("all_committed_again").verdict.value
    assert list(verdicts.values()) == ["holds", "violated", "holds"]


@pytest.mark.parametrize(
    ("name", "bounds", "about", "label", "said"),
    [
        ("kafka/3.0", {}, "all_committed_again", "not committed", "does not try to advance its high watermark"),
        ("kafka/2.8", {}, "isr_full_when_quiet", "stuck", "waits for the response to its newer request"),
        (
            "kafka/3.6+hw_waits=caught-up",
            {"crashes": 0, "shutdowns": 1},
            "all_committed_again",
            "not committed",
            "its high watermark waits for broker 1, which has left the ISR",
        ),
    ],
)
def test_story_of_a_stuck_partition_says_why(
    name: str, bounds: dict[str, Any], about: str, label: str, said: str
) -> None:
    spec = find(name)
    assert spec is not None
    result = compiled.explore(spec.with_bounds({**SMALL, **bounds}).with_properties([about]), Limits())
    events = [(event.label, event.text) for event in what_happened(result.of(about).traces[0])]
    assert any(each == label and said in text for each, text in events), events
