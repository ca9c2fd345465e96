"""When the compiled engine calls a spec's functions on states instead of learning from calls of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from attrs import evolve, frozen

from checker import Limits, Result, Spec, Verdict, action, invariant
from checker.engines import oracle
from checker.engines.compiled import calling, explore, outlook
from checker.result import Learning, Statistics

FEW = 100


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


@pytest.fixture(autouse=True)
def few() -> Iterator[None]:
    with mock.patch.multiple(calling, FEW=FEW, FEW_SECONDS=60.0):
        yield


def told(result: Result) -> Any:
    """All that does not depend on the engine."""
    statistics = result.statistics
    return (
        result.verdict,
        result.stop,
        [(item.property.name, item.verdict, [trace.states for trace in item.traces]) for item in result.properties],
        (statistics.levels, statistics.generated, statistics.actions, statistics.deadlocks, statistics.depth),
    )


def chain(length: int) -> Spec[Chain]:
    return evolve(CHAIN, initial_states=lambda _: [Chain(400 - length)])


@pytest.mark.parametrize(("length", "learns"), [(FEW - 1, False), (FEW, False), (FEW + 1, True)])
def test_only_more_than_a_few_states_are_worth_learning(length: int, learns: bool) -> None:
    result = explore(chain(length))
    assert result.statistics.distinct == length
    assert (result.statistics.calls > 0) == learns
    assert told(result) == told(oracle.explore(chain(length)))
    assert result.engine == "compiled"


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=5), Limits(max_states=7), Limits(traces=3), ALL], ids=str)
def test_every_limit_is_kept_in_either_way(limits: Limits) -> None:
    for spec in (CHAIN, PUZZLE):
        assert told(explore(spec, limits)) == told(oracle.explore(spec, limits))


def test_many_initial_states_are_not_explored_by_calls_alone() -> None:
    spec = evolve(CHAIN, initial_states=lambda _: [Chain(place) for place in range(FEW)])
    result = explore(spec)
    assert result.statistics.calls > 0
    assert told(result) == told(oracle.explore(spec))


def test_an_interrupt_among_the_first_states_ends_the_search() -> None:
    @action()
    def interrupts(state: Chain) -> Iterator[Chain]:
        if state.place == 3:
            raise KeyboardInterrupt
        yield from ()

    for initials in ([Chain()], [Chain(place) for place in range(FEW)]):
        spec = evolve(CHAIN, actions=[steps, interrupts], initial_states=lambda _, initials=initials: initials)
        result = explore(spec)
        assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)
        assert result.spec is spec


@pytest.mark.parametrize("spec", [CHAIN, PUZZLE], ids=["narrow levels", "one value"])
def test_what_is_slower_than_calling_is_given_up(spec: Spec[Any]) -> None:
    with mock.patch.multiple(outlook, FIRST_LOOK=0.0, BEHIND=1e9, LEVELS=20, STATES=50):
        result = explore(spec, ALL)
    assert told(result) == told(oracle.explore(spec, ALL))
    learning = result.statistics.learning
    assert learning is not None
    assert learning.called == learning.by_oracle > 0, "it was not given up"


def test_the_time_of_all_attempts_counts() -> None:
    with mock.patch.multiple(outlook, FIRST_LOOK=0.0, BEHIND=1e9, LEVELS=20, STATES=50):
        result = explore(PUZZLE, Limits(max_seconds=1e-6, keep_going=True))
    assert str(result.stop) == "reached 1e-06 seconds"
    assert result.statistics.distinct < 360


@pytest.mark.parametrize(
    ("seconds", "expanded", "depth", "share", "is_given_up"),
    [
        (1.0, 5_000, 10, 0.6, True),
        (1.0, 5_000, 10, 0.4, False),
        (1.0, 1_000, 10, 0.6, False),  # the first calls of any search are new
        (1.0, 3_000, 300, 0.4, True),
        (1.0, 300, 30, 0.4, False),  # the first levels of any space are narrow
        (1.0, 9_000, 1_000, 1.0, False),
        (1.0, 0, 1, 1.0, False),
        (outlook.FIRST_LOOK / 2, 3_000, 1, 1.0, False),
        (outlook.LAST_LOOK * 2, 5_000, 10, 1.0, False),
    ],
)
def test_when_a_search_is_given_up(seconds: float, expanded: int, depth: int, share: float, is_given_up: bool) -> None:
    learning = Learning({}, {}, called=round(1000 * share), by_oracle=1000, memory=0, widest=None)
    statistics = Statistics(expanded=expanded, depth=depth, learning=learning)
    try:
        outlook.Outlook(rate=10_000).check(seconds, lambda: statistics)
    except outlook.GivenUp:
        assert is_given_up
    else:
        assert not is_given_up
