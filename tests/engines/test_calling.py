"""When the compiled engine calls a spec's functions on states instead of learning from calls of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, raise_signal
from time import sleep
from typing import Any
from unittest import mock

import pytest
from attrs import evolve, frozen

from leadline.checker import LeadlineError, Limits, Result, Spec, Verdict, action, invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled import choose_engine as calling
from leadline.checker.engines.compiled import forecast
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.progress import Progress
from leadline.checker.result import Learning, Statistics, StopKind
from leadline.checker.settings import DEFAULT, CompiledSettings, Tuning
from tests.specs.learning import learning


@frozen
class Chain:
    """A row of states: a level each."""

    place: int = 0


@action(by=(1, 2))
def steps(state: Chain, by: int) -> Iterator[Chain]:
    if state.place + by < 400:
        yield Chain(state.place + by)


@frozen
class Board:
    """The eight tiles of a puzzle, of two by three: one value, which no two states share."""

    tiles: tuple[int, ...]


@action(by=(-3, -1, 1, 3))
def slides(state: Board, by: int) -> Iterator[Board]:
    free = state.tiles.index(0)
    place = free + by
    if 0 <= place < 6 and (by % 3 == 0 or free // 3 == place // 3):
        tiles = list(state.tiles)
        tiles[free], tiles[place] = tiles[place], 0
        yield Board(tuple(tiles))


@invariant("the last tile never comes first")
def last_is_not_first(state: Board) -> bool:
    return state.tiles[0] != 5


CHAIN = Spec(name="chain", initial_states=lambda _: [Chain()], actions=[steps])
PUZZLE = Spec(
    name="puzzle",
    initial_states=lambda _: [Board((0, 1, 2, 3, 4, 5))],
    actions=[slides],
    properties=[last_is_not_first],
)
ALL = Limits(keep_going=True)


LOOKS = Tuning(look_seconds=1e-9, sample=40, progress_states=50)
"""A search by calls is looked at as often as it reports its progress: every 50 states."""

LARGE = evolve(LOOKS, small_seconds=0.0, sampled_states=0)
"""Every space is large, and learning is expected to pay."""

GIVEN_UP = evolve(LOOKS, sampled_states=0, first_look=0.0, behind=1e9, narrow_levels=20, known_states=50)
"""Learning is given up as soon as possible."""


def explore(spec: Spec[Any], limits: Limits | None = None, tuning: Tuning = LOOKS) -> Result:
    """Search with the engine that users get."""
    return calling.explore(spec, limits, settings=CompiledSettings(tuning=tuning))


def told(result: Result) -> Any:
    """All that does not depend on the engine."""
    statistics = result.statistics
    return (
        result.verdict,
        result.stop,
        [(item.property.name, item.verdict, [trace.states for trace in item.traces]) for item in result.properties],
        (statistics.levels, statistics.generated, statistics.actions, statistics.deadlocks, statistics.depth),
    )


def test_a_small_space_is_explored_by_calls() -> None:
    result = explore(PUZZLE, ALL)
    assert (result.engine, result.statistics.distinct, result.statistics.calls) == ("compiled", 360, 0)


def test_a_large_one_is_learned() -> None:
    assert explore(PUZZLE, ALL, LARGE).statistics.calls > 0


def test_a_long_chain_is_explored_by_calls() -> None:
    assert explore(CHAIN, tuning=evolve(LARGE, level_seconds=60.0, narrow_levels=5)).statistics.calls == 0


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=5), Limits(max_states=70), Limits(traces=3), ALL], ids=str)
@pytest.mark.parametrize("tuning", [evolve(LOOKS, small_seconds=60.0), LARGE], ids=["called", "learned"])
def test_every_limit_is_kept_in_either_way(limits: Limits, tuning: Tuning) -> None:
    specs: list[Spec[Any]] = [CHAIN, PUZZLE]
    for spec in specs:
        assert told(explore(spec, limits, tuning)) == told(oracle.explore(spec, limits))


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=1), Limits(max_states=30), Limits(max_states=70)], ids=str)
@pytest.mark.parametrize("tuning", [evolve(LOOKS, small_seconds=60.0), LARGE], ids=["called", "learned"])
def test_many_initial_states(limits: Limits, tuning: Tuning) -> None:
    spec = evolve(CHAIN, initial_states=lambda _: [Chain(place) for place in range(100)])
    result = explore(spec, limits, tuning)
    assert (result.statistics.calls > 0) == (tuning is LARGE and limits == Limits())
    assert told(result) == told(oracle.explore(spec, limits))


def test_an_interrupt_among_the_first_states_ends_the_search() -> None:
    @action()
    def interrupts(state: Chain) -> Iterator[Chain]:
        if state.place == 3:
            raise KeyboardInterrupt
        yield from ()

    for initials in ([Chain()], [Chain(place) for place in range(100)]):
        spec = evolve(CHAIN, actions=[steps, interrupts], initial_states=lambda _, initials=initials: initials)  # type: ignore[misc]
        result = explore(spec)
        assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)
        assert result.spec is spec


def test_where_only_initial_states_are_wanted_none_of_them_is_expanded() -> None:
    @action()
    def fails(state: Chain) -> Iterator[Chain]:
        raise ValueError
        yield state

    spec = evolve(CHAIN, actions=[fails], initial_states=lambda _: [Chain(place) for place in range(100)])
    assert told(explore(spec, Limits(depth=1))) == told(oracle.explore(spec, Limits(depth=1)))


def test_a_limit_that_the_initial_states_catch_leaves_the_search_incomplete() -> None:
    def initial_states(_: Any) -> list[Chain]:
        with suppress(KeyboardInterrupt):
            raise_signal(SIGINT)
        return [Chain(399)]

    result = explore(evolve(CHAIN, initial_states=initial_states))
    assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)


def test_the_time_limit_ends_initial_states_that_are_never_done() -> None:
    def initial_states(_: Any) -> Iterator[Chain]:
        while True:
            sleep(0.01)
            yield from ()

    soon = evolve(LOOKS, watch_seconds=0.02, grace_seconds=0.0)
    result = explore(evolve(CHAIN, initial_states=initial_states), Limits(max_seconds=0.05), soon)
    assert result.stop is not None
    assert result.stop.kind is StopKind.TIME


@pytest.fixture
def begins_with_learning() -> Iterator[None]:
    """No space is small."""
    with mock.patch.object(calling, "_is_small", return_value=False):
        yield


@pytest.mark.parametrize("spec", [CHAIN, PUZZLE], ids=["narrow levels", "one value"])
@pytest.mark.usefixtures("begins_with_learning")
def test_what_is_slower_than_calling_is_given_up(spec: Spec[Any]) -> None:
    result = explore(spec, ALL, GIVEN_UP)
    assert told(result) == told(oracle.explore(spec, ALL))
    learning = result.statistics.learning
    assert learning is not None
    assert learning.called == learning.by_oracle > 0, "it was not given up"


@pytest.mark.usefixtures("begins_with_learning")
def test_calls_after_learning_keep_the_memory_limit() -> None:
    """They need the oracle's memory, which is more."""

    def with_little_memory(search: OracleSearch[Any], progress: Progress | None) -> Result:
        search.budget = Budget(evolve(search.limits, max_memory=10))
        return continued(search, progress)

    continued = calling._continued
    with mock.patch.object(calling, "_continued", with_little_memory):
        result = explore(PUZZLE, ALL, GIVEN_UP)
    assert (result.verdict, str(result.stop)) == (Verdict.INCOMPLETE, "reached 10 bytes of memory")
    assert 0 < result.statistics.distinct < 360
    assert result.statistics.calls > 0


@pytest.mark.usefixtures("begins_with_learning")
def test_the_time_of_all_attempts_counts() -> None:
    result = explore(PUZZLE, Limits(max_seconds=1e-6, keep_going=True), GIVEN_UP)
    assert str(result.stop) == "reached 1e-06 seconds"
    assert result.statistics.distinct < 360


@pytest.mark.parametrize(
    ("seconds", "expanded", "depth", "share", "is_given_up"),
    [
        (1.0, 5_000, 10, 0.6, False),
        (1.0, 3_000, 300, 0.4, True),
        (1.0, 300, 30, 0.4, False),  # the first levels of any space are narrow
        (1.0, 9_000, 1_000, 1.0, False),
        (1.0, 0, 1, 1.0, False),
        (DEFAULT.first_look / 2, 3_000, 1, 1.0, False),
        (forecast.LAST_LOOK * 2, 5_000, 10, 1.0, False),
    ],
)
def test_when_a_search_is_given_up(seconds: float, expanded: int, depth: int, share: float, is_given_up: bool) -> None:
    learning = Learning({}, {}, called=round(1000 * share), by_oracle=1000, memory=0, widest=None)
    statistics = Statistics(expanded=expanded, depth=depth, learning=learning)
    try:
        forecast.Forecast(rate=10_000).check(seconds, lambda: statistics)
    except forecast.SlowerThanCalling:
        assert is_given_up
    else:
        assert not is_given_up


@pytest.mark.parametrize(
    ("shares", "given_up"),
    [
        ([1.0, 0.9], True),  # the states have few values in common
        ([1.0, 0.6, 0.55], True),
        ([1.0, 0.6, 0.4, 0.3], False),
        ([1.0, 0.4, 0.4], False),
        ([0.3, 0.2], False),
        ([1.0], False),  # the first calls of any search are new
    ],
)
def test_a_search_whose_calls_do_not_become_fewer_is_given_up_by_their_number(
    shares: list[float], given_up: bool
) -> None:
    payoff, expanded, made, by_oracle = forecast.Payoff(), 0, 0, 0
    outcome = False
    for share in shares:
        more = max(expanded, DEFAULT.known_states)
        expanded += more
        made, by_oracle = made + round(10 * more * share), by_oracle + 10 * more
        learning = Learning({}, {}, called=made, by_oracle=by_oracle, memory=0, widest=None)
        statistics = Statistics(expanded=expanded, learning=learning)
        try:
            payoff.check(expanded, lambda statistics=statistics: statistics)  # type: ignore[misc]
            payoff.check(expanded + 1, lambda: Statistics())  # not before the number has doubled
        except forecast.SlowerThanCalling:
            outcome = True
    assert outcome == given_up


TWO_PHASE = [1, 13, 78, 292, 781, 1632, 2856, 4391, 6039, 7372, 7846, 7164, 5545, 3600, 1938, 855, 306, 87, 18, 2]
RAFT = [1, 2, 3, 6, 13, 14, 15, 24, 40, 48, 52, 86, 152, 182, 178, 270, 430, 354, 234, 258, 170, 98, 80, 42, 12, 16, 6]


@pytest.mark.parametrize(
    ("levels", "known"), [(TWO_PHASE, 7), (TWO_PHASE, 10), (TWO_PHASE, 13), (RAFT, 14), (RAFT, 18)]
)
def test_the_first_levels_tell_the_size_of_a_space(levels: list[int], known: int) -> None:
    beyond = sum(levels[known:])
    assert beyond / 4 < forecast.forecast(levels[:known]) < beyond * 4


@pytest.mark.parametrize("levels", [[1], [1, 3], [5_000, 5_000], [1, 10, 20], [500, 300, 200]])
def test_few_levels_tell_nothing(levels: list[int]) -> None:
    assert forecast.forecast(levels) == math.inf


def test_many_initial_states_and_few_others_are_a_small_space() -> None:
    assert forecast.expected_states(Statistics(levels=(8_000, 30), depth=1, expanded=2_000)) < 9_000
    assert forecast.expected_states(Statistics(levels=(8_000, 9_000), depth=1, expanded=2_000)) == math.inf


@pytest.mark.parametrize(("seconds", "is_small"), [(1.9, True), (2.1, True), (3.9, True), (4.1, False), (8.0, False)])
def test_a_search_is_nearly_complete_for_a_limited_time(seconds: float, is_small: bool) -> None:
    statistics = Statistics(depth=10, expanded=int(10_000 * seconds))
    with mock.patch.object(calling, "expected_states", return_value=statistics.expanded + 300):
        assert calling._is_small(statistics, seconds, DEFAULT) == is_small


def test_a_space_that_grows_steadily_is_not_nearly_complete_for_ever() -> None:
    """The first levels of the disruptor in `tests/natural/`, when direct calls have taken two seconds."""
    levels = (374, 486, 598, 706, 796, 860, 924, 1002, 1074, 1132, 1166, 1188, 763)
    statistics = Statistics(levels=levels, depth=len(levels) - 1, expanded=10_500)
    assert not calling._is_small(statistics, 2.0, DEFAULT)


SPANNING_TREE = (1, 10, 75, 350, 102)
"""The first levels of a space with 1,236 states."""

EWD_998 = (192, 608, 2_264, 6_160)
"""The first levels of `tests/public/ewd998.py` with three nodes: 1,520,618 states."""


@pytest.mark.parametrize(
    ("levels", "seconds", "expanded", "is_small"),
    [
        (SPANNING_TREE, 0.2, 114, True),
        (SPANNING_TREE, 0.3, 114, True),
        (SPANNING_TREE, 2.1, 114, False),
        (EWD_998, 0.2, 3_000, True),
        (EWD_998, 0.3, 3_000, False),
        ((363, 5_791, 2_195), 1.9, 2_000, True),  # too few levels for a forecast
        ((363, 5_791, 2_195), 2.1, 2_000, False),
    ],
)
def test_few_levels_count_only_if_the_forecast_is_very_large(
    levels: tuple[int, ...], seconds: float, expanded: int, is_small: bool
) -> None:
    statistics = Statistics(levels=levels, depth=len(levels) - 1, expanded=expanded)
    assert calling._is_small(statistics, seconds, DEFAULT) == is_small


@pytest.mark.parametrize(
    ("levels", "seconds", "is_small"),
    [
        ((363, 5_791, 7_731, 7_654, 7_119, 5_814, 4_143, 200), 2.1, True),
        ((363, 4_143, 5_814, 7_119, 7_654, 7_731, 7_800, 200), 2.1, False),  # levels grow
        ((363, 57_910, 77_310, 76_540, 71_190, 200), 2.1, False),  # the rest takes longer
        ((363, 5_791, 7_731, 7_654, 7_119, 5_814, 4_143, 200), 4.1, False),
    ],
)
def test_once_levels_shrink_more_may_be_left(levels: tuple[int, ...], seconds: float, is_small: bool) -> None:
    expanded = 16_000 * round(seconds)
    statistics = Statistics(levels=levels, depth=len(levels) - 1, expanded=expanded)
    assert calling._is_small(statistics, seconds, DEFAULT) == is_small


@pytest.mark.parametrize(
    "settings", [CompiledSettings(), CompiledSettings(checkpoint=Path("saved"))], ids=["", "saved"]
)
def test_without_the_compiler_states_are_explored_by_calls_but_cannot_be_saved(
    settings: CompiledSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = learning(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "leadline.checker.engines.compiled.search", None)
    monkeypatch.delattr("leadline.checker.engines.compiled.search", raising=False)
    if settings.checkpoint is not None:
        with pytest.raises(LeadlineError, match="checkpoints require Numba, which cannot be loaded"):
            calling.explore(CHAIN, settings=settings)
    else:
        assert (
            calling.explore(CHAIN, settings=settings).statistics.distinct == oracle.explore(CHAIN).statistics.distinct
        )
