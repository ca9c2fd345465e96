"""Actions that ask with ``is`` whether an element is a constant, in every way in which an element can reach the test.

An action that copies elements records those that it reads, unless its code contains ``is`` anywhere. Nothing that is
learned is compared with direct calls here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from attrs import evolve, frozen

from leadline.checker import Map, Verdict, action, component, put
from leadline.checker.engines import oracle
from leadline.checker.observing import opcodes
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED, answer, spec_going_wrong

SETTINGS = CompiledSettings(workers=1, tuning=ONLY_LEARNED)


@frozen
class State:
    cells: tuple[int | None, ...] = component(each="cell", default=(0, 0, 0))
    held: Any = 0
    error: bool = False


FOLLOWING = Map({0: 1, 1: None, None: 2})


@action(i=range(3))
def step(s: State, i: int) -> Iterator[State]:
    """Elements are assigned at their index, so that no step copies them."""
    if s.cells[i] != 2 and not s.error:
        yield put(s, "cells", i, FOLLOWING[s.cells[i]])


def by_alias(s: State) -> bool:
    cells = s.cells
    *_, last = cells
    other = last
    return other is None and s.cells[0] == 2


def by_closure(s: State) -> bool:
    first, *_ = s.cells

    def is_gone() -> bool:
        return first is None

    return is_gone() and s.cells[1] == 2


def by_comprehension(s: State) -> bool:
    return [each is None for each in s.cells] == [False, True, True]


def by_walrus(s: State) -> bool:
    return (last := [*s.cells][-1]) is None and last != s.cells[0] == 2


def by_early_exit(s: State) -> bool:
    for place, each in enumerate(s.cells):
        if each is None:
            return place == 2
    return False


def by_try(s: State) -> bool:
    try:
        first, *_ = s.cells
        return first is None and s.cells[2] == 2
    except ValueError:
        return False


def by_default(s: State) -> bool:
    first, *_ = s.cells

    def is_gone(each: Any = first) -> bool:
        return each is None

    return is_gone() and s.cells[1] == 2


def by_list(s: State) -> bool:
    found = []
    for each in s.cells:
        found.append(each)
    found.reverse()
    return found.pop() is None and s.cells[1] == 2


def by_copy_of_the_state(s: State) -> bool:
    """A field of a changed copy can be an element, though no field of a state is one."""
    first, *_ = s.cells
    return evolve(s, held=first).held is None and s.cells[1] == 2


def is_none(each: object) -> bool:
    return each is None


def by_helper(s: State) -> bool:
    return any(map(is_none, s.cells)) and s.cells[1] == 2


def by_match(s: State) -> bool:
    first, *_ = s.cells
    match first:
        case None:
            return s.cells[1] == 2
    return False


def by_conditional_expression(s: State) -> bool:
    first, *_ = s.cells
    return s.cells[1] == 2 if first is None else False


WAYS: list[Callable[[State], bool]] = [
    *(by_alias, by_closure, by_comprehension, by_walrus, by_early_exit, by_try, by_default, by_list),
    *(by_copy_of_the_state, by_helper, by_match, by_conditional_expression),
]


@pytest.mark.parametrize("wrong", WAYS)
def test_an_element_that_is_compared_by_identity_is_read(wrong: Callable[[State], bool]) -> None:
    spec = spec_going_wrong(State(), [step], wrong, guard=True)
    expected = answer(oracle.explore, spec)
    assert expected[0] is Verdict.VIOLATED
    assert answer(learning.explore, spec, settings=SETTINGS) == expected


def test_if_identity_were_overlooked_the_answer_would_be_wrong() -> None:
    spec = spec_going_wrong(State(), [step], by_copy_of_the_state, guard=True)
    opcodes.read.cache_clear()
    try:
        with mock.patch.object(opcodes, "_identity_tests", return_value=[]):
            assert answer(learning.explore, spec, settings=SETTINGS) != answer(oracle.explore, spec)
    finally:
        opcodes.read.cache_clear()
