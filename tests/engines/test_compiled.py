"""The compiled engine gives the oracle's answers, on shipped specs and on random ones."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any
from unittest import mock

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.checker import Limits, Spec, SpecError, Verdict, action, component, invariant, step_invariant
from leadline.checker.engines import memory, oracle
from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled import search
from leadline.checker.result import Stop, StopKind
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.specs import learning
from tests.specs.agreement import (
    Board,
    Pair,
    Row,
    Shelf,
    Slot,
    Wide,
    assert_same_answers,
    put,
    specs,
)
from tests.suite.samples import EVERY, sampled

LIMITS = [
    Limits(),
    Limits(keep_going=True),
    Limits(traces=4),
    Limits(keep_going=True, traces=3),
    Limits(depth=5),
    Limits(max_states=300),
]


DESIGNS = [name for name in CATALOG if name.startswith(("atomic/", "rpc/", "txn/kip-"))]
CHOSEN = ("atomic/hw-truncation", "atomic/kip-320", "rpc/kip-101", "rpc/kip-279", "txn/kip-98", "txn/kip-890-2")
"""The designs that are searched without ``EVERY=1``: of each family the first and the last, or others that differ more.
"""
EVERY_LIMIT = ("atomic/hw-truncation", *(["rpc/kip-101"] if EVERY else []))
"""These are searched with each of `LIMITS`, and the others as a whole."""


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        (name, limits)
        for name in (DESIGNS if EVERY else CHOSEN)
        for limits in (LIMITS if name in EVERY_LIMIT else [LIMITS[3]])
    ],
    ids=str,
)
def test_shipped_specs_get_the_same_answers(name: str, limits: Limits) -> None:
    small = {"records": 1, "crashes": 1} if name.startswith("rpc/") else {}
    small = {"transactions": 1} if name.startswith("txn/") else small
    assert_same_answers(CATALOG[name].with_bounds(small), limits)


LOSSY = {"records": 1, "max_epoch": 1, "crashes": 0, "lossy_crashes": 1}


@pytest.mark.parametrize("name", sampled([name for name in CATALOG if name.startswith("kafka/")], 15))
def test_releases_get_the_same_answers(name: str) -> None:
    assert_same_answers(CATALOG[name].with_bounds(LOSSY), Limits(keep_going=True))


@pytest.mark.parametrize(
    "perturbation", sampled(["session_expiries", "shutdowns", "late_fetches", "min_isr_updates"], 4)
)
def test_a_release_with_perturbations_gets_the_same_answers(perturbation: str) -> None:
    perturbed = LOSSY | {"min_insync_replicas": 2, perturbation: 1}
    assert_same_answers(CATALOG["kafka/4.1"].with_bounds(perturbed), Limits(keep_going=True))


@pytest.mark.skipif(not EVERY, reason="EVERY=1 tries three brokers, which test_atomic_figures.py counts")
@pytest.mark.parametrize("name", ["atomic/kip-101", "atomic/kip-279"])
def test_three_brokers_get_the_same_answers(name: str) -> None:
    spec = CATALOG[name].with_bounds({"brokers": 3, "log_size": 1, "records": 1})
    assert_same_answers(spec, Limits())


# --- random specs ---


@settings(max_examples=75 if EVERY else 40, suppress_health_check=list(HealthCheck))
@given(
    specs(),
    st.builds(
        Limits,
        depth=st.none() | st.integers(1, 6),
        max_states=st.none() | st.integers(1, 200),
        keep_going=st.booleans(),
        traces=st.integers(1, 4),
    ),
    st.integers(1, 3),
)
def test_random_specs_get_the_same_answers(spec: Spec[Board], limits: Limits, workers: int) -> None:
    limits = attrs.evolve(limits, max_states=limits.max_states or 2000)
    assert_same_answers(spec, limits, workers)


# --- specs that do not fit the mould ---


def test_a_component_that_changes_its_class_is_kept_whole() -> None:
    spec = Spec(name="shelf", initial_states=lambda bounds: [Shelf(Slot(0))], actions=[put])
    assert oracle.explore(spec).statistics.distinct == 9
    assert_same_answers(spec, Limits())


@action(by=(1, 2))
def step(pair: Pair, by: int) -> Iterator[Pair]:
    if pair.left + pair.right + by < 9:
        yield attrs.evolve(pair, left=pair.left + by)
        yield attrs.evolve(pair, right=pair.right + by)


def test_a_class_that_checks_itself_is_made_in_full() -> None:
    assert_same_answers(Spec(name="pair", initial_states=lambda bounds: [Pair(0)], actions=[step]), Limits())


@action()
def unpack(pair: Pair) -> Iterator[Pair]:
    left, _ = attrs.astuple(pair)
    if left < 3:
        yield Pair(**{**attrs.asdict(pair), "left": left + 1})


def test_an_action_may_take_a_state_apart_with_attrs() -> None:
    assert_same_answers(Spec(name="pair", initial_states=lambda bounds: [Pair(0)], actions=[unpack]), Limits())


@action(index=range(40))
def count_up(state: Wide, index: int) -> Iterator[Wide]:
    if state.numbers[index] < 20 and all(number == 0 for number in state.numbers[index + 1 :]):
        before, after = state.numbers[:index], state.numbers[index + 1 :]
        yield Wide((*before, state.numbers[index] + 1, *after))


def test_states_wider_than_a_word_are_kept_exactly() -> None:
    spec = Spec(name="wide", initial_states=lambda bounds: [Wide((0,) * 40)], actions=[count_up])
    assert_same_answers(spec, Limits(max_states=3000))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda pair: [pair.left / 0], "ZeroDivisionError"),
        (lambda pair: [[1]], "must yield a Pair"),
        (lambda pair: [attrs.evolve(pair, left=[1])], "TypeError"),
    ],
)
def test_a_spec_at_fault_is_refused_as_by_the_oracle(fault: Any, message: str) -> None:
    @action()
    def break_things(pair: Pair) -> Iterator[Any]:
        yield from fault(pair)

    spec = Spec(name="faulty", initial_states=lambda bounds: [Pair(0)], actions=[break_things])
    for engine in (oracle.explore, learning.explore):
        with pytest.raises(SpecError, match=message):
            engine(spec)


@attrs.frozen
class Tally:
    left: int


@action()
def count(tally: Tally) -> Iterator[Tally]:
    if tally.left < 400:
        yield attrs.evolve(tally, left=tally.left + 1)


@invariant("a counter is below three")
def raises_late(tally: Tally) -> bool:
    return 1 // (333 - tally.left) == 0 and tally.left < 3


@step_invariant("a step leads to a counter below three")
def raises_late_in_a_step(before: Tally, after: Tally) -> bool:
    return 1 // (333 - before.left) == 0 and after.left < 3


@action("choose {left}", left=range(400))
def choose(tally: Tally, left: int) -> Iterator[Tally]:
    if not tally.left:
        yield attrs.evolve(tally, left=left)


@pytest.mark.parametrize(
    "spec",
    [
        Spec(name="late", initial_states=lambda _: [Tally(0)], actions=[count], properties=[raises_late]),
        Spec(name="late", initial_states=lambda _: [Tally(0)], actions=[count], properties=[raises_late_in_a_step]),
        Spec(
            name="late",
            initial_states=lambda _: [Tally(0)],
            actions=[choose],
            final=lambda tally: not raises_late(tally),
        ),
    ],
    ids=["invariant", "step invariant", "final"],
)
def test_an_exception_after_many_violations_is_raised_as_by_the_oracle(spec: Spec[Tally]) -> None:
    for engine in (oracle.explore, learning.explore):
        with pytest.raises(SpecError, match="ZeroDivisionError"):
            engine(spec, Limits(keep_going=True))


@action()
def by_class(pair: Pair) -> Iterator[Pair]:
    if type(pair) is Pair and pair.left < 3:
        yield attrs.evolve(pair, left=pair.left + 1)


def test_an_action_that_sees_through_views_gets_the_states_themselves() -> None:
    spec = Spec(name="pair", initial_states=lambda bounds: [Pair(0)], actions=[by_class])
    assert oracle.explore(spec).statistics.distinct == 4
    assert_same_answers(spec, Limits())


def test_an_interrupt_gives_what_was_found_until_then() -> None:
    @action()
    def climb(pair: Pair) -> Iterator[Pair]:
        if pair.left == 5:
            raise KeyboardInterrupt
        yield attrs.evolve(pair, left=pair.left + 1)

    result = learning.explore(Spec(name="pair", initial_states=lambda bounds: [Pair(0)], actions=[climb]))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason == "interrupted"
    assert result.statistics.distinct == 6


def test_seconds_are_a_limit() -> None:
    @action()
    def go(wide: Wide) -> Iterator[Wide]:
        yield Wide((wide.numbers[0] + 1,))

    spec = Spec(name="endless", initial_states=lambda bounds: [Wide((0,))], actions=[go])
    result = learning.explore(spec, Limits(max_seconds=0.3))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 0.3 seconds")


def turned(row: Row, place: int) -> Row:
    numbers = row.numbers
    return Row((*numbers[:place], (numbers[place] + 1) % 3, *numbers[place + 1 :]))


def row_spec(places: int) -> Spec[Row]:
    @action(place=range(places))
    def turn(row: Row, place: int) -> Iterator[Row]:
        yield turned(row, place)

    return Spec(name="row", initial_states=lambda bounds: [Row((0,) * places)], actions=[turn])


def test_plain_tuples_are_learned_element_by_element() -> None:
    result = learning.explore(row_spec(8))
    assert (result.statistics.distinct, result.statistics.generated) == (3**8, 8 * 3**8 + 1)
    assert result.statistics.calls == 8 * 3
    assert_same_answers(row_spec(5), Limits())


def test_more_action_instances_than_bits_in_a_word() -> None:
    @action(place=range(3), other=range(3), third=range(20))
    def turn_two(row: Row, place: int, other: int, third: int) -> Iterator[Row]:
        if row.numbers[place] != 2 and row.numbers[other] == third % 3:
            yield turned(turned(row, place), other)
            yield turned(row, other)

    spec = Spec(name="pairs", initial_states=lambda bounds: [Row((0,) * 3)], actions=[turn_two])
    assert len(spec.instances) == 180
    assert_same_answers(spec, Limits())


def test_an_action_that_looks_at_copies_now_and_then_is_learned_anew() -> None:
    @action(place=range(3))
    def turn(row: Row, place: int) -> Iterator[Row]:
        if row.numbers[place] == 0 or all(number == 1 for number in row.numbers):
            yield turned(row, place)

    spec = Spec(name="looks", initial_states=lambda bounds: [Row((0,) * 3)], actions=[turn])
    assert_same_answers(spec, Limits())


def test_a_wrongly_learned_action_is_found_by_looking_at_samples() -> None:
    @attrs.frozen
    class Part:
        number: int

    @attrs.frozen
    class Whole:
        part: Part = component()

    @action()
    def count(whole: Whole) -> Iterator[Whole]:
        if whole.part.number < 5 or (type(whole.part) is Part and whole.part.number < 9):
            yield Whole(Part(whole.part.number + 1))

    spec = Spec(name="whole", initial_states=lambda bounds: [Whole(Part(0))], actions=[count])
    assert oracle.explore(spec).statistics.distinct == 10
    assert_same_answers(spec, Limits())


def test_memory_is_a_limit() -> None:
    learning.explore(row_spec(6))  # loads the compiled loops, which take memory too
    used = memory.used()
    result = learning.explore(row_spec(14), Limits(max_memory=used + 2**25))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason == f"reached {memory.described(used + 2**25)} of memory"
    assert 50_000 < result.statistics.distinct < 3**14
    assert memory.used() < used + 2**26


def test_bytes_and_calls_are_reported() -> None:
    statistics = learning.explore(row_spec(13)).statistics
    assert 20 < statistics.memory / statistics.distinct < 40
    assert oracle.explore(row_spec(3)).statistics.calls == 0


# --- what a review found ---


class Fork(enum.Enum):
    FREE = 0
    TAKEN = 1


@attrs.frozen
class Table:
    forks: tuple[Any, ...] = component()


@pytest.mark.parametrize(("free", "taken"), [(None, 1), (Fork.FREE, Fork.TAKEN), (0, None), (0, "taken")])
def test_copied_elements_may_be_told_apart_by_identity(free: Any, taken: Any) -> None:
    @action(place=range(3))
    def take(table: Table, place: int) -> Iterator[Table]:
        if table.forks[place] is free:
            yield Table((*table.forks[:place], taken, *table.forks[place + 1 :]))

    @action()
    def give_all_back(table: Table) -> Iterator[Table]:
        if all(fork is taken for fork in table.forks):
            yield Table((free,) * 3)

    @action()
    def shift(table: Table) -> Iterator[Table]:
        first, *others = table.forks
        if first is taken:
            yield Table((*others, free))

    @invariant("not all are taken")
    def some_free(table: Table) -> bool:
        return any(fork is free for fork in table.forks)

    spec = Spec(
        name="forks",
        initial_states=lambda bounds: [Table((free,) * 3)],
        actions=[take, give_all_back, shift],
        properties=[some_free],
    )
    assert_same_answers(spec, Limits(keep_going=True, traces=3))


def test_a_property_that_sees_through_views_is_given_states() -> None:
    @attrs.frozen
    class Part:
        number: int

    @attrs.frozen
    class Whole:
        part: Part = component()

    @action()
    def count(whole: Whole) -> Iterator[Whole]:
        if whole.part.number < 9:
            yield Whole(Part(whole.part.number + 1))

    @invariant("seven is never reached")
    def no_seven(whole: Whole) -> bool:
        return not (type(whole.part) is Part and whole.part.number == 7)

    spec = Spec(name="seven", initial_states=lambda bounds: [Whole(Part(0))], actions=[count], properties=[no_seven])
    assert_same_answers(spec, Limits())


def test_a_class_with_an_initialiser_of_its_own() -> None:
    @attrs.frozen(init=False)
    class Sorted:
        low: int
        high: int

        def __init__(self, low: int, high: int) -> None:
            self.__attrs_init__(min(low, high), max(low, high))

    @action(by=(1, 2))
    def more(pair: Sorted, by: int) -> Iterator[Sorted]:
        if pair.low < 6:
            yield attrs.evolve(pair, low=pair.low + by)

    assert_same_answers(Spec(name="sorted", initial_states=lambda bounds: [Sorted(0, 3)], actions=[more]), Limits())


def test_a_state_with_a_derived_field() -> None:
    @attrs.frozen
    class Square:
        side: int
        area: int = attrs.field(init=False)

        @area.default
        def _area(self) -> int:
            return self.side * self.side

    @action()
    def grow(square: Square) -> Iterator[Square]:
        if square.area < 50:
            yield Square(square.side + 1)

    assert_same_answers(Spec(name="square", initial_states=lambda bounds: [Square(0)], actions=[grow]), Limits())


def test_many_workers_have_many_regions() -> None:
    spec = row_spec(7)
    assert learning.explore(spec, settings=CompiledSettings(workers=200)).statistics.distinct == 3**7


def test_a_first_block_may_widen_every_slot() -> None:
    places = 300
    result = learning.explore(row_spec(places), Limits(depth=2))
    assert result.statistics.distinct == places + 1


def test_an_interrupt_in_a_property_gives_what_was_found_until_then() -> None:
    @action()
    def climb(pair: Pair) -> Iterator[Pair]:
        yield attrs.evolve(pair, left=pair.left + 1)

    @invariant("nobody interrupts")
    def quiet(pair: Pair) -> bool:
        if pair.left == 5:
            raise KeyboardInterrupt
        return True

    spec = Spec(name="pair", initial_states=lambda bounds: [Pair(0)], actions=[climb], properties=[quiet])
    result = learning.explore(spec)
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "interrupted")


def test_very_little_memory_ends_at_once() -> None:
    result = learning.explore(row_spec(3), Limits(max_memory=10))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 10 bytes of memory")


def test_buffers_count_as_memory() -> None:
    @action(other=range(600))
    def jump(row: Row, other: int) -> Iterator[Row]:
        yield Row(((row.numbers[0] * 600 + other) % 1_000_003,))

    spec = Spec(name="jumps", initial_states=lambda bounds: [Row((0,))], actions=[jump])
    limit = memory.used() + 2**26
    assert learning.explore(spec, Limits(max_memory=limit)).reason == f"reached {memory.described(limit)} of memory"
    assert memory.used() < limit + 2**26  # doubling them without a look took ten times as much


@pytest.mark.parametrize("fault", ["own __eq__", "eq="])
def test_states_that_are_not_compared_field_by_field_are_refused(fault: str) -> None:
    @attrs.frozen(eq=False)
    class Same:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    @attrs.frozen
    class Keyed:
        value: int = attrs.field(eq=abs)

    state: Any = Same(0) if fault == "own __eq__" else Keyed(0)

    @action()
    def go(state: Any) -> Iterator[Any]:
        yield state

    with pytest.raises(SpecError, match={"own __eq__": "defines __eq__", "eq=": "passes a function as eq"}[fault]):
        learning.explore(Spec(name="odd", initial_states=lambda bounds: [state], actions=[go]))


@pytest.mark.parametrize(
    "cause", [StopSearch(Stop(StopKind.MEMORY, "reached 1 GiB of memory")), KeyboardInterrupt()], ids=repr
)
def test_where_no_further_traces_can_be_had_there_is_one(cause: BaseException) -> None:
    spec, limits = CATALOG["atomic/hw-truncation"], Limits(traces=3)
    expected = oracle.explore(spec, limits)
    with mock.patch.object(search, "steps_into", side_effect=cause) as asked:
        found = learning.explore(spec, limits)
    assert asked.called
    assert found.verdict is expected.verdict is Verdict.VIOLATED
    for item, other in zip(found.properties, expected.properties, strict=True):
        assert bool(item.traces) == bool(other.traces)
        assert {len(trace.states) for trace in item.traces} == {len(trace.states) for trace in other.traces}
