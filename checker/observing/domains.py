"""Domains: the values that each slot was seen to take, and what these are made of."""

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
    """A slot that was copied unread took a value of a type that code may tell apart from others by identity.

    Attributes:
        slot: which.
    """

    def __init__(self, slot: int) -> None:
        self.slot = slot
        super().__init__(slot)


class NoValue(enum.Enum):
    """See `NO_VALUE`."""

    NO_VALUE = enum.auto()


NO_VALUE = NoValue.NO_VALUE
"""Stands for the value of a number that no saved state has."""


class StandIn:
    """The base of the classes whose objects stand in for values while a call is recorded."""

    __slots__ = ()


class Kinds:
    """What the values of all slots are made of, as far as it decides which code a spec can reach.

    Attributes:
        new: the classes, functions and modules that nobody has taken note of yet.
    """

    def __init__(self) -> None:
        self.new: list[object] = []
        self._met: dict[int, object] = {}

    def take(self) -> list[object]:
        """Those that are new; from here on they are not."""
        taken, self.new = self.new, []
        return taken

    def note(self, value: object, path: str) -> None:
        """Note what a value is made of.

        Parameters:
            value: the value.
            path: where it is in the state.

        Raises:
            SpecError: it holds something that stood in for a part of a state during a recorded call. The spec kept it,
                so it is not made of pure functions.
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
                    f"{path} holds a part of another state, which the spec kept from an earlier call: it must not"
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
    """The type of a value; that of all classes is `type`, whatever their metaclass."""
    return type if isinstance(value, type) else type(value)


class Domain:
    """The values that a slot was seen to take, numbered in the order they were met.

    Parameters:
        slot: the slot.
        path: where it is in the state.
        read_when_copied: whether its value counts as read when it is copied.
        kinds: what the values are made of.

    Attributes:
        values: by number.
        types: the types of the values.
    """

    def __init__(self, slot: int, path: str, read_when_copied: bool, kinds: Kinds) -> None:
        self.slot, self.path, self.read_when_copied, self._kinds = slot, path, read_when_copied, kinds
        self.values: list[Any] = []
        self.types: set[type] = set()
        self._numbers: dict[object, int] = {}
        self._copied: frozenset[type] = frozenset()

    def number(self, value: object) -> int:
        """The number of a value, a new one if it was not met before.

        Raises:
            NewKind: it has the first value of a type by which calls that copied the slot unread may tell it apart.
            SpecError: it equals a value that was met before and is not the same, such as ``True`` and ``1``.
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
        """Number values as an earlier run has numbered them. A number whose value is `NO_VALUE` stays without one.

        Parameters:
            values: in the order of their numbers. Those that have values already keep them.
        """
        for value in values[len(self.values) :]:
            if value is NO_VALUE:
                self.values.append(self.values[0])  # which has another number, so nothing will use this one
            else:
                self.number(value)

    def can_be_copied(self, told_apart: frozenset[type]) -> bool:
        """Whether copying it is no read for code that may tell values of some types apart by identity."""
        return not self.read_when_copied and self.types.isdisjoint(told_apart)

    def note_copy(self, told_apart: frozenset[type]) -> None:
        """Note that something was learned from a call that copied the slot unread.

        Raises:
            NewKind: it should not have, as is known by now.
        """
        if not self.can_be_copied(told_apart):
            raise NewKind(self.slot)
        self._copied |= told_apart

    def forget(self, first: int) -> None:
        """Take back the numbers from the first on."""
        for value in self.values[first:]:
            if self._numbers.get(value, -1) >= first:  # not so where a number has no value of its own
                del self._numbers[value]
        del self.values[first:]
