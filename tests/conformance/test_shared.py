"""A result that is shared between releases is what checking each of them finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.check import Checked, Checks
from leadline.brokers.conformance.reading import read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import UNCOUNTED, Answer, Limits
from leadline.model.kafka.conformance.following import followed_release
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column
from leadline.model.kafka.rules import RULES
from leadline.reports.kafka.conformance.report import other_values
from tests.conformance.checking import check
from tests.conformance.test_altered import counted
from tests.conformance.test_recordings import CONFORMS_TO, RECORDINGS, REJECTED_BY, column, read
from tests.suite.samples import EVERY

SAMPLES = "KAFKA-15495-4.1.1", "walks/walk-0.11.0.3-1"
ALL = *CONFORMS_TO, *(f"walks/{name}" for name in REJECTED_BY)


def columns(kraft: bool) -> list[Column]:
    """Return all releases, and one of them with each other value of each rule."""
    releases = [each for each in RELEASES if each.controller == (KRAFT if kraft else ZOOKEEPER)]
    changes = [{rule.name: value} for rule in RULES for value in other_values(releases[-1], rule.name)]
    return [*releases, *(releases[-1].with_rules(change) for change in changes)]


def told(checked: Checked) -> list[Any]:
    """Return everything about a result except states."""
    found = checked.conformance
    steps = [(step.label, step.action) for step in found.behaviour]
    counts = found.observations, found.hidden_steps, found.actions, found.largest, found.explored, found.cut_matters
    rejection = found.rejection
    why = None
    if rejection is not None:
        why = (
            rejection.observation.label,
            rejection.number,
            rejection.states,
            [each.why for each in rejection.candidates],
        )
    return [checked.column.name, found.answer, checked.observations, checked.notes, steps, counts, why]


@pytest.mark.parametrize("name", ALL if EVERY else SAMPLES)
def test_shared_results_are_those_of_each_release(name: str) -> None:
    recording = read(name)
    checks = Checks(recording, keeps_logs=False)
    shared = [checks.check(each) for each in columns(recording.kraft)]
    alone = [check(recording, each, keeps_logs=False) for each in columns(recording.kraft)]
    assert [told(each) for each in shared] == [told(each) for each in alone]
    assert len({id(each.conformance) for each in shared}) < len(shared) * 0.7


def test_actions_that_are_not_tried_make_no_difference() -> None:
    recording = read(SAMPLES[0])
    checks = Checks(recording, keeps_logs=False)
    whole = checks.check(column("4.1"))
    assert checks.check(column("4.1"), "handle_epoch_request").conformance is whole.conformance
    without = checks.check(column("4.1"), "produce").conformance
    assert (whole.conformance.answer, without.answer) == (Answer.CONFORMS, Answer.REJECTED)


def test_releases_differ_in_what_was_read_only() -> None:
    changed = column("0.11").with_rules({"truncation": "high-watermark"})
    old, new = followed_release(changed, 2), followed_release(column("0.11"), 2)
    assert old.does_the_same(new)
    assert not old.rules[0].in_flight
    assert old.does_the_same(new)
    assert old.rules[0].asks_about is not new.rules[0].asks_about
    assert not old.does_the_same(new)
    assert not new.does_the_same(followed_release(column("0.11"), 3))


def test_all_checks_share_a_limit_of_states(tmp_path: Path) -> None:
    """Nearly everything is possible without answers. What one release has used up is missing for the next one."""
    lines = (RECORDINGS / "walks" / "walk-2.8.0-1.jsonl").read_text(encoding="utf-8").splitlines()
    lines = counted([line for line in lines if '"request": false' not in line])
    (tmp_path / "run.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    recording = read_partition(read_recording(tmp_path / "run.jsonl"), "t", 0)
    checks = Checks(recording, Limits(total=2_000), keeps_logs=False)
    first, second = (checks.check(column(name)).conformance for name in ("2.8", "0.11"))
    assert {first.answer, second.answer} == {Answer.UNDECIDED}
    assert {first.reason, second.reason} == {"too many states are possible at all observations together"}
    assert 2_000 < first.explored <= 2_001 + UNCOUNTED * (first.observations + 1)
    assert second.explored <= 1 + UNCOUNTED * (second.observations + 1)


def test_a_recording_that_is_only_long_is_decided() -> None:
    checks = Checks(read(SAMPLES[1]), Limits(total=0), keeps_logs=False)
    assert checks.check(column("0.11")).conformance.answer is Answer.CONFORMS
