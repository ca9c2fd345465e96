"""Upgrades that go on while the model runs: what they leave as it is, and what they lose or leave stuck."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import pytest

from leadline.checker.engines import explore, oracle
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits, PropertyResult, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.invariants.catalog import find
from leadline.model.kafka import drawing
from leadline.model.kafka.mixes import STAGES, mix_of, resolved
from leadline.model.kafka.releases import KRAFT, RELEASES
from leadline.model.kafka.rolls import NEW_FEATURES, NEW_LEVEL, NEW_RELEASE, OLD_FEATURES, Rolling, restart_as
from leadline.reports.kafka.advice.path import CHANGED_RECORDS

ALL = {"upgraded": "0-1", "controller": "new"}
RAISED = {**ALL, "level": "new"}
QUIET = {"records": 1, "max_epoch": 1, "crashes": 0, "missed_bounces": 0, "acks": "all", "isr_shrinks": 0}
TWO = {**QUIET, "min_insync_replicas": 2}
WITNESS = "stage_changes"


def roll(name: str, **bounds: object) -> Spec[Any]:
    spec = find(name)
    assert spec is not None
    return spec.with_bounds(bounds)


def searched(name: str, props: Iterable[str], bounds: Mapping[str, object]) -> dict[str, PropertyResult]:
    result = explore(roll(name, **bounds).with_properties([*props, WITNESS]), Limits(keep_going=True))
    found = {each.property.name: each for each in result.properties}
    assert found[WITNESS].verdict is Verdict.HOLDS
    return found


def verdict(name: str, prop: str, bounds: Mapping[str, object]) -> Verdict:
    return searched(name, [prop], bounds)[prop].verdict


def steps(trace: Trace[object]) -> list[str]:
    return [instance.action.name for instance in trace.instances]


def taken(spec: Spec[Any], *names: str) -> Any:
    """The state after steps, each of which has one next state, or the first one of several."""
    (state,) = spec.initials()
    for name in names:
        instance = next(each for each in spec.instances if str(each) == name)
        state = next(iter(instance.successors(state)))
    return state


# --- a mix that does not change ----------------------------------------------------------------------------------


def test_a_mix_does_not_change_by_default() -> None:
    static = roll("kafka/2.1..2.2", **QUIET)
    assert not any(isinstance(state, Rolling) for state in static.initials())
    names = {instance.action.name for instance in static.instances}
    assert not names & {"restart_as", "controller_becomes", "change_level", "apply_level"}


@pytest.mark.parametrize("mix", ["kafka/2.1..2.2", "kafka/3.6..3.7"])
def test_a_roll_that_cannot_begin_has_the_states_of_its_first_mix(mix: str) -> None:
    """With all at the new level from the beginning, nothing is left to change."""
    for bounds in ({**QUIET, "crashes": 1, **RAISED}, {**QUIET, "shutdowns": 1, **RAISED}):
        static = oracle.explore(roll(mix, **bounds), Limits(keep_going=True)).statistics
        rolling = oracle.explore(roll(mix, **bounds, roll="levels"), Limits(keep_going=True)).statistics
        assert (static.distinct, static.depth) == (rolling.distinct, rolling.depth)


def test_engines_agree_on_a_roll() -> None:
    spec = roll("kafka/4.0..4.1", **TWO, upgraded="", roll="back").with_bounds({"shutdowns": 1})
    one, other = (search(spec, Limits(keep_going=True)).statistics for search in (oracle.explore, explore))
    assert (one.distinct, one.generated, one.depth) == (other.distinct, other.generated, other.depth)


# --- guards -------------------------------------------------------------------------------------------------------


def changes(name: str, **bounds: object) -> set[tuple[int, tuple[int, ...]]]:
    """All (stage of the controller, stages of brokers) that a roll reaches."""
    spec = roll(name, **{**QUIET, "records": 0, **bounds}).with_properties([])
    found = dict.fromkeys(spec.initials())
    queue = list(found)
    for state in queue:
        queue += [after for _, after in spec.successors(state) if after not in found and not found.setdefault(after)]
    return {(state.controller, state.stages) for state in found if isinstance(state, Rolling)}


def test_brokers_with_zookeeper_have_levels_of_their_own_once_all_run_the_new_release() -> None:
    reached = changes("kafka/2.1..2.2", upgraded="", roll="levels", shutdowns=4)
    assert {(0, (1, 0)), (1, (0, 0)), (0, (1, 1)), (1, (2, 1)), (2, (1, 1)), (2, (2, 2))} <= reached
    assert all(min(controller, *stages) >= 1 for controller, stages in reached if max(controller, *stages) == 2)


def test_a_level_of_kraft_is_one_record_that_brokers_apply_late() -> None:
    reached = changes("kafka/4.0..4.1", roll="back", **ALL)
    assert {(2, (1, 1)), (2, (2, 1)), (3, (1, 2)), (4, (2, 4)), (4, (4, 4))} <= reached
    assert all(max(stages) <= controller for controller, stages in reached)


def test_a_level_of_kraft_waits_for_every_registered_broker() -> None:
    reached = changes("kafka/3.6..3.7", upgraded="", roll="levels", shutdowns=1)
    assert max(controller for controller, _ in reached) == NEW_RELEASE
    assert (1, (0, 1)) in reached


@pytest.mark.parametrize("mix", ["kafka/2.1..2.2", "kafka/3.6..3.7"])
def test_the_old_release_returns_only_before_the_level_rises(mix: str) -> None:
    bounds = {"roll": "levels", "shutdowns": 2, **ALL}
    assert (0, (1, 1)) not in changes(mix, **bounds)
    reached = changes(mix, **bounds, returns=1)
    assert {(0, (1, 1)), (1, (0, 1))} <= reached
    assert all(min(controller, *stages) >= 1 for controller, stages in reached if max(controller, *stages) == 2)
    assert (2, (1, 1)) in reached
    assert ((1, (2, 1)) in reached) == (mix == "kafka/2.1..2.2")


def test_a_broker_that_starts_with_kraft_has_applied_the_level() -> None:
    reached = changes("kafka/4.0..4.1", roll="levels", shutdowns=1, **ALL)
    assert (2, (2, 1)) in reached
    spec = roll("kafka/4.0..4.1", **{**QUIET, "records": 0, "shutdowns": 1}, roll="levels", **ALL)
    stops = ("begin_shutdown(broker=1)", "stop(broker=1)", "change_level(to=new level)")
    assert taken(spec, *stops).stages == (1, 1)
    assert taken(spec, *stops, "restart(broker=1)").stages == (1, 2)


def test_features_that_a_release_does_not_have_are_refused() -> None:
    with pytest.raises(SpecError, match="raises no feature that the model has: give roll=levels"):
        list(roll("kafka/2.1..2.2", roll="features").initials())
    with pytest.raises(SpecError, match="min_isr_in_files only with"):
        roll("kafka/4.0..4.1", min_isr_in_files=True)


def test_no_rule_depends_on_a_level_that_can_be_lowered() -> None:
    columns = [each for each in RELEASES if each.controller == KRAFT and each.name != "kafka/3.2-kraft"]
    checked = 0
    for old in columns:
        for new in columns[columns.index(old) + 1 :]:
            low, high = (tuple(map(int, each.versions[0].split(".")))[:2] for each in (old, new))
            if not any(low < barrier <= high for barrier in CHANGED_RECORDS):
                mixed, raised = resolved(new, old, features=old), resolved(new, new, features=old)
                assert attrs.asdict(mixed, recurse=False) == attrs.asdict(raised, recurse=False)
                checked += 1
    assert checked >= 5


def test_stages_have_the_rules_of_their_release_level_and_features() -> None:
    rules = mix_of("kafka/3.5..4.1").stages
    assert len(rules) == len(STAGES)
    assert [each.epoch_for_shrink for each in rules] == [True, True, False, False, False]
    assert [each.has_elr for each in rules] == [False, False, False, True, False]
    assert [each.notices_bounces for each in rules] == ["none", *["all"] * 4]
    assert rules[OLD_FEATURES].eligible is not rules[NEW_LEVEL].eligible
    assert mix_of("kafka/4.1..4.3").last_stage == NEW_LEVEL
    assert mix_of("kafka/4.0..4.1").last_stage == OLD_FEATURES == NEW_FEATURES + 1


# --- tickets ------------------------------------------------------------------------------------------------------


def test_late_requests_are_obeyed_until_the_controller_has_the_level() -> None:
    """KAFKA-7235: the level of the brokers does not matter."""
    bounds = {**QUIET, "late_requests": 1}
    (state,) = roll("kafka/2.1..2.2", **bounds, **ALL, roll="levels").initials()
    assert isinstance(state, Rolling)
    later = attrs.evolve(state, quorum=attrs.evolve(state.quorum, epoch=1), requests=(*state.requests[:1],) * 2)
    started = later.with_replica(1, state.replicas[1].renewed())
    for controller, stages in itertools.product((1, 2), ((1, 1), (2, 2))):
        assert attrs.evolve(started, controller=controller, stages=stages).obeys(1, 0) == (controller == NEW_RELEASE)


@pytest.mark.parametrize(
    ("mix", "fenced", "registered"),
    [
        ("kafka/3.6..3.7.0", Verdict.VIOLATED, Verdict.VIOLATED),  # KAFKA-16757
        ("kafka/3.6..3.7.1", Verdict.HOLDS, Verdict.VIOLATED),  # KAFKA-16952
        ("kafka/3.6..3.8", Verdict.HOLDS, Verdict.VIOLATED),
        ("kafka/3.6..3.9", Verdict.HOLDS, Verdict.HOLDS),
        ("kafka/3.7..3.9", Verdict.HOLDS, Verdict.HOLDS),
        ("kafka/3.5..3.6", Verdict.HOLDS, Verdict.HOLDS),
    ],
)
def test_brokers_register_again_at_the_level_of_log_directories(mix: str, fenced: Verdict, registered: Verdict) -> None:
    bounds = {**QUIET, "records": 0, "max_epoch": 0, "late_fetches": 1, **ALL, "roll": "levels"}
    found = searched(mix, ["isr_members_active", "registered_at_new_level"], bounds)
    assert found["isr_members_active"].verdict is fenced
    assert found["registered_at_new_level"].verdict is registered


@pytest.mark.parametrize(("in_files", "expected"), [(True, Verdict.VIOLATED), (False, Verdict.HOLDS)])
def test_min_insync_replicas_of_files_is_replaced_when_the_elr_is_raised(in_files: bool, expected: Verdict) -> None:
    bounds = {**TWO, "max_epoch": 0, "isr_shrinks": 1, "min_isr_in_files": in_files, **ALL, "roll": "features"}
    assert verdict("kafka/4.1+elr=off..4.1", "min_isr_of_files_kept", bounds) is expected


OFFLINE = {**TWO, "records": 0, "crashes": 2}


def test_a_partition_without_leader_stays_without_one_when_the_elr_is_raised() -> None:
    """The last member of the ISR has stopped uncleanly, and is in no ELR when it starts again."""
    mix, only = "kafka/4.1+elr=off..4.1", {**QUIET, "brokers": 1, "upgraded": "0", "controller": "new"}
    found = searched(mix, ["leader_possible"], {**only, "crashes": 1, "roll": "features"})["leader_possible"]
    assert found.verdict is Verdict.VIOLATED
    assert steps(found.traces[0])[-1] == "change_level"
    for safe in ({"shutdowns": 1, "roll": "features"}, {"crashes": 1, "roll": "levels"}):
        assert verdict(mix, "leader_possible", {**only, **safe}) is Verdict.HOLDS, safe


LOSES_ELIGIBLE = (
    "produce(leader=0)",
    "handle_fetch(leader=0, follower=1)",
    "handle_fetch_response(follower=1)",
    "handle_fetch(leader=0, follower=1)",
    "crash_losing_tail(broker=1, offset=0)",
    "controller_notices_failure(broker=1)",
    "begin_shutdown(broker=0)",
    "stop(broker=0)",
)
"""Broker 1 loses a committed record and leaves the ISR, and then broker 0 stops cleanly."""


def test_a_broker_that_has_lost_records_is_elected_when_the_elr_is_lowered_while_the_isr_is_empty() -> None:
    """The controller still elects from the ELR, and no longer removes brokers that have stopped uncleanly."""
    bounds = {**TWO, "lossy_crashes": 1, "shutdowns": 1}
    lowered = roll("kafka/4.0..4.1", **bounds, **RAISED, roll="back")
    lost = taken(lowered, *LOSES_ELIGIBLE, "change_level(to=old features)", "restart(broker=1)")
    assert (lost.quorum.leader, lost.replicas[1].log.end_offset, len(lost.acked)) == (1, 0, 1)
    for kept in (lowered, roll("kafka/4.1", **bounds), roll("kafka/4.0", **bounds)):
        assert taken(kept, *LOSES_ELIGIBLE, "restart(broker=1)").quorum.leader is None


EMPTY_ISR = (
    "crash(broker=1)",
    "controller_notices_failure(broker=1)",
    "crash(broker=0)",
    "controller_notices_failure(broker=0)",
    "restart(broker=1)",
)
"""Both brokers are killed, the leader last. Broker 1 starts again, and is no longer in the ELR; broker 0 still is."""
AGAIN = ("session_expires(broker=1)", "session_resumes(broker=1)")
"""The controller tries to elect a leader."""
LOWERED = "change_level(to=old features)"


@pytest.mark.parametrize(
    ("between", "leader", "why"),
    [
        ((LOWERED,), 0, "the controller still elects from the ELR"),
        (AGAIN, 0, "the ELR is kept"),
        ((LOWERED, *AGAIN), None, "an election that finds no member of the ELR alive clears the ELR"),
    ],
)
def test_an_election_clears_the_elr_once_it_is_lowered(between: tuple[str, ...], leader: int | None, why: str) -> None:
    bounds = {**OFFLINE, "max_epoch": 2, "session_expiries": 1, **RAISED, "roll": "back"}
    assert taken(roll("kafka/4.0..4.1", **bounds), *EMPTY_ISR, *between, "restart(broker=0)").quorum.leader == leader, (
        why
    )


def test_a_partition_can_stay_without_leader_when_the_elr_is_lowered() -> None:
    bounds = {**TWO, "records": 0, "max_epoch": 2, "shutdowns": 2, "session_expiries": 1, **RAISED}
    for last, expected in (("no", Verdict.HOLDS), ("back", Verdict.VIOLATED)):
        spec = roll("kafka/4.0..4.1", **bounds, roll=last).with_properties(["leader_possible"])
        assert explore(spec).verdict is expected


def test_the_bound_of_leader_epochs_does_not_clear_the_elr() -> None:
    """Kafka elects a leader where the model has no epoch left. Then, nothing is said about the partition."""
    bounds = {**OFFLINE, "brokers": 1, "crashes": 1, "session_expiries": 1, **RAISED, "upgraded": "0", "roll": "back"}
    spec = roll("kafka/4.0..4.1", **bounds)
    due = ("session_expires(broker=0)", "session_resumes(broker=0)", "crash(broker=0)")
    last = taken(spec, *due, "controller_notices_failure(broker=0)", LOWERED, "restart(broker=0)")
    assert (last.quorum.epoch, last.quorum.leader, last.quorum.elr) == (1, None, {0})
    assert explore(spec.with_properties(["leader_possible"])).verdict is Verdict.HOLDS


def test_the_controller_elects_no_fenced_leader_once_it_runs_4_1() -> None:
    """KAFKA-19522."""
    bounds = {**OFFLINE, "max_epoch": 2, "crashes": 3, "upgraded": "0-1", "controller": "old", "roll": "releases"}
    found = searched("kafka/4.0+elr=on-unchecked..4.1", ["leaders_elected_alive"], bounds)["leaders_elected_alive"]
    last = found.traces[0].states[-1]
    assert isinstance(last, Rolling)
    assert last.controller == 0


# --- restarts -----------------------------------------------------------------------------------------------------


def test_a_running_broker_does_not_change_its_release() -> None:
    (state,) = roll("kafka/2.1..2.2", upgraded="", roll="levels").initials()
    assert not any(list(restart_as(state, broker, to)) for broker in (0, 1) for to in STAGES[:3])
    down = state.with_replica(1, state.replicas[1].renewed(up=False))
    assert [to for to in STAGES[:3] if list(restart_as(down, 1, to))] == ["new release"]


def test_a_state_shows_what_the_controller_and_each_broker_run() -> None:
    spec = roll("kafka/4.0..4.1", **QUIET, upgraded="1", roll="levels").with_bounds({"crashes": 1})
    rows = drawing.rows(taken(spec, "crash(broker=1)", "controller_becomes(to=new release)"))
    said = [rows[name].columns["role"] for name in ("controller", "broker 0", "broker 1")]
    assert said == ["leader: 0 (runs 4.1, level 4.0)", "leads (runs 4.0)", "down (runs 4.1, level 4.0)"]
