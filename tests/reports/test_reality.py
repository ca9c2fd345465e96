"""What replays on real brokers show of a bug, and how it is reported: without brokers, from replays made by hand."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from leadline.brokers.driver.observed_state import SeenRecord, SeenReplica, observed_state
from leadline.brokers.driver.plan import Plan
from leadline.brokers.driver.reading import Read
from leadline.brokers.driver.replay import Outcome, Replay
from leadline.brokers.driver.step_report import Attempt, Produced, StepReport
from leadline.brokers.plans import AnyPlan
from leadline.brokers.releases import broker_release
from leadline.brokers.reproduction import (
    Judgement,
    Reproduction,
    judged_with_bug,
    judged_without_bug,
    judged_without_event,
)
from leadline.checker.errors import LeadlineError
from leadline.reports.cli.reproduce import exit_code
from leadline.reports.document.terminal import blocks_view
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.kafka.broker_runs.counterexamples import counterexample
from leadline.reports.kafka.broker_runs.live import evidence, judged_blocks
from leadline.reports.kafka.broker_runs.objects import ReproductionReport, reproduction_object
from leadline.reports.kafka.broker_runs.schedules import (
    Schedules,
    affected_release,
    bug_of,
    fixed_release,
    schedules_of,
)
from leadline.reports.kafka.broker_runs.story import COLUMN, real_story, reproduction_page
from leadline.reports.kafka.bugs import CONTROL, GROUPS, IMAGES, NO_TICKET, QUORUM, TRANSACTIONS, read_archive
from tests.documents import successes
from tests.documents.successes import Try, page
from tests.suite.page_text import text_of_html

ARCHIVE = read_archive()
TICKET = "KAFKA-13141"


@pytest.fixture(scope="module")
def schedules() -> Schedules:
    """The schedules of a bug for the releases that `leadline reproduce` takes by default."""
    bug = bug_of(ARCHIVE, TICKET)
    affected = affected_release(bug, None)
    return schedules_of(ARCHIVE, bug, affected, fixed_release(bug, affected, None), counterexample)


def as_in_model(plan: AnyPlan, name: str, *, lost: bool = False) -> Replay:
    """A replay in which the brokers did everything as in the model."""
    steps = tuple(StepReport(step, (f"made step {step.number}",), observed_state(step.after)) for step in plan.steps)
    produced = tuple(Produced(value, 1, "acknowledged at offset 0", 0) for value in (1,))
    reads = (Read(5, 1, (1,), 1), Read(None, 1, () if lost else (1,), 1))
    log = () if lost else (SeenRecord(1, 1),)
    replicas = tuple(attrs.evolve(each, log=log) for each in observed_state(plan.steps[-1].after).replicas)
    attempt = None if plan.refused is None else Attempt(False, ("nothing came",))
    outcome = Outcome(produced, reads, replicas, "broker 1 leads", 1)
    return Replay(broker_release(name), plan, (), steps, attempt, outcome, 12.5)


def test_default_releases_are_the_last_with_the_bug_and_the_first_without_it(schedules: Schedules) -> None:
    assert schedules.affected.name == "2.8.0"
    assert schedules.control.name.startswith("2.8.")
    assert schedules.control_plan.departs


@pytest.mark.parametrize(("ticket", "release"), [("KAFKA-15495", "4.0.2"), ("KAFKA-19522", "4.0.2")])
def test_by_default_a_release_is_affected_as_published_if_any_is(ticket: str, release: str) -> None:
    assert affected_release(bug_of(ARCHIVE, ticket), None).name == release


def test_releases_that_do_not_fit_are_refused() -> None:
    bug = bug_of(ARCHIVE, TICKET)
    affected = affected_release(bug, "2.8.0")
    with pytest.raises(LeadlineError, match=r"does not affect Kafka 3\.9\.1"):
        affected_release(bug, "3.9.1")
    with pytest.raises(LeadlineError, match="is also affected by KAFKA-13141"):
        fixed_release(bug, affected, "2.8.0")
    with pytest.raises(LeadlineError, match="must have the same kind of controller"):
        fixed_release(bug, affected, "3.9.1")
    with pytest.raises(LeadlineError, match="no counterexample"):
        bug_of(ARCHIVE, ARCHIVE.unreached[0].ticket)


def test_without_a_release_that_mended_it_the_event_that_decides_is_left_out() -> None:
    bug = bug_of(ARCHIVE, "KAFKA-14617")
    affected = affected_release(bug, "3.9.1-zk")
    fixed = fixed_release(bug, affected, None)
    assert fixed is None
    found = schedules_of(ARCHIVE, bug, affected, fixed, counterexample)
    assert found.control == affected
    assert "loses its log" in found.left_out
    assert not [step for step in found.control_plan.steps if step.sentence == found.left_out]
    assert len(found.control_plan.steps) >= len(found.plan.steps) - 3
    judged = judged_without_event(as_in_model(found.control_plan, affected.name), bug.property)
    assert judged.judgement is Judgement.ABSENT


def test_what_is_as_in_the_model_is_reproduced_and_absent(schedules: Schedules) -> None:
    with_bug = judged_with_bug(as_in_model(schedules.plan, "2.8.0", lost=True), "committed_never_lost")
    assert with_bug.judgement is Judgement.REPRODUCED
    without = judged_without_bug(as_in_model(schedules.control_plan, "2.8.1"), "committed_never_lost")
    assert without.judgement is Judgement.ABSENT
    assert "has a different result than in a release with the bug" in without.reason
    assert exit_code((with_bug.judgement, without.judgement)) == 0


def test_a_loss_is_not_reproduced_if_the_leader_has_the_record(schedules: Schedules) -> None:
    judged = judged_with_bug(as_in_model(schedules.plan, "2.8.0"), "committed_never_lost")
    assert judged.judgement is Judgement.OTHERWISE
    assert "no record is lost" in judged.reason


def test_a_record_that_no_consumer_can_read_yet_is_not_lost() -> None:
    """A leader with too small an ISR does not advance its high watermark (KIP-966)."""
    replica = SeenReplica(True, (SeenRecord(0, 0),), 0)
    produced = (Produced(0, 0, "acknowledged at offset 0", 0),)
    outcome = Outcome(produced, (Read(None, 0, (), 0),), (replica,), "broker 0 leads", 0)
    assert outcome.lost == ()
    assert attrs.evolve(outcome, replicas=(attrs.evolve(replica, log=()),)).lost == (0,)


def test_a_difference_is_not_a_reproduction(schedules: Schedules) -> None:
    replay = as_in_model(schedules.plan, "2.8.0")
    last = attrs.evolve(replay.steps[-1], differences=("the log of broker 0 is empty",))
    judged = judged_with_bug(attrs.evolve(replay, steps=(*replay.steps[:-1], last)), "committed_never_lost")
    assert judged.judgement is Judgement.OTHERWISE
    assert "the log of broker 0 is empty" in judged.reason
    assert exit_code((judged.judgement, Judgement.NOT_MADE)) == 1


def test_a_schedule_that_does_not_get_going_shows_nothing(schedules: Schedules) -> None:
    replay = as_in_model(schedules.control_plan, "2.8.1")
    stuck = attrs.evolve(replay, steps=(attrs.evolve(replay.steps[0], not_made="no request came"),), outcome=None)
    judged = judged_without_bug(stuck, "committed_never_lost")
    assert judged.judgement is Judgement.NOT_MADE
    assert exit_code((Judgement.REPRODUCED, judged.judgement)) == 3


@pytest.mark.parametrize("change", ["lost", "made", "nothing decided"])
def test_a_bug_is_not_absent_by_itself(schedules: Schedules, change: str) -> None:
    """A record that the model keeps is lost, the refused step is made, or the fixed rule decides no step."""
    plan = schedules.control_plan
    assert isinstance(plan, Plan)
    replay = as_in_model(plan, "2.8.1", lost=change == "lost")
    if change == "made":
        replay = attrs.evolve(replay, attempt=Attempt(True, ("the controller accepts it",)))
    if change == "nothing decided":
        replay = attrs.evolve(replay, plan=attrs.evolve(plan, departs=None))
    assert judged_without_bug(replay, "committed_never_lost").judgement is Judgement.OTHERWISE


def test_consumers_that_are_sent_back_are_seen() -> None:
    outcome = Outcome((), (Read(5, 1, (0,), 1), Read(8, 0, (), 0), Read(None, 0, (0,), 1)), (), "broker 0 leads")
    assert outcome.taken_back is not None
    assert outcome.lost == ()
    refused = attrs.evolve(outcome, reads=(outcome.reads[0], Read(8, 0, (), None), outcome.reads[2]))
    assert refused.taken_back is None


def test_reports_have_what_the_brokers_did(schedules: Schedules) -> None:
    replay = as_in_model(schedules.plan, "2.8.0", lost=True)
    judged = judged_with_bug(replay, "committed_never_lost")
    report = ReproductionReport(
        Reproduction(TICKET, "committed_never_lost", judged, judged), ("fine", ""), ("a line about the bug",)
    )
    told = json.loads(json.dumps(reproduction_object(report)))
    assert told["replays"][0]["lost"] == [1]
    assert told["replays"][0]["steps"][0]["did"] == ["made step 1"]
    story = real_story(replay)
    assert len(story.frames) == len(schedules.plan.trace)
    assert story.frames[1].rows["broker 0"].columns[COLUMN] == replay.steps[0].observed.columns["broker 0"]
    text = reproduction_page(report)
    assert COLUMN in text
    assert "made step 1" in text
    written = io.StringIO()
    Console(width=1_000, file=written).print(blocks_view(judged_blocks(judged, "fine")))
    said = [" ".join(line.split()) for line in written.getvalue().splitlines()]
    assert said[0] == f"reproduced on Kafka 2.8.0 in 12 s: {judged.reason}"
    assert [line for line in (*said, "a line about the bug") if line not in text_of_html(text)] == []
    assert "lost: m1" in "; ".join(evidence(replay))


def test_the_page_has_a_line_for_every_ticket() -> None:
    tries = [Try("KIP-101", "0.10.2.2", "reproduced", "", 10.0, "2026-11-24")] * 3
    tries.append(Try("KIP-101", "0.10.2.2", "not made", "no request came", 10.0, "2026-11-24"))
    others = [
        bug for family in (TRANSACTIONS, CONTROL, GROUPS, QUORUM, IMAGES) for bug in ARCHIVE.of_family(family).bugs
    ]
    unmade = {bug.ticket: "no producer" for bug in others}
    text = page(ARCHIVE, {"KAFKA-15221": "step 4 cannot be made", **unmade}, tries)
    for ticket in [*(bug.ticket for bug in ARCHIVE.bugs), *(bug.ticket for bug in ARCHIVE.unreached)]:
        name = ticket.removeprefix(NO_TICKET)
        said = name if " " not in name else f'"{name}"'
        assert f"| {ticket} |" in text or f"| `leadline reproduce {said}` |" in text
    assert "0.10.2.2: reproduced 3 of 4 (else: no request came)" in text


def test_the_page_as_it_was_written_has_a_line_for_every_ticket_too() -> None:
    text = successes.PAGE.read_text(encoding="utf-8")
    for bug in archive_with_causes().bugs:
        name = bug.ticket.removeprefix(NO_TICKET)
        assert bug.by_design or any(
            f"{start}{name}" in text for start in (f"| {NO_TICKET}", "| ", "reproduce ", 'reproduce "')
        )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('error: port 9092 is in use')", "error: port 9092 is in use"),
        ("raise SystemExit(2)", "no report, exit code 2"),
    ],
)
def test_a_reproduction_without_a_report_counts_as_failed(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = tmp_path / "python"
    executable.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}"\n', encoding="utf-8")
    executable.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(executable))
    monkeypatch.setattr(successes, "RESULTS", tmp_path / "reality.jsonl")
    monkeypatch.setattr(successes, "PAGE", tmp_path / "reality.md")
    successes.main(["--tries", "1", "KIP-101"])
    (found,) = successes.read_tries(tmp_path / "reality.jsonl")
    assert (found.ticket, found.release, found.judgement, found.reason) == ("KIP-101", "0.10.2.2", "failed", reason)
    assert "0.10.2.2: 0 of 1" in (tmp_path / "reality.md").read_text(encoding="utf-8")
