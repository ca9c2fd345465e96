"""Content hashes: 64-bit hashes of the contents of states. They are the same in every process.

The iteration order of a set depends on `PYTHONHASHSEED`, which differs between processes. A result that must be the
same in every process therefore uses content hashes to sort, select or count states. Content hashes are never used to
decide whether two states are equal.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator
from typing import Any, TypeVar

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.state import roles
from leadline.checker.values import Form, rule_of

S = TypeVar("S")

ALL_BITS = 2**64 - 1

MOST_BITS = 10_000
"""Integers with more bits are written in hexadecimal, because Python refuses to write over 4,300 decimal digits."""


def content(path: str, value: object, is_part: bool = False) -> int:
    """Return the content hash of a state or of a part of it.

    The hash of a value is the sum of the hashes of its smallest parts. Values that are the same, as
    `leadline.checker.values` defines it, have the same hash. Others have different hashes, except by chance, and except
    for objects in constants that are compared by identity.

    Parameters:
        path: the location of the value in the state, for example ``State.epoch``.
        is_part: whether the value is a state or a component of it. Its constants are then left out, because they are
            the same in every state.

    Returns:
        An integer from 0 to 2 ** 64 - 1.
    """
    return sum(digest(*part) for part in _parts(path, value, is_part)) & ALL_BITS


def in_order(states: list[S]) -> list[S]:
    """Return the states sorted by their content hashes. The order does not depend on the order of the argument."""
    return states if len(states) < 2 else sorted(states, key=lambda state: content("", state, is_part=True))


def _parts(path: str, value: Any, is_part: bool) -> Iterator[tuple[str, ...]]:
    """Yield the smallest parts of a value. Each part is a tuple of strings: usually its path, its type and its text."""
    cls: type = type(value)
    rule = rule_of(cls)
    if cls is tuple:
        yield path, "length", str(len(value))
        for index, item in enumerate(value):
            yield from _parts(f"{path}[{index}]", item, is_part)
    elif cls is frozenset or cls is set:
        yield path, "set"
        yield from (member_parts(path, member, True) for member in value)
    elif cls is Bag:
        yield path, "bag"
        yield from (member_parts(path, member, count) for member, count in value.items())
    elif cls is Map:
        yield path, "map"
        yield from (member_parts(path, key, (item,)) for key, item in value.items())
    elif rule.names:
        yield path, "attrs", cls.__qualname__
        for name, is_fixed, is_component in roles(cls):
            if not (is_part and is_fixed):
                yield from _parts(f"{path}.{name}", getattr(value, name), is_part and is_component)
    elif rule.form is Form.PARTS and cls not in (float, complex):
        parts = rule.parts(value)
        yield path, "object", cls.__qualname__, str(len(parts))
        for name, part in parts.items():
            yield from _parts(f"{path}{name}", part, False)
    else:
        yield path, cls.__qualname__, _text(value, rule.form)


def member_parts(path: str, member: object, count: int | tuple[object, ...]) -> tuple[str, ...]:
    """Return the strings that represent one member of a set or bag, or one key of a map, in the content hash.

    Parameters:
        path: the location of the collection in the state.
        count: the number of times that the collection contains the member, at least 1. For a set, it is 1. For a map,
            it is a tuple that contains the value of the key.
    """
    of_member = content("", count[0]) if isinstance(count, tuple) else int(count)
    return path, "member", str(content("", member)), str(of_member)


def _text(value: Any, form: Form) -> str:
    """Return the text of a value without parts. The text is the same in every process."""
    if isinstance(value, enum.Enum):
        return value.name or repr(value.value)  # a Flag with the value 0 has no name
    if type(value) is int and value.bit_length() > MOST_BITS:
        return hex(value)
    if hasattr(value, "__qualname__"):  # a function or a class
        return f"{value.__module__}.{value.__qualname__}"
    return "" if form in (Form.IDENTITY, Form.REFUSED) else repr(value)


def digest(*texts: str) -> int:
    """Return a 64-bit hash of the strings."""
    return int.from_bytes(hashlib.blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=8).digest())
