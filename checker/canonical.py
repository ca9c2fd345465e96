"""Canonical values: equal states whose sets and bags iterate in the same order.

The iteration order of a set depends on the hashes of its members and on how it was created. ``frozenset([0, 8])`` and
``frozenset([8, 0])`` are equal but iterate in different orders, because both members hash to the same slot of the hash
table. The result of an action must not depend on which of two equal states a search reached first. Therefore, before a
search stores a state, the search creates each set again from its members, sorted by their contents. Equal sets then
have equal hash tables.

Most sets occur in many states, so canonical collections and their members are cached. Usually the canonical copy of a
set is found in the cache and does not have to be created. A cached object replaces another one only if they are the
same (see `leadline.checker.values`). For example, ``1`` never replaces ``True``.

Limits: the order is the same only within one process, where the hashes do not change. It can differ between processes;
see `leadline.checker.engines.set_order`. Collections from other libraries, and sets in subclasses of `dict`, are left
unchanged.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from leadline.checker.bag import Bag
from leadline.checker.content import content
from leadline.checker.map import Map
from leadline.checker.values import ATOMS, Form, Rule, Unfit, copied, rule_of, same, unfit

T = TypeVar("T")

MOST_MEMBERS, MOST_COLLECTIONS = 100_000, 30_000
"""The maximum numbers of members and of collections in the cache. A full cache is emptied."""


def canonical(value: T, before: object = None) -> T:
    """Return an equal value in which every set and bag was created from its members in sorted order.

    Parameters:
        value: a state or a part of a state. Sets and bags are replaced at any depth, except in constants.
        before: a value that is already canonical, usually the previous state. Parts that are the same object in both
            values are not searched again.

    Returns:
        `value` itself if it contains no set and no bag.
    """
    return value if value is before else cast(T, _canonical(value, before))


def _canonical(value: object, before: object) -> object:
    cls: type = type(value)
    if cls in ATOMS:
        return value
    if cls is frozenset:
        return _kept.set_of(cast(frozenset[object], value))
    if cls is Bag:
        return _kept.bag_of(cast(Bag[object], value))
    if cls is Map:
        return _kept.map_of(cast(Map[object, object], value))
    if cls is tuple:
        return _canonical_tuple(cast(tuple[object, ...], value), before)
    rule = rule_of(cls)
    if rule.form is not Form.PARTS or rule.can_change or (not rule.names and not rule.is_tuple):
        if why := unfit(value):
            raise Unfit(f"states are compared by value, but this one contains {why}")
        if rule.form is not Form.PARTS:
            return value
    if rule.is_tuple:
        return _canonical_tuple(cast(tuple[object, ...], value), before)
    return _canonical_parts(value, rule, before if type(before) is cls else None)


def _canonical_tuple(value: tuple[object, ...], before: object) -> object:
    if ATOMS.issuperset(map(type, value)):
        return value
    others: tuple[object, ...] = (None,) * len(value)
    if isinstance(before, tuple) and type(before) is type(value) and len(before) == len(value):
        others = before
    made = [inner if inner is other else _canonical(inner, other) for inner, other in zip(value, others, strict=True)]
    return value if all(map(operator.is_, made, value)) else tuple.__new__(type(value), made)


def _canonical_parts(value: object, rule: Rule, before: object) -> object:
    changed = None
    for name in rule.variables(value):
        inner = getattr(value, name)
        other = getattr(before, name, None)
        if inner is not other and type(inner) not in ATOMS:
            made = _canonical(inner, other)
            if made is not inner:
                changed = changed or copied(value)
                object.__setattr__(changed, name, made)  # the value stays equal, so a cached hash stays valid
    return changed or value


class _Kept:
    """A cache of canonical collections and their members.

    `_by_identity` maps the `id` of each cached member to the member. Cached members that are equal and have the same
    type are the same object. Two collections of cached members are therefore equal if they contain the same objects.
    """

    def __init__(self) -> None:
        self._by_value: dict[type, dict[object, object]] = {}
        self._by_identity: dict[int, object] = {}
        self._sort_keys: dict[int, int] = {}
        self._collections: dict[object, object] = {}

    def set_of(self, value: frozenset[object]) -> frozenset[object]:
        """Return the canonical copy of a set, from the cache if possible."""
        twin = cast("frozenset[object] | None", self._collections.get(value))
        if twin is not None and self._have_same_members(value, twin):
            return twin
        members = [self._member(member) for member in value]
        made = frozenset(self._in_order(members))
        self._keep(made, members, is_free=twin is None)
        return made

    def bag_of(self, value: Bag[object]) -> Bag[object]:
        """Return the canonical copy of a bag, from the cache if possible."""
        twin = cast("Bag[object] | None", self._collections.get(value))
        is_plain = {int}.issuperset(map(type, value.values()))  # a count may be True
        if twin is not None and is_plain and self._have_same_members(value, twin):
            return twin
        members = [self._member(member) for member in value]
        of_member = dict(zip(map(id, members), value.values(), strict=True))
        made = value.rearranged({member: of_member[id(member)] for member in self._in_order(members)})
        self._keep(made, members, is_free=twin is None and is_plain)
        return made

    def map_of(self, value: Map[object, object]) -> Map[object, object]:
        """Return the canonical copy of a map, or the map itself if it is canonical."""
        if value.is_canonical:
            return value
        items = {self._member(key): canonical(item) for key, item in value.items()}
        return value.rearranged({key: items[key] for key in self._in_order([*items])})

    def _have_same_members(self, value: Iterable[object], twin: Iterable[object]) -> bool:
        """Return whether the members of a collection have the same types as those of an equal cached collection."""
        own, kept = set(map(id, value)), set(map(id, twin))
        others = own - kept
        return not others or {id(self._member(member)) for member in value if id(member) in others} == kept - own

    def _member(self, member: object) -> object:
        """Return the cached object that equals a member of a collection. If the member cannot be cached, return a
        canonical copy.
        """
        if self._by_identity.get(id(member)) is member:
            return member
        of_type = self._by_value.setdefault(type(member), {})
        known = of_type.get(member)
        if known is not None:
            return known if same(known, member) else canonical(member)
        made = canonical(member)
        if len(self._by_identity) >= MOST_MEMBERS:
            self.drop()
        self._by_identity[id(made)] = made
        self._by_value.setdefault(type(made), {})[made] = made
        return made

    def _keep(self, made: object, members: Sequence[object], *, is_free: bool) -> None:
        """Add a collection to the cache if all its members are cached.

        Parameters:
            is_free: whether the cache contains no equal collection. If it is false, nothing is added.
        """
        if is_free and all(self._by_identity.get(id(member)) is member for member in members):
            if len(self._collections) >= MOST_COLLECTIONS:
                self._collections.clear()
            self._collections[made] = made

    def _in_order(self, members: list[object]) -> list[object]:
        """Return the members of a set in an order that depends only on their values."""
        if len(members) < 2:
            return members
        if set(map(type, members)) in ({int}, {str}, {bytes}):
            return cast(list[object], sorted(cast(list[int], members)))
        return sorted(members, key=self._sort_key)

    def _sort_key(self, member: object) -> int:
        """Return the content hash of a member. The hash is cached, because it is slow to compute."""
        if self._by_identity.get(id(member)) is not member:
            return content("", member)
        key = self._sort_keys.get(id(member))
        if key is None:
            key = self._sort_keys[id(member)] = content("", member)
        return key

    def drop(self) -> None:
        """Empty the cache.

        The collections must be removed together with the members. Otherwise the collections would contain old members
        that are not the same objects as the members cached later.
        """
        for table in (self._collections, self._sort_keys, self._by_identity, self._by_value):
            table.clear()


_kept = _Kept()
