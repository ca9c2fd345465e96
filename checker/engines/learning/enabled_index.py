"""An index of the action instances that can be enabled, given the values of two slots of a state.

In most states most action instances are not enabled, and the first one or two slots that they read rule most of them
out: the role of a broker, the epoch of a request. So before any tree is walked, one table lookup for each such pair of
slots gives the remaining instances as bits. The tables are built from the trees from time to time. An instance whose
path was not known at that time remains.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from leadline.checker.engines.learning.arrays import Guarding
from leadline.checker.engines.learning.forest import Forest
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.trees import SLOT, fill_index

OUTDATED = 1.05
"""The growth factor of the number of learned calls after which the index is rebuilt."""

LARGEST = 2**13
"""The maximum number of entries in the table of a pair of slots. For larger domains, only the first slot is used."""


class EnabledIndex:
    """The tables for all pairs of slots.

    Parameters:
        tables: what has been learned about the actions.
        packing: gives the number of bits of each slot.

    Attributes:
        calls: the number of calls learned from when the index was built; see `TransitionTables`.
        always: the instances that no table covers, as bits, 64 in a word.
        pairs: for each pair, the first slot and the stride of its value, the second slot and its stride, and the
            position at which the table of the pair begins.
        table: for each pair and each combination of values, the instances that remain, as bits.
    """

    def __init__(self, tables: TransitionTables[Any], packing: Packing) -> None:
        self.packing, self.calls, self._tables = packing, tables.calls, tables
        pool, words = tables.forest.pool, (tables.instances + 63) // 64
        self.always = np.zeros(words, np.uint64)
        groups: dict[tuple[int, int], list[int]] = {}
        for tree in range(tables.instances):
            pair = _pair(tables.forest, tree, packing)
            if pair is None:
                self.always[tree // 64] |= np.uint64(1 << tree % 64)
            else:
                groups.setdefault(pair, []).append(tree)
        pairs, size = [], 0
        for first, second in groups:
            sizes = 1 << packing.width(first), 1 if first == second else 1 << packing.width(second)
            pairs.append((first, sizes[1], second, int(first != second), size))
            size += sizes[0] * sizes[1] * words
        self.pairs = np.array(pairs, np.int64).reshape(-1, 5)
        self.table = np.zeros(size, np.uint64)
        for (first, second), row in zip(groups, self.pairs, strict=True):
            trees, values, dead = np.array(groups[first, second]), 1 << packing.width(first), tables.leaf_count == 0
            fill_index(row, trees, values, pool, dead, words, self.table)

    @property
    def arrays(self) -> Guarding:
        """The tables, for the compiled loop."""
        return Guarding(self.always, self.pairs, self.table)

    @property
    def is_outdated(self) -> bool:
        """Whether so much has been learned since the index was built that it should be rebuilt."""
        return self.calls * OUTDATED < self._tables.calls


def _pair(forest: Forest, tree: int, packing: Packing) -> tuple[int, int] | None:
    """Return the first slot that a tree reads and the most common second one, or the first slot twice."""
    node = int(forest.pool[tree])
    if node <= 0:
        return None
    first = int(forest.pool[node + SLOT])
    width = packing.width(first)
    if 1 << width > LARGEST:
        return None
    seconds = Counter(int(forest.pool[code + SLOT]) for _, code in forest.edges(node) if code > 0)
    for second, _ in seconds.most_common(1):
        if 1 << width + packing.width(second) <= LARGEST:
            return first, second
    return first, first
