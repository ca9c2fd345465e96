"""The compiled engine's search by direct calls finds the same as the oracle, and takes less time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from signal import SIGINT, raise_signal
from typing import Any, NamedTuple
from unittest import mock

import pytest
from attrs import evolve, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from leadline.checker import Bag, Limits, Map, Spec, SpecError, action, component, constant, invariant, put, witness
from leadline.checker.engines.compiled.direct import DirectSearch
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.properties import step_invariant
from leadline.checker.result import StopKind
from leadline.checker.values import difference, same
from leadline.reports.loading import load_spec
from tests.natural.figures import SMALL, Size
from tests.specs.direct import same_by_direct_calls
from tests.specs.machines import (
    all_at_limit,
    below_ceiling,
    clock,
    counters,
    forward,
    good_node,
    good_step,
    no_bad_node,
    no_bad_step,
    ring,
    stutter,
    tick,
    walks,
)
from tests.specs.words import WORDS

ALL = Limits(keep_going=True)

GRAPH = walks(
    "abx acx bay bdx cdx ddy dex efx", no_bad_node, no_bad_step, good_node, good_step,
    bad="df", bad_steps="dd ef", good="e", good_steps="cd", starts="ab", check_deadlock=True,
)  # fmt: skip
SPECS: dict[str, Spec[Any]] = {
    "graph": GRAPH,
    "counters": counters(below_ceiling, all_at_limit, counters=3, ceiling=4),
    "clock": clock(tick, stutter, ring, properties=[forward]),
    **{name: spec for name, (spec, *_) in WORDS.items()},
}


@pytest.mark.parametrize(
    "limits",
    [Limits(), ALL, Limits(traces=7), Limits(traces=3, keep_going=True), Limits(depth=1), Limits(depth=3)],
    ids=str,
)
@pytest.mark.parametrize("name", SPECS)
def test_small_specs(name: str, limits: Limits) -> None:
    same_by_direct_calls(SPECS[name], limits)


@pytest.mark.parametrize("size", [size for size in SMALL if size.states < 4000], ids=lambda size: size.name)
def test_ports_of_public_specifications(size: Size) -> None:
    search, _ = same_by_direct_calls(load_spec(size.file).with_bounds(size.bounds), ALL)
    assert search.statistics.distinct == size.states


@pytest.mark.parametrize("name", ["graph", "counters", "drawn"])
def test_every_number_of_states_at_which_a_search_may_stop(name: str) -> None:
    for count in range(1, 30):
        same_by_direct_calls(SPECS[name], Limits(max_states=count, keep_going=True))


# Values that are equal and not the same.


@frozen
class Cell:
    value: Any = 0


@frozen
class Noted:
    """A value that is not compared as a whole, which may be deep inside a state."""

    note: Any = field(default="", eq=False)


@frozen
class Cells:
    cells: tuple[Cell, ...] = component()
    other: Any = None
    fixed: Any = constant(default=0)


class Point(NamedTuple):
    x: int
    y: int


class Tagged(tuple[int, ...]):
    """A tuple that can hold more."""


EQUAL: list[tuple[Any, Any]] = [
    (True, 1),
    (0.0, -0.0),
    (1, 1.0),
    ((1, (2, 0)), (1, (2, False))),
    (frozenset({0, 2}), frozenset({False, 2})),
    (frozenset({frozenset({(0, 1)})}), frozenset({frozenset({(0, True)})})),
    (Bag([0, 2]), Bag([False, 2])),
    (Bag([0]), Bag.of({0: True})),
    (Map({"a": 0}), Map({"a": False})),
    (Map({0: "a"}), Map({False: "a"})),
    (Point(0, 1), (0, 1)),
    (Point(0, 1), Point(False, 1)),
    (Tagged((1, 2)), (1, 2)),
    (Cell(1), Cell(True)),
    (Noted("a"), Noted("b")),
    (Cells((Cell(),)), Cells((Cell(),), fixed=1)),
    (Cells((Cell(),)), Cells((Cell(False),))),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=repr)
def test_equal_values_that_can_be_told_apart_are_not_the_same(one: Any, other: Any) -> None:
    assert one == other
    assert not same(one, other)
    assert not same(other, one)


values = st.recursive(
    st.one_of(st.integers(0, 2), st.booleans(), st.none(), st.sampled_from(["", "a"]), st.floats(0, 1)),
    lambda inner: st.one_of(
        st.tuples(inner, inner), st.frozensets(inner, max_size=3), st.lists(inner, max_size=3).map(Bag),
        st.dictionaries(inner, inner, max_size=2).map(Map), inner.map(Cell), st.builds(Point, inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip


@given(values, values)
def test_the_same_values_are_equal_and_cannot_be_told_apart(one: Any, other: Any) -> None:
    assert same(one, one)
    if same(one, other):
        assert one == other
        assert difference(one, other) is None


@given(values)
def test_a_value_and_one_made_like_it_are_the_same(value: Any) -> None:
    assert same(value, _again(value))


def _again(value: Any) -> Any:
    match value:
        case Point(x, y):
            return Point(_again(x), _again(y))
        case tuple():
            return tuple([_again(item) for item in value])
        case frozenset():
            return frozenset([_again(item) for item in [*value][::-1]])
        case Bag():
            return Bag.of({_again(item): count for item, count in [*value.items()][::-1]})
        case Map():
            return Map({_again(key): _again(item) for key, item in [*value.items()][::-1]})
        case Cell():
            return Cell(_again(value.value))
        case _:
            return value


# Searches that end with an error or an interrupt.


def cells(*actions: Any, properties: Any = (), **words: Any) -> Spec[Cells]:
    return Spec(
        name="cells",
        initial_states=lambda _: [Cells((Cell(), Cell()))],
        actions=[*actions, grow],
        properties=properties,
        **words,
    )


@action(index=range(2))
def grow(state: Cells, index: int) -> Iterator[Cells]:
    if state.cells[index].value < 6:
        yield put(state, "cells", index, "value", state.cells[index].value + 1)


MADE: dict[str, Callable[[Cells], Any]] = {
    "True": lambda state: put(state, "cells", 0, "value", True),
    "a longer component": lambda state: evolve(state, cells=(*state.cells, Cell())),
    "another constant": lambda state: evolve(state, fixed=1),
    "another class": lambda state: state.cells[0],
    "nothing": lambda state: None,
    "a list": lambda state: evolve(state, other=[]),
    "an exception": lambda state: state.cells[7],
}


@pytest.mark.parametrize("places", [0, 3], ids=["at once", "later"])
@pytest.mark.parametrize("what", MADE)
def test_next_states_that_are_refused(what: str, places: int) -> None:
    @action()
    def goes_wrong(state: Cells) -> Iterator[Any]:
        yield state
        if state.cells[0].value >= places and state.cells[1].value >= places:
            yield MADE[what](state)

    spec = cells(goes_wrong)
    with pytest.raises(SpecError, match=r"goes_wrong|holds both True and 1|holds both 1 and True"):
        same_by_direct_calls(spec, ALL)
    for count in range(1, 20):
        with suppress(SpecError):  # or the search ends before it gets there
            same_by_direct_calls(spec, Limits(max_states=count))


def test_a_value_that_can_be_told_apart_is_refused_where_the_state_is_known() -> None:
    @action()
    def swaps(state: Cells) -> Iterator[Cells]:
        if state.cells[0].value == 1:
            yield put(state, "cells", 0, "value", True)

    with pytest.raises(SpecError, match="holds both 1 and True"):
        same_by_direct_calls(cells(swaps), ALL)


def test_another_constant_is_refused_where_the_state_is_known() -> None:
    @action()
    def swaps(state: Cells) -> Iterator[Cells]:
        yield evolve(state, fixed=state.cells[0].value)

    with pytest.raises(SpecError, match=r"constant Cells\.fixed is not the same in every state"):
        same_by_direct_calls(cells(swaps), ALL)


def _none(state: Cells) -> Iterator[Any]:
    if state.cells[0].value == 3:
        yield None


def _address(state: Cells) -> Iterator[Any]:
    if state.cells[0].value == 3:
        yield f"{object()} is wrong"


def _number(state: Cells) -> Any:
    return 1 if state.cells[0].value == 3 else True


def _raises(state: Cells) -> Any:
    return 12 // (state.cells[0].value - 3) != 7


def _raises_later(state: Cells) -> Iterator[str]:
    yield from ["it is four"] if state.cells[0].value == 4 else []
    yield from ["it is twelve"] if 12 // (state.cells[0].value - 3) == 12 else []


def _exits(state: Cells) -> Any:
    return state.cells[0].value != 3 or pytest.fail("no")


@pytest.mark.parametrize("predicate", [_none, _address, _number, _raises, _raises_later, _exits])
def test_predicates_that_are_refused(predicate: Any) -> None:
    spec = cells(properties=[invariant("it is well")(predicate)])
    with pytest.raises(SpecError, match=predicate.__name__):
        same_by_direct_calls(spec, ALL)
    with suppress(SpecError):  # or the search ends before it gets there
        same_by_direct_calls(spec, Limits())


@step_invariant("no step ends at three")
def not_to_three(before: Cells, after: Cells) -> Iterator[str]:
    for index, cell in enumerate(after.cells):
        if cell.value == 3 != before.cells[index].value:
            yield f"cell {index}"


@witness("both cells are five")
def fives(state: Cells) -> bool:
    return all(cell.value == 5 for cell in state.cells)


@pytest.mark.parametrize("traces", [1, 5])
def test_constraints_final_states_and_deadlocks(traces: int) -> None:
    def within(state: Cells) -> bool:
        return bool(sum(cell.value for cell in state.cells) != 7)

    def final(state: Cells) -> bool:
        return bool(state.cells[0].value == 6)

    for words in ({}, {"within": within}, {"final": final}, {"within": within, "final": final}):
        spec = cells(properties=[not_to_three, fives], **words)
        same_by_direct_calls(spec, Limits(traces=traces, keep_going=True))
        same_by_direct_calls(spec, Limits(traces=traces))


@pytest.mark.parametrize("cls", [OracleSearch, DirectSearch])
def test_an_interrupt_in_a_predicate_gives_what_was_found_until_then(cls: type[OracleSearch[Cells]]) -> None:
    @invariant("it is well")
    def well(state: Cells) -> bool:
        if state.cells[0].value == 3:
            raise_signal(SIGINT)
        return True

    search = cls(cells(properties=[well]), Limits())
    result = search.run()
    assert (result.stop and result.stop.kind, result.statistics.distinct) == (StopKind.INTERRUPT, 7)


def test_a_state_that_is_changed_later_is_noticed() -> None:
    kept: list[Cells] = []

    @action()
    def changes(state: Cells) -> Iterator[Cells]:
        kept.append(state)
        if len(kept) == 60:
            object.__setattr__(kept[0], "other", 7)
        yield from ()

    with pytest.raises(SpecError, match=r"a state was changed after it was found|not deterministic"):
        DirectSearch(cells(changes), ALL).run()


def test_a_next_state_is_checked_once_if_it_is_known() -> None:
    """The oracle checks the next state of every step."""
    checked = {}
    for cls in (OracleSearch, DirectSearch):
        search = cls(counters(counters=3), ALL)
        with mock.patch.object(search.values, "check", side_effect=search.values.check) as check:
            search.run()
        checked[cls] = check.call_count
    assert checked == {OracleSearch: 1 + 54, DirectSearch: 27}
