"""An index of the action instances that may be enabled in a state, looked up by the values of pairs of slots.

In most states, most action instances are not enabled. Often, the first one or two slots that an instance reads are
enough to determine this, for example the role of a broker or the epoch of a request. Therefore the index has a table
for each such pair of slots. Looking up the values of the two slots returns one bit for each instance. If the bit is 0,
the instance is not enabled, and its decision tree does not have to be walked. If the bit is 1, the instance may be
enabled. The bit is also 1 if the instance's path through its decision tree was not known when the table was built. The
tables are rebuilt from time to time.
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
"""The index is rebuilt when the number of learned calls has grown by more than this factor."""

LARGEST = 2**13
"""The maximum number of entries in the table of a pair of slots. If a table would be larger, a table of only the first
slot is used."""


class EnabledIndex:
    """Tables of the action instances that may be enabled, indexed by the values of pairs of slots.

    Sets of action instances are represented by bits, 64 per word.

    Parameters:
        tables: the decision trees of the action instances.
        packing: the packing, which defines the number of bits in each slot.

    Attributes:
        calls: the number of learned calls when the index was built.
        always: the set of instances that are not in `table`. They may be enabled in any state.
        pairs: for each pair, the first slot and its stride, the second slot and its stride, and the position in `table`
            where the pair's table begins. A stride is the distance between the entries of consecutive value indices.
        table: for each pair and each combination of values, the set of instances that may be enabled.
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
        """The arrays for the compiled loop, as a named tuple."""
        return Guarding(self.always, self.pairs, self.table)

    @property
    def is_outdated(self) -> bool:
        """Whether the number of learned calls has grown by more than `OUTDATED` since the index was built."""
        return self.calls * OUTDATED < self._tables.calls


def _pair(forest: Forest, tree: int, packing: Packing) -> tuple[int, int] | None:
    """Return the pair of slots by which an action instance is looked up, or None if it is not looked up.

    The pair consists of the slot at the root of the instance's tree and the slot that most children of the root read.
    If the root has no children, or if the table would be too large, the pair contains the first slot twice.
    """
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
