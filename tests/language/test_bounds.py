"""Bounds: declared, checked, read from a command line, and described."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker.bounds import bound, change_bounds, describe_bounds, parse_bounds
from leadline.checker.support.messages import nearest
from tests.specs.refusals import refused


@attrs.frozen
class Bounds:
    """One bound of every kind."""

    brokers: int = bound(3, "replicas of the partition", at_least=1, at_most=5)
    log_size: int = bound(2, "records in a log", at_least=0)
    slack: int = bound(0, "may be negative", at_most=4)
    seed: int = bound(7, "any integer")
    unclean: bool = bound(False, "whether elections may be unclean")
    acks: str = bound("all", "when a producer is answered", choices=("all", "leader"))
    topic: str = bound("events", "a name")


def test_defaults_are_the_defaults() -> None:
    assert attrs.astuple(Bounds()) == (3, 2, 0, 7, False, "all", "events")


def test_described_with_value_text_and_range() -> None:
    assert describe_bounds(Bounds(brokers=4)) == [
        ("brokers", 4, "replicas of the partition", "an integer from 1 to 5"),
        ("log_size", 2, "records in a log", "an integer of 0 or more"),
        ("slack", 0, "may be negative", "an integer up to 4"),
        ("seed", 7, "any integer", "an integer"),
        ("unclean", False, "whether elections may be unclean", "true or false"),
        ("acks", "all", "when a producer is answered", "one of all, leader"),
        ("topic", "events", "a name", "a word"),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"brokers": 1},
        {"brokers": 5},
        {"log_size": 0},
        {"slack": -100},
        {"slack": 4},
        {"seed": -1},
        {"unclean": True},
        {"acks": "leader"},
        {"topic": "any word"},
    ],
)
def test_values_on_the_edge_of_the_range_are_possible(changes: dict[str, Any]) -> None:
    (value,) = changes.values()

    assert getattr(change_bounds(Bounds(), changes), *changes) == value


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("brokers", 0, "an integer from 1 to 5"),
        ("brokers", 6, "an integer from 1 to 5"),
        ("log_size", -1, "an integer of 0 or more"),
        ("slack", 5, "an integer up to 4"),
        ("acks", "none", "one of all, leader"),
    ],
)
def test_refuses_a_value_out_of_range(name: str, value: Any, right: str) -> None:
    with refused(f"bound {name}={value}", f"it must be {right}"):
        change_bounds(Bounds(), {name: value})


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("brokers", 2.0, "an integer from 1 to 5"),
        ("brokers", True, "an integer from 1 to 5"),
        ("brokers", None, "an integer from 1 to 5"),
        ("brokers", "three", "an integer from 1 to 5"),
        ("brokers", "2.5", "an integer from 1 to 5"),
        ("seed", "", "an integer"),
        ("unclean", 1, "true or false"),
        ("unclean", "yes", "true or false"),
        ("topic", True, "a word"),
    ],
)
def test_refuses_a_value_of_the_wrong_kind(name: str, value: Any, right: str) -> None:
    with refused(f"bound {name}={value}", f"it must be {right}"):
        change_bounds(Bounds(), {name: value})


def test_refuses_a_wrong_value_also_when_the_class_is_made_directly() -> None:
    with refused("bound brokers=9", "1 to 5"):
        Bounds(brokers=9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bound(7, "brokers", at_most=5), ("'brokers'", "default 7", "an integer up to 5")),
        (lambda: bound(1, "brokers", at_least=5, at_most=3), ("'brokers'", "default 1", "from 5 to 3")),
        (lambda: bound("b", "mode", choices=("a",)), ("'mode'", "default 'b'", "one of a")),
        (lambda: bound("a", "mode", at_least=1), ("'mode'", "require a default that is an int")),
        (lambda: bound(True, "flag", at_most=1), ("'flag'", "require a default that is an int")),
        (lambda: bound(1, "brokers", choices=("1",)), ("'brokers'", "requires a default that is a str")),
    ],
)
def test_refuses_a_declaration_that_makes_no_sense(make: Any, words: tuple[str, ...]) -> None:
    with refused(*words):
        make()


@pytest.mark.parametrize("text", ["٣", "1_0", "0x2", " ", "2.0", "9" * 5000])
def test_an_integer_is_digits(text: str) -> None:
    @attrs.frozen
    class Sizes:
        brokers: int = bound(2, "brokers")

    with refused(f"bound brokers={text} is out of range", "an integer"):
        change_bounds(Sizes(), {"brokers": text})


def test_refuses_an_unknown_bound_and_names_the_nearest() -> None:
    with refused("unknown bound 'broker'", "did you mean 'brokers'?"):
        change_bounds(Bounds(), {"broker": 2})


def test_refuses_an_unknown_bound_like_no_other_and_names_all() -> None:
    with refused("unknown bound 'xyzzy'", "choose from 'acks', 'brokers', 'log_size'", "'unclean'"):
        change_bounds(Bounds(), {"xyzzy": 2})


@pytest.mark.parametrize("default", [1.5, None, (), [1]])
def test_refuses_to_declare_a_bound_of_another_kind(default: Any) -> None:
    with refused("a bound must be an int, a bool or a str", type(default).__name__):
        bound(default, "something else")


def test_texts_are_read_as_the_kind_of_the_bound() -> None:
    changed = change_bounds(Bounds(), {"brokers": "4", "unclean": "True", "acks": "leader", "topic": "7"})

    assert changed == Bounds(brokers=4, unclean=True, acks="leader", topic="7")
    assert change_bounds(Bounds(unclean=True), {"unclean": "false"}) == Bounds()


def test_changing_leaves_the_other_bounds_as_they_are() -> None:
    assert change_bounds(Bounds(seed=1), {"brokers": 2}) == Bounds(seed=1, brokers=2)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("brokers=3,log_size=2", {"brokers": "3", "log_size": "2"}),
        (" brokers = 3 , log_size=2 , ", {"brokers": "3", "log_size": "2"}),
        ("", {}),
    ],
)
def test_parses_names_and_values(text: str, changes: dict[str, str]) -> None:
    assert parse_bounds(text) == changes


@pytest.mark.parametrize("text", ["brokers", "=3", "brokers:3", "log_size=2,brokers"])
def test_refuses_text_that_is_not_name_value(text: str) -> None:
    with refused("invalid bound", repr(text.split(",")[-1]), "name=value"):
        parse_bounds(text)


def test_refuses_a_bound_that_is_given_twice() -> None:
    with refused("bound brokers", "twice"):
        parse_bounds("brokers=3,log_size=2,brokers=4")


def test_nearest_names_the_closest_first_and_nothing_among_many_strangers() -> None:
    many = [f"name{number}" for number in range(20)]

    assert nearest("brokrs", ["records", "brokers", "epoch"]) == ": did you mean 'brokers' or 'records'?"
    assert nearest("zzz", many[:2]) == ": choose from 'name0', 'name1'"
    assert nearest("zzz", many) == ""
    assert nearest("zzz", []) == ""
