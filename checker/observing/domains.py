"""Domains: the values that each slot has taken so far, and the classes, functions and modules in these values."""

from __future__ import annotations

import enum
import gc
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from leadline.checker.canonical import canonical
from leadline.checker.errors import SpecError
from leadline.checker.support.inspection import is_a
from leadline.checker.values import refusal


class NewKind(Exception):
    """Raised when a slot that was copied without being read takes a value that code may distinguish by identity.

    Attributes:
        slot: the number of the slot.
    """

    def __init__(self, slot: int) -> None:
        self.slot = slot
        super().__init__(slot)


class NoValue(enum.Enum):
    """The class of `NO_VALUE`."""

    NO_VALUE = enum.auto()


NO_VALUE = NoValue.NO_VALUE
"""A placeholder for the value of a number that no saved state uses."""


class StandIn:
    """The base class of objects that replace values while a call is recorded."""

    __slots__ = ()


class Kinds:
    """The classes, functions and modules in the values of all slots. They decide which code a spec can reach.

    Attributes:
        new: the classes, functions and modules that were found since the last call of `take`.
    """

    def __init__(self) -> None:
        self.new: list[object] = []
        self._met: dict[int, object] = {}

    def take(self) -> list[object]:
        """Return the list `new`, and replace it by an empty one."""
        taken, self.new = self.new, []
        return taken

    def note(self, value: object, path: str) -> None:
        """Add the classes, functions and modules in a value.

        Parameters:
            value: the value.
            path: the path of the value in the state.

        Raises:
            SpecError: the value contains a stand-in from an earlier recorded call. The spec kept it, so its functions
                are not pure.
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
                    f"{path} holds a part of a different state: a spec must not keep parts of states from earlier calls"
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


def kind_of(value: object) -> type:
    """The type of a value; `type` for every class, whatever its metaclass."""
    return type if isinstance(value, type) else type(value)


class Domain:
    """The values that a slot has taken, numbered in the order in which they were found.

    Parameters:
        slot: the number of the slot.
        path: the path of the slot in the state.
        read_when_copied: whether the value counts as read when it is copied.
        kinds: collects the classes, functions and modules in the values.

    Attributes:
        values: the values, indexed by number.
        types: the types of the values.
    """

    def __init__(self, slot: int, path: str, read_when_copied: bool, kinds: Kinds) -> None:
        self.slot, self.path, self.read_when_copied, self._kinds = slot, path, read_when_copied, kinds
        self.values: list[Any] = []
        self.types: set[type] = set()
        self._numbers: dict[object, int] = {}
        self._copied: frozenset[type] = frozenset()

    def number(self, value: object) -> int:
        """The number of a value. A value that the slot has not taken before gets a new number.

        Raises:
            NewKind: the value is the first of its type, and calls that copied the slot without reading it may
                distinguish this type by identity.
            SpecError: the value equals an earlier value but is distinguishable from it, as ``True`` is from ``1``.
        """
        number = self._numbers.get(value)
        if number is None:
            self._kinds.note(value, self.path)
            kind = kind_of(value)
            if kind not in self.types:
                if kind in self._copied:
                    raise NewKind(self.slot)
                self.types.add(kind)
            number = len(self.values)
            self.values.append(canonical(value))  # first, so that an interrupt in between does no harm
            self._numbers[value] = number
        elif self.values[number] is not value and (error := refusal(self.path, self.values[number], value)):
            raise error
        return number

    def restore(self, values: Sequence[object]) -> None:
        """Number values as in an earlier run. A number whose value is `NO_VALUE` stays unused.

        Parameters:
            values: the values in the order of their numbers. Numbers that already have values keep them.
        """
        for value in values[len(self.values) :]:
            if value is NO_VALUE:
                self.values.append(self.values[0])  # this value already has number 0, so the new number is never used
            else:
                self.number(value)

    def can_be_copied(self, told_apart: frozenset[type]) -> bool:
        """Whether copying does not count as a read, for code that may distinguish values of some types by identity."""
        return not self.read_when_copied and self.types.isdisjoint(told_apart)

    def note_copy(self, told_apart: frozenset[type]) -> None:
        """Note that a result was learned from a call that copied the slot without reading it.

        Raises:
            NewKind: values found since then show that the copy counts as a read.
        """
        if not self.can_be_copied(told_apart):
            raise NewKind(self.slot)
        self._copied |= told_apart

    def forget(self, first: int) -> None:
        """Remove the numbers from `first` on, with their values."""
        for value in self.values[first:]:
            if self._numbers.get(value, -1) >= first:  # false for unused numbers, see `restore`
                del self._numbers[value]
        del self.values[first:]
