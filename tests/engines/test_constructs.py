"""However a spec's code reads a state, the compiled engine has the results of the oracle.

Each construct is used in an invariant or in an action (``EVERY=1``: in both), every second one before everything else
is read and the others after it, with all comparisons of learned calls switched off, so that recording has to be exact
by itself.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from attrs import evolve, frozen

from leadline.checker import Spec, Verdict, action, component, invariant
from leadline.checker.engines import oracle
from leadline.checker.observing.reach import reach
from leadline.checker.observing.recording import Precision
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.constructs import CONSTRUCTS, RARE, STEPS, Colour, State, is_rare, spec_of
from tests.specs.going_wrong import ONLY_LEARNED, answer
from tests.suite.samples import EVERY

CASES = [
    pytest.param(name, place % 2 == 0, guard, id=f"{name}-{'action' if guard else 'invariant'}")
    for place, name in enumerate(CONSTRUCTS)
    for guard in ((True, False) if EVERY else (place % 4 < 2,))
]


@pytest.mark.parametrize(("name", "first", "guard"), CASES)
def test_a_construct_is_exact_or_refused(name: str, first: bool, guard: bool) -> None:
    spec = spec_of(CONSTRUCTS[name], guard=guard, first=first)
    found = answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED))
    assert found == "refused" or found == answer(oracle.explore, spec)


def test_code_that_a_later_state_brings_is_followed() -> None:
    @action()
    def arm(s: State) -> Iterator[State]:
        if s.procs[0].n == 1:
            yield evolve(s, seen=is_rare)

    @invariant("what the state holds finds nothing")
    def right(s: State) -> bool:
        return s.seen is None or not s.seen(s.cells)

    spec = Spec(name="brought", initial_states=lambda _: [State()], actions=[*STEPS, arm], properties=[right])
    expected = answer(oracle.explore, spec)
    assert expected[0] is Verdict.VIOLATED
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED)) == expected


@frozen
class Indexed(State):
    def __getitem__(self, place: int) -> Any:
        return [*self.colours][place]


def test_an_index_of_a_class_of_its_own_may_give_a_copied_element() -> None:
    @action()
    def go_wrong(s: Any) -> Iterator[State]:
        if s.cells[0] == 1 and s[0] is Colour.BLUE:
            yield evolve(s, error=True)

    @invariant("nothing goes wrong")
    def right(s: State) -> bool:
        return not s.error

    initials: list[Any] = [Indexed()]
    steps: list[Any] = [*STEPS, go_wrong]
    spec: Spec[Any] = Spec(name="own", initial_states=lambda _: initials, actions=steps, properties=[right])
    expected = answer(oracle.explore, spec)
    assert expected[0] is Verdict.VIOLATED
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED)) == expected


PRECISION = {
    "simple": Precision.COPIES,
    "colour is": Precision.ELEMENTS,
    "none": Precision.ELEMENTS,
    "match": Precision.ELEMENTS,
    "sorted with key": Precision.COPIES,
    "eq of states": Precision.COPIES,
    "isinstance": Precision.COPIES,
    "isinstance type(self)": Precision.FIELDS,
    "type is": Precision.FIELDS,
    "__class__ is self.__class__": Precision.ELEMENTS,
    "copy": Precision.FIELDS,
    "cache": Precision.FIELDS,
    "descriptor": Precision.STATES,
    "is of procs": Precision.STATES,
    "referents": Precision.STATES,
    "eval": Precision.STATES,
}


@pytest.mark.parametrize(("name", "precision"), PRECISION.items())
def test_reads_are_recorded_as_precisely_as_a_construct_allows(name: str, precision: Precision) -> None:
    assert reach(CONSTRUCTS[name], [RARE], copies=True).precision == precision


@frozen
class Cells:
    cells: tuple[int | None, ...] = component(default=(None, 0))

    @property
    def first(self) -> int | None:
        return next(iter(self.cells))


def first_is_none(state: Cells) -> bool:
    return state.first is None


def test_is_in_any_function_that_is_called_reads_elements_that_are_copied() -> None:
    """A property can return an element that the call has not read."""
    assert reach(first_is_none, [Cells()], copies=True).precision == Precision.ELEMENTS


class Slotted:
    """Holds a function where no dictionary shows it."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function


def same_numbers(state: Any) -> bool:
    first, second = state
    return first is second


HOLDERS = {
    "slots": Slotted(same_numbers),
    "a namespace": SimpleNamespace(function=same_numbers),
    "a mapping": SimpleNamespace(function=MappingProxyType({0: same_numbers}).__getitem__(0)),
    "a mapping in slots": Slotted(MappingProxyType({0: [same_numbers]})),
    "a queue": Slotted(deque([same_numbers])),
    "a weak reference": SimpleNamespace(function=weakref.ref(same_numbers)),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS.keys())
def test_functions_are_found_whatever_holds_them(holder: Any) -> None:
    """Missed, its reads would be recorded more precisely than its code allows."""
    assert reach(lambda state: holder.function(state), [RARE], copies=True).precision == Precision.STATES
