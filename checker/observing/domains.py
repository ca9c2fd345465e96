"""Stores the values that have occurred in each slot. A slot holds a part of a state that is not split further."""

from __future__ import annotations

import enum
import gc
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from leadline.checker.canonical import canonical
from leadline.checker.errors import SpecError
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.places import Places
from leadline.checker.support.inspection import is_a
from leadline.checker.values import refusal, same


class NoValue(enum.Enum):
    """The class of the constant `NO_VALUE`, which stands for a missing value."""

    NO_VALUE = enum.auto()


NO_VALUE = NoValue.NO_VALUE
"""A placeholder in a saved list of values. It replaces a value that no saved state contains."""


class StandIn:
    """The base class of the objects that replace parts of a state while a call is recorded."""

    __slots__ = ()

    def is_fixed(self) -> bool:
        """Return whether the object is certain to be a part of a state, without values that the code has put in."""
        return False


class Kinds:
    """Collects the classes, functions and modules that occur in the values of a search. A spec can reach more code
    through them.

    Attributes:
        new: the classes, functions and modules that were found since the last call to `take`.
    """

    def __init__(self) -> None:
        self.new: list[object] = []
        self._met: dict[int, object] = {}

    def take(self) -> list[object]:
        """Return the list `new` and replace it with an empty list."""
        taken, self.new = self.new, []
        return taken

    def take_all(self) -> list[object]:
        """Return all that was ever found, and replace the list `new` with an empty list."""
        self.new = []
        return [*self._met.values()]

    def note(self, value: object, path: str) -> None:
        """Add the classes, functions and modules to which a value refers.

        Parameters:
            path: the location of the value in the state, for messages.

        Raises:
            SpecError: if the value contains an object that replaced a part of a state in an earlier call. The spec kept
                this object between calls, so the functions of the spec are not pure.
        """
        waiting = [value]
        walked: dict[int, object] = {}
        while waiting:
            part = waiting.pop()
            cls = type(part)
            if cls in _PLAIN or id(part) in walked:
                continue
            walked[id(part)] = part
            if is_a(part, StandIn):
                raise SpecError(
                    f"{path} contains a part of a different state: a spec must not keep parts of states between calls"
                )
            if is_a(part, type, FunctionType, BuiltinFunctionType, ModuleType):
                self._meet(part)
            else:
                self._meet(cls)
                waiting += gc.get_referents(part)

    def _meet(self, kind: object) -> None:
        if id(kind) not in self._met:
            self._met[id(kind)] = kind
            self.new.append(kind)


_PLAIN = frozenset((int, bool, str, bytes, float, type(None)))


class Domain:
    """The values that have occurred in a slot, in the order in which they were found.

    Parameters:
        path: the location of the slot in the state, for messages.
        kinds: the object that collects the classes, functions and modules that occur in the values.
        split: the path of the part of the state that the search has split, and to which the slot belongs. None if the
            slot is a place of the state by itself; see `places`.
        places: collects the values of a component, or of an element of a component, that has one slot. Otherwise None.

    Attributes:
        values: the values. The rows that represent states contain indices into this list instead of the values
            themselves.
        numbers: the index of each value.
    """

    def __init__(
        self,
        path: str,
        kinds: Kinds,
        split: str | None = None,
        places: Places | None = None,
    ) -> None:
        self.path, self._kinds = path, kinds
        self._split, self._places = split, places
        self.values: list[Any] = []
        self.numbers: dict[object, int] = {}

    @property
    def is_part(self) -> bool:
        """Whether the slot has a component, or an element of one, rather than a field."""
        return self._places is not None

    def number(self, value: object) -> int:
        """Return the index of a value in `values`, adding the value if it is new.

        Raises:
            SpecError: if the value is equal to an earlier value but not the same, such as ``True`` and ``1``.
            ShapeChanged: the same, if only a part that the search has split has both values. The part as a whole need
                not have two values that are equal.
        """
        number = self.numbers.get(value)
        if number is None:
            self._kinds.note(value, self.path)
            if self._places is not None:
                self._places.check(value)
            number = len(self.values)
            self.values.append(canonical(value))  # first, so that after an interrupt every number has a value
            self.numbers[value] = number
        elif (known := self.values[number]) is not value and not same(known, value):
            if self._split is not None:
                raise ShapeChanged(self._split)
            if self._places is not None:
                self._places.check(value)  # it names the field, or the constant
            raise refusal(self.path, known, value) or AssertionError
        return number

    def restore(self, values: Sequence[object]) -> None:
        """Add values with the same indices as in an earlier run.

        Parameters:
            values: the values of the earlier run in the order of their indices. The index of a `NO_VALUE` remains
                unused. Values that already have an index keep it.
        """
        for value in values[len(self.values) :]:
            if value is NO_VALUE:
                self.values.append(self.values[0])  # `number` returns 0 for this value, so the new number is never used
            else:
                self.number(value)

    def forget(self, first: int) -> None:
        """Remove all values whose index is at least `first`."""
        for value in self.values[first:]:
            if self.numbers.get(value, -1) >= first:  # not true for unused numbers; see `restore`
                del self.numbers[value]
        del self.values[first:]
