"""The walk over the object graph: the references of a value, in order, and the origins of modules."""

from __future__ import annotations

import functools
import json
from collections import deque
from types import MappingProxyType

import attrs
import pytest

import leadline.model.kafka
from leadline.checker.observing.objects import Origin, origin, referents


class Slotted:
    __slots__ = ("first", "never_set")

    def __init__(self, first: object) -> None:
        self.first = first


class Both(Slotted):
    def __init__(self, first: object, second: object) -> None:
        super().__init__(first)
        self.second = second


@attrs.frozen
class Pair:
    left: object
    right: object


HELD = object()


def with_defaults(one: object = HELD, *, two: object = 2) -> object:
    return one, two


def closure() -> object:
    limit = HELD
    return lambda: limit


HOLDERS = {
    "a tuple": ((1, HELD), "[1]"),
    "a dictionary": ({"key": HELD}, "value 0"),
    "a set": ({HELD}, "member"),
    "slots": (Slotted(HELD), ".first"),
    "a subclass of one with slots": (Both(1, HELD), ".second"),
    "an attrs value": (Pair(1, HELD), ".right"),
    "a default": (with_defaults, "default 0"),
    "a closure": (closure(), "cell limit"),
    "a partial": (functools.partial(print, HELD), "referent"),
    "a queue": (deque([HELD]), "referent"),
    "a mapping proxy": (MappingProxyType({0: HELD}), "referent"),
    "a class": (type("Made", (), {"member": HELD}), ".member"),
}


@pytest.mark.parametrize(("holder", "name"), HOLDERS.values(), ids=HOLDERS.keys())
def test_what_a_value_holds_is_found_by_name(holder: object, name: str) -> None:
    reached = [(found.name, found.value) for found in referents(holder)]
    inner = [(found.name, found.value) for _, value in reached for found in referents(value)]
    assert (name, HELD) in reached or any(value is HELD for _, value in inner)


def test_the_order_is_that_of_the_value() -> None:
    assert [found.name for found in referents(Both("a", "b"))][:2] == [".first", ".second"]
    assert [found.value for found in referents({"b": 1, "a": 2})][:4] == ["b", 1, "a", 2]


def test_each_module_has_one_origin() -> None:
    origins = {
        "leadline.checker.bag": Origin.LEADLINE,
        leadline.model.kafka.__name__: Origin.SPEC,
        json.__name__: Origin.PYTHON,
        "sys": Origin.PYTHON,
        "attr": Origin.INSTALLED,
        __name__: Origin.SPEC,
    }
    assert {name: origin(name) for name in origins} == origins
