"""A search with transition tables is stopped where direct calls on the same states take less CPU time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import pytest
from attrs import evolve

from leadline.checker import Limits, Spec, action
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import choose_engine, pace
from leadline.checker.engines.compiled.forecast import Payoff, SlowerThanCalling
from leadline.checker.engines.compiled.pace import FIRST, LOOKS, Pace, Trend, seconds_by_calling
from leadline.checker.result import Statistics
from leadline.checker.settings import DEFAULT, CompiledSettings
from tests.engines.test_calling import ALL, CHAIN, LARGE, PUZZLE, Chain, explore, told

PAYS = {
    "Paxos Commit": [[7.1, 4.77, 2.99, 0.77, 0.12]],
    "Paxos of Stateright": [[10.5, 6.86, 3.57, 1.96, 0.34]],
    "B-tree": [[13.3], [9.76, 3.13, 1.76, 1.39, 1.09, 0.87, 0.32]],
    "EWD 998": [[5.44], [4.09, 2.49], [3.79, 0.84, 0.63, 0.25]],
    "two-phase commit": [[5.26, 1.04], [0.17, 1.01, 0.74, 0.55]],
    "barriers": [[11.6, 3.97, 2.69, 1.87, 1.56, 1.76, 1.9, 1.44]],
}
"""The ratios of the looks, for each attempt, of searches in which learning pays or costs nothing."""


def looks_until_stopped(attempts: Sequence[Sequence[float]]) -> int | None:
    trend, looks = Trend(), 0
    for ratios in attempts:
        trend.start()
        for ratio in ratios:
            looks += 1
            if trend.is_hopeless(ratio):
                return looks
    return None


@pytest.mark.parametrize("name", PAYS)
def test_where_learning_pays_no_search_is_stopped(name: str) -> None:
    assert looks_until_stopped(PAYS[name]) is None


@pytest.mark.parametrize(
    ("attempts", "looks"),
    [
        ([[12.24, 4.66, 4.99], [11.67, 4.6, 6.68, 4.35]], 6),  # an elevator
        ([[12.4, 5.57, 6.75, 6.74, 4.66]], 4),  # Sailfish
        ([[9.0, 4.0, 6.0, 3.0, 2.9, 2.8]], 6),  # one look in a row is not enough
        ([[9.0, 4.0, 4.0, 2.0, 4.0, 4.0, 4.0]], 7),  # it was fast in between
        ([[9.0], [9.0], [9.0], [9.0]], None),  # the first look of each attempt
    ],
)
def test_a_search_is_stopped_if_it_stays_slow(attempts: list[list[float]], looks: int | None) -> None:
    assert looks_until_stopped(attempts) == looks


def paces(learned: Sequence[float], called: float) -> int | None:
    """Let a search expand states, each in the given number of seconds, and return how many it has expanded when it is
    stopped.
    """
    now, expanded = [0.0], FIRST
    watched = Pace[Chain](CHAIN, lambda: now[0], Trend())
    with mock.patch.object(pace, "seconds_by_calling", return_value=called):
        for seconds in learned:
            now[0] += seconds * (expanded if expanded == FIRST else expanded // 2)
            try:
                watched.check(expanded - 1, lambda _: [], lambda: Statistics())
                watched.check(expanded, lambda numbers: [Chain(number) for number in numbers], lambda: Statistics())
            except SlowerThanCalling:
                return expanded
            expanded *= 2
    return None


def test_only_the_states_since_the_last_look_count() -> None:
    assert paces([50.0, 1.0, 1.0, 1.0], 1.0) is None
    assert paces([50.0, 5.0, 5.0, 5.0], 1.0) == 8 * FIRST
    assert paces([50.0, 5.0, 3.0, 2.0], 1.0) is None
    assert paces([1.0] * LOOKS + [9.0] * 4, 1.0) is None, "after the last look, it is not stopped"


def test_the_load_of_the_machine_does_not_matter() -> None:
    assert paces([500.0, 50.0, 50.0, 50.0], 10.0) == paces([50.0, 5.0, 5.0, 5.0], 1.0)
    assert paces([500.0, 10.0, 10.0, 10.0], 10.0) is None


def ticks() -> Callable[[], float]:
    """A clock that gains a second whenever it is read."""
    times = iter(range(10**6))
    return lambda: float(next(times))


def test_the_time_of_a_state_is_an_average() -> None:
    made: list[int] = []

    @action()
    def noted(state: Chain) -> Iterator[Chain]:
        made.append(state.place)
        yield Chain(state.place + 1)

    spec = evolve(CHAIN, actions=[noted])
    with mock.patch.object(pace, "SAMPLE_SECONDS", 1e9):
        assert seconds_by_calling(spec, [Chain(0), Chain(5)], ticks()) == 3 / 2
    assert made == [0, 5]
    made.clear()
    assert seconds_by_calling(spec, [Chain(0), Chain(5)], ticks()) == 2.0
    assert made == [0], "expensive calls are made on fewer states"


def test_calls_that_fail_say_nothing() -> None:
    @action()
    def fails(state: Chain) -> Iterator[Chain]:
        raise ValueError
        yield state

    assert seconds_by_calling(evolve(CHAIN, actions=[fails]), [Chain()], ticks()) == math.inf
    assert seconds_by_calling(CHAIN, [], ticks()) == math.inf


WITHIN = evolve(CHAIN, name="within", within=lambda state: state.place % 7 > 0 or state.place < 100)
"""The calls on some of the states that were found must not be made."""


@pytest.mark.parametrize("spec", [CHAIN, PUZZLE, WITHIN], ids=lambda spec: spec.name)
def test_a_search_that_was_stopped_has_the_results_of_the_oracle(spec: Spec[Any]) -> None:
    with (
        mock.patch.object(Payoff, "check"),
        mock.patch.object(pace, "FALLING", 0.0),
        mock.patch.object(pace, "SLOW", 0.0),
        mock.patch.object(choose_engine, "_is_small", return_value=False),
        mock.patch.object(Trend, "is_hopeless", autospec=True, side_effect=Trend.is_hopeless) as looked,
    ):
        result = explore(spec, ALL, evolve(LARGE, alone=10, known_states=10))
    assert looked.call_count >= 4
    learning = result.statistics.learning
    assert learning is not None
    assert learning.called == learning.by_oracle > 0, "it was not stopped"
    assert told(result) == told(oracle.explore(spec, ALL))


def test_a_search_that_begins_with_learning_is_not_stopped() -> None:
    with mock.patch.object(Trend, "is_hopeless", return_value=True):
        settings = CompiledSettings(tuning=evolve(DEFAULT, look_seconds=0.0, known_states=10))
        result = choose_engine.explore(PUZZLE, Limits(keep_going=True), settings=settings)
    assert told(result) == told(oracle.explore(PUZZLE, ALL))
