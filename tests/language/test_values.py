"""What a value is: when two values are the same."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import ipaddress
import itertools
import math
import pathlib
import re
import uuid
import zoneinfo
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given

from leadline.checker import Bag, Map, SpecError, constant
from leadline.checker.values import Form, copied, difference, distinct, key, refusal, rule_of, same
from tests.engines.test_direct import values


@attrs.frozen
class Process:
    term: int = 0
    number: Any = constant(default=0)


@attrs.frozen(slots=False)
class Loose:
    value: Any

    @functools.cached_property
    def text(self) -> str:
        return str(self.value)


@attrs.frozen
class Slotted:
    value: Any
    hidden: Any = attrs.field(default=0, eq=False, repr=False)

    @functools.cached_property
    def text(self) -> str:
        return str(self.value)


@attrs.frozen(cache_hash=True)
class Longer(Slotted):
    """attrs enters the slots of the base that are declared again."""

    value: Any = 0
    more: Any = 0


@dataclasses.dataclass(frozen=True)
class Data:
    value: Any
    hidden: Any = dataclasses.field(default=0, compare=False)


class Slots:
    """Equal if the first fields are. The default `repr` shows neither."""

    __slots__ = ("key", "shown")

    def __init__(self, key: Any, shown: Any) -> None:
        self.key, self.shown = key, shown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slots) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


class Ordered(dict[Any, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class Version(tuple[int, int]):
    def __new__(cls, major: int, minor: int) -> Version:
        return tuple.__new__(cls, (major, minor))


class Noted(tuple[Any, ...]):
    """A tuple with a `__dict__`."""

    note: Any


class Epoch(int):
    """An int of another type."""


class Pair(NamedTuple):
    one: Any
    two: Any


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    LOW = "low"


class Plain:
    """Compared by identity."""


def noted(note: Any) -> Noted:
    made = Noted((1,))
    made.note = note
    return made


def with_text(value: Any) -> Any:
    assert value.text
    return value


HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

EQUAL: list[tuple[Any, ...]] = [
    (1, True, 1.0, Epoch(1), Level.LOW, Fraction(1), Decimal("1"), Decimal("1.00"), complex(1)),
    (0.0, -0.0, 0, False),
    ("low", Word.LOW),
    (NOON, datetime(2026, 1, 1, 13, tzinfo=timezone(HOUR)), NOON.replace(tzinfo=timezone(timedelta(0), "zero"))),
    (datetime(2026, 1, 1), datetime(2026, 1, 1, fold=1)),
    (range(0), range(1, 1), range(0, 0, 2)),
    (range(0, 3, 2), range(0, 4, 2)),
    ((1, 2), Pair(1, 2), Version(1, 2), Pair(True, 2)),
    (noted(1), noted(True), noted(2), (1,)),
    (frozenset({1, 2}), frozenset({True, 2})),
    (Bag([1]), Bag([True]), Bag.of({1: True})),
    (Map({1: 0}), Map({True: 0}), Map({1: False})),
    (Process(1), Process(True), Process(1, number=1), Process(1, number=False)),
    ((Process(), Process(1)), (Process(), Process(1, number=1))),
    (frozenset({(Process(), 1)}), frozenset({(Process(0, 1), 1)})),
    (Slotted(1), Slotted(1, 1), Slotted(True)),
    (Data(1), Data(1, 1), Data(True)),
    (Longer(value=1), Longer(value=True), Longer(value=1, hidden=1)),
    (Slots(1, 0), Slots(1, 1), Slots(True, 0)),
    (Ordered([(1, 0), (2, 0)]), Ordered([(2, 0), (1, 0)])),
]  # fmt: skip

PAIRS = [pair for group in EQUAL for pair in itertools.combinations(group, 2)]

ALL = [value for group in EQUAL for value in group] + [
    None, (), frozenset(), Bag(), Map(), "", b"", b"low", math.pi, complex(0, -0.0), Level,
    len, copy, uuid.UUID(int=1), date(2026, 1, 1), HOUR, zoneinfo.ZoneInfo("UTC"), re.compile("a"), re.compile("b"),
    pathlib.PurePosixPath("a/b"), ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("10.0.0.0/8"), [1], [True],
    {"a": 1}, {"a": True}, {1}, {True}, Loose(1), Loose(True), Plain(), Plain(), np.int64(1), float("nan"), ...,
]  # fmt: skip


def name_of(value: object) -> str:
    """The text of a value, without its address, which differs between the processes that collect the tests."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=name_of)
def test_equal_values_that_are_not_the_same(one: Any, other: Any) -> None:
    assert one == other
    assert not same(one, other)
    assert not same(other, one)
    assert not same((one, 1), (other, 1))
    error = refusal("State.x", one, other)
    assert isinstance(error, SpecError)
    assert "\n" not in str(error)
    with pytest.raises(SpecError, match=r"holds both .* and .*, which are equal but not the same"):
        distinct([one, other], "State.x")


def test_keys_are_equal_exactly_if_the_values_are_the_same() -> None:
    for one, other in itertools.product(ALL, ALL):
        assert (key(one) == key(other)) is same(one, other) is (one is other), (one, other)
        assert (difference(one, other) is None) is same(one, other)
        hash(key(one))


@given(values, values)
def test_keys_of_values_that_are_equal_or_not(one: Any, other: Any) -> None:
    assert (key(one) == key(other)) is same(one, other)


@pytest.mark.parametrize("value", [each for each in ALL if type(each) is not Plain], ids=name_of)
def test_a_copy_is_the_same(value: Any) -> None:
    cls: type = type(value)
    if rule_of(cls).form is Form.REFUSED:
        return
    if type(value) not in (Version, type(copy)):
        assert same(copy.deepcopy(value), value)
        assert key(copy.deepcopy(value)) == key(value)
    if type(value) in (Process, Slotted, Longer, Data, Slots, Loose, Version, Noted):
        made = copied(value)
        assert made is not value
        assert same(made, value)


def test_cached_properties_do_not_count() -> None:
    for cls in (Loose, Slotted):
        one = with_text(cls(1))
        assert same(one, cls(1))
        assert same(cls(1), one)
        assert key(one) == key(cls(1))
        assert not same(one, with_text(cls(True)))


def test_the_message_names_what_differs() -> None:
    def said(one: Any, other: Any) -> str:
        return str(refusal("State.x", one, other))

    assert said((0, (1,)), (0, (True,))) == (
        "State.x[1][0] holds both 1 and True, which are equal but not the same: use only one of the two"
    )
    assert said(Process(), Process(number=1)) == (
        "State.x holds both Process(term=0) and Process(term=0), which are equal but not the same "
        "(number: 0 and 1): use only one of the two"
    )
    assert "both 'low' (str) and" not in said("low", Word.LOW)
    assert "1 (int) and 1 (Epoch)" in said(1, Epoch(1))
