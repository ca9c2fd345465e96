"""Finds values that are equal but not the same in one place of the state, such as ``True`` and ``1``.

Two states that differ only in such values would count as one state. The next steps would then depend on which of the
two states a search reached first. A place is a field of a state, a field of a component, or an element of a component.
Different places may have ``True`` and ``1``.
"""

from __future__ import annotations

from typing import Any

from leadline.checker.state import changed_constant, roles
from leadline.checker.values import refusal, same


class Places:
    """Collects the values that each part of the state takes during a search. Refuses values that are equal but not the
    same.

    Parameters:
        place: where the part is in the state, for use in messages.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._known: dict[object, object] = {}
        self._fixed: dict[tuple[type, str], object] = {}
        self._within: dict[str | int, Places] = {}

    def check(self, value: Any, before: Any = None, is_part: bool = True) -> None:
        """Refuse a value if it, or one of its parts, is equal to an earlier value but not the same.

        Parameters:
            before: the value that the same part of the state had in a state that was already checked, or None. Parts
                that are the same object in both values are not checked again.
            is_part: whether the value is a state, a component of a state, or an element of a component. The parts of
                such a value are checked separately.

        Raises:
            SpecError: if the value is refused. The message names the part and both values.
        """
        cls: type = type(value)
        within, fields = self._within, roles(cls) if is_part else ()
        if fields:
            other = before if type(before) is cls else None
            for name, is_fixed, is_component in fields:
                inner, inner_before = getattr(value, name), getattr(other, name, None)
                if inner is inner_before:
                    continue
                if not is_fixed:
                    (within.get(name) or self._add(name, f".{name}")).check(inner, inner_before, is_component)
                elif not same(self._fixed.setdefault((cls, name), inner), inner):
                    raise changed_constant(cls, name)
        elif is_part and cls is tuple:
            others = before if type(before) is tuple and len(before) == len(value) else [None] * len(value)
            for index, (inner, inner_before) in enumerate(zip(value, others, strict=True)):
                if inner is not inner_before:
                    (within.get(index) or self._add(index, f"[{index}]")).check(inner, inner_before)
        else:
            known = self._known.setdefault(value, value)
            if known is not value and (error := refusal(self._place, known, value)):
                raise error

    def _add(self, key: str | int, name: str) -> Places:
        self._within[key] = Places(self._place + name)
        return self._within[key]
