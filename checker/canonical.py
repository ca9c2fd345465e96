"""Canonical values: equal states whose sets and bags iterate alike, however they were made.

The order in which a set iterates depends on the hashes of its members, and on how it was made: ``frozenset([0, 8])``
and ``frozenset([8, 0])`` are equal and iterate differently, as both members belong in the same place of the table. What
an action does with a state must not depend on which of two equal states was found first. So each set is made again
from its members in the order of their contents before a search keeps it: then equal sets have equal tables.

Limits: within one process, hashes are fixed, and the tables of equal sets with it. Between processes they are not, see
`leadline.checker.engines.set_order`. Collections of other libraries, and subclasses of `frozenset`, stay as they are.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar, cast

from leadline.checker.bag import Bag
from leadline.checker.content import content
from leadline.checker.state import roles

T = TypeVar("T")

_ATOMS = frozenset((int, bool, str, bytes, float, type(None)))


def canonical(value: T, before: object = None) -> T:
    """An equal value in which each set and bag is made from its members in order; the value itself if it has none.

    Parameters:
        value: a state or a part of one. Tuples, sets, bags and attrs values in it are looked into.
        before: a canonical value; the parts that the two share are not looked at.
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
    make = getattr(type(value), "_make", None)  # of a named tuple
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
        object.__setattr__(twin, name, made)  # an equal value: a hash that the object keeps stays right
    return twin


def _in_order(members: list[Any]) -> list[Any]:
    """The members of a set in an order that depends on what they are only."""
    if len(members) < 2:
        return members
    kinds = set(map(type, members))
    if kinds in ({int}, {str}, {bytes}):
        return sorted(members)
    return sorted(members, key=lambda member: content("", member))
