"""The property decorators: their results and their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Kind, Property, invariant, step_invariant, step_witness, witness
from tests.specs.machines import Counter, Counters, CountersBounds, below_ceiling, counters
from tests.specs.refusals import refused

Decorator = Callable[..., Callable[[Any], Property]]

OF_STATES: list[Decorator] = [invariant, witness]
OF_STEPS: list[Decorator] = [step_invariant, step_witness]


def small(state: int) -> bool:
    return state < 10


def grows(before: int, after: int) -> bool:
    return before < after


def lists_negatives(state: tuple[int, ...]) -> Iterator[str]:
    for index, number in enumerate(state):
        if number < 0:
            yield f"number {index} is {number}"


def forgets_to_return(state: int) -> bool:  # type: ignore[return]
    small(state)


def returns_a_number(state: int) -> Any:
    return state


def yields_nothing_of_use(state: int) -> Iterator[Any]:
    yield None


def yields_a_bool(state: int) -> Iterator[Any]:
    yield False


def test_a_property_takes_the_name_of_its_function_and_keeps_its_sentence_and_source() -> None:
    assert attrs.astuple(below_ceiling)[:3] == (
        "below_ceiling",
        Kind.INVARIANT,
        "the sum of the counters is not above the ceiling",
    )
    assert below_ceiling.source == "a test"
    assert invariant("small")(small).source == ""


@pytest.mark.parametrize(
    ("decorator", "function", "kind"),
    [
        (invariant, small, Kind.INVARIANT),
        (step_invariant, grows, Kind.STEP_INVARIANT),
        (witness, small, Kind.WITNESS),
        (step_witness, grows, Kind.STEP_WITNESS),
    ],
)
def test_each_decorator_makes_its_own_kind(decorator: Decorator, function: Any, kind: Kind) -> None:
    assert decorator("a sentence")(function).kind is kind


def test_kinds_know_what_they_speak_of() -> None:
    conditions = [Kind.CONDITION, Kind.STEP_CONDITION]
    witnesses = [Kind.WITNESS, Kind.STEP_WITNESS, Kind.PREMISE, *conditions]
    assert [kind for kind in Kind if kind.is_witness] == witnesses
    assert [kind for kind in Kind if kind.of_steps] == [Kind.STEP_INVARIANT, Kind.STEP_WITNESS, Kind.STEP_CONDITION]


def test_a_bool_predicate_says_whether_but_not_why() -> None:
    item = invariant("small")(small)

    assert (item(9), item.complaint(9)) == (True, None)
    assert (item(10), item.complaint(10)) == (False, "")


def test_a_step_property_sees_the_state_before_first() -> None:
    item = step_invariant("grows")(grows)

    assert (item(1, 2), item(2, 1)) == (True, False)


def test_a_yielding_predicate_says_the_first_thing_that_is_wrong() -> None:
    item = invariant("no number is negative")(lists_negatives)

    assert (item((1, 2)), item.complaint((1, 2))) == (True, None)
    assert (item((1, -2, -3)), item.complaint((1, -2, -3))) == (False, "number 1 is -2")


def test_a_yielding_predicate_on_a_state_names_the_offending_values() -> None:
    state = Counters((Counter(3), Counter(4)), CountersBounds(ceiling=5))

    assert below_ceiling.complaint(state) == "the sum is 7, the ceiling 5"


@pytest.mark.parametrize("decorator", OF_STATES + OF_STEPS)
@pytest.mark.parametrize("sentence", ["", small])
def test_refuses_a_property_without_a_sentence(decorator: Decorator, sentence: Any) -> None:
    with refused("needs a sentence", f"@{decorator.__name__}('...')"):
        decorator(sentence)


@pytest.mark.parametrize("decorator", OF_STATES)
def test_refuses_a_state_property_of_two_states(decorator: Decorator) -> None:
    with refused(f"{decorator.__name__} grows", "must take one parameter, state", "not (before, after)"):
        decorator("grows")(grows)


@pytest.mark.parametrize("decorator", OF_STEPS)
def test_refuses_a_step_property_of_one_state(decorator: Decorator) -> None:
    with refused(
        decorator.__name__.replace("_", " ") + " small", "must take two parameters, before and after", "not (state)"
    ):
        decorator("small")(small)


def test_refuses_a_predicate_that_cannot_be_called_with_a_state_alone() -> None:
    def by_name(*, state: Any) -> bool:
        return True

    def of_any(*states: Any) -> bool:
        return True

    with refused("invariant by_name", "state must be a positional parameter without a default value"):
        invariant("by name")(by_name)
    with refused("invariant of_any", "*states must be a positional parameter without a default value"):
        invariant("of any")(of_any)


def test_refuses_what_is_not_a_function() -> None:
    with refused("an invariant must be a function", "not 5"):
        invariant("five")(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("function", "outcome"), [(forgets_to_return, "None"), (returns_a_number, "7")])
def test_refuses_a_predicate_that_returns_no_bool_when_it_is_asked(function: Any, outcome: str) -> None:
    item = invariant("a sentence")(function)

    with refused(f"invariant {function.__name__}", "must return True or False", f"not {outcome}"):
        item(7)


@pytest.mark.parametrize(("function", "outcome"), [(yields_nothing_of_use, "None"), (yields_a_bool, "False")])
def test_refuses_a_predicate_that_yields_no_sentence_when_it_is_asked(function: Any, outcome: str) -> None:
    item = invariant("a sentence")(function)

    with refused(f"invariant {function.__name__}", "must yield", f"not {outcome}"):
        item(7)


def test_a_property_that_does_not_apply_within_the_bounds_is_checked_only_if_it_is_named() -> None:
    @invariant("no counter is above two", applies=lambda bounds: bounds.ceiling > 2)
    def small_counters(state: Counters) -> bool:
        return all(counter.value <= 2 for counter in state.counters)

    spec = counters(small_counters)
    low, high = (spec.with_bounds({"ceiling": ceiling}) for ceiling in (2, 3))

    def names(of: Any) -> list[str]:
        return [item.name for item in of.checks]

    assert "small_counters" in names(high)
    assert "small_counters" not in names(low) + names(low.resting_on([]))
    assert names(low.with_properties(["small_counters"])) == ["small_counters"]
    assert names(spec.with_properties(["small_counters"]).with_bounds({"ceiling": 2})) == ["small_counters"]


def test_refuses_an_applies_that_is_no_predicate_of_the_bounds() -> None:
    with refused("applies", "bounds"):
        invariant("small", applies=lambda: True)(small)  # type: ignore[misc, arg-type]
    spec = counters(invariant("small", applies=lambda bounds: 1)(small))  # type: ignore[arg-type, return-value]
    with refused("invariant small: applies", "must return True or False", "not 1"):
        _ = spec.checks


def test_an_instance_can_be_named_within_bounds_in_which_its_property_does_not_apply() -> None:
    @invariant("counter {index} is not above two", applies=lambda bounds: bounds.ceiling > 2, index=range(2))
    def each_small(state: Counters, index: int) -> bool:
        return state.counters[index].value <= 2

    spec = counters(each_small).with_bounds({"ceiling": 2})
    assert spec.checks == ()
    assert [item.name for item in spec.with_properties(["each_small(index=1)"]).checks] == ["each_small(index=1)"]
