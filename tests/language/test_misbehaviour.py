"""Specs that misbehave while they run, in the oracle and in random search: one line names the cause."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, action, fuzz, invariant
from leadline.checker.engines.oracle import explore
from leadline.checker.settings import RandomSettings
from leadline.checker.state import component, constant
from tests.specs.refusals import refused


def search(spec: Spec[Any]) -> None:
    """Fuzz it, for a moment."""
    fuzz(spec, settings=RandomSettings(examples=20, steps=10))


@pytest.fixture(params=[explore, search])
def engine(request: pytest.FixtureRequest) -> Callable[[Spec[Any]], Any]:
    """Each engine that runs actions."""
    return request.param  # type: ignore[no-any-return]


@attrs.frozen
class Box:
    """Something, and how often it was replaced."""

    content: Any = 0
    times: int = 0


def spec_of(*actions: Any, initial: Any = None, properties: Any = ()) -> Spec[Any]:
    """A spec that begins in one state."""
    start = Box() if initial is None else initial
    return Spec(name="lab", initial_states=lambda _: [start], actions=actions, properties=properties)


@action()
def again(state: Box) -> Iterator[Box]:
    if state.times < 3:
        yield attrs.evolve(state, times=state.times + 1)


Engine = Callable[[Spec[Any]], Any]


# Actions.


@action(by=[1])
def divides(state: Box, by: int) -> Iterator[Box]:
    yield attrs.evolve(state, content=by // state.times)


def test_an_action_that_raises_is_named_with_file_and_line(engine: Engine) -> None:
    line = divides.function.__code__.co_firstlineno + 2
    with refused("action divides(by=1) raised ZeroDivisionError", f"(test_misbehaviour.py, line {line})"):
        engine(spec_of(divides))


@action()
def misspells(state: Box) -> Iterator[Box]:
    yield attrs.evolve(state, contents=1)  # type: ignore[call-arg]


def test_an_error_deep_in_a_library_is_placed_in_the_action(engine: Engine) -> None:
    line = misspells.function.__code__.co_firstlineno + 2
    with refused("action misspells() raised TypeError", "'contents'", f"(test_misbehaviour.py, line {line})"):
        engine(spec_of(misspells))


def helper(state: Box) -> Box:
    raise LookupError("a message\nof two lines")


@action()
def asks_a_helper(state: Box) -> Iterator[Box]:
    yield helper(state)


def test_an_error_in_a_helper_is_placed_in_the_helper_and_said_in_one_line(engine: Engine) -> None:
    line = helper.__code__.co_firstlineno + 1
    with refused("asks_a_helper() raised LookupError: a message of two lines", f"line {line})"):
        engine(spec_of(asks_a_helper))


@action()
def raises_later(state: Box) -> Iterator[Box]:
    if state.times == 3:
        raise KeyError("late")
    yield attrs.evolve(state, times=state.times + 1)


def test_an_action_that_raises_in_a_later_state_is_named(engine: Engine) -> None:
    with refused("action raises_later() raised KeyError", "late"):
        engine(spec_of(raises_later))


dice = itertools.count()


@action(side=["left"])
def throws_dice(state: Box, side: str) -> Iterator[Box]:
    yield attrs.evolve(state, content=next(dice) % 7)


def test_an_action_that_is_not_deterministic_is_named(engine: Engine) -> None:
    with refused("action throws_dice(side=left)", "not deterministic", "the same state gave different next states"):
        engine(spec_of(throws_dice))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (type("Letter", (), {}), "a Letter, which is equal only to itself"),
        (lambda: (1, float("nan")), "nan, which is not equal to itself"),
        (lambda: frozenset([(1, lambda: 2)]), "<lambda>"),
    ],
    ids=["an object", "nan", "a function"],
)
def test_a_next_state_with_a_value_that_equals_only_itself_is_not_called_random(
    engine: Engine, content: Callable[[], object], what: str
) -> None:
    @action()
    def sends(state: Box) -> Iterator[Box]:
        yield attrs.evolve(state, content=content())

    with refused("action sends(): states are compared by value, but Box.content", what):
        engine(spec_of(sends))


@action()
def changes_in_place(state: Box) -> Iterator[Box]:
    object.__setattr__(state, "times", (state.times + 1) % 3)
    yield Box(state.content, state.times)


@action()
def changes_in_place_when_not_enabled(state: Box) -> Iterator[Box]:
    object.__setattr__(state, "times", state.times + 1)
    if state.times < 0:
        yield state


@pytest.mark.parametrize("culprit", [changes_in_place, changes_in_place_when_not_enabled])
def test_an_action_that_changes_its_state_is_named_and_not_the_one_before_it(engine: Engine, culprit: Any) -> None:
    with refused(f"action {culprit.name}() changed the state that it was given", "must yield a new state"):
        engine(spec_of(again, culprit))


@action(by=[1, 2])
def toggles_in_place(state: Box, by: int) -> Iterator[Box]:
    object.__setattr__(state, "times", 1 - state.times)
    yield Box(by, state.times)


def test_an_action_whose_next_call_takes_the_change_back_is_named(engine: Engine) -> None:
    with refused("action toggles_in_place(by=1) changed the state that it was given"):
        engine(spec_of(toggles_in_place))


def test_an_action_that_changes_only_other_objects_than_the_first_is_named(engine: Engine) -> None:
    seen: list[Box] = []

    @action()
    def changes_copies(state: Box) -> Iterator[Box]:
        seen.append(state)
        if state is not seen[0]:
            object.__setattr__(state, "times", 5)
        yield from ()

    with refused("action changes_copies() changed the state that it was given"):
        engine(spec_of(changes_copies))


@attrs.frozen
class Crate(Box):
    """Not a Box, though it is one."""


@pytest.mark.parametrize("successor", [5, None, (Box(), Box()), Crate(1)])
def test_an_action_that_yields_another_type_is_named(engine: Engine, successor: Any) -> None:
    def swaps(state: Box) -> Iterator[Any]:
        yield successor

    with refused("action swaps() must yield a Box", f"not {successor!r}"):
        engine(spec_of(action()(swaps)))


# States that are not hashable, not attrs, not frozen, not equal to a copy.


@attrs.frozen
class Shelf:
    """Boxes in components, and one that is not."""

    boxes: tuple[Any, ...] = component(each="box")
    spare: Any = Box()


@attrs.frozen
class Cupboard:
    """A component in a component."""

    shelf: Shelf = component()


@pytest.mark.parametrize(
    ("initial", "field", "what"),
    [
        (Box([1]), "Box.content", "a list"),
        (Box((1, {2})), "Box.content", "a set"),
        (Shelf((Box(1), Box({}))), "Shelf.boxes[1].content", "a dict"),
        (Shelf((1, [])), "Shelf.boxes[1]", "a list"),
        (Shelf((), Box(set())), "Shelf.spare.content", "a set"),
        (Cupboard(Shelf((Box([]),))), "Cupboard.shelf.boxes[0].content", "a list"),
    ],
)
def test_an_initial_state_that_is_not_hashable_is_refused_naming_the_field(
    engine: Engine, initial: Any, field: str, what: str
) -> None:
    with refused(f"must be hashable, but {field} contains {what}", "tuples, frozensets and Maps"):
        engine(spec_of(again, initial=initial))


@action(what=["hat"])
def collects(state: Box, what: str) -> Iterator[Box]:
    yield attrs.evolve(state, content=[what])


def test_a_next_state_that_is_not_hashable_is_refused_naming_the_action_and_the_field(engine: Engine) -> None:
    with refused("action collects(what=hat)", "hashable", "Box.content contains a list"):
        engine(spec_of(again, collects))


class Plain:
    """Not an attrs class."""


@attrs.define(unsafe_hash=True)
class Soft:
    """An attrs class that is hashable but not frozen."""

    times: int = 0


class Inherits(Soft):
    """A plain class that inherits from an attrs class."""


@pytest.mark.parametrize("initial", [Plain(), Inherits(), 7, (1, 2), "state"])
def test_a_state_that_is_not_attrs_is_refused(engine: Engine, initial: Any) -> None:
    with refused(
        "a state must be an instance of a frozen attrs class", f"{type(initial).__name__} is not an attrs class"
    ):
        engine(spec_of(again, initial=initial))


@pytest.mark.parametrize("initial", [Soft(), Box(Soft()), Shelf((Soft(),)), Shelf((), Soft())])
def test_a_state_that_is_not_frozen_is_refused_also_deep_inside(engine: Engine, initial: Any) -> None:
    with refused("Soft is not frozen", "@attrs.frozen"):
        engine(spec_of(again, initial=initial))


def test_initial_states_of_two_types_are_refused(engine: Engine) -> None:
    mixed: Spec[Any] = Spec(name="lab", initial_states=lambda _: [Box(), Shelf(())], actions=[again])

    with refused("a state must be a Box, not a Shelf"):
        engine(mixed)


def test_a_state_with_an_object_that_is_equal_only_to_itself_is_refused_naming_the_field(engine: Engine) -> None:
    with refused("states are compared by value, but Box.content contains a Plain", "define __eq__ and __hash__"):
        engine(spec_of(again, initial=Box(Plain())))


class Colour(enum.Enum):
    """Members are equal to their copies."""

    RED = 1


@attrs.frozen
class Furnished:
    """A state with a constant that is neither hashable nor comparable."""

    times: int = 0
    tools: Any = constant(default=None)


@pytest.mark.parametrize("initial", [Box(Colour.RED), Box(len), Box(Plain), Furnished(0, [Plain()])])
def test_enums_functions_and_classes_may_be_in_a_state_and_anything_in_a_constant(engine: Engine, initial: Any) -> None:
    engine(spec_of(again, initial=initial))

    assert explore(spec_of(again, initial=initial)).statistics.distinct == 4


# Components.


@action()
def loses_a_box(state: Any) -> Iterator[Any]:
    yield attrs.evolve(state, boxes=state.boxes[1:])


@action()
def loses_a_box_deep_inside(state: Any) -> Iterator[Any]:
    yield Cupboard(Shelf(state.shelf.boxes[1:]))


@action()
def stacks_boxes(state: Any) -> Iterator[Any]:
    yield attrs.evolve(state, boxes=Box(state.boxes))


def test_a_component_tuple_that_changes_its_length_is_refused(engine: Engine) -> None:
    with refused("component Shelf.boxes must keep its length, but it changed from 3 to 2"):
        engine(spec_of(loses_a_box, initial=Shelf((1, 2, 3))))


def test_a_component_tuple_in_a_component_that_changes_its_length_is_refused(engine: Engine) -> None:
    with refused("component Shelf.boxes must keep its length, but it changed from 2 to 1"):
        engine(spec_of(loses_a_box_deep_inside, initial=Cupboard(Shelf((1, 2)))))


def test_initial_states_with_components_of_different_length_are_refused(engine: Engine) -> None:
    shelves: Spec[Any] = Spec(name="lab", initial_states=lambda _: [Shelf((1,)), Shelf((1, 2))], actions=[again])

    with refused("component Shelf.boxes must keep its length, but it changed from 1 to 2"):
        engine(shelves)


def test_a_component_that_changes_from_tuple_to_attrs_value_is_refused(engine: Engine) -> None:
    with refused("component Shelf.boxes must keep its class, but it changed from a tuple to a Box"):
        engine(spec_of(stacks_boxes, initial=Shelf((1, 2))))


@action()
def puts_a_shelf_with_a_number_for_boxes(state: Any) -> Iterator[Any]:
    yield attrs.evolve(state, boxes=(Shelf(5), *state.boxes[1:]))  # type: ignore[arg-type]


def test_an_element_of_another_class_is_looked_at_as_a_whole(engine: Engine) -> None:
    with refused("component Shelf.boxes must be an instance of an attrs class or a tuple", "not an int"):
        engine(spec_of(puts_a_shelf_with_a_number_for_boxes, initial=Shelf((Box(), Box()))))


def test_a_component_that_is_neither_attrs_value_nor_tuple_is_refused(engine: Engine) -> None:
    with refused("component Shelf.boxes must be an instance of an attrs class or a tuple", "not a frozenset"):
        engine(spec_of(again, initial=Shelf(frozenset({1}))))  # type: ignore[arg-type]


@action()
def loses_a_box_late(state: Any) -> Iterator[Any]:
    # Only after more states than a search looks at twice.
    spare = state.spare.times + 1
    yield Shelf(state.boxes if spare < 200 else (), Box(0, spare))


@action()
def gets_other_tools(state: Any) -> Iterator[Any]:
    yield Furnished(state.times + 1, "a hammer" if state.times in (3, 150) else state.tools)


def test_a_component_that_changes_its_length_late_is_refused_too() -> None:
    with refused("action loses_a_box_late()", "component Shelf.boxes must keep its length, but it changed from 1 to 0"):
        explore(spec_of(loses_a_box_late, initial=Shelf((Box(),))))


def test_a_constant_that_changes_is_refused(engine: Engine) -> None:
    with refused("action gets_other_tools()", "constant Furnished.tools is not the same in every state"):
        engine(spec_of(gets_other_tools, initial=Furnished(0, "a saw")))


def test_a_constant_that_changes_late_is_refused_too() -> None:
    with refused("action gets_other_tools()", "constant Furnished.tools is not the same in every state"):
        explore(spec_of(gets_other_tools, initial=Furnished(4, "a saw")))


def test_initial_states_that_differ_in_a_constant_are_refused(engine: Engine) -> None:
    mixed: Spec[Any] = Spec(
        name="lab", initial_states=lambda _: [Furnished(0, "a saw"), Furnished(1, "a file")], actions=[again]
    )

    with refused("constant Furnished.tools is not the same in every state"):
        engine(mixed)


def test_initial_states_in_a_set_have_an_order_that_depends_on_their_values_only(engine: Engine) -> None:
    spec = Spec(name="lab", initial_states=lambda _: {Box(1), Box(2)}, actions=[again])
    other = Spec(name="lab", initial_states=lambda _: {Box(2), Box(1)}, actions=[again])
    assert spec.initials() == other.initials()
    engine(spec)


# Properties.


@invariant("the content divides the times")
def divisible(state: Box) -> bool:
    return bool(state.times % state.content == 0)


@invariant("nothing")
def returns_nothing(state: Box) -> bool:  # type: ignore[empty-body]
    pass


def test_a_property_that_raises_is_named_with_file_and_line(engine: Engine) -> None:
    line = divisible.function.__code__.co_firstlineno + 2
    with refused("invariant divisible raised ZeroDivisionError", f"(test_misbehaviour.py, line {line})"):
        engine(spec_of(again, properties=[divisible]))


def test_a_property_that_returns_nothing_is_named(engine: Engine) -> None:
    with refused("invariant returns_nothing must return True or False", "not None"):
        engine(spec_of(again, properties=[returns_nothing]))


class Nameless:
    """Equal by its class, and without a text of its own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nameless)

    def __hash__(self) -> int:
        return 1


@invariant("nothing is nameless")
def names_an_address(state: Box) -> Iterator[str]:
    yield f"{state.content} is nameless"


def test_a_sentence_with_an_address_is_refused(engine: Engine) -> None:
    spec = spec_of(again, initial=Box(Nameless()), properties=[names_an_address])
    words = "invariant names_an_address yields the address of an object", "Nameless object>", "define __repr__"
    with refused(*words):
        engine(spec)
