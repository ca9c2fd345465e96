"""Packing: a row of slot numbers as bits in a few 64-bit words. Exact: no hash stands for a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD = 64


class Packing:
    """Where each slot's number is kept.

    Parameters:
        sizes: how many values each slot has; a slot with one value needs no bits.

    Attributes:
        words: how many 64-bit words a state takes.
        word, shift, mask: for each slot, its word, the bits to the right of it, and ones as many as its own.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        widths = [(size - 1).bit_length() for size in sizes]
        used: list[int] = [0]
        places = []
        for slot in sorted(range(len(widths)), key=lambda slot: -widths[slot]):
            word = next((word for word, bits in enumerate(used) if bits + widths[slot] <= WORD), len(used))
            if word == len(used):
                used.append(0)
            places.append((slot, word, used[word]))
            used[word] += widths[slot]
        places.sort()
        self.words = len(used)
        self.word = np.array([word for _, word, _ in places], np.int64)
        self.shift = np.array([shift for _, _, shift in places], np.uint64)
        self.mask = np.array([(1 << width) - 1 for width in widths], np.uint64)

    def fits(self, sizes: Sequence[int]) -> bool:
        """Whether every slot still has bits for all its values."""
        return all(size - 1 <= int(mask) for size, mask in zip(sizes, self.mask, strict=True))

    def pack(self, numbers: Sequence[int]) -> NDArray[np.uint64]:
        """A state's words."""
        words = [0] * self.words
        for slot, number in enumerate(numbers):
            words[self.word[slot]] |= number << int(self.shift[slot])
        return np.array(words, np.uint64)

    def unpack(self, words: Sequence[int]) -> list[int]:
        """A state's slot numbers."""
        return [
            (int(words[word]) >> int(shift)) & int(mask)
            for word, shift, mask in zip(self.word, self.shift, self.mask, strict=True)
        ]

    def change(self, changes: dict[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The bits to keep, and then the bits to set, so that some slots get other numbers."""
        keep, put = [(1 << WORD) - 1] * self.words, [0] * self.words
        for slot, number in changes.items():
            word, shift = self.word[slot], int(self.shift[slot])
            keep[word] &= ~(int(self.mask[slot]) << shift)
            put[word] |= number << shift
        return np.array(keep, np.uint64), np.array(put, np.uint64)

    def repack(self, states: NDArray[np.uint64], other: Packing) -> NDArray[np.uint64]:
        """States packed this way, packed the other way.

        Parameters:
            states: shape (states, words).
        """
        repacked = np.zeros((len(states), other.words), np.uint64)
        for slot in range(len(self.mask)):
            numbers = (states[:, self.word[slot]] >> self.shift[slot]) & self.mask[slot]
            repacked[:, other.word[slot]] |= numbers << other.shift[slot]
        return repacked
