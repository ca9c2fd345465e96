"""Two values in one field: where they are the same, where they are two, and where they are refused."""

from __future__ import annotations

import pytest

from leadline.checker import Result, SpecError
from tests.reference.compare import LEARNING, ORACLE
from tests.reference.specs import Text, unload

EQUAL = "equal but not the same"
UNFIT = "states are compared by value"
UNHASHABLE = "must be hashable"

PLAIN = {
    EQUAL: """
        True | 1
        0.0 | -0.0
        complex(0, 0.0) | complex(0, -0.0)
        Decimal(1) | Decimal('1.0')
        Decimal(0) | Decimal('-0')
        Decimal(3) | 3
        Fraction(2, 1) | 2
        0.5 | Fraction(1, 2)
        datetime.datetime(2026, 1, 1) | datetime.datetime(2026, 1, 1, fold=1)
        datetime.datetime(2026, 1, 1, 1, tzinfo=UTC) | datetime.datetime(2026, 1, 1, 2, tzinfo=EAST)
        datetime.timezone(datetime.timedelta(0), 'a') | datetime.timezone(datetime.timedelta(0), 'b')
        datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo('UTC')) | datetime.datetime(2026, 1, 1, tzinfo=UTC)
        range(0, 0) | range(1, 1)
        range(0, 1) | range(0, 1, 5)
        (1, (2, (True,))) | (1, (2, (1,)))
        frozenset({True}) | frozenset({1})
        (frozenset({(0,)}),) | (frozenset({(False,)}),)
        Map({1: True}) | Map({1: 1})
        Map({1: 2}) | Map({True: 2})
        Bag([1, 1]) | Bag([True, True])
        pathlib.PureWindowsPath('A') | pathlib.PureWindowsPath('a')
        numpy.float64(0.5) | 0.5
    """,
    UNFIT: """
        math.nan | 1.0
        (math.nan,) | 1.0
        Decimal('NaN') | 1
        (lambda: 1) | (lambda: 2)
        list[int] | dict[int, str]
        re.compile('a') | re.compile('b')
        functools.partial(int, 1) | functools.partial(int, 1)
        'a'.upper | 'b'.upper
        ValueError(1) | ValueError(1)
        object() | object()
        iter([1, 2]) | 1
        (each for each in ()) | 1
        memoryview(b'a') | 1
        numpy.int64(1) | 1
        numpy.bool_(True) | True
    """,
    UNHASHABLE: """
        [1] | [2]
        {1: 2} | {}
        {1} | {2}
        b'a' | bytearray(b'a')
        Decimal('sNaN') | 1
        collections.deque([1]) | 1
        collections.Counter('a') | 1
        numpy.array([1]) | 1
    """,
    "": """
        b'a' | b'b'
        math.inf | -math.inf
        len | max
        int | bool
        math | re
        ... | NotImplemented
        2**63 | 2**63 - 1
        2**100 | -2**100
        '\\ud800' | '\\x00'
        frozenset() | ()
        UTC | EAST
        datetime.date(2026, 1, 1) | datetime.datetime(2026, 1, 1)
        datetime.timedelta(1) | datetime.timedelta(2)
        pathlib.PurePosixPath('A') | pathlib.PurePosixPath('a')
        ipaddress.ip_address('fe80::1%a') | ipaddress.ip_address('fe80::1%b')
        Map({0: 1}) | Map({0: 2})
        Bag([0, 8]) | Bag([8, 0, 8])
    """,
}
"""Pairs of values of Python's and other libraries' classes, keyed by a part of the refusal. Empty if there is none."""

OWN_EQ = """
class V{base}:
    {slots}
    def __init__(self, shown, hidden):
        self.shown, self.hidden = shown, hidden

    def __eq__(self, other):
        return {equal}

    def __hash__(self):
        return 1
"""


def own(equal: str = "isinstance(other, V) and self.shown == other.shown", base: str = "", slots: str = "pass") -> str:
    """Return a class with two attributes and a method `__eq__`."""
    return OWN_EQ.format(equal=equal, base=base, slots=slots)


BOTH = "isinstance(other, V) and (self.shown, self.hidden) == (other.shown, other.hidden)"
FIELDS = "    shown: int\n    hidden: int = 0\n"

CLASSES: dict[str, tuple[str, str, str, str]] = {
    "a field with eq=False": (
        "@frozen\nclass V:\n    shown: int\n    hidden: int = field(eq=False, repr=False)\n",
        "V(1, 1)",
        "V(1, 2)",
        EQUAL,
    ),
    "a field with a function as eq": (
        "@frozen\nclass V:\n    n: str = field(eq=str.lower)\n",
        "V('a')",
        "V('A')",
        EQUAL,
    ),
    "a field with hash=False": (
        "@frozen\nclass V:\n    shown: int\n    hidden: int = field(hash=False)\n",
        "V(1, 1)",
        "V(1, 2)",
        "",
    ),
    "a class with eq=False": ("@frozen(eq=False)\nclass V:\n    n: int\n", "V(1)", "V(1)", UNFIT),
    "a field without a value": (
        "@frozen\nclass V:\n    n: int\n    unset: int = field(init=False)\n",
        "V(1)",
        "V(2)",
        "value.unset of a V has no value",
    ),
    "a field that is set after init": (
        "@frozen\nclass V:\n    n: int\n    m: int = field(init=False)\n\n"
        "    def __attrs_post_init__(self):\n        object.__setattr__(self, 'm', self.n * 2)\n",
        "V(1)",
        "V(2)",
        "",
    ),
    "a kept hash": (f"@frozen(cache_hash=True)\nclass V:\n{FIELDS}", "V(1, 1)", "V(1, 2)", ""),
    "a class that can change": ("@define(unsafe_hash=True)\nclass V:\n    n: int\n", "V(1)", "V(2)", "not frozen"),
    "a subclass with attributes": (
        "@frozen\nclass Base:\n    n: int\n\nclass V(Base):\n    pass\n\nX, Y = V(1), V(1)\n"
        "X.__dict__['hidden'], Y.__dict__['hidden'] = 1, 2\n",
        "X",
        "Y",
        EQUAL,
    ),
    "a subclass": ("@frozen\nclass Base:\n    n: int\n\n@frozen\nclass V(Base):\n    pass\n", "Base(1)", "V(1)", ""),
    "a cached property": (
        "@frozen\nclass V:\n    n: int\n\n    @functools.cached_property\n    def twice(self):\n"
        "        return self.n * 2\n",
        "V(1)",
        "V(2)",
        "",
    ),
    "a cached property in a dict": (
        own(BOTH) + "\n    @functools.cached_property\n    def twice(self):\n        return self.hidden * 2\n",
        "V(1, 1)",
        "V(1, 2)",
        "",
    ),
    "a dataclass": (f"@dataclasses.dataclass(frozen=True)\nclass V:\n{FIELDS}", "V(1, 1)", "V(1, 2)", ""),
    "a dataclass with slots": (
        f"@dataclasses.dataclass(frozen=True, slots=True)\nclass V:\n{FIELDS}",
        "V(1, True)",
        "V(1, 1)",
        EQUAL,
    ),
    "a dataclass with compare=False": (
        "@dataclasses.dataclass(frozen=True)\nclass V:\n    n: int\n"
        "    hidden: int = dataclasses.field(default=0, compare=False)\n",
        "V(1, 1)",
        "V(1, 2)",
        EQUAL,
    ),
    "a NamedTuple and a tuple": (f"class V(NamedTuple):\n{FIELDS}", "V(1, 1)", "(1, 1)", EQUAL),
    "a NamedTuple with its own eq": (
        f"class V(NamedTuple):\n{FIELDS}\n    def __eq__(self, other):\n        return self[0] == other[0]\n\n"
        "    def __hash__(self):\n        return self[0]\n",
        "V(1, 1)",
        "V(1, 2)",
        EQUAL,
    ),
    "an int subclass": ("class V(int):\n    pass\n", "V(1)", "1", EQUAL),
    "a str subclass": ("class V(str):\n    __slots__ = ()\n", "V('x')", "'x'", EQUAL),
    "a float subclass": ("class V(float):\n    pass\n", "V(0.0)", "V(-0.0)", EQUAL),
    "a complex subclass": ("class V(complex):\n    pass\n", "V(0, 0.0)", "V(0, -0.0)", UNFIT),
    "a tuple subclass": ("class V(tuple):\n    pass\n\nX, Y = V((1,)), V((1,))\nX.n, Y.n = 1, 2\n", "X", "Y", EQUAL),
    "a list subclass": ("class V(list):\n    def __hash__(self):\n        return 1\n", "V([1])", "V([2])", ""),
    "a frozenset subclass": ("class V(frozenset):\n    pass\n", "V({1})", "V({2})", UNFIT),
    "a Decimal subclass": ("class V(Decimal):\n    pass\n", "V(1)", "V(2)", UNFIT),
    "a timedelta subclass": ("class V(datetime.timedelta):\n    pass\n", "V(1)", "V(2)", UNFIT),
    "a deque subclass": (
        "class V(collections.deque):\n    def __hash__(self):\n        return 1\n",
        "V([1], 3)",
        "V([1], 4)",
        UNFIT,
    ),
    "an enum with aliases": ("class V(enum.Enum):\n    A = 1\n    B = True\n    C = 2\n", "V.B", "V.C", ""),
    "an IntEnum and an int": ("class V(enum.IntEnum):\n    A = 1\n", "V.A", "1", EQUAL),
    "two IntEnums": ("class V(enum.IntEnum):\n    A = 1\n\nclass W(enum.IntEnum):\n    A = 1\n", "V.A", "W.A", EQUAL),
    "unnamed flags": ("class V(enum.IntFlag):\n    A = 1\n    B = 2\n", "V(8)", "V(4)", ""),
    "an enum with its own eq": (
        "class V(enum.Enum):\n    A = 1\n    B = 2\n\n    def __eq__(self, other):\n        return True\n\n"
        "    def __hash__(self):\n        return 1\n",
        "V.A",
        "V.B",
        EQUAL,
    ),
    "an eq that hides": (own(), "V(1, 1)", "V(1, 2)", EQUAL),
    "an eq that hides a slot": (own(slots="__slots__ = ('shown', 'hidden')"), "V(1, 1)", "V(1, 2)", EQUAL),
    "an eq that is always true": (own("True"), "V(1, 1)", "V(2, 2)", EQUAL),
    "an eq that is not symmetric": (
        own("isinstance(other, V) and self.shown <= other.shown"),
        "V(1, 1)",
        "V(2, 2)",
        EQUAL,
    ),
    "an eq that raises": (own("self.shown == other.shown"), "V(1, 1)", "V(2, 2)", "whose __eq__ raises"),
    "a constant hash": (own(BOTH), "V(1, 1)", "V(1, 2)", ""),
    "a reduce that drops": (
        own(BOTH) + "\n    def __reduce__(self):\n        return V, (1, 1)\n",
        "V(1, 1)",
        "V(1, 2)",
        "",
    ),
    "a copy that drops": (
        own(BOTH) + "\n    def __deepcopy__(self, memo):\n        return V(1, 1)\n\n    __copy__ = __deepcopy__\n",
        "V(1, 1)",
        "V(1, 2)",
        "",
    ),
    "a getattr": (
        own(BOTH) + "\n    def __getattribute__(self, name):\n"
        "        return 7 if name == 'other' else object.__getattribute__(self, name)\n",
        "V(1, 1)",
        "V(1, 2)",
        "",
    ),
    "a metaclass with an eq": (
        "class M(type):\n    def __eq__(cls, other):\n        return isinstance(other, M)\n\n    def __hash__(cls):\n"
        "        return 1\n\nclass V(metaclass=M):\n    pass\n\nclass W(metaclass=M):\n    pass\n",
        "V",
        "W",
        EQUAL,
    ),
}
"""Classes, with two values, and a part of the refusal."""

HEAD = """\
import collections
import dataclasses
import datetime
import enum
import functools
import ipaddress
import math
import pathlib
import re
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy
from attrs import define, evolve, field, frozen

from leadline.checker import *

UTC, EAST = datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=1))
"""

SPEC = """
VALUES = ({first}, {second})


@frozen
class S:
    value: Any = None
    bits: tuple = component(default=(0, 0, 0), each="bit")


@action("flip {{i}}", i=range(3))
def flip(s, i):
    yield evolve(s, bits=(*s.bits[:i], 1 - s.bits[i], *s.bits[i + 1 :]))


@action("give {{i}}", i=range(2))
def give(s, i):
    yield evolve(s, value=VALUES[i])


@invariant("the second value is never there with the bits 1, 0, 1")
def never(s):
    return s.bits != (1, 0, 1) or s.value is None or s.value != VALUES[1]


spec = Spec(name="values", initial_states=lambda bounds: [S()], actions=[flip, give], properties=[never])
"""

PAIRS = {
    line.strip(): ("", *line.strip().split(" | "), refusal)
    for refusal, lines in PLAIN.items()
    for line in lines.strip().splitlines()
}


def _searched(classes: str, first: str, second: str) -> list[Result | str]:
    """Search a spec with two engines. Return the results, or the errors with which it is refused."""
    text = "\n\n".join([HEAD, classes, SPEC.format(first=first, second=second)])
    spec = Text("values", text, is_ordered=True, most=100).load()
    found: list[Result | str] = []
    for way in (ORACLE, LEARNING):
        try:
            found.append(way.run(spec, keep_going=True))
        except SpecError as error:
            found.append(str(error))
    unload(spec)
    return found


@pytest.mark.parametrize("name", [*PAIRS, *CLASSES])
def test_two_values_are_told_apart_or_refused(name: str) -> None:
    classes, first, second, refusal = (PAIRS | CLASSES)[name]
    for found in _searched(classes, first, second):
        if refusal:
            assert isinstance(found, str), found
            assert refusal in found
        else:
            assert isinstance(found, Result), found
            assert (found.verdict.value, found.statistics.distinct) == ("violated", 24)
