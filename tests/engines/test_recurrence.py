"""Whether learning pays is estimated from a sample of states, before a search begins to learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

from leadline.checker import Limits, Spec, SpecError, action, component, invariant, put
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import choose_engine, recurrence
from leadline.checker.engines.compiled.recurrence import learning_pays, shares_of_new_work
from leadline.checker.settings import CompiledSettings, Tuning
from tests.engines.test_calling import LOOKS, told

ALL = Limits(keep_going=True)


@frozen
class Counters:
    each: tuple[int, ...] = component(default=(0, 0, 0))


@action(which=range(3))
def counts(state: Counters, which: int) -> Iterator[Counters]:
    yield put(state, "each", which, (state.each[which] + 1) % 8)


@invariant("they are in range")
def in_range(state: Counters) -> bool:
    return all(0 <= number < 8 for number in state.each)


COUNTERS = Spec(name="counters", initial_states=lambda _: [Counters()], actions=[counts], properties=[in_range])


@frozen
class Mixed:
    number: int = 1


@action(by=(1, 2))
def mixes(state: Mixed, by: int) -> Iterator[Mixed]:
    yield Mixed((state.number * 5 + by) % 997)


@invariant("the number is in range")
def is_in_range(state: Mixed) -> bool:
    return state.number < 997


MIXED = Spec(name="mixed", initial_states=lambda _: [Mixed()], actions=[mixes], properties=[is_in_range])
"""Each state is one number."""


def found(spec: Spec[Any]) -> list[Any]:
    """The states of a spec, in the order in which they are found."""
    search = oracle.OracleSearch(spec, ALL)
    search.run()
    return [*search.arrivals]


def test_learning_pays_where_values_recur() -> None:
    states = found(COUNTERS)
    shares = shares_of_new_work(COUNTERS, states)
    assert shares is not None
    assert shares.now < 0.1
    assert learning_pays(COUNTERS, states)


def test_learning_does_not_pay_where_each_state_is_one_value() -> None:
    states = found(MIXED)
    shares = shares_of_new_work(MIXED, states)
    assert shares is not None
    assert shares == (1.0, 1.0)
    assert not learning_pays(MIXED, states)


@pytest.mark.parametrize(("before", "now", "pays"), [(0.7, 0.39, False), (0.7, 0.29, True), (0.29, 0.39, True)])
def test_a_falling_fraction_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, before: float, now: float, pays: bool
) -> None:
    shares = recurrence.Shares(before, now)
    monkeypatch.setattr(recurrence, "shares_of_new_work", lambda *_: shares)
    assert learning_pays(MIXED, found(MIXED)) == pays


@frozen
class Keyed:
    key: int
    other: int


@action()
def reads_the_key(state: Keyed) -> Iterator[Keyed]:
    if state.key < 0:
        yield evolve(state, other=0)


def test_a_call_is_new_if_no_earlier_state_agrees_in_what_it_reads() -> None:
    states = [Keyed(place if place % 4 == 0 else 0, place) for place in range(160)]
    spec = Spec(name="keyed", initial_states=lambda _: states[:1], actions=[reads_the_key])
    assert shares_of_new_work(spec, states) == (0.25, 0.25)


@pytest.mark.parametrize("tuning", [Tuning(sampled_states=0), Tuning()], ids=["no sample", "few states"])
def test_without_an_estimate_learning_is_tried(tuning: Tuning) -> None:
    assert learning_pays(MIXED, found(MIXED)[: 900 if not tuning.sampled_states else 30], tuning)


def test_an_error_is_left_to_the_search() -> None:
    @action()
    def fails(state: Counters) -> Iterator[Counters]:
        if state.each == (7, 7, 7):
            raise ValueError("at the end")
        yield from ()

    spec = evolve(COUNTERS, actions=[counts, fails])
    assert learning_pays(spec, found(COUNTERS))
    with pytest.raises(SpecError, match="at the end"):
        choose_engine.explore(spec, settings=CompiledSettings(tuning=evolve(LOOKS, small_seconds=0.0)))


@pytest.mark.parametrize(("spec", "learns"), [(COUNTERS, True), (MIXED, False)], ids=["counters", "mixed"])
def test_a_large_space_is_learned_only_if_it_pays(spec: Spec[Any], learns: bool) -> None:
    tuning = evolve(LOOKS, small_seconds=0.0)
    result = choose_engine.explore(spec, ALL, settings=CompiledSettings(tuning=tuning))
    assert (result.statistics.calls > 0) == learns
    assert told(result) == told(oracle.explore(spec, ALL))


def test_many_initial_states_of_which_none_recurs_are_not_learned() -> None:
    states = found(MIXED)
    spec = evolve(MIXED, initial_states=lambda _: states)
    result = choose_engine.explore(spec, ALL, settings=CompiledSettings(tuning=evolve(LOOKS, small_seconds=0.0)))
    assert result.statistics.calls == 0
    assert told(result) == told(oracle.explore(spec, ALL))
