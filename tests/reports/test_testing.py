"""`assert_holds` and the others, as a user's own tests have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker import Limits, SpecError
from leadline.checker.settings import RandomSettings
from leadline.reports.loading import load_spec
from leadline.reports.testing import assert_holds, assert_not_violated, assert_violated
from tests.suite.command import STAIRS, call, write


@pytest.fixture
def stairs(tmp_path: Path) -> str:
    """Where the stairs are."""
    return str(write(tmp_path, stairs=STAIRS) / "stairs.py")


def test_what_holds_passes_and_gives_its_result(stairs: str) -> None:
    assert assert_holds(stairs).statistics.distinct == 3
    assert assert_holds(load_spec(stairs), top=1).statistics.distinct == 2
    assert assert_holds(stairs, top=4, properties=["on_stairs"]).exhausted


def test_a_violation_fails_with_the_trace_as_the_terminal_shows_it(stairs: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as failure:
        assert_holds(stairs, top=3)
    message = str(failure.value)
    assert message.startswith(f"{stairs}:spec with top=3: third_step_free is violated\n\n")
    shown = call("explore", stairs, "-b", "top=3", folder=tmp_path).out
    trace = message[message.index(" 1/4  the initial state") :]
    assert "4/4  the climber sets its left foot one step higher" in trace
    assert trace.strip() in shown


def test_incomplete_fails_unless_it_is_allowed(stairs: str) -> None:
    with pytest.raises(AssertionError, match="the search is incomplete, so it proves nothing: reached 2 states"):
        assert_holds(stairs, limits=Limits(max_states=2))
    result = assert_holds(stairs, limits=Limits(max_states=2), allow_incomplete=True)
    assert not result.exhausted


def test_a_violation_that_is_expected_passes_and_gives_its_trace(stairs: str) -> None:
    trace = assert_violated(stairs, "third_step_free", length=4, top=3)
    assert [state.height for state in trace.states] == [0, 1, 2, 3]


def test_a_violation_that_does_not_come_fails(stairs: str) -> None:
    with pytest.raises(AssertionError, match="third_step_free is not violated in any of the 3 states"):
        assert_violated(stairs, "third_step_free")
    with pytest.raises(AssertionError, match="third_step_free: the search is incomplete: reached 2 states"):
        assert_violated(stairs, "third_step_free", limits=Limits(max_states=2), top=3)
    with pytest.raises(AssertionError, match=r"by a trace of 4 states, not 5\n\n(.|\n)*4/4  the climber"):
        assert_violated(stairs, "third_step_free", length=5, top=3)


def test_a_random_search_passes_unless_it_finds_a_violation(stairs: str) -> None:
    few = RandomSettings(examples=20, steps=9, seed=3)
    result = assert_not_violated(stairs, few)
    assert result.settings == {"examples": 20, "steps": 9, "seed": 3}
    assert assert_not_violated(stairs, few, properties=["on_stairs"], top=3).properties[0].property.name == "on_stairs"
    with pytest.raises(AssertionError, match=r"with top=3, seed 3: third_step_free is violated\n\n(.|\n)*4/4  the"):
        assert_not_violated(stairs, few, top=3)


def test_a_mistake_is_no_failure_of_the_spec(stairs: str) -> None:
    with pytest.raises(SpecError, match="unknown bound 'tip': did you mean 'top'"):
        assert_holds(stairs, tip=3)
    with pytest.raises(SpecError, match="has no property 'third_step'"):
        assert_violated(stairs, "third_step")


def test_a_failing_test_of_a_users_shows_the_trace(stairs: str, tmp_path: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"from leadline.reports.testing import assert_holds\ndef test_it():\n    assert_holds({stairs!r}, top=3)\n"
    )
    outcome = pytester.runpytest("-q")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["*third_step_free is violated*", "*4/4  the climber sets its left foot*"])
