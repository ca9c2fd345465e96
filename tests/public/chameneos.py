"""Chameneos: Kaiser and Pradat-Peyre, "Chameneos, a concurrency game for Java, Ada and others" (2003).

Creatures of three colours meet in pairs; two that differ both take the third colour. After a number of meetings each
that arrives fades.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put

COLOURS = ("blue", "red", "yellow")


@frozen
class Bounds:
    creatures: int = bound(3, "creatures", at_least=2, at_most=6)
    meetings: int = bound(3, "meetings", at_least=1, at_most=6)


@frozen
class State:
    """`creature` holds each one's colour and how often it has met another."""

    creature: tuple[tuple[str, int], ...]
    waiting: int | None
    meetings: int
    bounds: Bounds = constant()


def creatures(bounds: Bounds) -> range:
    return range(bounds.creatures)


def initial_states(bounds: Bounds) -> Iterator[State]:
    each = [(color, 0) for color in COLOURS]
    for creature in product(each, repeat=bounds.creatures):
        yield State(creature, None, 0, bounds)


@action(creature=creatures)
def wait(state: State, creature: int) -> Iterator[State]:
    if state.waiting is None and state.meetings < state.bounds.meetings:
        yield evolve(state, waiting=creature)


@action(creature=creatures)
def meet(state: State, creature: int) -> Iterator[State]:
    other = state.waiting
    if other is None or other == creature or state.meetings == state.bounds.meetings:
        return
    (own, count), (theirs, their_count) = state.creature[creature], state.creature[other]
    color = own if own == theirs else next(c for c in COLOURS if c not in (own, theirs))
    both = put(put(state, "creature", creature, (color, count + 1)), "creature", other, (color, their_count + 1))
    yield evolve(both, waiting=None, meetings=state.meetings + 1)


@action(creature=creatures)
def fade(state: State, creature: int) -> Iterator[State]:
    color, count = state.creature[creature]
    if color != "faded" and state.meetings == state.bounds.meetings:
        yield put(state, "creature", creature, ("faded", count))


@invariant("each meeting is counted by two creatures")
def counted_twice(state: State) -> bool:
    return sum(count for _, count in state.creature) == 2 * state.meetings


spec = Spec(
    name="chameneos",
    initial_states=initial_states,
    actions=[wait, meet, fade],
    properties=[counted_twice],
    bounds=Bounds(),
)
