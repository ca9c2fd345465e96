"""Canonical values: the sets and bags of equal states iterate in the same order, however they were created.

The iteration order of a set depends on the hashes of its members and on how it was created: ``frozenset([0, 8])`` and
``frozenset([8, 0])`` are equal but iterate differently, because both members hash to the same slot of the table. The
result of an action must not depend on which of two equal states was found first. Before a search stores a state, each
set in it is therefore created again from its members in the order of their contents; then equal sets have equal tables.

Limits: within one process, hashes are fixed, and so are the tables of equal sets. Between processes they differ, see
`leadline.checker.engines.set_order`. Collections of other libraries and subclasses of `frozenset` are not changed.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar, cast

from leadline.checker.bag import Bag
from leadline.checker.content import content
from leadline.checker.state import roles

T = TypeVar("T")

MOST_SORT_KEYS = 100_000
"""Members of sets for which contents are kept."""

_ATOMS = frozenset((int, bool, str, bytes, float, type(None)))


def canonical(value: T, before: object = None) -> T:
    """Return an equal value whose sets and bags are created from their members in order.

    Parameters:
        value: a state or a part of one. Tuples, sets, bags and attrs values in it are searched.
        before: a canonical value; parts that the two share are skipped.

    Returns:
        The value itself if it contains neither sets nor bags.
    """
    if value is before:
        return value
    return cast(T, _canonical(value, before))


def _canonical(value: Any, before: Any) -> Any:
    cls: type = type(value)
    if cls in _ATOMS:
        return value
    if cls is frozenset:
        return frozenset(_in_order([_canonical(member, None) for member in value]))
    if cls is Bag:
        counts = {_canonical(member, None): count for member, count in value.items()}
        return Bag.of({member: counts[member] for member in _in_order(list(counts))})
    if isinstance(value, tuple):
        return _canonical_tuple(value, before)
    return _canonical_fields(value, before) if roles(cls) else value


def _canonical_tuple(value: tuple[Any, ...], before: Any) -> Any:
    is_alike = type(before) is type(value) and len(before) == len(value)
    others = before if is_alike else (None,) * len(value)
    made = [canonical(inner, other) for inner, other in zip(value, others, strict=True)]
    if all(new is old for new, old in zip(made, value, strict=True)):
        return value
    if type(value) is tuple:
        return tuple(made)
    make = getattr(type(value), "_make", None)  # a named tuple
    return value if make is None else make(made)


def _canonical_fields(value: Any, before: Any) -> Any:
    cls: type = type(value)
    is_alike = type(before) is cls
    changed = {}
    for name, is_fixed, _ in roles(cls):
        if not is_fixed:
            inner = getattr(value, name)
            made = canonical(inner, getattr(before, name) if is_alike else None)
            if made is not inner:
                changed[name] = made
    if not changed:
        return value
    twin = copy.copy(value)
    for name, made in changed.items():
        object.__setattr__(twin, name, made)  # the value stays equal, so a cached hash stays valid
    return twin


def _in_order(members: list[Any]) -> list[Any]:
    """The members of a set in an order that depends only on the members."""
    if len(members) < 2:
        return members
    kinds = set(map(type, members))
    if kinds in ({int}, {str}, {bytes}):
        return sorted(members)
    return sorted(members, key=_sort_key)


_sort_keys: dict[Any, Any] = {}


def _sort_key(member: Any) -> Any:
    """The content of a member, which takes long to compute and recurs in most states."""
    key = _sort_keys.get(member)
    if key is None:
        if len(_sort_keys) >= MOST_SORT_KEYS:
            _sort_keys.clear()
        key = _sort_keys[member] = content("", member)
    return key
