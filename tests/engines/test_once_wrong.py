"""What engines once got wrong, or refused without need: each form of code is right now, without any net."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen

from leadline.checker import Action, Bag, Spec, action, component, invariant
from leadline.checker.engines import oracle
from leadline.checker.observing.reach import reach
from leadline.checker.observing.recording import Precision
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED, answer, spec_going_wrong

TUNING = attrs.evolve(ONLY_LEARNED, many_values=3)


@frozen
class State:
    bits: tuple[int, ...] = component(default=(0, 0, 0))
    box: frozenset[int] = frozenset()
    kept: Any = None
    marks: tuple[int | None, ...] = component(default=(0, 0))
    error: bool = False

    @property
    def first(self) -> int | None:
        return [*self.marks][0]  # noqa: RUF015


@action(place=range(3))
def flip(s: State, place: int) -> Iterator[State]:
    yield evolve(s, bits=(*s.bits[:place], 1 - s.bits[place], *s.bits[place + 1 :]))


@action(number=range(5))
def add(s: State, number: int) -> Iterator[State]:
    if len(s.box) < 2:
        yield evolve(s, box=s.box | {number})


@action(number=range(5))
def replace(s: State, number: int) -> Iterator[State]:
    if s.bits[0]:
        yield evolve(s, box=frozenset({number, (number + 2) % 5}))


STEPS: list[Action[State, ...]] = [flip, add, replace]
RARE = State(bits=(1, 0, 1), box=frozenset((1, 3)))


def found(spec: Spec[Any], *, refused: bool = False) -> None:
    """The engines agree, whichever way the spec is searched."""
    expected = answer(oracle.explore, spec)
    assert expected != "refused"
    by_learning = answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=TUNING))
    assert by_learning == expected or (refused and by_learning == "refused")


# --- Conditions with effects, or that read what can change ---

LEVEL, KNOWN, NOTED, LIMITS = [0], {0}, list[int](), {"most": 0}
LOWEST = 0


class Config:
    most = 0


@frozen
class Number:
    value: int

    @property
    def noted(self) -> bool:
        NOTED.append(self.value)
        return True


def note(number: int) -> bool:
    NOTED.append(number)
    return number > 1


def raise_lowest(number: int) -> None:
    global LOWEST
    LOWEST = number


def in_a_list(s: State) -> int:
    LEVEL[0] = count = 0
    for number in s.box:
        if number != LEVEL[0]:
            count += 1
            LEVEL[0] = number + 2
    return count


def in_a_set(s: State) -> frozenset[int]:
    KNOWN.clear()
    for number in s.box:
        if number not in KNOWN:
            KNOWN.add(number + 2)
    return frozenset(KNOWN)


def in_a_dict(s: State) -> int:
    LIMITS["most"] = count = 0
    for number in s.box:
        if number != LIMITS["most"]:
            count += 1
            LIMITS["most"] = number + 2
    return count


def in_a_class(s: State) -> int:
    Config.most = count = 0
    for number in s.box:
        if number != Config.most:
            count += 1
            Config.most = number + 2
    return count


def in_a_local_class(s: State) -> int:
    class Local:
        most = 0

    count = 0
    for number in s.box:
        if number != Local.most:
            count += 1
            Local.most = number + 2
    return count


def in_a_global(s: State) -> int:
    raise_lowest(0)
    count = 0
    for number in s.box:
        if number != LOWEST:
            count += 1
            raise_lowest(number + 2)
    return count


def by_a_function(s: State) -> frozenset[int]:
    NOTED.clear()
    count = sum(1 for number in s.box if note(number))
    return frozenset([*NOTED, 10 + count])


def by_a_property(s: State) -> frozenset[int]:
    NOTED.clear()
    numbers = [number for number in map(Number, s.box) if number.noted and number.value > 1]
    return frozenset([*NOTED, 10 + len(numbers)])


CONDITIONS = (
    *(in_a_list, in_a_set, in_a_dict, in_a_class, in_a_local_class, in_a_global),
    *(by_a_function, by_a_property),
)


@pytest.mark.parametrize("guard", [True, False], ids=["action", "invariant"])
@pytest.mark.parametrize("look", CONDITIONS)
def test_a_condition_of_a_loop_does_in_the_loop_what_it_does(look: Callable[[State], Any], guard: bool) -> None:
    expected = look(RARE)
    found(spec_going_wrong(State(), STEPS, lambda s: bool(look(s) == expected and s.bits == (1, 0, 1)), guard=guard))


# --- Views in place of tuples and sets ---

FLAG = "s"


def formatted(s: State) -> str:
    return ("%" + FLAG) % s.bits[:1]


def kind_of_union(s: State) -> bool:
    return isinstance({5} | s.box, frozenset)


def kinds(s: State) -> Any:
    return [type(it).__name__ for it in (s.box | {1}, {1} | s.box, s.box - {1}, {1} - s.box, s.box & {1}, s.box.copy())]


def first_is_none(s: State) -> bool:
    return evolve(s, marks=(*s.marks[1:], 1)).first is None


@pytest.mark.parametrize("guard", [True, False], ids=["action", "invariant"])
@pytest.mark.parametrize("look", [formatted, kind_of_union, kinds, first_is_none])
def test_a_view_is_what_it_stands_for(look: Callable[[State], Any], guard: bool) -> None:
    expected = look(RARE)
    found(spec_going_wrong(State(), STEPS, lambda s: bool(look(s) == expected and 3 in s.box), guard=guard))


def test_a_property_may_give_a_copied_element() -> None:
    """`first` is not a field: it looks at an element that was copied."""

    @action(place=range(2))
    def mark(s: State, place: int) -> Iterator[State]:
        yield evolve(s, marks=(*s.marks[:place], None if s.bits[0] else 1, *s.marks[place + 1 :]))

    @action()
    def turn(s: State) -> Iterator[State]:
        if s.bits[1] and s.first is None and not s.error:
            yield evolve(s, error=True)

    @invariant("no error")
    def right(s: State) -> bool:
        return not s.error

    found(Spec(name="first", initial_states=lambda _: [State()], actions=[flip, mark, turn], properties=[right]))


@frozen
class Kept(State):
    seen: frozenset[Any] = frozenset()
    bag: Bag[int] = Bag()


KEPT: dict[str, Callable[[Kept], Kept]] = {
    "a set in a leaf": lambda s: evolve(s, kept=s.box),
    "a set in a tuple in a leaf": lambda s: evolve(s, kept=(s.box, s.bits)),
    "a bag in a leaf": lambda s: evolve(s, kept=s.bag),
    "a tuple in a set": lambda s: evolve(s, seen=s.seen | {s.bits}) if len(s.seen) < 2 else s,
    "a set in a set": lambda s: evolve(s, seen=s.seen | {s.box}) if len(s.seen) < 2 else s,
    "a bag in a set": lambda s: evolve(s, seen=s.seen | {s.bag}) if len(s.seen) < 2 else s,
    "a tuple of sets in a set": lambda s: evolve(s, seen=s.seen | {(s.box, s.bits[:1])}) if len(s.seen) < 2 else s,
    "a set of the set's members": lambda s: evolve(s, seen=frozenset((number, s.bits[0]) for number in s.box)),
    "a bag of a set": lambda s: evolve(s, bag=Bag(s.box)),
}


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
def test_a_part_of_the_state_may_be_kept_elsewhere(keep: Callable[[Kept], Kept]) -> None:
    """A tuple in a set was once refused as a part of another state."""

    @action()
    def keeps(s: Kept) -> Iterator[Kept]:
        yield keep(s)

    @action()
    def bags(s: Kept) -> Iterator[Kept]:
        if s.bag.total() < 2:
            yield evolve(s, bag=s.bag.add(s.bits[0]))

    @invariant("not all of this at once")
    def never(s: Kept) -> bool:
        shown = (s.kept, len(s.seen), s.bag.total())
        return not (shown[1:] != (0, 0) and s.bits == (1, 0, 1) and 2 in s.box and repr(shown[0]) != "()")

    limited: Spec[Any] = Spec(
        name="kept",
        initial_states=lambda _: [Kept()],
        actions=[flip, add, keeps, bags],
        properties=[never],
    )
    found(limited)


def test_true_may_be_asked_for_in_a_set_of_numbers() -> None:
    """It was refused, as if the set held both."""
    found(spec_going_wrong(State(), STEPS, lambda s: True in s.box and False not in s.box, guard=True))
    found(spec_going_wrong(State(), STEPS, lambda s: bool(s.box & {True, 3} == {1, 3}), guard=False))


# --- Code that is reached in ways of its own ---


def same(pair: Any) -> bool:
    first, second = pair
    return first is second


@frozen
class Odd:
    value: int = 0

    __match_args__ = ("same_twice",)

    @property
    def same_twice(self) -> bool:
        return same((self.value, self.value))


def matched(s: Any) -> bool:
    match s:
        case Odd(True):
            return True
    return False


REFERENCE = weakref.ref(same)


def weakly(s: Any) -> bool:
    function = REFERENCE()
    return function is not None and function(s)


def imported(s: Any) -> bool:
    from tests.engines import test_once_wrong as module

    return bool(module.same(s))


@pytest.mark.parametrize("function", [matched, weakly, imported, functools.partial(same), same])
def test_code_that_asks_for_identity_is_given_states(function: Any) -> None:
    assert reach(function, [Odd()], copies=True).precision == Precision.STATES
