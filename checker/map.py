"""Maps: immutable dicts, for example the value that each process has proposed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Map(Mapping[K, V]):
    """An immutable dict. Its keys and values must be hashable if it is part of a state.

    Parameters:
        items: a mapping, or (key, value) pairs as for `dict`.

    Example:
        >>> votes = Map({"a": 1}).put("b", 2)
        >>> votes["b"], votes.get("c"), "a" in votes, len(votes)
        (2, None, True, 2)
        >>> votes.remove("a") == Map({"b": 2})
        True
    """

    __slots__ = ("_hash", "_is_canonical", "_items")

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = (), /) -> None:
        self._items: dict[K, V] = dict(items)
        self._hash: int | None = None
        self._is_canonical = False

    def put(self, key: K, value: V) -> Map[K, V]:
        """Return a copy of the map in which a key has the given value."""
        return type(self)({**self._items, key: value})

    def remove(self, key: K) -> Map[K, V]:
        """Return a copy of the map without the given key.

        Raises:
            KeyError: if the map does not contain the key.
        """
        items = dict(self._items)
        del items[key]
        return type(self)(items)

    def rearranged(self, items: dict[K, V]) -> Map[K, V]:
        """Return an equal map in canonical form; see `leadline.checker.canonical`.

        Parameters:
            items: the same keys with the same values, in canonical order and form.
        """
        made = type(self)(items)
        made._hash, made._is_canonical = self._hash, True
        return made

    @property
    def is_canonical(self) -> bool:
        """Whether the map was created by `rearranged`. Equal maps of this kind iterate in the same order."""
        return self._is_canonical

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, Map) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Map({self._items!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._items,)
