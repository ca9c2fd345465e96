"""Canonical values: equal values iterate in the same order, however they were created."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical


@frozen
class Node:
    seen: Any
    name: str = "n"


class Pair(NamedTuple):
    first: Any
    second: Any


def walked(value: Any) -> Any:
    """A value with the members of its sets and bags in the order in which they iterate."""
    if isinstance(value, Bag):
        return [(walked(member), count) for member, count in value.items()]
    if isinstance(value, frozenset | tuple):
        return [walked(member) for member in value]
    return walked(value.seen) if isinstance(value, Node) else value


MADE_TWICE = [
    (frozenset([0, 8]), frozenset([8, 0])),
    (frozenset([0, 8, 16]), frozenset([16, 8, 0])),
    (Bag([1, 2]), Bag([2, 1])),
    (Node(frozenset([0, 8])), Node(frozenset([8, 0]))),
    ((1, (frozenset([0, 8]),)), (1, (frozenset([8, 0]),))),
    (Pair(1, frozenset([0, 8])), Pair(1, frozenset([8, 0]))),
    (frozenset([frozenset([0, 8])]), frozenset([frozenset([8, 0])])),
    (Bag([frozenset([0, 8])]), Bag([frozenset([8, 0])])),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), MADE_TWICE)
def test_equal_values_iterate_alike_however_they_were_made(one: Any, other: Any) -> None:
    assert one == other
    assert walked(one) != walked(other)
    assert walked(canonical(one)) == walked(canonical(other))
    assert canonical(one) == one
    assert (type(canonical(one)), hash(canonical(one))) == (type(one), hash(one))


@given(st.lists(st.one_of(st.integers(), st.text(), st.booleans(), st.tuples(st.integers()))), st.randoms())
def test_sets_of_anything_iterate_alike(members: list[Any], random: Any) -> None:
    members = list(set(members))
    shuffled = random.sample(members, len(members))
    assert list(canonical(frozenset(members))) == list(canonical(frozenset(shuffled)))


def test_what_holds_no_set_or_is_shared_stays_the_same_object() -> None:
    value = Node((1, "a", Node(None)))
    assert canonical(value) is value
    first = canonical(Node((frozenset([0, 8]), frozenset([1]))))
    after = Node((first.seen[0], frozenset([9, 1])))
    assert canonical(after, first).seen[0] is first.seen[0]


def test_constants_are_kept() -> None:
    from leadline.checker import constant

    @frozen
    class State:
        held: Any
        rules: Any = constant()

    rules = object()
    assert canonical(State(frozenset([8, 0]), rules)).rules is rules
