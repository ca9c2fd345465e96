"""Checks whose searches are made in several processes have the outcomes that they have when made one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker.errors import LeadlineError
from leadline.reports import side_by_side
from leadline.reports.side_by_side import SideBySide
from leadline.reports.suite import SHIPPED, PreparedCheck, read_suite
from tests.specs.agreement import answers

NAMES = (
    "before 0.11, committed data is lost",
    "KIP-101 fixes that for 2 brokers, 1 change",
    "3.9.1: offsets are those that are committed",
    "2.6 with client 0.11: a transaction hangs",
    "quorum of 4.0: a former candidate stops",
    "2.4: a leader serves nothing (KAFKA-9491)",
)

OWN = """
from collections.abc import Iterator
from attrs import evolve, frozen
from leadline.checker import Spec, action, eventually, invariant

@frozen
class Bounds:
    pass

@frozen
class State:
    n: int = 0

@action("up by {step}", step=(1, 2))
def up(state: State, step: int) -> Iterator[State]:
    if state.n < 9:
        yield evolve(state, n=state.n + step)

@action("back")
def back(state: State) -> Iterator[State]:
    if state.n == 9:
        yield evolve(state, n=7)

@eventually("the end is reached")
def ends(state: State) -> bool:
    return state.n == 10

@invariant("fails")
def fails(state: State) -> bool:
    return 1 // (state.n - 5) < 9

def initial_states(bounds: Bounds) -> Iterator[State]:
    yield State()

promised = Spec(name="promised", bounds=Bounds(), initial_states=initial_states, actions=[up, back], properties=[ends])
failing = Spec(name="failing", bounds=Bounds(), initial_states=initial_states, actions=[up], properties=[fails])
"""


@pytest.fixture
def own(tmp_path: Path) -> list[PreparedCheck]:
    (tmp_path / "own.py").write_text(OWN)
    suite = tmp_path / "leadline.toml"
    names = {"promised": "ends", "failing": "fails"}
    check = '[[check]]\nspec = "own.py:{}"\nexpect = "violated"\nviolates = "{}"\n'
    suite.write_text("".join(check.format(*each) for each in names.items()))
    return read_suite(suite)


def test_outcomes_are_those_of_searches_one_by_one(own: list[PreparedCheck]) -> None:
    checks = [*read_suite(SHIPPED, NAMES), own[0]]
    loops = list[int | None]()
    with SideBySide(checks, 2, None) as others:
        for prepared in checks:
            alone, found = prepared.run(), others.outcome(prepared)
            assert found is not None
            for result in (alone.result, found.result):
                result.statistics.samples = ()  # they have times
            assert answers(found.result) == answers(alone.result)
            assert (found.failure, found.exit_code) == (alone.failure, alone.exit_code)
            for item, same in zip(alone.result.properties, found.result.properties, strict=True):
                assert repr(item.traces) == repr(same.traces)
                assert [trace.loop for trace in item.traces] == [trace.loop for trace in same.traces]
                assert (item.property, item.premise, item.never) == (same.property, same.premise, same.never)
            loops += [trace.loop for item in found.result.properties for trace in item.traces]
    assert any(loop is not None for loop in loops)


def test_searches_that_fail_or_are_large_are_left(own: list[PreparedCheck], monkeypatch: pytest.MonkeyPatch) -> None:
    (large,) = read_suite(SHIPPED, NAMES[1:2])
    monkeypatch.setattr(side_by_side, "SMALL", 100)
    with SideBySide([own[1], large], 2, None) as others:
        assert others.outcome(large) is None
        assert others.outcome(own[1]) is None
    with pytest.raises(LeadlineError, match="failing: invariant fails raised ZeroDivisionError"):
        own[1].run()


def test_a_search_with_a_time_limit_is_left(tmp_path: Path) -> None:
    suite = tmp_path / "leadline.toml"
    suite.write_text('[[check]]\nspec = "atomic/kip-101"\nexpect = "holds"\nmax_seconds = 60\n')
    (limited,) = read_suite(suite)
    with SideBySide([limited], 2, None) as others:
        assert others.outcome(limited) is None
