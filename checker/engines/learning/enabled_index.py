"""The index of enabled actions: which action instances two slots of a state already rule out.

In most states most action instances are not enabled, and most are ruled out by the first slot or two that
they read: the role of a broker, the epoch of a request. So before any tree is walked, one look into a table
for each such pair of slots gives, as bits, the instances that are left. The tables are taken from the trees
from time to time; an instance whose path was not known by then is left in.
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
"""Growth of what is known after which the index is made anew."""

LARGEST = 2**13
"""Entries in the table of one pair of slots; for larger domains, only the first slot is used."""


class EnabledIndex:
    """The tables of all pairs of slots.

    Parameters:
        tables: what is known of the actions.
        packing: how many bits each slot has.

    Attributes:
        calls: how much was known: see `TransitionTables`.
        always: bits, 64 in a word, of the instances that no table says anything of.
        pairs: for each pair: the first slot, by how much its value counts, the second, the same, and where
            its table begins.
        table: for each pair and each two values: bits of the instances that are left.
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
        """Whether much more is known by now, so that it should be made anew."""
        return self.calls * OUTDATED < self._tables.calls


def _pair(forest: Forest, tree: int, packing: Packing) -> tuple[int, int] | None:
    """The slot that a tree reads first, and the one it mostly reads then; twice the first if none will do."""
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
