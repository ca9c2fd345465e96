"""A table with the hash of every value in every slot, from which a random search computes the hashes of states.

The hash of a value depends on its content, not on its index. Values get their indices in the order in which they are
found. This order depends on the iteration order of sets, which must not affect the results of a random search. The hash
of a state is the sum of the hashes of its values, each hashed together with its path, so it is the state's content
hash; see `content`. Therefore the hash of a next state follows from the hash of the state and the values that the step
changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leadline.checker.content import content, digest, member_parts
from leadline.checker.observing.layout import Layout


class SlotHashes:
    """The hash of every value in every slot.

    Attributes:
        table: the hashes of the values of each slot, in the order of their indices.
        base: for each slot, the position in `table` of its first value.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.base, self.table = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        self._room: list[int] = []
        self._known: list[int] = []
        self._hash: list[Callable[[Any], int]] = []

    def update(self) -> None:
        """Add the hashes of new slots and values."""
        layout, first = self._layout, self._layout.slots - len(self._layout.members)
        for slot in range(len(self._known), layout.slots):
            self.base = np.append(self.base, 0)
            self._room.append(0)
            self._known.append(0)
            self._hash.append(self._of_leaf(slot) if slot < first else self._of_member(slot - first))
        for slot, domain in enumerate(layout.domains):
            known, count = self._known[slot], len(domain.values)
            if count > self._room[slot]:  # move the slot to the end of the table, with twice as much room
                before, self._room[slot] = self.base[slot], 2 * count
                self.base[slot] = len(self.table)
                moved = np.zeros(2 * count, np.uint64)
                moved[:known] = self.table[before : before + known]
                self.table = np.append(self.table, moved)
            for number in range(known, count):
                self.table[self.base[slot] + number] = self._hash[slot](domain.values[number])
            self._known[slot] = count

    def _of_leaf(self, slot: int) -> Callable[[object], int]:
        domain = self._layout.domains[slot]
        return lambda value: content(domain.path, value, domain.is_part)

    def _of_member(self, number: int) -> Callable[[Any], int]:
        short, member = self._layout.members[number]
        path = self._layout._full(short)
        return lambda count: digest(*member_parts(path, member, count)) if count else 0
