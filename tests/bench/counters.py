"""Counters that turn one by one: nothing but states, to measure how fast an engine finds them."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component


@frozen
class Bounds:
    counters: int = bound(7, "counters", at_least=1, at_most=9)


@frozen
class Counters:
    values: tuple[int, ...] = component(each="counter")


def counters(bounds: Bounds) -> range:
    return range(bounds.counters)


@action("counter {counter} turns", counter=counters)
def turn(state: Counters, counter: int) -> Iterator[Counters]:
    values = state.values
    yield evolve(state, values=(*values[:counter], (values[counter] + 1) % 10, *values[counter + 1 :]))


spec = Spec(
    name="counters",
    summary="counters modulo 10, one action each",
    initial_states=lambda bounds: [Counters((0,) * bounds.counters)],
    actions=[turn],
    bounds=Bounds(),
)
