"""Contents: a 64-bit hash of what a state holds, the same in every process and however the engine takes states apart.

The engine numbers slots and values in the order in which it meets them, which depends on the order of sets and thereby
on `PYTHONHASHSEED`. A random search must not. The hash of a state is the sum of the hashes of its parts, each with its
path, so that a step needs to add only what it changes. Hashes choose and count; they never decide whether two states
are equal.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from checker.bag import Bag
from checker.engines.compiled.learn.layout import Layout
from checker.engines.compiled.packing import Packing
from checker.state import roles

ALL_BITS = 2**64 - 1


def content(path: str, value: Any) -> int:
    """The hash of a part of a state.

    Parameters:
        path: where it is in the state.
        value: the part; taken apart at any depth, as the hash must not depend on what has a slot of its own.

    Returns:
        An integer below 2 ** 64.
    """
    return sum(_digest(*part) for part in _parts(path, value)) & ALL_BITS


def _parts(path: str, value: Any) -> Iterator[tuple[str, ...]]:
    """What a value is made of, each part as strings: its path, its type, and its text."""
    cls = type(value)
    if cls is tuple:
        yield path, "length", str(len(value))
        for index, item in enumerate(value):
            yield from _parts(f"{path}[{index}]", item)
    elif cls is frozenset:
        yield path, "set"
        yield from (_member(path, member, True) for member in value)
    elif cls is Bag:
        yield path, "bag"
        yield from (_member(path, member, count) for member, count in value.items())
    elif attrs.has(cls):
        yield path, "attrs", cls.__qualname__
        for name, is_fixed, _ in roles(cls):
            if not is_fixed:
                yield from _parts(f"{path}.{name}", getattr(value, name))
    else:
        yield path, cls.__qualname__, _text(value)


def _member(path: str, member: Any, count: int) -> tuple[str, ...]:
    """A member of a collection, of which there are one or more."""
    return path, "member", str(content("", member)), str(int(count))


def _text(value: Any) -> str:
    """What a value is, as far as that can be told without its address."""
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "__qualname__"):  # a function or a class
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, tuple | list):
        return str([content("", item) for item in value])
    if isinstance(value, frozenset | set):
        return str(sorted(content("", item) for item in value))
    if getattr(type(value), "__repr__") is not object.__repr__:  # noqa: B009
        return repr(value)
    return str(sorted((name, content("", inner)) for name, inner in getattr(value, "__dict__", {}).items()))


def _digest(*texts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=8).digest())


class Contents:
    """The hashes of all values of all slots, for the compiled loop.

    Parameters:
        layout: the slots.
        packing: how many values each slot has room for.

    Attributes:
        table: the hashes of the values of all slots, one slot after the other.
        base: for each slot, where its values begin there.
        offset: what all states have in common: to be added to the sum of their slots.
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
        """Take note of slots and values that are new, for all of which the packing has room."""
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

    def calibrate(self, state: Any) -> None:
        """Find the offset, by a state whose values are all known."""
        self.offset = 0
        self.offset = (content(type(state).__name__, state) - self.of(self.layout.row(state))) & ALL_BITS

    def of(self, row: Sequence[int] | NDArray[np.int64]) -> int:
        """The hash of a state, given the numbers of its slots' values."""
        hashes: NDArray[np.uint64] = self.table[self.base[: len(row)] + np.asarray(row, np.int64)]
        return (int(hashes.sum(dtype=np.uint64)) + self.offset) & ALL_BITS

    def _of_leaf(self, slot: int) -> Callable[[Any], int]:
        path = self.layout.domains[slot].path
        return lambda value: content(path, value)

    def _of_member(self, number: int) -> Callable[[Any], int]:
        short, member = self.layout.members[number]
        path = self.layout._full(short)
        return lambda count: _digest(*_member(path, member, count)) if count else 0
