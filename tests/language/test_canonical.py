"""Canonical values: equal values iterate in the same order, however they were created."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from leadline.checker import canonical as canonical_module
from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical
from tests.suite.samples import EVERY


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


def tagged(value: Any) -> Any:
    """A value with the types in it, the members of sets in an order that depends on nothing but the members."""
    if isinstance(value, frozenset | tuple):
        inner = [tagged(member) for member in value]
        return type(value).__name__, inner if isinstance(value, tuple) else sorted(inner, key=repr)
    if isinstance(value, Bag):
        return "Bag", sorted(((tagged(member), count) for member, count in value.items()), key=repr)
    if isinstance(value, Node):
        return "Node", tagged(value.seen)
    return type(value).__name__, repr(value)


ATOMS = st.one_of(st.integers(0, 9), st.booleans(), st.sampled_from(["a", "b", "c", None, 0.0, -0.0, 1.0]))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.frozensets(inner), st.tuples(inner, inner), inner.map(Node), st.lists(inner).map(Bag))


@st.composite
def sets(draw: st.DrawFn) -> frozenset[Any]:
    return draw(st.frozensets(st.recursive(ATOMS, containers, max_leaves=12)))


@settings(max_examples=120 if EVERY else 50)
@given(st.lists(sets(), min_size=1, max_size=6))
def test_what_was_kept_before_neither_changes_a_value_nor_its_order(values: list[Any]) -> None:
    """Equal values, such as 1, True and 1.0, are kept in one table; none may stand for another."""
    made = [canonical(value) for value in values]
    assert [tagged(one) for one in made] == [tagged(value) for value in values]
    for value, one in zip(values, made, strict=True):
        canonical_module._kept.drop()
        alone = canonical(value)
        assert (tagged(alone), walked(alone)) == (tagged(one), walked(one))


def test_a_recurring_collection_is_one_object() -> None:
    canonical_module._kept.drop()
    first, second = canonical(frozenset([(1, "a"), (2, "b")])), canonical(frozenset([(2, "b"), (1, "a")]))
    assert first is second
    assert canonical(frozenset([(True, "a"), (2, "b")])) is not first


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
