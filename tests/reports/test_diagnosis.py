"""What decides a violation, found by searching with one thing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve, frozen

from leadline.checker import Limits, Spec, Verdict, action, invariant
from leadline.checker.engines import ENGINES
from leadline.reports.bugs import read_archive
from leadline.reports.diagnosis import Change, diagnose, lines
from leadline.reports.loading import load_spec
from tests.suite.command import call

ARCHIVE = read_archive()

QUICK = ("KAFKA-7235", "KAFKA-2334", "KAFKA-14140", "KAFKA-1120")
"""Bugs with small spaces."""


def mended(ticket: str) -> list[Change]:
    """The changes that mend a bug in the last release that it affects."""
    (bug,) = (bug for bug in ARCHIVE.bugs if bug.ticket == ticket)
    run = [run for run in ARCHIVE.runs(bug) if run.part == "affected"][-1]
    diagnosis = diagnose(ENGINES["compiled"](run.spec, Limits()), seconds=300)
    assert diagnosis is not None
    assert diagnosis.undecided == []
    return diagnosis.mending


@pytest.mark.parametrize("ticket", QUICK)
def test_the_rule_of_a_ticket_is_found(ticket: str) -> None:
    (bug,) = (bug for bug in ARCHIVE.bugs if bug.ticket == ticket)
    rules = [change for change in mended(ticket) if change.kind == "rule"]
    assert [change for change in rules if ticket in change.tickets], rules
    assert [change for change in rules if set(bug.rules) & {name.partition("=")[0] for name in change.name.split(",")}]


def test_rules_that_decide_together_are_told_together() -> None:
    (both,) = (change for change in mended("KAFKA-7164") if change.kind == "rule")
    assert both.name == "epoch_cache=election,same_leader=goes-on-unless-one-was-missed"
    assert "KAFKA-7164" in both.tickets


def test_a_loss_by_configuration_has_the_configuration_and_no_rule() -> None:
    spec = load_spec("kafka/4.1").with_bounds({"acks": "1"}).with_properties(["acked_never_lost"])
    result = ENGINES["compiled"](spec, Limits())
    assert result.verdict is Verdict.VIOLATED
    diagnosis = diagnose(result, seconds=120)
    assert diagnosis is not None
    assert [(change.kind, change.name) for change in diagnosis.mending] == [("configuration", "acks=all")]
    assert lines(diagnosis) == ["acked_never_lost holds with acks=all: producers wait for every member of the ISR"]


def test_without_time_nothing_is_decided() -> None:
    spec = load_spec("kafka/2.8").with_bounds({"acks": "all"}).with_properties(["committed_never_lost"])
    diagnosis = diagnose(ENGINES["compiled"](spec, Limits()), seconds=0)
    assert diagnosis is not None
    assert {change.answer for change in diagnosis.changes} == {"not decided"}
    assert lines(diagnosis)[0].startswith("not decided in the time limit: whether committed_never_lost holds with ")


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
    """Without the pump it holds too, but then the sensor's sticking is all that happens: the pump is needed."""
    diagnosis = diagnose(ENGINES["oracle"](TANK, Limits()))
    assert diagnosis is not None
    assert [(change.name, change.answer) for change in diagnosis.changes] == [
        ("pump()", "mends"),
        ("stick(sensor=0)", "mends"),
    ]
    assert "no_overflow holds without stick(sensor=0): sensor 0 sticks" in lines(diagnosis)


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
    assert [change["tickets"] for change in changes if change["answer"] == "mends"] == [["KAFKA-13141"]]
    again = call("report", "r.json", "--html", "again.html", folder=tmp_path)
    assert again.code == 0, again.err


def test_a_diagnosis_can_be_left_out(tmp_path: Path) -> None:
    options = ["-b", "acks=all", "-i", "committed_never_lost", "--diagnose", "0"]
    run = call("explore", "kafka/2.8", *options, "--json", "-", folder=tmp_path)
    assert json.loads(run.out)["diagnosis"] is None
