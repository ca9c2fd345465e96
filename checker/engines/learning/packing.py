"""Packs a state into a few 64-bit words. The state is given as one value index per slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

WORD = 64

PACKED_AT_ONCE = 4_096
"""The number of states that are packed together."""


class Packing:
    """The position of each slot in a packed state. A slot has enough bits to hold any of its value indices.

    Parameters:
        sizes: for each slot, the number of values. A slot with one value needs no bits.
        spare: the minimum number of bits to reserve for slots that are added later.
        groups: for each slot, the group of slots that it belongs to, or None. The slots of a group are packed into one
            word if they fit, and all words have about as many bits.

    Attributes:
        sizes: for each slot, the number of values for which it has bits.
        words: the number of 64-bit words per packed state.
        word: for each slot, the index of its word.
        shift: for each slot, the position of its lowest bit in the word.
        mask: for each slot, the mask to apply after the word is shifted to the right by `shift`.
    """

    def __init__(self, sizes: Sequence[int], spare: int = 0, groups: Sequence[str] | None = None) -> None:
        self.sizes = list(sizes)
        widths = [(size - 1).bit_length() for size in sizes]
        used: list[int] = [0]
        places = []
        words = {} if groups is None else _balanced(widths, groups)
        for slot in sorted(range(len(widths)), key=lambda slot: -widths[slot]):
            fitting = (word for word, bits in enumerate(used) if bits + widths[slot] <= WORD)
            word = words[slot] if words else next(fitting, len(used))
            used += [0] * (word + 1 - len(used))
            places.append((slot, word, used[word]))
            used[word] += widths[slot]
        places.sort()
        while WORD * len(used) - sum(used) < spare:
            used.append(0)
        self.words, self._used = len(used), used
        self._places = [(word, shift, (1 << widths[slot]) - 1) for slot, word, shift in places]
        self._make_arrays()

    @property
    def places(self) -> list[tuple[int, int, int]]:
        """For each slot, the index of its word, the position of its lowest bit, and its number of bits."""
        return [(word, shift, mask.bit_length()) for word, shift, mask in self._places]

    @property
    def bits_used(self) -> int:
        """The number of bits that the slots use, in all words together."""
        return sum(self._used)

    @classmethod
    def of_places(cls, sizes: Sequence[int], words: int, places: Sequence[tuple[int, int, int]]) -> Packing:
        """Return the packing with the given saved attributes.

        Raises:
            ValueError: if a slot has too few bits, or two slots share bits.
        """
        made, taken = cls([]), [0] * words
        for size, (word, shift, width) in zip(sizes, places, strict=True):
            bits = ((1 << width) - 1) << shift
            if not (0 <= word < words and shift >= 0 and shift + width <= WORD and (size - 1).bit_length() <= width):
                raise ValueError("a slot has too few bits for its values")
            if taken[word] & bits:
                raise ValueError("two slots share bits")
            taken[word] |= bits
        made.sizes, made.words = list(sizes), words
        made._places = [(word, shift, (1 << width) - 1) for word, shift, width in places]
        made._used = [bits.bit_length() for bits in taken]
        made._make_arrays()
        return made

    def _make_arrays(self) -> None:
        self.word = np.array([word for word, _, _ in self._places], np.int64)
        self.shift = np.array([shift for _, shift, _ in self._places], np.uint64)
        self.mask = np.array([mask for _, _, mask in self._places], np.uint64)

    def add(self, sizes: Sequence[int]) -> bool:
        """Add new slots if there are enough unused bits. In existing packed states, a new slot contains 0.

        Parameters:
            sizes: for each existing and each new slot, the number of values.

        Returns:
            True if all new slots were added.
        """
        for size in sizes[len(self.sizes) :]:
            width = (size - 1).bit_length()
            word = next((word for word, bits in enumerate(self._used) if bits + width <= WORD), None)
            if word is None:
                break
            self._places.append((word, self._used[word], (1 << width) - 1))
            self._used[word] += width
            self.sizes.append(size)
        self._make_arrays()
        return len(self.sizes) == len(sizes)

    def is_same(self, other: Packing) -> bool:
        """Return whether a state is packed into the same words as with another packing."""
        return self.words == other.words and self._places == other._places

    def fits(self, sizes: Sequence[int]) -> bool:
        """Return whether every slot has enough bits for its values.

        Parameters:
            sizes: for each slot, the number of values.
        """
        pairs = zip(sizes, self._places, strict=False)
        return len(sizes) == len(self._places) and all(size - 1 <= mask for size, (_, _, mask) in pairs)

    def width(self, slot: int) -> int:
        """Return the number of bits in a slot."""
        return self._places[slot][2].bit_length()

    def pack(self, numbers: Sequence[int]) -> NDArray[np.uint64]:
        """Pack a state into words.

        Parameters:
            numbers: the value indices of the state, one per slot.
        """
        words = [0] * self.words
        for number, (word, shift, _) in zip(numbers, self._places, strict=False):
            words[word] |= number << shift
        return np.array(words, np.uint64)

    def pack_all(self, rows: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
        """Pack many states into words. Return an array with a row of words for each state.

        Parameters:
            rows: the value indices of each state, one per slot. Indices that are missing at the end count as 0.
        """
        packed = np.zeros((len(rows), self.words), np.uint64)
        for first in range(0, len(rows), PACKED_AT_ONCE):
            some = rows[first : first + PACKED_AT_ONCE]
            slots = max(map(len, some))
            numbers = np.array([[*row, *[0] * (slots - len(row))] for row in some], np.uint64)
            for slot, (word, shift, _) in enumerate(self._places[:slots]):
                packed[first : first + len(some), word] |= numbers[:, slot] << np.uint64(shift)
        return packed

    def unpack(self, words: NDArray[np.uint64]) -> list[int]:
        """Return the value indices of a packed state, one per slot."""
        plain = words.tolist()
        return [(plain[word] >> shift) & mask for word, shift, mask in self._places]

    def bits(self, slots: Iterable[int]) -> NDArray[np.uint64]:
        """Return, for each word, a mask of the bits that belong to the given slots."""
        words = [0] * self.words
        for slot in slots:
            word, shift, mask = self._places[slot]
            words[word] |= mask << shift
        return np.array(words, np.uint64)

    def change(self, changes: dict[int, int]) -> tuple[list[int], list[int]]:
        """Return the masks for writing new values to some slots of a packed state: ``word & keep | put``.

        Parameters:
            changes: for each slot to be changed, the index of the new value.

        Returns:
            For each word, the mask `keep` and the bits `put`.
        """
        keep, put = [(1 << WORD) - 1] * self.words, [0] * self.words
        for slot, number in changes.items():
            word, shift, mask = self._places[slot]
            keep[word] &= ~(mask << shift)
            put[word] |= number << shift
        return keep, put

    def repack(self, states: NDArray[np.uint64], other: Packing) -> NDArray[np.uint64]:
        """Convert packed states from this packing to a different packing.

        Parameters:
            states: the states, packed with this packing; shape (states, words).

        Returns:
            The states, packed with the new packing.
        """
        repacked = np.zeros((len(states), other.words), np.uint64)
        for slot in range(len(self.sizes)):
            numbers = (states[:, self.word[slot]] >> self.shift[slot]) & self.mask[slot]
            repacked[:, other.word[slot]] |= numbers << other.shift[slot]
        return repacked


def _balanced(widths: Sequence[int], groups: Sequence[str]) -> dict[int, int]:
    """Distribute slots over words, so that groups stay together and the words have about as many bits. Return the index
    of each slot's word.

    Parameters:
        widths: for each slot, its number of bits.
        groups: for each slot, its group.
    """
    pieces = dict[object, list[int]]()
    for slot, group in enumerate(groups):
        is_whole = sum(width for width, other in zip(widths, groups, strict=True) if other == group) <= WORD
        pieces.setdefault(group if is_whole else slot, []).append(slot)
    used, words = [0] * max(1, -(-sum(widths) // WORD)), dict[int, int]()
    for bits, slots in sorted(((sum(widths[slot] for slot in each), each) for each in pieces.values()), reverse=True):
        word = min(range(len(used)), key=lambda word: used[word])
        if used[word] + bits > WORD:
            word = len(used)
            used.append(0)
        used[word] += bits
        words |= dict.fromkeys(slots, word)
    return words
