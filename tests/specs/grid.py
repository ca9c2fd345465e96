"""A point on a grid: a small spec whose actions and properties read single fields. Spark can send it to its workers."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker import Spec, action, invariant, step_invariant


@attrs.frozen
class Grid:
    size: int
    x: int = 0
    y: int = 0


@action(by=(1, 2, 3))
def right(state: Grid, by: int) -> Iterator[Grid]:
    if state.x + by < state.size:
        yield attrs.evolve(state, x=state.x + by)


@action(by=(1, 2, 3))
def up(state: Grid, by: int) -> Iterator[Grid]:
    if state.y + by < state.size:
        yield attrs.evolve(state, y=state.y + by)


@invariant("the grid ends")
def inside(state: Grid) -> bool:
    return state.x < state.size and state.y < state.size


@step_invariant("only one coordinate grows at a time")
def one_grows(before: Grid, after: Grid) -> bool:
    return not (after.x > before.x and after.y > before.y)


def grid(size: int) -> Spec[Grid]:
    """A grid with the square of `size` as its number of states."""
    return Spec(name="grid", initial_states=lambda _: [Grid(size)], actions=[right, up], properties=[inside, one_grows])
