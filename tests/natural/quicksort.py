"""Quicksort without a fixed order: any interval that is not sorted yet is divided next.

Source: github.com/tlaplus/Examples, specifications/LoopInvariance/Quicksort.tla.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations, product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant

Interval = tuple[int, int]
VALUES = (1, 2, 3)


@frozen
class Bounds:
    length: int = bound(4, "the length of the longest list")


@frozen
class Lists:
    given: tuple[int, ...]
    now: tuple[int, ...]
    intervals: frozenset[Interval]
    is_done: bool = False


def initial_states(bounds: Bounds) -> Iterator[Lists]:
    for length in range(1, bounds.length + 1):
        for given in product(VALUES, repeat=length):
            yield Lists(given, given, frozenset({(0, length)}))


@action("{interval} is divided", interval=lambda state: state.intervals)
def divide(state: Lists, interval: Interval) -> Iterator[Lists]:
    begin, end = interval
    others = state.intervals - {interval}
    if end - begin == 1:
        yield evolve(state, intervals=others)
        return
    orders = set(permutations(state.now[begin:end]))
    for middle in range(1, end - begin):
        for order in orders:
            if max(order[:middle]) <= min(order[middle:]):
                now = state.now[:begin] + order + state.now[end:]
                parts = {(begin, begin + middle), (begin + middle, end)}
                yield evolve(state, now=now, intervals=others | parts)


@action("the list is sorted")
def finish(state: Lists) -> Iterator[Lists]:
    if not state.intervals and not state.is_done:
        yield evolve(state, is_done=True)


@invariant("the result is sorted, and has the same members")
def correct(state: Lists) -> bool:
    return not state.is_done or state.now == tuple(sorted(state.given))


@invariant("what precedes an interval is not larger than what follows it")
def divided(state: Lists) -> bool:
    if sorted(state.now) != sorted(state.given):
        return False
    inside = {place for begin, end in state.intervals for place in range(begin, end)}
    parts = sorted(state.intervals | {(place, place + 1) for place in range(len(state.now)) if place not in inside})
    return all(max(state.now[slice(*one)]) <= min(state.now[slice(*other)]) for one, other in pairwise(parts))


spec = Spec(
    name="quicksort",
    initial_states=initial_states,
    actions=[divide, finish],
    properties=[correct, divided],
    bounds=Bounds(),
    final=lambda state: state.is_done,
)
