"""What a value is: two values are the same if and only if their types and contents are the same, at every depth.

`key` turns a value into nested tuples that are equal if and only if the values are the same. `Places` finds values that
Python calls equal and that are not the same, which would be merged without a word in a set or in a dict.
"""

from __future__ import annotations

import datetime
import enum
import types
from collections.abc import Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from leadline.checker import Bag, Map

Key = Hashable

_ATOMS = (int, bool, str, bytes, type(None))
_TIMES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone)
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_KNOWN = (*_ATOMS, float, complex, Decimal, Fraction, tuple, frozenset, Bag, Map, range, *_TIMES)


class Refused(Exception):
    """The spec is to be refused. The text says why."""


def key(value: Any) -> Key:
    """Return nested tuples that are equal for two values if and only if the values are the same."""
    cls: Any = type(value)
    if cls in _ATOMS:
        return cls, value
    if cls is tuple:
        return cls, tuple(map(key, value))
    if cls in (float, complex) or cls in _TIMES:
        return cls, repr(value)  # it tells 0.0 from -0.0, and names the time zone
    if cls is Decimal:
        return cls, value.as_tuple()
    if cls is Fraction:
        return cls, value.numerator, value.denominator
    if cls is range:
        return cls, value.start, value.stop, value.step
    if issubclass(cls, enum.Enum) or isinstance(value, _NAMED):
        return cls, id(value)  # there is one object
    if cls is frozenset:
        return cls, frozenset(map(key, value))
    if cls is Bag or cls is Map:
        return cls, frozenset((key(member), key(value[member])) for member in value)
    if attrs.has(cls):
        return cls, tuple(key(getattr(value, field.name)) for field in attrs.fields(cls))
    if cls.__eq__ is object.__eq__:
        return cls, id(value)  # it is only the same as itself
    own = {name: key(inner) for name, inner in _attributes(value)}
    return cls, tuple(own.items()), _inherited(value)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from sorted(getattr(value, "__dict__", {}).items())
    for base in type(value).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
                yield name, getattr(value, name)


def _inherited(value: Any) -> Key:
    """Return the content that an instance of a subclass of a built-in class has besides its attributes."""
    if isinstance(value, tuple | list):
        return tuple(map(key, value))
    if isinstance(value, dict | Map | Bag):
        return tuple((key(name), key(inner)) for name, inner in value.items())  # in order, which a dict keeps
    if isinstance(value, frozenset):
        return frozenset(map(key, value))
    if isinstance(value, int | float | str | bytes | Decimal):
        return repr(value)
    return None


def is_plain(value: Any) -> bool:
    """Return whether a value, with all that is in it, is of a class that an engine has to accept."""
    cls: Any = type(value)
    if attrs.has(cls):
        return attrs.inspect(cls).added_eq and all(is_plain(getattr(value, field.name)) for field in attrs.fields(cls))
    if cls not in _KNOWN and not issubclass(cls, enum.Enum) and not _is_named_tuple(cls):
        return False
    return all(is_plain(inner) for inner in _members(value))


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__eq__ is tuple.__eq__


def _members(value: Any) -> Iterator[object]:
    if isinstance(value, tuple | frozenset | Bag | Map | dict):
        yield from value
    if isinstance(value, Map | dict):
        yield from value.values()


def _inside(value: Any) -> Iterator[object]:
    """Yield a value and everything in it."""
    yield value
    inner = [getattr(value, field.name) for field in attrs.fields(type(value))] if attrs.has(type(value)) else []
    for each in (*inner, *_members(value)):
        yield from _inside(each)


class Places:
    """The values that each place has had: each part of the state, each domain, and the list of initial states.

    Attributes:
        doubtful: why the spec may be refused: two values *inside* the values of one place are equal and not the same,
            or a class is not one of those that have to be accepted. It need not be refused, as long as it is answered
            exactly.
    """

    def __init__(self) -> None:
        self.doubtful = ""
        self._known: dict[object, dict[object, tuple[Key, object]]] = {}
        self._inside: dict[object, dict[object, tuple[Key, object]]] = {}
        self._constants: dict[object, Key] = {}

    def add(self, place: object, value: Any, *, is_whole: bool = False) -> None:
        """Add a value of a place.

        Parameters:
            place: the place.
            value: the value.
            is_whole: whether the value is a state, which has places of its own.

        Raises:
            Refused: if an earlier value of the place is equal to this one and not the same, or if the value cannot be
                compared.
        """
        if value != value:
            raise Refused(f"{place} has {value!r}, which is not equal to itself")
        try:
            hash(value)
        except TypeError:
            raise Refused(f"{place} has {value!r}, which can change") from None
        made = key(value)
        known, before = self._known.setdefault(place, {}).setdefault(value, (made, value))
        if known != made:
            raise Refused(f"{place} has both {before!r} and {value!r}")
        for inner in () if is_whole or self.doubtful else _inside(value):
            inner_known, inner_before = self._inside.setdefault(place, {}).setdefault(inner, (key(inner), inner))
            if inner_known != key(inner):
                self.doubtful = f"in {place}, there are both {inner_before!r} and {inner!r}"
            elif inner != inner or not is_plain(inner):
                self.doubtful = f"{place} has a value of {type(inner).__name__}"

    def add_state(self, value: Any, place: str = "") -> None:
        """Add the values of all places of a state, or of a component.

        Raises:
            Refused: if two values of a place are equal and not the same, or if a constant changes.
        """
        cls = type(value)
        fields = [field for field in attrs.fields(cls) if "leadline.constant" not in field.metadata]
        if not attrs.inspect(cls).added_eq or not all(field.eq and field.eq_key is None for field in fields):
            self.doubtful = f"{cls.__name__} is not compared field by field"
        for field in attrs.fields(cls):
            inner, path = getattr(value, field.name), f"{place}.{field.name}"
            if "leadline.constant" in field.metadata:
                if self._constants.setdefault((path, cls), key(inner)) != key(inner):
                    raise Refused(f"the constant {path} changes to {inner!r}")
            elif "leadline.component" not in field.metadata:
                self.add(path, inner)
            elif attrs.has(type(inner)):
                self.add_state(inner, path)
            else:
                for index, element in enumerate(inner):
                    if attrs.has(type(element)):
                        self.add_state(element, f"{path}[{index}]")
                    else:
                        self.add(f"{path}[{index}]", element)
