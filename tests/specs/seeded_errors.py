"""Searches in which one application of a thousand of what was learned is wrong, and whether the net notices that.

An application is the use of a learned result on one state or step. Those that are wrong are chosen by a hash of the
state and of what is applied, so they are spread evenly over the search.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any
from unittest import mock

import attrs
import numpy as np

from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED
from tests.specs.grid import grid

ONE_IN = 1000


class Noticed(Exception):
    """An application that is wrong was compared with a call."""


def is_noticed(size: int, seed: int) -> bool:
    """Whether the net notices the errors in a search, at the default rate and with all other comparisons switched off.

    Parameters:
        size: the size of a grid; the search has its square of states, and about 16 applications for each.
        seed: chooses which applications are wrong, and which are drawn.
    """
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
            learning.explore(grid(size), settings=CompiledSettings(workers=1, tuning=tuning))
        except Noticed:
            return True
    return False
