"""Counters with a property that is a conjunction, and with the same property for each counter by itself."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, bound, component, invariant, put

TOP = 9


@frozen
class Bounds:
    counters: int = bound(6, "counters", at_least=1, at_most=7)


@frozen
class State:
    counters: tuple[int, ...] = component(each="counter")


def counters(bounds: Bounds) -> range:
    return range(bounds.counters)


@action("counter {i} goes up", i=counters)
def up(state: State, i: int) -> Iterator[State]:
    if state.counters[i] < TOP:
        yield put(state, "counters", i, state.counters[i] + 1)


@invariant("all counters are in range")
def conjunction(state: State) -> bool:
    return all(0 <= counter <= TOP for counter in state.counters)


@invariant("counter {i} is in range", i=counters)
def split(state: State, i: int) -> bool:
    return 0 <= state.counters[i] <= TOP


spec = Spec(
    name="counters",
    initial_states=lambda bounds: [State((0,) * bounds.counters)],
    actions=[up],
    properties=[conjunction, split],
    bounds=Bounds(),
)
