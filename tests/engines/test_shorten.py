"""Shortening the counterexamples of a random search: within the time limit, with progress, without losing results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadline.checker import Spec, action, fuzz, invariant, witness
from leadline.checker.engines import budget, compiled, progress
from leadline.checker.engines.progress import Pace
from leadline.checker.engines.random import leave_out, search, shorten
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits, PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from leadline.checker.settings import CompiledSettings, RandomSettings
from leadline.checker.trace import Trace
from leadline.reports.terminal.progress import progress_lines


@attrs.frozen
class Grid:
    """Where a walker is."""

    x: int = 0
    y: int = 0


@action(by=(-1, 1))
def along_x(state: Grid, by: int) -> Iterator[Grid]:
    if 0 <= state.x + by <= 9:
        yield attrs.evolve(state, x=state.x + by)


@action(by=(-1, 1))
def along_y(state: Grid, by: int) -> Iterator[Grid]:
    if 0 <= state.y + by <= 9:
        yield attrs.evolve(state, y=state.y + by)


@invariant("x is below 5")
def small(state: Grid) -> bool:
    return state.x < 5


@witness("y is 3")
def third(state: Grid) -> bool:
    return state.y == 3


GRID = Spec(name="grid", initial_states=lambda _: [Grid()], actions=[along_x, along_y], properties=[small, third])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Result:
    """A search whose counterexample has not been shortened."""
    with monkeypatch.context() as patched:
        patched.setattr(search, "shortened", lambda result, *_: result)
        result = fuzz(GRID, settings=RandomSettings(examples=1000, seed=4, uniform=True))
    assert length(result, "small") > 7
    assert length(result, "third") > 4
    return result


def length(result: Result, name: str) -> int:
    """The states of the trace about a property."""
    (trace,) = result.of(name).traces
    return len(trace)


def test_counterexamples_and_traces_of_witnesses_lose_the_steps_that_they_do_not_need(found: Result) -> None:
    result = shorten.shortened(found, Limits())

    assert (length(result, "small"), length(result, "third")) == (6, 4)
    assert result.note == "there is no shorter counterexample to small"


def test_when_the_time_is_up_only_steps_are_left_out(found: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "explore", lambda *_: pytest.fail("an exhaustive search began"))
    result = shorten.shortened(found, Limits(max_seconds=1e-6))

    assert length(result, "small") == 6
    assert result.note == (
        "there may be a shorter counterexample to small (6 states): the time limit ended the shortening"
    )


def test_shortening_ends_by_itself(found: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shorten, "MOST_SECONDS", 0.001)
    monkeypatch.setattr(compiled, "explore", lambda *_: pytest.fail("an exhaustive search began"))
    result = shorten.shortened(found, Limits())

    assert length(result, "small") == 6
    assert result.note.endswith("shortening ended after 0 seconds")


def test_leaving_out_steps_ends_too(found: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shorten, "SHORTENING_SECONDS", 0.0)
    result = shorten.shortened(found, Limits(max_seconds=1e-6))

    assert length(result, "small") == length(found, "small")
    assert result.note.endswith("the time limit ended the shortening")


def test_after_an_interrupt_nobody_waits_for_an_exhaustive_search(
    found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "explore", lambda *_: pytest.fail("an exhaustive search began"))
    stopped = attrs.evolve(found, stop=Stop(StopKind.INTERRUPT, "interrupted"))

    assert shorten.shortened(stopped, Limits()).note.endswith("shortening was interrupted")


@pytest.mark.parametrize("activity", ["shortening its trace", "looking for"])
def test_an_interrupt_keeps_the_shortest_trace_so_far(
    activity: str, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    reported: list[str] = []

    def press(statistics: Statistics) -> None:
        reported.append(statistics.activity)
        if activity in statistics.activity and f"{length(found, 'small')} states" not in statistics.activity:
            raise KeyboardInterrupt

    result = shorten.shortened(found, Limits(), press)

    length_found = length(found, "small")
    assert reported[0] == f"small is violated; shortening its trace: {length_found} states; Ctrl-C ends this"
    assert 6 <= length(result, "small") < length(found, "small")
    assert "shortening was interrupted" in result.note


def test_the_exhaustive_search_gets_the_workers_and_the_time_that_is_left(
    found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Limits, CompiledSettings]] = []
    engine = compiled.explore

    def noted(spec: Spec[Any], limits: Limits, progress: Any, settings: CompiledSettings) -> Result:
        given.append((limits, settings))
        return engine(spec, limits, progress, settings)

    monkeypatch.setattr(compiled, "explore", noted)
    shorten.shortened(found, Limits(max_seconds=60.0), workers=1)
    (limits, settings), *_ = given

    assert settings.workers == 1
    assert limits.max_seconds is not None
    assert 30 < limits.max_seconds < 60


def test_a_spec_that_raises_only_while_it_is_shortened_is_refused() -> None:
    raises: list[bool] = []

    @invariant("x is not 4")
    def fussy(state: Grid) -> bool:
        if raises and state.y == 0:
            raise ValueError("not now")
        return state.x != 4

    spec = attrs.evolve(GRID, properties=[fussy])
    states = [Grid(), Grid(y=1), *(Grid(x, 1) for x in range(1, 5))]
    by_name = {repr(each): each for each in spec.instances}
    instances = [by_name["along_y(by=1)"], *[by_name["along_x(by=1)"]] * 4]
    raises.append(True)
    with pytest.raises(SpecError, match="fussy"):
        leave_out.without_needless_steps(Trace(spec, states, instances, fussy), lambda _: None)


def test_a_counterexample_of_many_steps_is_shortened_group_by_group() -> None:
    by_name = {repr(each): each for each in GRID.instances}
    steps = ["along_y(by=1)", "along_y(by=-1)"] * 130
    for place in range(5):
        steps.insert(place * 52, "along_x(by=1)")
    instances, states = [by_name[step] for step in steps], [Grid()]
    for instance in instances:
        states += GRID.take(instance, states[-1])
    trace = leave_out.without_needless_steps(Trace(GRID, states, instances, small), lambda _: None)

    assert len(trace) == 6


@given(st.just(2))
@settings(max_examples=1, database=None, deadline=None)
def test_a_random_search_within_a_test_of_hypothesis_is_shortened_too(seed: int) -> None:
    result = fuzz(GRID, settings=RandomSettings(examples=1000, seed=seed))

    assert length(result, "small") == 6


def test_progress_shows_what_is_done_and_counts_it_as_no_search() -> None:
    pace = Pace()
    pace(Statistics(distinct=5, seconds=1.0))
    pace(Statistics(distinct=90, depth=4, seconds=65.0, activity="looking for\x1b counterexamples"))

    assert pace.samples == [(1.0, 5)]
    assert progress_lines(Statistics(seconds=65.0, activity="shortening")) == ["1:05  shortening"]
    first, second = progress_lines(Statistics(distinct=90, depth=4, seconds=65.0, activity="looking\x1b"))
    assert "\x1b" not in first
    assert second == "90 distinct  depth 4"


def test_a_search_that_met_nothing_is_not_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shorten, "shortened", lambda *_: pytest.fail("there is nothing to shorten"))

    assert search.fuzz(GRID.with_properties(["small"]), settings=RandomSettings(examples=1, steps=2)).note == ""


@pytest.mark.parametrize("catches", [False, True])
def test_a_call_that_hangs_while_steps_are_left_out_is_cut_off(
    catches: bool, found: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang() -> bool:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            if not catches:
                raise
        return True

    @invariant("x is below 5, but it takes long to say that")
    def slow(state: Grid) -> bool:
        return hang() if state.y == 0 and state.x == 3 else state.x < 5

    (trace,) = found.of("small").traces
    spec = attrs.evolve(GRID, properties=[slow])
    slowly = attrs.evolve(trace, spec=spec, about=slow)
    result = attrs.evolve(found, spec=spec, properties=(PropertyResult(slow, Verdict.VIOLATED, (slowly,)),))
    monkeypatch.setattr(shorten, "SHORTENING_SECONDS", 0.05)
    monkeypatch.setattr(budget, "GRACE_SECONDS", 0.05)
    shortened = shorten.shortened(result, Limits(max_seconds=1e-6))

    assert "the time limit ended the shortening" in shortened.note
    (kept,) = shortened.of("slow").traces
    assert kept.states[-1].x == 5
