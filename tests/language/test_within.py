"""A spec may say which states are searched further; the others are checked, as with TLC's CONSTRAINT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, SpecError, Verdict, action, fuzz, invariant, step_invariant
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings, RandomSettings, Tuning
from tests.specs import learning


@attrs.frozen
class Clocks:
    left: int = 0
    right: int = 0


@action()
def left_ticks(clocks: Clocks) -> Iterator[Clocks]:
    yield attrs.evolve(clocks, left=clocks.left + 1)


@action()
def right_ticks(clocks: Clocks) -> Iterator[Clocks]:
    if clocks.right < clocks.left:
        yield attrs.evolve(clocks, right=clocks.right + 1)


def early(clocks: Clocks) -> bool:
    return clocks.left <= 3


@invariant("no clock shows 5")
def no_five(clocks: Clocks) -> bool:
    return clocks.left < 5


@invariant("no clock shows 4")
def no_four(clocks: Clocks) -> bool:
    return clocks.left < 4


@step_invariant("the left clock does not reach 4")
def no_step_to_four(before: Clocks, after: Clocks) -> bool:
    return after.left < 4


def spec_of(*properties: Any, within: Any = early, initial: Any = (Clocks(),), **options: Any) -> Spec[Clocks]:
    actions = [left_ticks, right_ticks]
    return Spec(
        name="clocks",
        initial_states=lambda _: initial,
        actions=actions,
        properties=properties,
        within=within,
        **options,
    )


Explore = Callable[..., Result]


@pytest.fixture(params=[oracle.explore, learning.explore], ids=["oracle", "compiled"])
def explore(request: pytest.FixtureRequest) -> Explore:
    """Each engine that keeps to a constraint."""
    return request.param  # type: ignore[no-any-return]


def test_states_outside_are_checked_and_not_searched_further(explore: Explore) -> None:
    result = explore(spec_of(no_five, check_deadlock=True))
    statistics = result.statistics
    assert result.verdict is Verdict.HOLDS  # 5 is beyond what is outside, which is no deadlock either
    # 0 <= right <= left <= 3, and (4, 0) to (4, 3) outside; each inside has a step left, and one right if right < left
    assert (statistics.distinct, statistics.outside, statistics.generated) == (10, 4, 1 + 10 + 6)
    assert (statistics.depth, statistics.levels) == (7, (1, 1, 2, 2, 2, 1, 1))
    assert (statistics.out_degree_min, statistics.out_degree_max, statistics.queue) == (1, 2, 0)
    assert [count.distinct for count in statistics.actions.values()] == [3, 6]


@pytest.mark.parametrize("item", [no_four, no_step_to_four])
def test_a_violation_outside_is_found(explore: Explore, item: Any) -> None:
    for traces in (1, 3):
        result = explore(spec_of(item), Limits(traces=traces))
        assert result.verdict is Verdict.VIOLATED
        assert {len(trace) for trace in result.properties[0].traces} == {5}


@pytest.mark.parametrize("settings", [{"depth": 7}, {"depth": 3}, {"max_states": 5}, {"keep_going": True, "traces": 3}])
def test_engines_agree(settings: Any) -> None:
    initial = [Clocks(), Clocks(4, 0), Clocks(2, 2)]
    for properties in ([], [no_four], [no_step_to_four, no_five]):
        spec = spec_of(*properties, initial=initial, check_deadlock=True)
        of_oracle, of_compiled = (explore(spec, Limits(**settings)) for explore in (oracle.explore, learning.explore))
        assert of_compiled.verdict is of_oracle.verdict
        assert of_compiled.reason == of_oracle.reason
        for name in ("distinct", "outside", "generated", "depth", "levels", "queue", "actions", "deadlocks"):
            if "max_states" not in settings or name in ("distinct", "depth"):
                assert getattr(of_compiled.statistics, name) == getattr(of_oracle.statistics, name), name
        for one, other in zip(of_compiled.properties, of_oracle.properties, strict=True):
            assert sorted(map(len, one.traces)) == sorted(map(len, other.traces))


def test_a_search_goes_on_with_what_is_outside(tmp_path: Path) -> None:
    tuning = Tuning(block=2)
    expected = learning.explore(spec_of(no_five), settings=CompiledSettings(tuning=tuning))
    learning.explore(
        spec_of(no_five), Limits(depth=5), settings=CompiledSettings(checkpoint=tmp_path / "saved", tuning=tuning)
    )
    found = learning.explore(spec_of(no_five), settings=CompiledSettings(resume=tmp_path / "saved", tuning=tuning))
    for name in ("distinct", "outside", "generated", "depth", "levels"):
        assert getattr(found.statistics, name) == getattr(expected.statistics, name)


def test_a_random_behaviour_ends_outside() -> None:
    result = fuzz(spec_of(no_five, no_four, check_deadlock=True), settings=RandomSettings(examples=20, steps=20))
    assert [item.verdict for item in result.properties] == [Verdict.INCOMPLETE, Verdict.VIOLATED, Verdict.INCOMPLETE]


def test_what_is_not_a_predicate_is_refused(explore: Explore) -> None:
    with pytest.raises(SpecError, match="spec clocks: within must be a function of a state, not 3"):
        spec_of(within=3)
    with pytest.raises(SpecError, match="within divides raised"):
        explore(spec_of(within=divides))
    with pytest.raises(SpecError, match="within says_four"):
        explore(spec_of(within=says_four))


def divides(clocks: Clocks) -> bool:
    return 1 / clocks.left > 0


def says_four(clocks: Clocks) -> Any:
    return 4
