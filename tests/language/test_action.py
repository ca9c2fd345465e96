"""The action decorator: its results and its errors."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Action, SpecError, action
from tests.specs.machines import Counter, Counters, CountersBounds, increment, values
from tests.specs.refusals import refused


@attrs.frozen
class Size:
    """Bounds for the domains below."""

    width: int = 2


class Colour(enum.Enum):
    """A domain of its own."""

    RED = 1
    BLUE = 2


def paint(state: Any, place: int, colour: Any) -> Iterator[Any]:
    yield (place, colour)


def made(**domains: Any) -> Action[Any, Any]:
    """`paint` as an action."""
    return action("{colour} at {place}", **domains)(paint)


def instances(**domains: Any) -> list[str]:
    """The instances of `paint`, as they are written."""
    return [repr(instance) for instance in made(**domains).instances(Size(width=2))]


def test_calling_an_action_calls_the_function() -> None:
    state = Counters((Counter(0), Counter(1)), CountersBounds(limit=1))

    assert [values(after) for after in increment(state, 0)] == [(1, 1)]
    assert [values(after) for after in increment(state, index=1)] == []


def test_an_action_is_named_after_its_function_and_keeps_its_sentence() -> None:
    assert (increment.name, increment.sentence) == ("increment", "counter {index} goes up")


def test_there_is_an_instance_for_each_combination_the_last_parameter_changing_fastest() -> None:
    assert instances(place=range(2), colour=["x", "y"]) == [
        "paint(place=0, colour=x)",
        "paint(place=0, colour=y)",
        "paint(place=1, colour=x)",
        "paint(place=1, colour=y)",
    ]


def test_instances_follow_the_order_of_the_signature_not_of_the_decorator() -> None:
    assert instances(colour=[7], place=[8]) == ["paint(place=8, colour=7)"]


def test_a_domain_may_be_a_function_of_the_bounds() -> None:
    assert instances(place=lambda size: range(size.width), colour=[7]) == [
        "paint(place=0, colour=7)",
        "paint(place=1, colour=7)",
    ]


def test_a_domain_may_be_an_enum() -> None:
    assert [instance.values for instance in made(place=[0], colour=Colour).instances(Size())] == [
        (0, Colour.RED),
        (0, Colour.BLUE),
    ]


def test_an_empty_domain_is_refused_unless_the_bounds_make_it_empty() -> None:
    with pytest.raises(SpecError, match=r"^action paint: the domain of 'place' is empty: give at least one value$"):
        made(place=[], colour=[7])
    assert instances(place=lambda size: range(size.width - 2), colour=[7]) == []


def test_an_action_without_parameters_has_one_instance() -> None:
    def rest(state: int) -> Iterator[int]:
        yield state + 1

    (instance,) = action()(rest).instances(Size())

    assert repr(instance) == "rest()"
    assert list(instance.successors(1)) == [2]
    assert instance.sentence == ""


def test_an_instance_knows_its_arguments_and_fills_in_its_sentence() -> None:
    (instance,) = made(place=[3], colour=["red"]).instances(Size())

    assert instance.arguments == {"place": 3, "colour": "red"}
    assert instance.sentence == "red at 3"
    assert list(instance.successors(None)) == [(3, "red")]


def test_instances_of_one_action_are_equal_when_their_values_are() -> None:
    paints = made(place=[0, 1], colour=[7])

    assert paints.instances(Size()) == paints.instances(Size())
    assert len(set(paints.instances(Size()) + paints.instances(Size()))) == 2


# Refusals when the action is defined.


def returns_a_list(state: Any) -> list[Any]:
    return [state]


def takes_nothing() -> Iterator[Any]:
    yield None


def has_a_default(state: Any, place: int = 3) -> Iterator[Any]:
    yield state


def has_a_star(state: Any, *places: int) -> Iterator[Any]:
    yield state


def has_two_stars(state: Any, **places: int) -> Iterator[Any]:
    yield state


def has_a_keyword(state: Any, *, place: int) -> Iterator[Any]:
    yield state


def has_a_default_state(state: Any = 5) -> Iterator[Any]:
    yield state


def test_refuses_a_function_that_is_not_a_generator() -> None:
    with refused("action returns_a_list", "generator", "yields the next states"):
        action()(returns_a_list)  # type: ignore[arg-type]


def test_refuses_a_class() -> None:
    with refused("action Colour", "generator"):
        action()(Colour)  # type: ignore[arg-type]


def test_refuses_a_function_that_takes_no_state() -> None:
    with refused("action takes_nothing", "must take one parameter, state, not ()"):
        action()(takes_nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (has_a_default, "place=3"),
        (has_a_star, "*places"),
        (has_two_stars, "**places"),
        (has_a_keyword, "place"),
        (has_a_default_state, "state=5"),
    ],
)
def test_refuses_a_parameter_that_is_not_plain(function: Callable[..., Iterator[Any]], parameter: str) -> None:
    with refused(f"action {function.__name__}", parameter, "must be a positional parameter without a default value"):
        action(place=[1], places=[1])(function)


def test_refuses_a_parameter_without_a_domain() -> None:
    with refused("action paint", "'colour'", "no domain", "@action(colour=...)"):
        made(place=[1])


def test_refuses_a_domain_without_a_parameter() -> None:
    with refused("action paint", "'color'", "no such parameter"):
        made(place=[1], colour=[2], color=[3])


@pytest.mark.parametrize("domain", ["red", iter([1, 2]), (colour for colour in Colour), 5, None])
def test_refuses_a_domain_that_cannot_be_gone_through_again_and_again(domain: Any) -> None:
    with refused("action paint", "domain of 'colour'", "a collection of values or a function of the bounds"):
        made(place=[1], colour=domain)


@pytest.mark.parametrize(
    ("sentence", "unknown"),
    [("{brush} at {place}", "{brush}"), ("{}", "{}"), ("{0}", "{0}"), ("{colour.name}", "{colour.name}")],
)
def test_refuses_a_sentence_that_names_what_is_not_a_parameter(sentence: str, unknown: str) -> None:
    with refused("action paint", "sentence", unknown, "not a parameter of the action"):
        action(sentence, place=[1], colour=[2])(paint)


def test_refuses_a_sentence_with_a_brace_left_open() -> None:
    with refused("action paint", "sentence", "'{colour at'", "is not a valid format string"):
        action("{colour at", place=[1], colour=[2])(paint)


def test_refuses_to_be_used_without_parentheses() -> None:
    with refused("parentheses", "@action()"):
        action(paint)  # type: ignore[arg-type]


# Refusals when the bounds are known.


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        (lambda size: size.height, "has no attribute 'height'"),
        ([[1], [2]], "unhashable type: 'list'"),
    ],
)
def test_refuses_a_domain_that_fails_and_says_why(domain: Any, reason: str) -> None:
    with refused("action paint", "domain of 'colour' raised", reason):
        instances(place=[1], colour=domain)


@pytest.mark.parametrize(("given", "what"), [(lambda size: size.width, "2"), (lambda size: "red", "'red'")])
def test_refuses_a_domain_that_gives_no_collection(given: Any, what: str) -> None:
    with refused("action paint", f"domain of 'colour' must return a collection of values, not {what} (test_action.py"):
        instances(place=[1], colour=given)


@pytest.mark.parametrize("domain", [{1, 2}, frozenset("ab"), lambda size: {size}])
def test_refuses_a_domain_without_an_order_since_it_differs_between_processes(domain: Any) -> None:
    with refused("action paint", "domain of 'colour' is a set", "a list or a range"):
        instances(place=[1], colour=domain)


def test_refuses_a_domain_that_holds_a_value_twice() -> None:
    with refused("action paint", "domain of 'colour'", "twice", "[1, 2, 1]"):
        instances(place=[1], colour=[1, 2, 1])
