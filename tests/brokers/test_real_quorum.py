"""Kafka's own classes as the judge of the `quorum` family: known bugs, findings without a ticket, and random walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.driver.replay import Replay, replay
from leadline.brokers.quorum.driver import QuorumDriver
from leadline.brokers.quorum.plan import plan_of
from leadline.brokers.quorum.walks import walks
from leadline.brokers.releases import broker_release
from leadline.checker.engines import ENGINES
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.raft.state import Quorum
from leadline.reports.loading import load_spec
from tests.brokers.test_quorum import (
    ELECTION,
    LEFT_OUT,
    behaviour,
    missed_change,
    older_snapshot,
    resigned_stranger,
    unknown_leader,
)
from tests.brokers.test_reproduction import replays
from tests.model.test_quorum import TICKETS

pytestmark = pytest.mark.real

RELEASES = ("2.8.2", "3.0.2", "3.3.2", "3.6.2", "3.7.2", "3.8.1", "3.9.0", "3.9.1", "4.0.1", "4.1.2", "4.2.1", "4.3.1")
COMMITS = (*ELECTION, "begin_epoch(own=0, other=1)", *("fetch(own=1, other=0)",) * 2, "append(own=0)")


def replayed(trace: Trace[Quorum], release: str, folder: Path, expected: Spec[Any] | None = None) -> Replay:
    """The replay of a trace on the classes of a release."""
    return replay(plan_of(trace, expected), QuorumDriver, broker_release(release), folder / "replay")


def spec_of(name: str, bounds: dict[str, int]) -> Spec[Any]:
    """A spec with bounds."""
    return load_spec(name).with_bounds(bounds)


@pytest.mark.parametrize("release", ["2.8.2", "3.9.1", "4.4.0"])
def test_a_leader_is_elected_and_commits_a_record(release: str, tmp_path: Path) -> None:
    asks = ELECTION if release < "4" else (*ELECTION, ELECTION[1])
    steps = (*asks, *COMMITS[2:], *("fetch(own=1, other=0)",) * 2)
    made = replayed(behaviour(f"quorum/{release}", steps), release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")
    assert "log L0@1 m0@1, HW 2, announced 2, its controller is told" in made.told[0]


def test_a_restarted_controller_is_told_that_it_leads_and_is_not_where_that_was_fixed() -> None:
    affected, fixed = replays("KAFKA-17333")
    assert (affected["release"], affected["judgement"]) == ("3.8.1", "reproduced")
    assert (fixed["release"], fixed["judgement"]) == ("3.9.0", "absent")
    assert fixed["departs_at_step"] == len(affected["steps"])


def test_a_replaced_disk_loses_what_was_committed() -> None:
    affected, without = replays("KAFKA-14205")
    assert (affected["judgement"], without["judgement"]) == ("reproduced", "absent")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_no_release_has_fixed_is_made_and_is_not_without_the_event_that_decides(name: str) -> None:
    affected, without = replays(name)
    assert (affected["release"], affected["judgement"]) == ("4.4.0", "reproduced")
    assert (without["release"], without["judgement"]) == ("4.4.0", "absent")


REPRODUCED = (
    ("KAFKA-14205: two leaders", "4.4.0"),
    ("KAFKA-14205: a committed record is lost", "3.9.2"),
    ("an unreadable quorum-state file", "3.7.2"),
    ("static voters changed on one node", "3.8.1"),
    ("static voters changed on one node", "4.4.0"),
    ("KAFKA-16164 (KIP-996)", "3.9.2"),
    ("a former candidate restarts", "4.0.0"),
)
"""Rows of the tickets of the model, each with a release whose classes make the steps of the counterexample."""


@pytest.mark.parametrize(("ticket", "release"), REPRODUCED)
def test_a_counterexample_is_made_by_the_classes(ticket: str, release: str, tmp_path: Path) -> None:
    bounds, properties, _ = TICKETS[ticket]
    spec = spec_of(f"quorum/{release}", bounds).with_properties(properties)
    (trace,) = (trace for item in ENGINES["compiled"](spec).properties for trace in item.traces)
    made = replayed(trace, release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")


FIXED = (
    ("an unreadable quorum-state file", "3.7.2", "3.8.1"),
    ("KAFKA-16164 (KIP-996)", "3.9.2", "4.0.0"),
)
"""Rows of the tickets, each with a release that has the bug, and one whose classes do not make those steps."""


@pytest.mark.parametrize(("ticket", "release", "fixed"), FIXED)
def test_the_classes_of_another_release_do_not(ticket: str, release: str, fixed: str, tmp_path: Path) -> None:
    bounds, properties, _ = TICKETS[ticket]
    spec = spec_of(f"quorum/{release}", bounds).with_properties(properties)
    (trace,) = (trace for item in ENGINES["compiled"](spec).properties for trace in item.traces)
    made = replayed(trace, fixed, tmp_path, spec_of(f"quorum/{fixed}", bounds))
    assert made.plan.departs is not None
    assert (made.not_made, made.difference) == ("", "")


def test_a_voter_that_lost_its_log_is_refused_and_is_not_where_that_was_fixed(tmp_path: Path) -> None:
    """KAFKA-12181: the fetch of the voter changes nothing in 2.8, for ever."""
    steps = (*COMMITS[:-1], "cut_log(own=1)", "fetch(own=1, other=0)")
    trace = behaviour("quorum/3.0", steps, cuts=1)
    assert replayed(trace, "3.0.2", tmp_path / "fixed").is_as_in_model
    made = replayed(trace, "2.8.2", tmp_path / "affected", spec_of("quorum/2.8", {"cuts": 1}))
    assert made.attempt is not None
    assert (made.attempt.made, made.difference, made.not_made) == (False, "", "")


def test_an_isolated_leader_resigns_where_that_was_fixed(tmp_path: Path) -> None:
    """KAFKA-15489: before, a leader has no timer for it."""
    steps = (*ELECTION, "die(own=1)", "die(own=2)", "check_quorum(own=0)")
    trace = behaviour("quorum/3.7", steps, deaths=2)
    assert replayed(trace, "3.7.2", tmp_path / "fixed").is_as_in_model
    made = replayed(trace, "3.6.2", tmp_path / "affected", spec_of("quorum/3.6", {"deaths": 2}))
    assert made.attempt is not None
    assert (made.attempt.made, made.difference, made.not_made) == (False, "", "")


@pytest.mark.parametrize("release", ["3.9.1", "4.4.0"])
@pytest.mark.parametrize("truncates", [True, False])
def test_a_change_of_voters_is_missed_after_a_truncation(release: str, truncates: bool, tmp_path: Path) -> None:
    made = replayed(missed_change(release, truncates=truncates), release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")


@pytest.mark.parametrize("release", ["3.9.1", "4.4.0"])
def test_a_node_that_asks_a_leader_which_its_voters_lack_stops(release: str, tmp_path: Path) -> None:
    made = replayed(unknown_leader(release), release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")
    assert "Expected to be Follower, but the current state is Unattached" in made.told[2]


@pytest.mark.parametrize("release", ["3.8.1", "3.9.1", "4.4.0"])
def test_a_node_with_a_record_of_a_later_epoch_than_a_snapshot_stops_and_gets_no_records(
    release: str, tmp_path: Path
) -> None:
    made = replayed(older_snapshot(release), release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")
    assert "Full log truncation expected but didn't happen" in str(made.steps[-2].observed)
    assert "log L1@2, HW 0" in made.told[1]


@pytest.mark.parametrize("release", ["3.8.1", "3.9.1", "4.4.0"])
def test_a_node_that_hears_that_a_stranger_has_resigned(release: str, tmp_path: Path) -> None:
    made = replayed(resigned_stranger(release), release, tmp_path)
    assert (made.not_made, made.difference) == ("", "")
    assert ("halted: java.lang.IllegalArgumentException" in made.told[0]) == (release != "3.8.1")


@pytest.mark.parametrize("release", RELEASES)
def test_random_walks_are_allowed_by_the_model(release: str, tmp_path: Path) -> None:
    taken = list(walks(broker_release(release), spec_of(f"quorum/{release}", {}), tmp_path / "nodes", range(5)))
    assert [walk.rejected for walk in taken] == [""] * 5
    assert sum(len(walk.steps) for walk in taken) > 150


@pytest.mark.parametrize(("release", "other"), [("4.3.1", "3.9.1"), ("3.9.1", "4.0.0"), ("3.8.1", "3.9.0")])
def test_walks_of_a_release_are_not_those_of_another_one(release: str, other: str, tmp_path: Path) -> None:
    taken = list(walks(broker_release(release), spec_of(f"quorum/{other}", {}), tmp_path / "nodes", range(5)))
    assert any(walk.rejected for walk in taken)
