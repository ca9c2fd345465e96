"""Finds values that are equal but distinguishable, such as ``True`` and ``1``. Two states that differ only in such
values would count as one state. The next steps would then depend on which of the two states a search reached first. TLC
stops when it compares such values. In leadline, every engine rejects a spec in which a part of the state takes two such
values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.state import roles

_PLAIN = frozenset((int, bool, str, bytes, type(None)))
"""The types whose equal values are indistinguishable."""


def difference(one: Any, other: Any) -> tuple[str, str] | None:
    """Return the first difference between two equal values, such as ``True`` and ``1``, or None if there is none.

    Compare the values at every depth. Ignore the order of set elements, and fields declared with `constant`.

    Parameters:
        one: a value.
        other: a value that is equal to `one`.

    Returns:
        The two parts that differ, as text.
    """
    if one is other:
        return None
    if type(one) is not type(other):
        return _told_apart(one, other)
    cls: type = type(one)
    if cls in _PLAIN:
        return None
    pairs: Iterable[tuple[object, object]]
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=True)
    elif fields := roles(cls):
        pairs = [(getattr(one, name), getattr(other, name)) for name, is_fixed, _ in fields if not is_fixed]
    elif isinstance(one, Set):
        same = {item: item for item in other}
        pairs = ((item, same[item]) for item in one)
    elif isinstance(one, Mapping):
        same = {key: key for key in other}
        pairs = (pair for key in one for pair in ((key, same[key]), (one[key], other[key])))
    elif attrs.has(cls):
        return None  # without fields
    elif hasattr(cls, "__dataclass_fields__"):
        pairs = ((getattr(one, name), getattr(other, name)) for name in cls.__dataclass_fields__)
    elif getattr(cls, "__repr__") is not object.__repr__:  # noqa: B009
        return _told_apart(one, other) if repr(one) != repr(other) else None
    else:
        pairs = ((inner, getattr(other, name, None)) for name, inner in getattr(one, "__dict__", {}).items())
    for inner, inner_other in pairs:
        if inner is inner_other:
            continue
        if found := (difference(inner, inner_other) if inner == inner_other else _told_apart(inner, inner_other)):
            return found
    return None


def _told_apart(one: object, other: object) -> tuple[str, str]:
    texts = repr(one), repr(other)
    if texts[0] != texts[1]:
        return texts
    return f"{texts[0]} ({type(one).__name__})", f"{texts[1]} ({type(other).__name__})"


def refusal(place: str, one: object, other: object) -> SpecError | None:
    """Return an error if two equal values are distinguishable, otherwise None.

    Parameters:
        place: the location of the part of the state that has both values, for example ``State.replicas[0].epoch``.
        one: a value.
        other: a value that is equal to `one`.
    """
    found = difference(one, other)
    if found is None:
        return None
    return SpecError(
        f"{place} holds both {found[0]} and {found[1]}, which are equal but not the same: use only one of the two"
    )


class Values:
    """Collects the values that a part of the state takes during a search. Rejects values that are equal but
    distinguishable.

    Parameters:
        place: where the part is in the state, for use in messages.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._known: dict[object, object] = {}
        self._within: dict[str | int, Values] = {}

    def check(self, value: Any, before: Any = None, is_part: bool = True) -> None:
        """Reject a value if it, or one of its parts, is equal to an earlier value but distinguishable from it.

        Parameters:
            value: a state or a part of a state.
            before: the value that the same part of the state had in a state that was already checked, or None. Parts
                that are the same object in both values are not checked again.
            is_part: whether the value is a state, a component of a state, or an element of a component. The parts of
                such a value are checked separately.

        Raises:
            SpecError: if the value is rejected. The message names the part and both values.
        """
        cls: type = type(value)
        within, fields = self._within, roles(cls) if is_part else ()
        if fields:
            other = before if type(before) is cls else None
            for name, is_fixed, is_component in fields:
                inner, inner_before = getattr(value, name), getattr(other, name, None)
                if inner is not inner_before and not is_fixed:
                    (within.get(name) or self._add(name, f".{name}")).check(inner, inner_before, is_component)
        elif is_part and cls is tuple:
            others = before if type(before) is tuple and len(before) == len(value) else [None] * len(value)
            for index, (inner, inner_before) in enumerate(zip(value, others, strict=True)):
                if inner is not inner_before:
                    (within.get(index) or self._add(index, f"[{index}]")).check(inner, inner_before)
        else:
            known = self._known.setdefault(value, value)
            if known is not value and (error := refusal(self._place, known, value)):
                raise error

    def _add(self, key: str | int, name: str) -> Values:
        self._within[key] = Values(self._place + name)
        return self._within[key]
