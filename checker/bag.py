"""Bags: immutable multisets, for example the messages of a network that can deliver a message twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Bag(Mapping[T, int]):
    """An immutable multiset: a mapping from each member to the number of times that the bag contains it.

    Like `collections.Counter`, a bag returns 0 for a value that it does not contain.

    Parameters:
        members: the members. A value that occurs several times is counted several times.

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
        """Return a bag with the given members.

        Parameters:
            counts: for each member, the number of times that the bag contains it.

        Raises:
            ValueError: if a count is not positive.
        """
        if min(counts.values(), default=1) < 1:
            raise ValueError(f"the counts of a bag must be positive, not {dict(counts)!r}")
        made = cls()
        made._counts = dict(counts)
        return made

    def add(self, member: T, times: int = 1) -> Bag[T]:
        """Return a copy of the bag with a member added `times` times."""
        return self._with(member, self[member] + times)

    def remove(self, member: T, times: int = 1) -> Bag[T]:
        """Return a copy of the bag with a member removed `times` times.

        Raises:
            ValueError: if the bag contains the member fewer than `times` times.
        """
        if self[member] < times:
            raise ValueError(f"cannot subtract {times} from the count of {member!r}, which is {self[member]}")
        return self._with(member, self[member] - times)

    def _with(self, member: T, count: int) -> Bag[T]:
        counts = {**self._counts, member: count}
        if not count:
            del counts[member]
        return type(self).of(counts)

    def rearranged(self, counts: dict[T, int]) -> Bag[T]:
        """Return an equal bag that iterates over its members in a different order.

        Parameters:
            counts: the same members with the same counts, in the new order.
        """
        made = type(self)()
        made._counts, made._hash = counts, self._hash
        return made

    def total(self) -> int:
        """Return the number of members. A member that the bag contains twice is counted twice."""
        return sum(self._counts.values())

    def __getitem__(self, member: T) -> int:
        return self._counts.get(member, 0)

    def __contains__(self, member: object) -> bool:
        return member in self._counts

    def __iter__(self) -> Iterator[T]:
        """Return an iterator over the distinct members."""
        return iter(self._counts)

    def __len__(self) -> int:
        """Return the number of distinct members."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return self._counts == other._counts if isinstance(other, Bag) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._counts.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Bag({self._counts!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (self._counts,)
