"""Bag: an immutable multiset, such as the messages of a network that may deliver one twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Bag(Mapping[T, int]):
    """What `collections.Counter` is, but immutable: a mapping from members to how often it holds them.

    What it does not hold, it maps to 0.

    Parameters:
        members: what it holds, with repetitions.

    Example:
        >>> bag = Bag(["ping"]).add("ping").add("pong")
        >>> bag["ping"], bag["none"], "pong" in bag, bag.total()
        (2, 0, True, 3)
        >>> bag.remove("pong") == Bag(["ping", "ping"])
        True
    """

    __slots__ = ("_counts", "_hash")

    def __init__(self, members: Iterable[T] = ()) -> None:
        self._counts: dict[T, int] = dict(Counter(members))
        self._hash: int | None = None

    @classmethod
    def of(cls, counts: Mapping[T, int]) -> Bag[T]:
        """A bag that holds each member as often as given.

        Raises:
            ValueError: a count is not positive.
        """
        if any(count < 1 for count in counts.values()):
            raise ValueError(f"a bag holds each member at least once, not as in {dict(counts)!r}")
        made = cls()
        made._counts = dict(counts)
        return made

    def add(self, member: T, times: int = 1) -> Bag[T]:
        """The bag with a member added."""
        return self._with(member, self[member] + times)

    def remove(self, member: T, times: int = 1) -> Bag[T]:
        """The bag with a member taken out.

        Raises:
            ValueError: it is not in there that often.
        """
        if self[member] < times:
            raise ValueError(f"{member!r} is in the bag {self[member]} times, not {times}")
        return self._with(member, self[member] - times)

    def _with(self, member: T, count: int) -> Bag[T]:
        counts = {**self._counts, member: count}
        if not count:
            del counts[member]
        return type(self).of(counts)

    def total(self) -> int:
        """How many members it holds, repetitions counted."""
        return sum(self._counts.values())

    def __getitem__(self, member: T) -> int:
        return self._counts.get(member, 0)

    def __contains__(self, member: object) -> bool:
        return member in self._counts

    def __iter__(self) -> Iterator[T]:
        """Each member once."""
        return iter(self._counts)

    def __len__(self) -> int:
        """How many different members it holds."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return self._counts == other._counts if isinstance(other, Bag) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._counts.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Bag({self._counts!r})"

    def __reduce__(self) -> Any:
        return type(self).of, (self._counts,)
