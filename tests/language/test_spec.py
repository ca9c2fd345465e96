"""The spec: its errors, and how its parts are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from attrs import frozen

from leadline.checker import Kind, Spec, Step, action, bound, component, constant, invariant
from leadline.checker.drawing import Drawing, Message, Row
from tests.specs.machines import (
    Clock,
    Counters,
    Walker,
    all_at_limit,
    below_ceiling,
    clock,
    counters,
    forward,
    good_node,
    good_step,
    increment,
    midnight,
    no_bad_node,
    no_bad_step,
    tick,
    values,
    walks,
)
from tests.specs.refusals import refused


def undecorated(state: Clock) -> Iterator[Clock]:
    yield state


def deadlock(state: Any) -> bool:
    return True


@attrs.define
class SoftBounds:
    """Not frozen."""

    limit: int = 3


@attrs.frozen
class HardBounds:
    """Frozen."""

    limit: int = 3


class PlainBounds(HardBounds):
    """A plain class that inherits from a frozen one."""


@attrs.frozen
class DeclaredBounds:
    """With a bound that `-b` may change."""

    limit: int = bound(3, "a limit", at_least=1, at_most=4)


def spec(**parts: Any) -> Spec[Clock]:
    """A clock with other parts."""
    return Spec(**{"name": "lab", "initial_states": midnight, "actions": [tick], **parts})


def test_refuses_no_actions() -> None:
    with refused("spec lab", "no actions"):
        spec(actions=[])


@pytest.mark.parametrize("part", ["actions", "properties"])
def test_refuses_one_where_a_list_is_needed(part: str) -> None:
    with refused("a list is required, even for one element: write [undecorated], not undecorated"):
        spec(**{part: undecorated})


def test_refuses_an_undecorated_action() -> None:
    with refused("spec lab", "undecorated", "not an action", "@action(...)"):
        spec(actions=[tick, undecorated])


def test_refuses_an_undecorated_property() -> None:
    with refused("spec lab", "undecorated", "not a property", "@invariant(...)"):
        spec(properties=[forward, undecorated])


def test_refuses_two_actions_of_one_name() -> None:
    with refused("spec lab", "two actions", "'tick'"):
        spec(actions=[tick, action()(tick.function)])


def test_refuses_two_properties_of_one_name() -> None:
    with refused("spec lab", "two properties", "'forward'"):
        spec(properties=[forward, forward])


def test_refuses_a_property_called_deadlock_only_where_deadlock_is_checked() -> None:
    own = invariant("a sentence")(deadlock)

    assert spec(properties=[own]).checks == (own,)
    with refused("spec lab", "two properties", "'deadlock'"):
        spec(properties=[own], check_deadlock=True)


@pytest.mark.parametrize("bounds", [SoftBounds(), PlainBounds(), HardBounds, {"limit": 3}, None])
def test_refuses_bounds_that_are_not_a_frozen_attrs_value(bounds: Any) -> None:
    with refused("spec lab", "bounds must be an instance of a frozen attrs class", f"not {bounds!r}"):
        spec(bounds=bounds)


@pytest.mark.parametrize("limit", [1.5, None, (1, 2), frozenset({1})])
def test_refuses_bounds_that_a_file_cannot_hold(limit: Any) -> None:
    with refused("spec lab", "bound limit must be an int, a bool or a str", f"not {limit!r}"):
        spec(bounds=HardBounds(limit))


def test_refuses_initial_states_that_are_no_function() -> None:
    with refused("spec lab", "initial_states must be a function of the bounds"):
        spec(initial_states=[Clock()])


# The distance, which guides random searches.


def test_refuses_a_distance_that_is_no_function() -> None:
    with refused("spec lab", "distance must be a function of a state, not 3"):
        spec(distance=3)


def test_gives_the_distance_of_a_state_also_with_other_bounds_or_properties() -> None:
    lab = spec(distance=lambda state: 12 - state.hour, bounds=DeclaredBounds())

    for changed in (lab, lab.with_bounds({"limit": 2}), lab.with_properties([])):
        assert changed.distance_of(Clock(5)) == 7.0


@pytest.mark.parametrize("distance", [-1, float("nan"), float("inf"), 10**400, True, None, "near", 1j])
def test_refuses_a_distance_that_is_not_a_finite_number_from_0_on(distance: Any) -> None:
    with refused("distance must return a finite number that is at least 0", f"not {distance!r}"):
        spec(distance=lambda state: distance).distance_of(Clock())


def test_names_the_error_and_the_line_where_distance_fails() -> None:
    line = failing_distance.__code__.co_firstlineno + 1
    with refused("distance raised ZeroDivisionError", f"(test_spec.py, line {line})"):
        spec(distance=failing_distance).distance_of(Clock(0))


def failing_distance(state: Clock) -> float:
    return 1 / state.hour


# Initial states, which are computed when a search begins.


def no_states(bounds: Any) -> list[Clock]:
    return []


def one_state(bounds: Any) -> Clock:
    return Clock(5)


def failing_states(bounds: Any) -> list[Clock]:
    return [bounds.nonsense]


def test_refuses_no_initial_state_and_says_with_which_bounds() -> None:
    with refused("spec lab", "no initial state with limit=3"):
        spec(initial_states=no_states, bounds=HardBounds()).initials()


def test_refuses_a_state_in_place_of_a_collection_of_states() -> None:
    with refused("spec lab", "initial_states must return a collection", "not Clock(hour=5)"):
        spec(initial_states=one_state).initials()


def test_names_the_error_and_the_line_where_initial_states_fails() -> None:
    line = failing_states.__code__.co_firstlineno + 1
    with refused("initial_states raised AttributeError", "nonsense", f"(test_spec.py, line {line})"):
        spec(initial_states=failing_states).initials()


def test_initial_states_are_counted_once_each() -> None:
    assert [state.node for state in walks("axb", starts="aba").initials()] == ["a", "b"]


# What is made of a spec.


def test_lists_are_taken_for_tuples() -> None:
    assert spec(actions=[tick], properties=[forward]).actions == (tick,)
    assert spec(actions=iter([tick])).actions == (tick,)


def test_instances_are_made_with_the_bounds_of_the_spec() -> None:
    assert list(map(repr, counters(counters=3).instances)) == [
        "increment(index=0)",
        "increment(index=1)",
        "increment(index=2)",
    ]


def test_with_bounds_changes_states_and_instances_and_leaves_the_spec_alone() -> None:
    two = counters()
    three = two.with_bounds({"counters": "3"})

    assert [len(item.initials()[0].counters) for item in (two, three)] == [2, 3]
    assert [len(item.instances) for item in (two, three)] == [2, 3]


def test_with_bounds_refuses_an_unknown_bound() -> None:
    with refused("unknown bound 'count'", "'counters'"):
        counters().with_bounds({"count": 3})


def test_with_properties_keeps_the_spec_s_order_and_each_once() -> None:
    full = walks("axb", no_bad_node, no_bad_step, good_node, good_step, check_deadlock=True)
    kept = full.with_properties(["deadlock", "good_step", "no_bad_node", "good_step"])

    assert [item.name for item in kept.checks] == ["no_bad_node", "good_step", "deadlock"]


def test_with_properties_drops_the_deadlock_check_unless_it_is_named() -> None:
    full = walks("axb", no_bad_node, check_deadlock=True)

    assert full.with_properties(["no_bad_node"]).check_deadlock is False
    assert full.with_properties(["deadlock"]).properties == ()


def test_with_properties_refuses_an_unknown_name_and_says_the_nearest() -> None:
    with refused("walk has no property 'no_bad_nodes'", "did you mean 'no_bad_node'"):
        walks("axb", no_bad_node, good_step).with_properties(["no_bad_nodes"])


def test_checks_of_selects_by_kind() -> None:
    full = walks("axb", no_bad_node, no_bad_step, good_node, good_step, check_deadlock=True)

    assert full.checks_of(Kind.INVARIANT, Kind.STEP_WITNESS) == (no_bad_node, good_step)
    assert [item.name for item in full.checks_of(Kind.DEADLOCK)] == ["deadlock"]


def test_successors_come_in_the_order_of_actions_and_of_what_they_yield() -> None:
    drawn = walks("axc aya axb")

    assert [(repr(instance), after.node) for instance, after in drawn.successors(*drawn.initials())] == [
        ("walk(label=x)", "c"),
        ("walk(label=x)", "b"),
        ("walk(label=y)", "a"),
    ]


def test_take_gives_the_next_states_of_one_instance() -> None:
    grid = counters(limit=1)
    (start,) = grid.initials()
    (after,) = grid.take(grid.instances[1], start)

    assert values(after) == (0, 1)
    assert grid.take(grid.instances[1], after) == []


def test_complaint_says_what_a_property_has_against_a_state() -> None:
    (state,) = counters(ceiling=0).initials()
    after = Counters(tuple(attrs.evolve(one, value=2) for one in state.counters), state.bounds)

    assert counters().complaint(below_ceiling, state) is None
    assert counters().complaint(below_ceiling, after) == "the sum is 4, the ceiling 0"
    assert counters().complaint(all_at_limit, state) == ""


@invariant("a sentence")
def fails(state: Walker) -> bool:
    return state.nowhere  # type: ignore[attr-defined, no-any-return]


def test_complaint_names_the_property_that_fails_and_the_line() -> None:
    drawn = walks("axb")
    line = fails.function.__code__.co_firstlineno + 2
    with refused("invariant fails raised AttributeError", "nowhere", f"(test_spec.py, line {line})"):
        drawn.complaint(fails, *drawn.initials())


def test_a_spec_without_bounds_or_properties_is_a_spec() -> None:
    plain = clock(tick)

    assert (plain.checks, plain.instances[0].action, plain.summary) == ((), tick, "")
    assert increment not in plain.actions


# --- its drawing --------------------------------------------------------------------------------------------


MESSAGE = Message("sun", "clock", "light\x1b", "of a day")


def test_a_drawing_says_what_rows_and_messages_there_are_with_every_text_visible() -> None:
    drawn = spec(
        drawing=Drawing(
            rows=lambda state: {"clock\n": Row(columns={"hour\t": str(state.hour)}, badges=["\x07"])},
            messages=lambda state: [MESSAGE],
            arrivals=lambda step: [MESSAGE] if step.action == "tick" else [],
        )
    )
    (start,) = drawn.initials()
    (row,) = drawn.rows(start).items()
    assert row == ("clock\\n", Row(columns={"hour\\t": "0"}, badges=["\\x07"]))
    assert (drawn.messages(start)[0].text, drawn.messages(start)[0].whole) == ("light\\x1b", "light\\x1b (of a day)")
    (instance,) = drawn.instances
    (after,) = drawn.take(instance, start)
    assert drawn.arrivals(Step(start, instance, after)) == [MESSAGE]


def test_a_spec_without_a_drawing_has_no_rows_and_no_messages() -> None:
    plain = spec()
    (start,) = plain.initials()
    assert (plain.rows(start), plain.messages(start)) == ({}, [])


def test_refuses_a_drawing_that_is_something_else() -> None:
    with refused("spec lab", "drawing must be a Drawing, not <lambda>"):
        spec(drawing=lambda state: {})


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"rows": lambda state: {"clock": state.minute}}, "the drawing's rows raised AttributeError"),
        ({"rows": lambda state: {"clock": "noon"}}, "the drawing's rows must be Row objects, not 'noon'"),
        ({"messages": lambda state: ["light"]}, "the drawing's messages must be Message objects, not 'light'"),
        ({"messages": lambda state: 1 // 0}, "the drawing's messages raised ZeroDivisionError"),
    ],
)
def test_a_drawing_that_misbehaves_is_named(parts: dict[str, Any], complaint: str) -> None:
    drawn = spec(drawing=Drawing(**{"rows": lambda state: {}, **parts}))
    with refused(complaint):
        (drawn.rows(*drawn.initials()), drawn.messages(*drawn.initials()))


def test_refuses_an_initial_state_with_other_bounds() -> None:
    @frozen
    class Part:
        bounds: DeclaredBounds = constant(default=DeclaredBounds())

    @frozen
    class Whole:
        parts: tuple[Part, ...] = component(each="part")

    @action()
    def stay(state: Whole) -> Iterator[Whole]:
        yield state

    forgetful = Spec(name="lab", initial_states=lambda _: [Whole((Part(),))], actions=[stay], bounds=DeclaredBounds())
    assert forgetful.initials() == [Whole((Part(),))]
    with refused("Whole.parts[0].bounds of an initial state has", "but the bounds are limit=2", "as in bounds=bounds"):
        forgetful.with_bounds({"limit": 2}).initials()
