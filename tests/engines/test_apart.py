"""Properties that the engine divides into parts: what they mean, which are divided, and what is said of the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import attrs
import pytest
from attrs import evolve, frozen

from leadline.checker import Bag, Map, Spec, Verdict, action, component, invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.observing.reach import Reach
from leadline.checker.result import UNDIVIDED, Statistics, WholeRead
from leadline.checker.settings import CompiledSettings
from leadline.checker.source.explain import false_condition
from leadline.reports.runs.phrases import whole_read_text
from tests.programs.properties import source
from tests.programs.search import compare_properties
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")

EARLY = attrs.evolve(ONLY_LEARNED, apart_after=1)
"""Properties are divided after their first call, and nothing is compared with direct calls."""

TOP = 4


@frozen
class Process:
    at: int = 0
    seen: frozenset[int] = frozenset()


@frozen
class State:
    counters: tuple[int, ...] = component(each="counter", default=(0, 0, 0, 0))
    processes: tuple[Process, ...] = component(each="process", default=(Process(), Process()))


@action(i=range(4))
def up(state: State, i: int) -> Iterator[State]:
    if state.counters[i] < TOP:
        yield evolve(state, counters=(*state.counters[:i], state.counters[i] + 1, *state.counters[i + 1 :]))


def by_all(state: State) -> bool:
    return all(0 <= counter <= TOP for counter in state.counters)


def by_not_any(state: State) -> bool:
    return not any(counter > TOP for counter in state.counters)


def by_loop(state: State) -> bool:
    for place, counter in enumerate(state.counters):
        if counter < 0:
            return False
        if counter > TOP and place < TOP:
            return False
    return True


def by_and(state: State) -> bool:
    first, second, third, fourth = state.counters
    return first <= TOP and second <= TOP and third <= TOP and fourth <= TOP


def by_chain(state: State) -> bool:
    if state.counters[0] > TOP:
        return False
    if state.counters[1] > TOP or state.counters[2] > TOP:
        return False
    return state.counters[3] <= TOP


def by_pairs(state: State) -> bool:
    return all(abs(one - other) <= TOP for one, other in itertools.combinations(state.counters, 2))


def by_count(state: State) -> bool:
    return sum(counter == TOP for counter in state.counters) <= TOP


def by_length(state: State) -> bool:
    return len([counter for counter in state.counters if counter == TOP]) <= TOP


def by_sentences(state: State) -> Iterator[str]:
    for counter in state.counters:
        if counter > TOP:
            yield f"{counter} is too large"


DIVIDED = [by_all, by_not_any, by_loop, by_and, by_chain, by_pairs, by_count, by_length, by_sentences]


def spec_with(*properties: Callable[..., Any]) -> Spec[State]:
    checks = [invariant("it is so")(function) for function in properties]
    return Spec(name="counters", initial_states=lambda _: [State()], actions=[up], properties=checks)


def test_a_conjunction_takes_as_few_calls_as_its_parts() -> None:
    settings = CompiledSettings(workers=1, tuning=EARLY)
    found = learning.explore(spec_with(*DIVIDED), settings=settings)
    expected = oracle.explore(spec_with(*DIVIDED))
    assert [item.verdict for item in found.properties] == [item.verdict for item in expected.properties]
    assert found.statistics.distinct == expected.statistics.distinct == (TOP + 1) ** 4
    learned = found.statistics.learning
    assert learned is not None
    assert learned.called == 0
    assert max(learned.properties.values()) < 200, sorted(learned.properties.items(), key=str)


def test_a_property_is_whole_until_it_pays() -> None:
    found = learning.explore(spec_with(by_all), settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED))
    assert found.statistics.learning is not None
    assert 40 < found.statistics.learning.properties["by_all"] < 100


@pytest.mark.parametrize("seed", range(2))
def test_random_properties_are_searched_as_by_direct_calls(seed: int) -> None:
    """For more of them: ``python -m tests.programs 100 --properties``, which is 3,000."""
    counts, properties = compare_properties(source(seed, properties=10), seed)
    assert properties > 5
    assert counts.learned > 50


SHARED: list[int] = []


def in_a_list(number: int) -> bool:
    SHARED.append(number)
    return SHARED.count(number) <= 2 or number == 0


def cleared() -> bool:
    SHARED.clear()
    return True


def with_shared_list(state: State) -> bool:
    return cleared() and all(in_a_list(counter) for counter in state.counters)


def with_walrus(state: State) -> bool:
    return (low := min(state.counters)) >= 0 and all(low <= counter for counter in state.counters)


def with_closure(state: State) -> bool:
    seen = 0

    def adds(counter: int) -> bool:
        nonlocal seen
        seen += counter
        return seen < 100

    return all(adds(counter) for counter in state.counters)


def with_iterator(state: State) -> bool:
    each = iter(state.counters)
    return all(next(each) <= TOP for _ in range(2)) and all(counter <= TOP for counter in each)


def adds(numbers: list[int], number: int) -> bool:
    numbers.append(number)
    return True


def with_mutable_variable(state: State) -> bool:
    low = [0]
    return all(counter >= low.pop() and adds(low, counter) for counter in state.counters)


def with_try(state: State) -> bool:
    try:
        return all(counter <= TOP for counter in state.counters) and state.counters[0] <= TOP
    except IndexError:
        return True


class Holder:
    last = 0


def with_attribute(state: State) -> bool:
    Holder.last = 0
    return all(counter <= TOP for counter in state.counters)


def remembered(counter: int, before: list[int] = []) -> bool:  # noqa: B006
    before.append(counter)
    return len(before) > 0


def with_default(state: State) -> bool:
    return all(remembered(counter) for counter in state.counters)


@pytest.mark.parametrize(
    ("function", "because"),
    [
        (with_shared_list, "an object of type list, which could be changed"),
        (with_walrus, "an assignment expression"),
        (with_closure, "a nested function"),
        (with_iterator, "a variable or an iterable of type generator"),
        (with_mutable_variable, "a variable or an iterable of type list"),
        (with_try, ""),
        (with_attribute, "the attribute last, which is assigned"),
        (with_default, "an object of type list, which could be changed"),
    ],
)
def test_what_could_carry_information_past_a_part_stays_whole(function: Callable[[State], bool], because: str) -> None:
    spec = spec_with(function)
    tables = TransitionTables(spec, spec.initials(), tuning=EARLY)
    tree = tables.instances
    tables.caller.take_apart(tree)
    tables.caller.make(tree, (tables.rows[0],))
    assert not tables.caller.apart[tree]
    reasons = [found.text for found in tables.caller.whole_because.values()]
    assert reasons == ([because] if because else [])  # `try` lowers the precision, which is reported elsewhere


class Box:
    """An object that can be changed, and is compared by value."""

    def __init__(self) -> None:
        self.content: list[int] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box)

    def __hash__(self) -> int:
        return 0


@frozen
class Holding:
    counters: tuple[int, ...] = component(each="counter", default=(0, 0, 0, 0))
    table: Map[int, Any] = Map({1: 2})
    bag: Bag[int] = Bag([1])


def in_table(state: Holding) -> bool:
    return all(counter in state.table or counter != 1 for counter in state.counters)


def by_items(state: Holding) -> bool:
    return all(key in state.bag for key, _ in state.table.items()) and all(counter < 9 for counter in state.counters)


def past_the_map(state: Holding) -> bool:
    inner = state.table._items
    return all(counter in inner or counter != 1 for counter in state.counters)


def past_the_bag(state: Holding) -> bool:
    inner = state.bag._counts
    return all(counter in inner or counter != 1 for counter in state.counters)


def by_any_name(state: Holding) -> bool:
    inner = getattr(state.table, "_it" + "ems")
    return all(counter in inner or counter != 1 for counter in state.counters)


@pytest.mark.parametrize(
    ("function", "table", "is_apart"),
    [
        (in_table, Map({1: 2}), True),
        (by_items, Map({1: 2}), True),
        (in_table, Map({1: Box()}), False),
        (in_table, Map({Box(): 1}), False),
        (in_table, Map({1: Map({1: Box()})}), False),
        (past_the_map, Map({1: 2}), False),
        (past_the_bag, Map({1: 2}), False),
        (by_any_name, Map({1: 2}), False),
    ],
)
def test_a_map_or_a_bag_is_divided_unless_it_holds_what_can_be_changed(
    function: Callable[[Holding], bool], table: Map[Any, Any], is_apart: bool
) -> None:
    spec: Spec[Any] = Spec(
        name="holding",
        initial_states=lambda _: [Holding(table=table)],
        actions=[up],
        properties=[invariant("it is so")(function)],
    )
    tables = TransitionTables(spec, spec.initials(), tuning=EARLY)
    tables.caller.take_apart(tables.instances)
    assert tables.caller.apart[tables.instances] is is_apart


@action(effect="healing")
def lower(state: State) -> Iterator[State]:
    if TOP in state.counters:
        yield evolve(state, counters=tuple(min(counter, TOP - 1) for counter in state.counters))


@invariant("no counter remains at the top", at_rest=True)
def low_at_rest(state: State) -> bool:
    return all(counter < TOP for counter in state.counters)


def test_a_property_at_rest_stays_whole() -> None:
    spec = attrs.evolve(spec_with(), actions=[up, lower], properties=[low_at_rest])
    found = learning.explore(spec, settings=CompiledSettings(workers=1, tuning=EARLY))
    assert found.verdict is Verdict.HOLDS
    assert "low_at_rest" not in [name for read in found.statistics.whole_reads for name in read.used_by]


def test_a_list_that_outlives_a_part_would_make_it_wrong() -> None:
    spec, settings = spec_with(with_shared_list), CompiledSettings(workers=1, tuning=EARLY)
    (expected,) = oracle.explore(spec).properties
    (found,) = learning.explore(spec, settings=settings).properties
    assert list(map(len, found.traces)) == list(map(len, expected.traces)) == [4]
    with mock.patch.object(Reach, "lasting", ""):
        (broken,) = learning.explore(spec, settings=settings).properties
    assert not broken.traces


def test_the_condition_and_the_element_are_named() -> None:
    state = State((1, 7, 0, 9))
    assert false_condition(by_all, state) == "0 <= counter <= TOP is false for counter = 7 (state.counters[1])"
    assert false_condition(by_not_any, state) == "counter > TOP is true for counter = 7 (state.counters[1])"
    assert false_condition(by_loop, state) == "counter > TOP and place < TOP is true for place = 1, counter = 7"
    assert false_condition(by_and, state) == "second <= TOP is false"
    assert false_condition(by_chain, state) == "state.counters[1] > TOP is true"
    assert false_condition(by_pairs, state) == "abs(one - other) <= TOP is false for one = 1, other = 7"
    assert false_condition(by_all, State()) == ""
    assert false_condition(with_try, state) == ""


OBJECTS = (object(),)


def test_an_element_is_named_without_a_memory_address() -> None:
    def are_numbers(state: State) -> bool:
        return all(isinstance(each, int) for place, each in enumerate(OBJECTS))

    expected = "isinstance(each, int) is false for place = 0, each = <object object>"
    assert false_condition(are_numbers, State()) == expected


def test_a_counterexample_names_them() -> None:
    def in_range(state: State) -> bool:
        return all(counter < 2 for counter in state.counters)

    (item,) = oracle.explore(spec_with(in_range)).properties
    (trace,) = item.traces
    assert trace.complaint == "counter < 2 is false for counter = 2 (state.counters[0])"


def test_a_property_that_is_read_whole_is_reported_with_its_cost() -> None:
    read = WholeRead("try", "with_try", "mine.py", 9, UNDIVIDED, ("with_try",), 40_000, 3.21)
    assert whole_read_text(read).startswith(
        "with_try is evaluated as a whole because of try (with_try, mine.py:9): 40,000 calls, 3.2 s. Write it as"
    )
    assert Statistics(whole_reads=(read,)).whole_reads == (read,)
    shared = attrs.evolve(read, construct="an object of type set, which could be changed")
    assert whole_read_text(shared).endswith(
        "3.2 s. Use a frozenset, a tuple or a Map instead, to have it checked in parts."
    )
