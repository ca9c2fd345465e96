"""Chameneos in parts: each creature a component."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put

COLOURS = ("blue", "red", "yellow")


@frozen
class Bounds:
    creatures: int = bound(3, "creatures", at_least=2, at_most=6)
    meetings: int = bound(3, "meetings", at_least=1, at_most=6)


@frozen
class Creature:
    color: str
    met: int = 0


@frozen
class State:
    creatures: tuple[Creature, ...] = component(each="creature")
    waiting: int | None = None
    meetings: int = 0
    bounds: Bounds = constant(default=Bounds())


def creatures(bounds: Bounds) -> range:
    return range(bounds.creatures)


def initial_states(bounds: Bounds) -> Iterator[State]:
    for colors in product(COLOURS, repeat=bounds.creatures):
        yield State(tuple(Creature(color) for color in colors), bounds=bounds)


@action(creature=creatures)
def wait(state: State, creature: int) -> Iterator[State]:
    if state.waiting is None and state.meetings < state.bounds.meetings:
        yield evolve(state, waiting=creature)


@action(creature=creatures)
def meet(state: State, creature: int) -> Iterator[State]:
    other = state.waiting
    if other is None or other == creature or state.meetings == state.bounds.meetings:
        return
    one, two = state.creatures[creature], state.creatures[other]
    color = one.color if one.color == two.color else next(c for c in COLOURS if c not in (one.color, two.color))
    met = put(state, "creatures", creature, evolve(one, color=color, met=one.met + 1))
    met = put(met, "creatures", other, evolve(two, color=color, met=two.met + 1))
    yield evolve(met, waiting=None, meetings=state.meetings + 1)


@action(creature=creatures)
def fade(state: State, creature: int) -> Iterator[State]:
    if state.creatures[creature].color != "faded" and state.meetings == state.bounds.meetings:
        yield put(state, "creatures", creature, "color", "faded")


@invariant("each meeting is counted by two creatures")
def counted_twice(state: State) -> bool:
    return sum(creature.met for creature in state.creatures) == 2 * state.meetings


spec = Spec(
    name="chameneos-parts",
    initial_states=initial_states,
    actions=[wait, meet, fade],
    properties=[counted_twice],
    bounds=Bounds(),
)
