"""A table with the hash of every value in every slot. The loop of random search uses it to compute the hashes of
states.

The hash of a value depends on its content, not on its index. Values get their indices in the order in which they are
found. This order depends on the iteration order of sets, which must not affect the results of a random search. The hash
of a state is the sum of the hashes of its values, each hashed together with its path. Therefore the hash of a next
state can be computed from the hash of the state and the values that the step changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.content import ALL_BITS, content, digest, member_parts
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.observing.layout import Layout


class SlotHashes:
    """The hash of every value in every slot.

    Parameters:
        layout: the layout, which defines the slots.
        packing: the packing, which defines the number of table entries for each slot.

    Attributes:
        layout, packing: the layout and the packing for which the table was created.
        table: the hashes of the values of the first slot, followed by those of the second slot, and so on.
        base: for each slot, the position in `table` of its first value.
        offset: a constant that is added to the sum of the hashes of a state's values.
    """

    def __init__(self, layout: Layout, packing: Packing) -> None:
        self.layout, self.packing = layout, packing
        self.base = np.zeros(0, np.int64)
        self.table = np.zeros(0, np.uint64)
        self.offset = 0
        self._known: list[int] = []
        self._hash: list[Callable[[Any], int]] = []
        self.update()

    def update(self) -> None:
        """Add the hashes of new slots and values. The packing must have enough bits for these values."""
        layout, first = self.layout, self.layout.slots - len(self.layout.members)
        for slot in range(len(self._known), layout.slots):
            room = 1 << self.packing.width(slot)
            self.base = np.append(self.base, len(self.table))
            self.table = np.append(self.table, np.zeros(room, np.uint64))
            self._known.append(0)
            self._hash.append(self._of_leaf(slot) if slot < first else self._of_member(slot - first))
        for slot, domain in enumerate(layout.domains):
            for number in range(self._known[slot], len(domain.values)):
                self.table[self.base[slot] + number] = self._hash[slot](domain.values[number])
            self._known[slot] = len(domain.values)

    def calibrate(self, state: object) -> None:
        """Set `offset` so that `of` returns content hashes.

        Parameters:
            state: any state whose values all have hashes in the table.
        """
        self.offset = 0
        (found,) = self.of(np.array([self.layout.row(state)])).tolist()
        self.offset = (content(type(state).__name__, state) - found) & ALL_BITS

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the hashes of the given states.

        Parameters:
            rows: for each state, one value index per slot.
        """
        hashes: NDArray[np.uint64] = self.table[self.base[: rows.shape[1]] + rows].sum(axis=1, dtype=np.uint64)
        return hashes + np.uint64(self.offset)

    def _of_leaf(self, slot: int) -> Callable[[object], int]:
        path = self.layout.domains[slot].path
        return lambda value: content(path, value)

    def _of_member(self, number: int) -> Callable[[Any], int]:
        short, member = self.layout.members[number]
        path = self.layout._full(short)
        return lambda count: digest(*member_parts(path, member, count)) if count else 0
