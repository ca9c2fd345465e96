"""What decides a violation, found by searching with one thing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen

from leadline.checker import Limits, Spec, Verdict, action, invariant
from leadline.checker.action import ActionInstance
from leadline.checker.engines import ENGINES
from leadline.checker.properties import Property
from leadline.checker.result import PropertyResult
from leadline.checker.state import component
from leadline.checker.trace import Trace
from leadline.reports.diagnosis import Change, diagnose, lines
from leadline.reports.kafka.bugs import Bug
from leadline.reports.kafka.kept_behaviours import FILE, kept, read_kept
from leadline.reports.left_out_steps import world_without
from leadline.reports.loading import load_spec
from leadline.reports.rule_tables import rule_table
from tests.suite.archive import ARCHIVE, runs_of
from tests.suite.command import call
from tests.suite.samples import EVERY, sampled

OF_A_RULE = [bug for bug in ARCHIVE.bugs if bug.rules and not any("+" in name for name in bug.fixed)]
KEPT = [bug for bug in ARCHIVE.bugs if bug.ticket in {ticket for ticket, _ in read_kept(FILE)}]

QUICK = ("KAFKA-7235", "KAFKA-2334", "KAFKA-14140", "KAFKA-1120")
"""Bugs with small spaces."""


def prevented(bug: Bug) -> list[Change]:
    """The changes that mend a bug in the last affected release that has its rules."""
    runs = [run for run in runs_of(bug) if run.part == "affected"]
    tables = [(run, rule_table(run.spec)) for run in runs]
    run = [run for run, table in tables if table is not None and bug.rules.items() <= table.values.items()][-1]
    diagnosis = diagnose(ENGINES["compiled"](run.spec, Limits()), seconds=300)
    assert diagnosis is not None
    assert diagnosis.undecided == []
    return diagnosis.preventing


@pytest.mark.parametrize(
    "bug", [bug for bug in OF_A_RULE if EVERY or bug.ticket in QUICK], ids=lambda bug: str(bug.ticket)
)
def test_the_rule_of_a_ticket_is_found(bug: Bug) -> None:
    rules = [change for change in prevented(bug) if change.kind == "rule" and bug.ticket in change.tickets]
    assert [change for change in rules if set(bug.rules) & {part.partition("=")[0] for part in change.name.split(",")}]


def test_the_guide_counts_the_bugs_whose_rule_is_found() -> None:
    guide = (Path(__file__).parents[2] / "reports" / "README.md").read_text(encoding="utf-8")
    assert f"The archive has {len(OF_A_RULE)} bugs of a rule that a release changed" in guide


@pytest.mark.parametrize("bug", KEPT, ids=lambda bug: bug.ticket)
def test_the_steps_of_an_archived_bug_name_it_without_a_search(bug: Bug) -> None:
    traces = [(run, kept(run)) for run in runs_of(bug) if run.part == "affected" and bug.rules and bug.fixed]
    for run, trace in traces:
        table = rule_table(run.spec)
        if trace is None or table is None or not bug.rules.items() <= table.values.items():
            continue
        result = attrs.evolve(ENGINES["oracle"](run.spec, Limits(max_states=1)), properties=(found(trace),))
        diagnosis = diagnose(result, seconds=0)
        assert diagnosis is not None
        assert bug.ticket in [name for change in diagnosis.archived for name in change.tickets]


def found(trace: Trace[Any]) -> PropertyResult:
    """The result of the search that found a counterexample."""
    assert trace.about is not None
    return PropertyResult(trace.about, Verdict.VIOLATED, (trace,))


def test_rules_that_decide_together_are_told_together() -> None:
    (both,) = (change for change in prevented(ARCHIVE.about("KAFKA-7164")[0][0]) if change.kind == "rule")
    assert both.name == "epoch_cache=election,same_leader=goes-on-unless-one-was-missed"
    assert "KAFKA-7164" in both.tickets


def test_a_loss_by_configuration_has_the_configuration_and_no_rule() -> None:
    spec = load_spec("kafka/4.1").with_bounds({"acks": "1"}).with_properties(["acked_never_lost"])
    result = ENGINES["compiled"](spec, Limits())
    assert result.verdict is Verdict.VIOLATED
    diagnosis = diagnose(result, seconds=120)
    assert diagnosis is not None
    assert [(change.kind, change.name) for change in diagnosis.preventing] == [("configuration", "acks=all")]
    assert lines(diagnosis) == ["acked_never_lost holds with acks=all: producers wait for every member of the ISR"]


def test_what_an_application_can_choose_in_the_release_is_tried_first() -> None:
    spec = load_spec("txn/3.7-client-2.8").with_bounds({"partitions": 1}).with_properties(["no_aborted_read"])
    diagnosis = diagnose(ENGINES["compiled"](spec, Limits()), seconds=120)
    assert diagnosis is not None
    assert lines(diagnosis)[0] == (
        "no_aborted_read holds with time_out=re-initialise: a choice of the application; it replaces its producer: "
        "initTransactions sends InitProducerId"
    )


@pytest.mark.parametrize(
    ("reference", "bounds", "decisive"),
    sampled(
        [
            (
                "atomic/hw-truncation",
                {},
                [
                    ("truncates_to=end_of_own_last_epoch", "atomic/kip-101"),
                    ("follows=in_same_epoch", "atomic/kip-320"),
                ],
            ),
            (
                "atomic/kip-101",
                {"max_epoch": 2},
                [("truncates_to=end_of_agreement", "atomic/kip-279 and atomic/kip-320")],
            ),
        ],
        2,
    ),
)
def test_the_rule_that_decides_between_protocols_is_found(
    reference: str, bounds: dict[str, int], decisive: list[tuple[str, str]]
) -> None:
    spec = load_spec(reference).with_bounds(bounds).with_properties(["strong_isr"])
    diagnosis = diagnose(ENGINES["compiled"](spec, Limits()), seconds=120)
    assert diagnosis is not None
    assert [(change.name, change.about) for change in diagnosis.preventing] == decisive
    assert {change.kind for change in diagnosis.changes} == {"rule"}


def test_releases_with_a_rule_are_a_range_where_a_later_release_changed_it() -> None:
    table = rule_table(load_spec("kafka/3.0"))
    assert table is not None
    assert table.having({"isr_eligibility": "active"}) == "kafka/3.3-zk and later, and of kafka/3.3 to kafka/3.4.1"
    assert table.having({"isr_eligibility": "active-incarnation"}) == "kafka/3.5 and later"


def test_without_time_nothing_is_decided() -> None:
    spec = load_spec("kafka/2.8").with_bounds({"acks": "all"}).with_properties(["committed_never_lost"])
    diagnosis = diagnose(ENGINES["compiled"](spec, Limits()), seconds=0)
    assert diagnosis is not None
    assert {change.answer for change in diagnosis.changes[1:]} == {"not decided"}
    known, said = lines(diagnosis)
    assert known == (
        "known as KAFKA-13141: with the fix, diverging_fetch=ignored, the rule of kafka/2.8.1 and kafka/3.2-kraft and "
        "later, these steps do not violate committed_never_lost. See: leadline bugs KAFKA-13141"
    )
    assert said.startswith("not decided in the time limit: whether committed_never_lost holds with ")
    assert "diverging_fetch=ignored" in said
    assert said.endswith(f" and {len(diagnosis.changes) - 5} more")


# A spec of one's own: a valve, a pump that fills a tank, and a drain.


@frozen
class Bounds:
    size: int = 2


@frozen
class Tank:
    level: int = 0
    is_stuck: bool = False
    size: int = 2


@action("the pump adds a unit")
def pump(state: Tank) -> Iterator[Tank]:
    if state.level < state.size or (state.is_stuck and state.level == state.size):
        yield evolve(state, level=state.level + 1)


@action("the drain takes a unit")
def drain(state: Tank) -> Iterator[Tank]:
    if state.level:
        yield evolve(state, level=state.level - 1)


@action("sensor {sensor} sticks", sensor=(0, 1))
def stick(state: Tank, sensor: int) -> Iterator[Tank]:
    if sensor == 0 and not state.is_stuck:
        yield evolve(state, is_stuck=True)


@invariant("the tank does not overflow")
def no_overflow(state: Tank) -> bool:
    return state.level <= state.size


TANK = Spec(
    name="tank",
    bounds=Bounds(),
    initial_states=lambda bounds: [Tank(size=bounds.size)],
    actions=(pump, drain, stick),
    properties=(no_overflow,),
)


def test_the_step_without_which_a_spec_holds_is_found() -> None:
    """Without the pump it holds too, but then the level never changes, and the property is about the level."""
    diagnosis = diagnose(ENGINES["oracle"](TANK, Limits()))
    assert diagnosis is not None
    assert [(change.name, change.answer) for change in diagnosis.changes] == [
        ("pump()", "does not prevent"),
        ("stick(sensor=0)", "prevents"),
    ]
    assert lines(diagnosis) == [
        "no_overflow holds among the other steps of the counterexample, in any order, without stick(sensor=0): "
        "sensor 0 sticks"
    ]


def has_overflowed(state: Tank) -> bool:
    return state.level > state.size


@invariant("a tank that is above its size is below it", premise=has_overflowed)
def never_above(state: Tank) -> bool:
    return state.level < state.size


def test_with_a_premise_a_step_without_which_it_is_never_true_is_not_named() -> None:
    """Without any of the steps, no tank overflows, and the property says nothing."""
    diagnosis = diagnose(ENGINES["oracle"](evolve(TANK, properties=(never_above,)), Limits()))
    assert diagnosis is not None
    assert {change.answer for change in diagnosis.changes} == {"does not prevent"}
    assert lines(diagnosis) == [
        "no single step decides it: without any one of them, never_above is still violated, or what it is about no "
        "longer happens"
    ]


@frozen
class Replica:
    log: tuple[int, ...] = ()
    is_up: bool = True


@frozen
class Cluster:
    acknowledged: frozenset[int] = frozenset()
    leader: int = 0
    replicas: tuple[Replica, ...] = component(default=(Replica(), Replica()))


def with_replica(state: Cluster, broker: int, **changes: object) -> Cluster:
    replica = evolve(state.replicas[broker], **changes)  # type: ignore[arg-type]
    return evolve(state, replicas=(*state.replicas[:broker], replica, *state.replicas[broker + 1 :]))


@action("broker {broker} writes", broker=(0, 1))
def write(state: Cluster, broker: int) -> Iterator[Cluster]:
    if state.leader == broker and state.replicas[broker].is_up and not state.replicas[broker].log:
        yield with_replica(state, broker, log=(1,))


@action("broker {broker} acknowledges", broker=(0, 1))
def acknowledge(state: Cluster, broker: int) -> Iterator[Cluster]:
    if state.leader == broker and state.replicas[broker].is_up:
        yield evolve(state, acknowledged=frozenset(state.replicas[broker].log))


@action("broker {broker} fails", broker=(0, 1))
def fail(state: Cluster, broker: int) -> Iterator[Cluster]:
    if all(replica.is_up for replica in state.replicas):
        yield with_replica(state, broker, is_up=False)


@action("broker {broker} is elected", broker=(0, 1))
def elect(state: Cluster, broker: int) -> Iterator[Cluster]:
    if state.replicas[broker].is_up and not state.replicas[state.leader].is_up:
        yield evolve(state, leader=broker)


def is_acknowledged(state: Cluster) -> bool:
    return bool(state.acknowledged)


@invariant("the leader has what was acknowledged", premise=is_acknowledged)
def nothing_lost(state: Cluster) -> bool:
    return state.acknowledged <= frozenset(state.replicas[state.leader].log)


CLUSTER = Spec(
    name="cluster",
    initial_states=lambda bounds: [Cluster()],
    actions=(write, acknowledge, fail, elect),
    properties=(nothing_lost,),
)


def preventing(spec: Spec[Cluster]) -> list[str]:
    diagnosis = diagnose(ENGINES["oracle"](spec, Limits()))
    assert diagnosis is not None
    return [change.name for change in diagnosis.preventing]


def test_a_write_is_never_why_it_is_lost_and_a_symmetric_failure_is() -> None:
    """In the whole spec, the other broker may fail instead. Among the steps of the counterexample, none else does."""
    assert preventing(CLUSTER) == ["fail(broker=0)", "elect(broker=1)"]


def test_without_a_premise_each_field_that_decides_must_still_change() -> None:
    """Without a failure, the leader does not change; without a write, the acknowledged records do not."""
    assert preventing(evolve(CLUSTER, properties=(evolve(nothing_lost, premise=None),))) == []


def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(trace: Trace[object], left_out: ActionInstance[object], item: Property) -> Spec[object] | None:
        if left_out.action is stick:
            raise KeyboardInterrupt
        return world_without(trace, left_out, item)

    monkeypatch.setattr("leadline.reports.diagnosis.world_without", interrupted)
    diagnosis = diagnose(ENGINES["oracle"](TANK, Limits()))
    assert diagnosis is not None
    assert [change.name for change in diagnosis.changes] == ["pump()"]
    assert diagnosis.interrupted
    assert lines(diagnosis) == ["the search for what decides no_overflow was interrupted"]


def test_a_spec_that_holds_has_no_diagnosis() -> None:
    assert diagnose(ENGINES["oracle"](TANK.with_properties([]), Limits())) is None


# The command


def test_explore_says_what_decides_a_violation(tmp_path: Path) -> None:
    options = ["-b", "acks=all", "-i", "committed_never_lost", "--diagnose", "300"]
    run = call("explore", "kafka/2.8", *options, "--json", "r.json", "--html", "r.html", folder=tmp_path)
    said = (
        "committed_never_lost holds with diverging_fetch=ignored, the rule of kafka/2.8.1 and kafka/3.2-kraft and later"
    )
    assert said in " ".join(run.out.split())
    assert said in " ".join((tmp_path / "r.html").read_text(encoding="utf-8").split())
    changes = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["diagnosis"]["changes"]
    assert [change["tickets"] for change in changes if change["answer"] == "prevents"] == [["KAFKA-13141"]]
    again = call("show", "r.json", "--html", "again.html", folder=tmp_path)
    assert again.code == 0, again.err


def test_a_diagnosis_can_be_left_out(tmp_path: Path) -> None:
    options = ["-b", "acks=all", "-i", "committed_never_lost", "--diagnose", "0"]
    run = call("explore", "kafka/2.8", *options, "--json", "-", folder=tmp_path)
    assert json.loads(run.out)["diagnosis"] is None
