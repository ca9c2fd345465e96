"""Searches in which one application of a thousand of what was learned is wrong, and whether the net notices that.

An application is the use of a learned result on one state or step. Those that are wrong are chosen by a hash of the
state and of what is applied, so they are spread evenly over the search.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import attrs
import numpy as np

from leadline.checker import Spec, action, invariant, step_invariant
from leadline.checker.engines.compiled import search
from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.settings import CompiledSettings
from tests.specs.going_wrong import ONLY_LEARNED

ONE_IN = 1000


class Noticed(Exception):
    """An application that is wrong was compared with a call."""


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


def is_noticed(size: int, seed: int) -> bool:
    """Whether the net notices the errors in a search, at the default rate and with all other comparisons switched off.

    Parameters:
        size: the size of a grid; the search has its square of states, and about 16 applications for each.
        seed: chooses which applications are wrong, and which are drawn.
    """
    spec = Spec(name="grid", initial_states=lambda _: [Grid(size)], actions=[right, up], properties=[inside, one_grows])
    tuning = attrs.evolve(ONLY_LEARNED, verify=None, block=2000, verify_seed=seed)
    compare_action, compare_property = Comparison.action, Comparison.property

    def look(tree: int, *rows: Sequence[int]) -> None:
        numbers = np.array([seed, tree, *(number for row in rows for number in row)], np.int64)
        if zlib.crc32(numbers.tobytes()) % ONE_IN == 0:
            raise Noticed

    def action_compared(comparison: Comparison[Any], tree: int, row: Sequence[int], state: Any) -> Any:
        look(tree, row)
        return compare_action(comparison, tree, row, state)

    def property_compared(comparison: Comparison[Any], tree: int, rows: Any, *others: Any) -> bool:
        look(tree, *rows)
        return compare_property(comparison, tree, rows, *others)

    with (
        mock.patch.object(Comparison, "action", action_compared),
        mock.patch.object(Comparison, "property", property_compared),
    ):
        try:
            search.explore(spec, settings=CompiledSettings(workers=1, tuning=tuning))
        except Noticed:
            return True
    return False
