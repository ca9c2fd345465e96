"""A lift, whose steps are left out.

Nothing else is imported here: whether this depends on the order of a set is checked in the same process then, and not
in five others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from leadline.checker import Spec, action, always_eventually, invariant, step_invariant


@attrs.frozen
class Lift:
    floor: int = 0
    moves: int = 0


@action("up", by=(1, 2), fair="weak")
def up(state: Lift, by: int) -> Iterator[Lift]:
    if state.floor + by <= 6:
        yield attrs.evolve(state, floor=state.floor + by)


@action("down", to=lambda state: [*range(state.floor)])
def down(state: Lift, to: int) -> Iterator[Lift]:
    yield attrs.evolve(state, floor=to)


@step_invariant("it does not pass floor 3")
def stops_at_three(before: Lift, after: Lift) -> bool:
    return not before.floor < 3 < after.floor


@invariant("it never reaches floor 6")
def low(state: Lift) -> bool:
    return state.floor < 6


@always_eventually("it is on the highest floor again and again")
def high(state: Lift) -> bool:
    return state.floor == 6


def one_at_a_time(before: Lift, after: Lift) -> bool:
    return after.floor - before.floor in (1, -1)


def only_to_four(before: Lift, after: Lift) -> bool:
    return after.floor <= 4


def lift(allows: Callable[[Any, Any], Any] | None, *properties: Any, **settings: Any) -> Spec[Lift]:
    return Spec(
        name="lift",
        initial_states=lambda bounds: [Lift()],
        actions=[up, down],
        properties=properties,
        within_step=allows,
        **settings,
    )
