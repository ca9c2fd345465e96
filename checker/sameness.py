"""Compares values by content and by type, at every depth.

In Python, ``True == 1``, so two equal states can still lead to different next states. Two values that are the same by
`is_same` differ at most in the identity of objects and in the iteration order of sets, bags and maps.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.state import roles

HASH = "_attrs_cached_hash"
"""The attribute in which attrs stores the hash of an instance of a class with ``cache_hash=True``."""

ATOMS = frozenset((int, bool, str, bytes, type(None)))
"""The types whose equal values are indistinguishable. `float` is not one of them, because 0.0 equals -0.0."""


def is_same(one: object, other: object) -> bool:
    """Return whether two values are equal and have the same types at every depth.

    Only built-in types, bags, maps, and classes for which `is_made_of_fields` is true are compared. Two values of other
    types count as the same only if they are the same object.

    Parameters:
        one, other: the values. Members of sets, and keys of maps, are hashable.
    """
    if one is other:
        return True
    cls: type = type(one)
    compare = _comparison(cls)
    return type(other) is cls and compare(one, other)


@functools.cache
def _comparison(cls: type) -> Callable[[Any, Any], bool]:
    """Return a function that compares two instances of a class as `is_same` does."""
    names = [name for name, *_ in roles(cls)]
    if cls in ATOMS:
        return operator.eq
    if cls is frozenset:
        return _have_same_members
    if cls is Bag or cls is Map:
        return _have_same_items
    if issubclass(cls, tuple):
        return _are_same if is_plain_tuple(cls) else operator.is_
    if not _contains_only_fields(cls):
        return operator.is_
    if not names:
        return lambda _, __: True
    fields = operator.attrgetter(*names)
    if len(names) == 1:  # `fields` then returns the value instead of a tuple
        return lambda one, other: is_same(fields(one), fields(other))
    return lambda one, other: _are_same(fields(one), fields(other))


def _are_same(ones: tuple[object, ...], others: tuple[object, ...]) -> bool:
    if len(ones) != len(others):
        return False
    for one, other in zip(ones, others, strict=True):  # noqa: SIM110  # `all` with a generator takes twice the time
        if one is not other and not is_same(one, other):
            return False
    return True


def _have_same_members(ones: frozenset[object], others: frozenset[object]) -> bool:
    if len(ones) != len(others):
        return False
    shared = set(map(id, ones))
    new = [member for member in others if id(member) not in shared]
    if not new:
        return True
    twins = {member: member for member in ones}
    return all(member in twins and is_same(twins[member], member) for member in new)


def _have_same_items(ones: Map[object, object], others: Map[object, object]) -> bool:
    """Compare two maps, or the counts of two bags."""
    twins = {key: (key, value) for key, value in ones.items()}
    return len(ones) == len(others) and all(
        key in twins and is_same(twins[key], (key, value)) for key, value in others.items()
    )


@functools.cache
def is_plain_tuple(cls: type) -> bool:
    """Return whether a class is `tuple`, or a subclass whose instances are compared like tuples and contain nothing
    else, such as a named tuple.
    """
    return has_methods_of(cls, tuple, "__eq__", "__hash__") and not cls.__dictoffset__


def has_methods_of(cls: type, base: type, *names: str) -> bool:
    """Return whether a class inherits the named methods from a base class."""
    return all(getattr(cls, name) is getattr(base, name) for name in names)


@functools.cache
def is_made_of_fields(cls: type) -> bool:
    """Return whether the instances of a class contain only attrs fields, and ``__eq__`` compares all of them."""
    return _contains_only_fields(cls) and all(field.eq is True and field.eq_key is None for field in attrs.fields(cls))


def _contains_only_fields(cls: type) -> bool:
    if "__attrs_attrs__" not in vars(cls) or not attrs.inspect(cls).added_eq or not attrs.inspect(cls).is_frozen:
        return False
    names = {slot.__name__ for slot in slots(cls)}
    return not cls.__dictoffset__ and names <= {HASH, *(field.name for field in attrs.fields(cls))}


@functools.cache
def slots(cls: type) -> tuple[MemberDescriptorType, ...]:
    """Return the descriptors of all slots of a class and its base classes."""
    return tuple(item for base in cls.__mro__ for item in vars(base).values() if isinstance(item, MemberDescriptorType))
