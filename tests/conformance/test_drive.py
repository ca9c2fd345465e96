"""`leadline conform --release`: which behaviours are executed on brokers, and what is said of their recordings."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.driver.replay import Replay
from leadline.brokers.releases import broker_release, mixed_release
from leadline.checker.errors import LeadlineError
from leadline.model.kafka.releases import column_of
from leadline.reports.kafka.conformance import walks
from leadline.reports.kafka.conformance.prediction import would_confirm
from leadline.reports.kafka.conformance.walks import BOUNDS, FEWEST_STEPS, planned_walks, walk
from leadline.reports.loading import load_spec
from tests.conformance.test_recordings import RECORDINGS
from tests.documents.confirmed import told_apart
from tests.suite.command import call


@pytest.mark.parametrize("name", ["0.10.2.2", "0.11.0.3", "2.8.0", "3.4.1", "3.9.1", "4.1.1"])
def test_random_behaviours_can_be_executed_on_brokers(name: str) -> None:
    plans = list(islice(planned_walks(broker_release(name), 0, candidates=2), 3))
    again = list(islice(planned_walks(broker_release(name), 0, candidates=2), 3))
    assert [(seed, plan.lines) for seed, plan in plans] == [(seed, plan.lines) for seed, plan in again]
    for _, plan in plans:
        assert len(plan.steps) >= FEWEST_STEPS
        for step in plan.steps:
            assert step.after in [*step.instance.successors(step.before)]


def test_actions_that_were_not_taken_yet_are_preferred() -> None:
    spec = load_spec("kafka/3.9").with_bounds(BOUNDS)
    covering, uniform = Counter[str](), Counter[str]()
    for seed in range(12):
        covering.update(each.action.name for each in walk(spec, random.Random(seed), covering, 14).instances)
        uniform.update(each.action.name for each in walk(spec, random.Random(seed), _Nothing(), 14).instances)
    assert min(covering[name] for name in uniform) > min(uniform.values())


def test_behaviours_that_confirm_more_rules_are_preferred() -> None:
    release = broker_release("0.11.0.3")
    column = column_of(release.spec)
    assert column is not None
    ((_, first),) = islice(planned_walks(release, 0, candidates=1), 1)
    ((_, chosen),) = islice(planned_walks(release, 0, candidates=8), 1)
    found = would_confirm(chosen.trace, column)
    assert len(would_confirm(first.trace, column)) < len(found)
    assert would_confirm(chosen.trace, column, found) == frozenset()


def test_a_behaviour_that_the_release_does_not_have_confirms_nothing() -> None:
    ((_, plan),) = islice(planned_walks(broker_release("2.8.0"), 0, candidates=1), 1)
    other = column_of("kafka/0.10.2")
    assert other is not None
    assert would_confirm(plan.trace, other) == frozenset()


def test_rules_that_behaviours_confirm_and_values_that_none_contradicts_are_found() -> None:
    release = broker_release("0.11.0.3")
    column = column_of(release.spec)
    assert column is not None
    traces = [plan.trace for _, plan in islice(planned_walks(release, 3, candidates=1), 2)]
    found = told_apart(traces, column)
    confirmed = [would_confirm(trace, column) for trace in traces]
    assert any(confirmed)
    for rule, (number, values) in found.items():
        assert number == sum(rule in each for each in confirmed)
        assert not (number and values)
    assert found["directories"] == (0, ("configured", "any-lost"))  # no broker has lost a log directory
    assert found["election_order"] == (0, ("replicas",))  # which the driver hides


class _Nothing(Counter[str]):
    """Counts nothing, so that all steps are chosen with the same probability."""

    def __getitem__(self, key: str) -> int:
        return 0


def test_a_walk_of_a_mix_is_an_upgrade() -> None:
    for releases in ("2.7.2..2.8.1", "3.9.1..4.1.1"):
        plans = [plan for _, plan in islice(planned_walks(mixed_release(releases), 0), 2)]
        taken = {step.instance.action.name for plan in plans for step in plan.steps}
        assert {"restart_as", "controller_becomes"} & taken, releases


def test_several_upgrades_do_not_walk(tmp_path: Path) -> None:
    run = call("conform", "--release", "2.4.1..2.8.2..3.9.1-zk", "--walks", "1", folder=tmp_path)
    says = "--walks requires one release or one upgrade: several can be disturbed with --chaos"
    assert (run.code, run.complaint) == (2, says)


def test_if_no_behaviour_can_be_executed_this_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_longest_plan", lambda trace, controller: None)
    with pytest.raises(LeadlineError, match=r"none of 200 random behaviours of kafka/2\.8 can be executed"):
        next(planned_walks(broker_release("2.8.0"), 0))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of recordings that are found instead of those of brokers, one for each run."""
    names: list[str] = []

    def copy(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(RECORDINGS / f"{names.pop(0)}.jsonl", folder / "recording.jsonl")

    def run(plan: Any, release: Any, folder: Path, listener: Any) -> Replay:
        copy(folder)
        return Replay(release, plan)

    def chaos(release: Any, folder: Path, recording: Any, seed: int, seconds: float) -> list[str]:
        recording.close()
        copy(folder.parent)
        return ["killed broker 1", "started broker 1"]

    monkeypatch.setattr(walks, "CANDIDATES", 1)
    monkeypatch.setattr(walks, "run_on_brokers", run)
    monkeypatch.setattr(walks, "chaos", chaos)
    return names


def test_each_run_is_checked(recorded: list[str], tmp_path: Path) -> None:
    recorded += ["KAFKA-13141-2.8.0"] * 3
    run = call("conform", "--release", "2.8.0", "--walks", "2", "--chaos", "1", "--keep", "kept", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0].startswith("walk 1, seed 0: 0 of ")
    assert lines[1] == "  30 observations: conforms"
    assert lines[4] == "chaos 1, seed 0: killed broker 1; started broker 1"
    assert lines[-1] == "3 of 3 runs of Kafka 2.8.0 conform; the recordings are in kept"
    assert sorted(each.name for each in (tmp_path / "kept").iterdir()) == ["chaos-1", "walk-1", "walk-2"]


def test_a_run_that_does_not_conform_is_explained(recorded: list[str], tmp_path: Path) -> None:
    recorded += ["KAFKA-13141-2.8.2", "KAFKA-13141-2.8.0"]
    run = call("conform", "--release", "2.8.2", "--chaos", "2", folder=tmp_path)
    assert run.code == 1
    assert (
        "  30 observations: does not conform at observation 20: broker 1 proposes ISR [0, 1] to the controller"
        in run.out.splitlines()
    )
    assert "broker 1 cannot propose broker 0: it has learned no log end offset of broker 0" in run.out
    assert run.out.splitlines()[-1] == "1 of 2 runs of Kafka 2.8.2 conform"


def test_a_run_that_is_not_decided_is_incomplete(recorded: list[str], tmp_path: Path) -> None:
    recorded += ["KAFKA-13141-2.8.0"]
    run = call("conform", "--release", "2.8.0", "--chaos", "1", "--max-states", "1", folder=tmp_path)
    assert run.code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass a RECORDING, or --release with --walks or --chaos"),
        (["--release", "2.8.0"], "--release requires --walks or --chaos"),
        (["run.jsonl", "--release", "2.8.0", "--walks", "1"], "RECORDING cannot be combined with --release"),
        (["--release", "2.8.0", "--walks", "1", "--json", "-"], "--json cannot be combined with --release"),
        (["run.jsonl", "--walks", "1"], "--walks, --quorum, --chaos, --minutes and --keep require --release"),
        (["--release", "2.8.77", "--walks", "1"], "2.8.77"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = call("conform", *arguments, folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
