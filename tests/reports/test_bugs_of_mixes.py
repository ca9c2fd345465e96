"""The bugs of the archive that only two releases in one cluster have, or a change of its level or features."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker.errors import LeadlineError
from leadline.reports.kafka.broker_runs.schedules import affected_release, fixed_release, schedules_of
from leadline.reports.kafka.bugs import NO_TICKET, Bug, BugSearch, family_of
from leadline.reports.kafka.kept_behaviours import kept
from leadline.reports.loading import load_spec, mixed_in
from tests.suite.archive import ARCHIVE
from tests.suite.command import call

COUNTED, LOWERED, IN_FILES, REGISTERED, RAISED = ARCHIVE.mixes


@pytest.mark.parametrize("bug", ARCHIVE.mixes, ids=lambda bug: bug.ticket)
def test_a_bug_of_mixes_is_where_the_archive_says(bug: Bug) -> None:
    runs = ARCHIVE.runs(bug)
    assert [run.spec.name for run in runs] == [*bug.affected, *bug.fixed, *(bug.affected if bug.avoided else ())]
    assert bug.fixed or bug.avoided
    assert all(mixed_in(run.spec.name) for run in runs)
    assert [run.spec.name for run in runs if not run.searched().as_expected] == []


def test_a_bug_of_mixes_is_in_neither_release() -> None:
    """Nor is it if the feature stays as it is."""
    bounds = {name: value for name, value in COUNTED.bounds.items() if name != "upgraded"}
    alone = [load_spec(name).with_bounds(bounds) for name in ("kafka/2.7", "kafka/2.8.1")]
    alone.append(load_spec("kafka/4.0..4.1").with_bounds(LOWERED.bounds | {"roll": "no"}))
    for spec in alone:
        assert (
            BugSearch(COUNTED, spec.with_properties(["committed_never_lost"]), "holds", "beside").searched().as_expected
        )
    assert not {bug.ticket for bug in ARCHIVE.mixes} & {
        bug.ticket for spec in alone[:2] for bug in ARCHIVE.affecting(spec)
    }


def test_a_bug_of_mixes_is_found_by_its_name(tmp_path: Path) -> None:
    listed = call("bugs", "--list", folder=tmp_path).out
    assert all(bug.ticket in listed for bug in ARCHIVE.mixes)
    run = call("bugs", COUNTED.ticket.removeprefix(NO_TICKET), folder=tmp_path)
    assert run.code == 0
    assert "kafka/2.7.2..2.8.1, which fixed it" in run.out
    assert "1 bug: 4 of 4 runs as expected" in run.out


@pytest.mark.parametrize(
    ("bug", "releases", "left_out"),
    [
        (COUNTED, ("2.7.1..2.8.2", "2.7.2..2.8.2"), ""),
        (LOWERED, ("4.0.2..4.2.2", "4.0.2..4.2.2"), "the cluster is set to the old features"),
        (IN_FILES, ("4.0.2..4.2.2", "4.0.2..4.2.2"), "the cluster is set to the new features"),
    ],
    ids=lambda value: getattr(value, "ticket", ""),
)
def test_a_bug_of_mixes_is_planned_with_a_control(bug: Bug, releases: tuple[str, str], left_out: str) -> None:
    def known(run: BugSearch) -> object:
        return kept(run)

    affected = affected_release(bug, None)
    schedules = schedules_of(ARCHIVE, bug, affected, fixed_release(bug, affected, None), known)  # type: ignore[arg-type]
    assert (schedules.affected.name, schedules.control.name) == releases
    assert (schedules.left_out, family_of(bug)) == (left_out, "kafka")


def test_a_release_without_the_bug_is_refused(tmp_path: Path) -> None:
    name = COUNTED.ticket.removeprefix(NO_TICKET)
    for release in ("2.7.2..2.8.1", "2.7.1"):
        run = call("reproduce", name, "--release", release, "--plan", folder=tmp_path)
        assert (run.code, run.complaint) == (
            2,
            f"{COUNTED.ticket} does not affect Kafka {release}: the affected releases are "
            "kafka/2.7..3.9-zk, kafka/2.7..2.8.1",
        )
    run = call("reproduce", name, "--against", "2.7.0..2.8.1", "--plan", folder=tmp_path)
    assert (run.code, run.complaint) == (
        2,
        f"Kafka 2.7.0..2.8.1 is also affected by {COUNTED.ticket}: choose a release with the fix",
    )
    run = call("reproduce", name, "--against", "2.8.1", "--plan", folder=tmp_path)
    assert run.code == 2
    with pytest.raises(LeadlineError, match="a liveness property, but a replay is finite"):
        schedules_of(ARCHIVE, RAISED, affected_release(RAISED, None), None, lambda run: pytest.fail(str(run)))
