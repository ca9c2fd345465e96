"""The coffee can problem. Every can with at most so many beans is an initial state.

Source: github.com/tlaplus/Examples, specifications/CoffeeCan/CoffeeCan.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant, step_invariant


@frozen
class Bounds:
    beans: int = bound(100, "beans in the can", at_least=1, at_most=3000)


@frozen
class Can:
    black: int
    white: int


def initial_states(bounds: Bounds) -> Iterator[Can]:
    for total in range(1, bounds.beans + 1):
        for black in range(total + 1):
            yield Can(black, total - black)


@action("two black beans")
def same_black(can: Can) -> Iterator[Can]:
    if can.black >= 2:
        yield evolve(can, black=can.black - 1)


@action("two white beans")
def same_white(can: Can) -> Iterator[Can]:
    if can.white >= 2:
        yield Can(can.black + 1, can.white - 2)


@action("a black and a white bean")
def different(can: Can) -> Iterator[Can]:
    if can.black >= 1 and can.white >= 1:
        yield evolve(can, black=can.black - 1)


@action("one bean is left")
def termination(can: Can) -> Iterator[Can]:
    if can.black + can.white == 1:
        yield can


@invariant("the counts are in range")
def type_invariant(can: Can) -> bool:
    return 0 <= can.black <= 3000 and 0 <= can.white <= 3000


@step_invariant("there are fewer beans after each step that changes the can")
def decrease(before: Can, after: Can) -> bool:
    return before == after or after.black + after.white < before.black + before.white


@step_invariant("the number of white beans stays even, or odd")
def parity(before: Can, after: Can) -> bool:
    return before.white % 2 == after.white % 2


spec = Spec(
    name="coffee_can",
    initial_states=initial_states,
    actions=[same_black, same_white, different, termination],
    properties=[type_invariant, decrease, parity],
    bounds=Bounds(),
)
