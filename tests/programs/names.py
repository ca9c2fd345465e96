"""What random programs import: classes of parts of states, and helpers."""
# The programs use what is imported and defined here.
# ruff: noqa: F401

from __future__ import annotations

import collections
import functools
import itertools
import operator
from collections.abc import Iterable

from attrs import evolve, frozen

from leadline.checker import Bag, action, component, invariant, put, step_invariant, witness

LIMIT = 2
TABLE = {0: 2, 1: 0, 2: 1}


@frozen
class Message:
    """A member of a set."""

    kind: int
    n: int = 0

    @property
    def double(self) -> int:
        return 2 * self.n

    def plus(self, number: int) -> int:
        return self.n + number


@frozen
class Process:
    """A component that holds a set."""

    n: int = 0
    seen: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        return len(self.seen)

    def has(self, number: int) -> bool:
        return number in self.seen or any(number == other + 1 for other in self.seen)

    def most(self, least: int) -> int:
        found = least
        for number in self.seen:
            if number > found:
                found = number
        return found


class Holder:
    """Has an attribute that can be assigned."""

    def __init__(self, items: object) -> None:
        self.items = items


def merge(total: set[int], part: frozenset[int]) -> None:
    """The helper whose ``|=`` was once taken for ``|``."""
    total |= part


def total_of(numbers: Iterable[int], start: int = LIMIT) -> int:
    for number in numbers:
        if number == LIMIT:
            continue
        start += TABLE.get(number, number)
    return start
