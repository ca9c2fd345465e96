"""The counterexamples that are kept for reproductions: each is executed in the model, and none is trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leadline.checker.trace import complaint_at_end
from leadline.checker.traces.replay import executed
from leadline.model.kafka.releases import RELEASES
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.kafka.broker_runs.schedules import bug_of
from leadline.reports.kafka.bugs import BugSearch
from leadline.reports.kafka.kept_behaviours import FILE, kept
from leadline.reports.loading import load_spec

ARCHIVE = archive_with_causes()
OUTDATED = "no ticket: outdated log end"
LINES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def run_of(ticket: str, spec: str) -> BugSearch:
    """The search for a bug in a spec."""
    return next(run for run in ARCHIVE.runs(bug_of(ARCHIVE, ticket)) if run.spec.name == spec)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['ticket']} {line['spec']}")
def test_each_violates_the_property_of_its_bug(line: dict[str, str]) -> None:
    run = run_of(line["ticket"], line["spec"])
    trace = kept(run)
    assert trace is not None, "the model has changed: run python -m tests.documents.counterexamples"
    assert [repr(instance) for instance in trace.instances] == line["steps"]
    assert trace.about is not None
    assert complaint_at_end(run.spec, trace.about, trace.states) is not None


@pytest.mark.parametrize("release", [column.name for column in RELEASES])
def test_only_an_outdated_log_end_loses_the_record_in_a_release(release: str) -> None:
    """The same steps lose nothing if a leader that is elected again forgets the log ends of its followers."""
    (steps,) = (line["steps"] for line in LINES if line["ticket"] == OUTDATED and line["spec"] == release)
    run = run_of(OUTDATED, release)
    forgetful = load_spec(f"{release}+follower_leos=forgotten").with_bounds(run.bug.bounds)
    assert executed(run.spec, steps) is not None
    assert executed(forgetful.with_properties([run.bug.property]), steps) is None


def test_steps_that_do_not_violate_the_property_are_not_taken() -> None:
    line = next(line for line in LINES if line["ticket"] == "KIP-101")
    run, steps = run_of(line["ticket"], line["spec"]), line["steps"]
    assert executed(run.spec, steps) is not None
    assert executed(run.spec, steps[:-1]) is None  # nothing is lost yet
    assert executed(run.spec, steps[1:]) is None  # a step is not possible
    assert executed(run.spec, ["unknown(broker=0)"]) is None
    fixed = next(run for run in ARCHIVE.runs(run.bug) if run.part == "fixed")
    assert executed(fixed.spec, steps) is None


def test_without_a_line_a_counterexample_is_searched_for(tmp_path: Path) -> None:
    line = next(line for line in LINES if line["ticket"] == "KIP-101")
    assert kept(run_of(line["ticket"], line["spec"]), tmp_path / "missing.jsonl") is None
