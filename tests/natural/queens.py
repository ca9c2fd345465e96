"""N queens: partial placements are picked one by one and extended by a row.

Source: github.com/tlaplus/Examples, specifications/N-Queens/Queens.tla.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, bound, invariant

Placement = tuple[int, ...]


@frozen
class Bounds:
    queens: int = bound(4, "queens", at_least=1, at_most=6)


@frozen
class State:
    size: int
    todo: frozenset[Placement] = frozenset({()})
    found: frozenset[Placement] = frozenset()


def is_attacked(placement: Placement, column: int) -> bool:
    row = len(placement)
    return any(column == other or abs(column - other) == row - place for place, other in enumerate(placement))


@functools.cache
def solutions(size: int) -> frozenset[Placement]:
    return frozenset(
        queens
        for queens in itertools.permutations(range(size))
        if not any(is_attacked(queens[:row], queens[row]) for row in range(size))
    )


@action("a placement is extended")
def place_queen(state: State) -> Iterator[State]:
    for queens in state.todo:
        columns = [column for column in range(state.size) if not is_attacked(queens, column)]
        longer = frozenset((*queens, column) for column in columns)
        if len(queens) + 1 == state.size:
            yield State(state.size, state.todo - {queens}, state.found | longer)
        else:
            yield State(state.size, (state.todo - {queens}) | longer, state.found)


@invariant("the types are right")
def type_ok(state: State) -> bool:
    return all(len(queens) < state.size for queens in state.todo) and all(
        len(queens) == state.size for queens in state.found
    )


@invariant("solutions are found, and in the end all of them")
def finds_solutions(state: State) -> bool:
    return state.found <= solutions(state.size) and (bool(state.todo) or state.found == solutions(state.size))


spec = Spec(
    name="queens",
    initial_states=lambda bounds: [State(bounds.queens)],
    actions=[place_queen],
    properties=[type_ok, finds_solutions],
    bounds=Bounds(),
)
