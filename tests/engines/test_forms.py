"""The search that users get changes its form: states are objects, then packed words, and objects again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGINT, raise_signal
from time import sleep
from typing import Any
from unittest import mock

import pytest
from attrs import evolve, frozen

from leadline.checker import LeadlineError, Limits, Result, Spec, Verdict, action, component, invariant, put, witness
from leadline.checker.engines import budget, compiled, oracle
from leadline.checker.engines.compiled import forms as forms_module
from leadline.checker.engines.compiled import moving, packed_form
from leadline.checker.engines.compiled.search import CompiledSearch
from leadline.checker.engines.learning import learn_or_call
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.learn_or_call import (
    FIRST,
    MOST_RETURNING,
    UNLEARNED,
    CallingPays,
    LearningPays,
    Objects,
    Trial,
)
from leadline.checker.engines.learning.restart import Crowded
from leadline.checker.engines.memory import Memory
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.properties import always_eventually, step_invariant, step_witness
from leadline.checker.result import Learning, Statistics, StopKind
from leadline.checker.settings import DEFAULT, CompiledSettings, Tuning
from tests.specs.agreement import answers
from tests.specs.learning import learning


@frozen
class Chain:
    """A row of states: a level each."""

    place: int = 0


@action(by=(1, 2))
def steps(state: Chain, by: int) -> Iterator[Chain]:
    if state.place + by < 400:
        yield Chain(state.place + by)


@frozen
class Board:
    """The eight tiles of a puzzle, of two by three: one value, which no two states share."""

    tiles: tuple[int, ...]


@action(by=(-3, -1, 1, 3))
def slides(state: Board, by: int) -> Iterator[Board]:
    free = state.tiles.index(0)
    place = free + by
    if 0 <= place < 6 and (by % 3 == 0 or free // 3 == place // 3):
        tiles = list(state.tiles)
        tiles[free], tiles[place] = tiles[place], 0
        yield Board(tuple(tiles))


fair_slides = action(by=(-3, -1, 1, 3), fair="weak")(slides.function)


@invariant("the last tile never comes first")
def last_is_not_first(state: Board) -> bool:
    return state.tiles[0] != 5


CHAIN = Spec(name="chain", initial_states=lambda _: [Chain()], actions=[steps])
DEAD = Spec(
    name="dead", initial_states=lambda _: [Chain(), Chain(300)], actions=[steps], within=lambda state: state.place != 77
)
PUZZLE = Spec(
    name="puzzle",
    initial_states=lambda _: [Board((0, 1, 2, 3, 4, 5))],
    actions=[slides],
    properties=[last_is_not_first],
)


@witness("the last tile comes first")
def last_comes_first(state: Board) -> bool:
    return state.tiles[0] == 5


@step_invariant("four does not move to the front")
def four_stays(before: Board, after: Board) -> bool:
    return after.tiles[0] != 4


@step_witness("five moves")
def five_moves(before: Board, after: Board) -> bool:
    return before.tiles.index(5) != after.tiles.index(5)


@always_eventually("the first tile comes back")
def comes_back(state: Board) -> bool:
    return state.tiles[0] == 1


@always_eventually("the free place comes back")
def is_back(state: Board) -> bool:
    return state.tiles.index(0) < 6


WITHIN = evolve(
    PUZZLE,
    name="within",
    within=lambda state: state.tiles[1] != 4,
    properties=[last_is_not_first, last_comes_first],
)
STEPS = evolve(PUZZLE, name="steps", properties=[four_stays, five_moves])


@frozen
class Mixed:
    """Numbers that hardly ever recur."""

    number: int = 1


@action(by=(1, 2, 3))
def mixes(state: Mixed, by: int) -> Iterator[Mixed]:
    yield Mixed((state.number * 31 + by) % 2_003)


@frozen
class Counters:
    """Independent counters."""

    counts: tuple[int, ...] = component(each="count", default=(0, 0, 0))


@action(which=range(3))
def counts(state: Counters, which: int) -> Iterator[Counters]:
    yield Counters(put(state.counts, which, (state.counts[which] + 1) % 12))


MIXED = Spec(name="mixed", initial_states=lambda _: [Mixed()], actions=[mixes])
COUNTERS = Spec(name="counters", initial_states=lambda _: [Counters()], actions=[counts])
ALL = Limits(keep_going=True)


def explore(spec: Spec[Any], limits: Limits | None = None, after: int = DEFAULT.learn_after) -> Result:
    """Search with the engine that users get. It begins to learn after some calls."""
    return compiled.explore(spec, limits, settings=CompiledSettings(tuning=Tuning(learn_after=after)))


def told(result: Result) -> Any:
    """All that does not depend on the engine."""
    statistics = result.statistics
    return (
        result.verdict,
        result.stop,
        [(item.property.name, item.verdict, [trace.states for trace in item.traces]) for item in result.properties],
        (statistics.levels, statistics.generated, statistics.actions, statistics.deadlocks, statistics.depth),
    )


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions are made at each state, and learning is given up and begins again often."""
    for name, value in {"OFTEN": 1, "FIRST": 3, "HOPELESS": -1.0, "FALLING": 0.0, "AGAIN": 1.2}.items():
        monkeypatch.setattr(learn_or_call, name, value)


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The moves of a search."""
    moves: list[str] = []

    def noted(name: str, move: Any) -> Any:
        def moved(*given: Any) -> Any:
            moves.append(name)
            return move(*given)

        return moved

    for name in ("of_objects", "to_objects"):
        monkeypatch.setattr(packed_form, name, noted(name, getattr(packed_form, name)))
    return moves


def test_a_small_space_is_explored_by_calls() -> None:
    result = explore(PUZZLE, ALL)
    assert (result.engine, result.statistics.distinct, result.statistics.calls) == ("compiled", 360, 0)


def test_a_large_one_is_learned() -> None:
    assert explore(PUZZLE, ALL, 500).statistics.calls > 0


LIMITS = [Limits(), Limits(depth=5), Limits(max_states=70), Limits(traces=3), Limits(coverage=True), ALL]
SPECS = [CHAIN, PUZZLE, WITHIN, STEPS, DEAD]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.usefixtures("soon")
def test_a_search_finds_the_same_wherever_it_changes_its_form(
    spec: Spec[Any], limits: Limits, forms: list[str]
) -> None:
    expected = oracle.explore(spec, limits)
    for after in (1, 40, 150, 400, 1_000):
        found = explore(spec, limits, after)
        assert told(found) == told(expected)
        assert answers(found) == answers(expected)
    assert "of_objects" in forms
    assert limits.depth is not None or ("to_objects" in forms) == (limits.traces == 1 and not limits.coverage)


@pytest.mark.usefixtures("soon")
def test_liveness_is_decided_after_any_change_of_form(forms: list[str]) -> None:
    for item in (comes_back, is_back):
        spec = evolve(PUZZLE, properties=[item], actions=[fair_slides])
        verdicts = {explore(spec, after=after).verdict for after in (100, 1_000, 10**9)}
        assert verdicts == {oracle.explore(spec).verdict}
    assert "to_objects" in forms


@pytest.mark.parametrize("change", [ShapeChanged("tiles"), NotRecorded(1), Crowded(frozenset({"other"}))])
def test_an_attempt_continues_where_the_last_one_was(change: Exception) -> None:
    """Only where a learned result was wrong, the search returns to the states that it found by calls."""
    expand, begun = CompiledSearch._expand, list[int]()

    def fails_once(search: CompiledSearch[Any], last: int) -> None:
        begun.append(search.at.next)
        if len(begun) == 3:
            raise change
        expand(search, min(last, search.at.next + 20))

    with mock.patch.object(CompiledSearch, "_expand", fails_once):
        result = explore(PUZZLE, ALL, 500)
    assert told(result) == told(oracle.explore(PUZZLE, ALL))
    assert begun[2] > begun[0] > 0
    assert begun[3] == (begun[0] if isinstance(change, NotRecorded) else begun[2])


def test_where_learning_does_not_pay_states_become_objects_again(
    monkeypatch: pytest.MonkeyPatch, forms: list[str]
) -> None:
    monkeypatch.setattr(learn_or_call, "FIRST", 20)
    mixed = explore(MIXED, ALL, 4_000)
    assert forms == ["of_objects", "to_objects"]
    assert told(mixed) == told(oracle.explore(MIXED, ALL))
    learned = mixed.statistics.learning
    assert learned is not None
    assert learned.made == learned.by_oracle > mixed.statistics.calls > 0
    monkeypatch.setattr(learn_or_call, "FIRST", 100)
    assert explore(COUNTERS, ALL, 2_000).statistics.calls < 1_000
    assert forms[2:] == ["of_objects"]


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=1), Limits(max_states=30), Limits(max_states=70)], ids=str)
def test_many_initial_states_are_packed_at_once(limits: Limits, forms: list[str]) -> None:
    spec = evolve(CHAIN, initial_states=lambda _: [Chain(place) for place in range(100)])
    result = explore(spec, limits, 200)
    assert (result.statistics.calls > 0) == (limits == Limits())
    assert told(result) == told(oracle.explore(spec, limits))
    assert not forms


def test_the_load_of_the_machine_changes_no_decision(monkeypatch: pytest.MonkeyPatch, forms: list[str]) -> None:
    """Nor does the time that a call takes."""
    monkeypatch.setattr(learn_or_call, "FIRST", 20)

    seconds = [0.0]

    @invariant("sometimes slow")
    def sometimes_slow(state: Mixed) -> bool:
        if state.number % 50 == 0:
            sleep(seconds[0])
        return True

    spec, counts = evolve(MIXED, properties=[sometimes_slow]), []
    for seconds[0] in (0.0, 0.002, 0.0):
        statistics = explore(spec, ALL, 2_000).statistics
        assert statistics.learning is not None
        counts.append((statistics.calls, statistics.learning.made, [*forms]))
        forms.clear()
    assert counts[0] == counts[1] == counts[2]


def test_an_interrupt_among_the_first_states_ends_the_search() -> None:
    @action()
    def interrupts(state: Chain) -> Iterator[Chain]:
        if state.place == 3:
            raise KeyboardInterrupt
        yield from ()

    for initials in ([Chain()], [Chain(place) for place in range(100)]):
        spec = evolve(CHAIN, actions=[steps, interrupts], initial_states=lambda _, initials=initials: initials)  # type: ignore[misc]
        result = explore(spec)
        assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)
        assert result.spec is spec


def test_where_only_initial_states_are_wanted_none_of_them_is_expanded() -> None:
    @action()
    def fails(state: Chain) -> Iterator[Chain]:
        raise ValueError
        yield state

    spec = evolve(CHAIN, actions=[fails], initial_states=lambda _: [Chain(place) for place in range(100)])
    assert told(explore(spec, Limits(depth=1))) == told(oracle.explore(spec, Limits(depth=1)))


def test_a_limit_that_the_initial_states_catch_leaves_the_search_incomplete() -> None:
    def initial_states(_: Any) -> list[Chain]:
        with suppress(KeyboardInterrupt):
            raise_signal(SIGINT)
        return [Chain(399)]

    result = explore(evolve(CHAIN, initial_states=initial_states))
    assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)


def test_the_time_limit_ends_initial_states_that_are_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def initial_states(_: Any) -> Iterator[Chain]:
        while True:
            sleep(0.01)
            yield from ()

    monkeypatch.setattr(budget, "GRACE_SECONDS", 0.0)
    result = compiled.explore(evolve(CHAIN, initial_states=initial_states), Limits(max_seconds=0.05))
    assert result.stop is not None
    assert result.stop.kind is StopKind.TIME


@pytest.mark.usefixtures("soon")
def test_calls_after_learning_keep_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """They need the oracle's memory, which is more."""
    move = moving.to_objects

    def with_little_memory(before: Any, moved: Any) -> Any:
        search = move(before, moved)
        search.budget.memory = Memory(10)
        return search

    monkeypatch.setattr(packed_form, "to_objects", with_little_memory)
    result = explore(evolve(PUZZLE, properties=[]), ALL, 500)
    assert (result.verdict, str(result.stop)) == (Verdict.INCOMPLETE, "reached 10 bytes of memory")
    assert 0 < result.statistics.distinct < 360
    assert result.statistics.calls > 0


@pytest.mark.usefixtures("soon")
def test_the_time_of_all_forms_counts() -> None:
    result = explore(PUZZLE, Limits(max_seconds=1e-6, keep_going=True), 500)
    assert str(result.stop) == "reached 1e-06 seconds"
    assert result.statistics.distinct < 360


@pytest.mark.parametrize(
    ("target", "name"),
    [(packed_form, "of_objects"), (packed_form, "to_objects"), (forms_module, "_load_compiler")],
    ids=["packed", "unpacked", "compiler"],
)
@pytest.mark.usefixtures("soon")
def test_an_interrupt_while_states_are_moved_loses_none(
    target: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(target, name, interrupted)
    result = explore(evolve(PUZZLE, properties=[]), ALL, 700)
    assert (result.verdict, result.interrupted) == (Verdict.INCOMPLETE, True)
    assert result.statistics.distinct > 40


def statistics_of(levels: list[int], expanded: int) -> Statistics:
    return Statistics(expanded=expanded, generated=expanded, distinct=sum(levels), depth=len(levels))


@pytest.mark.parametrize(
    ("levels", "expanded", "found", "learns"),
    [
        ([100, 200, 400], 500, 10, True),
        ([100, 200], 150, 10, False),  # few calls
        ([100, 900], 140, 10, True),  # but many states wait
        ([100, 900], 110, 10, False),  # which count only later
        ([100, 400, 200], 600, 100, False),  # levels shrink
        ([100, 400, 200], 600, 500, True),  # and grow again
        ([100, 800, 600], 1_500, 10, True),  # but many calls were made
        ([2] * 300, 600, 2, False),  # narrow levels
    ],
)
def test_when_a_search_begins_to_learn(levels: list[int], expanded: int, found: int, learns: bool) -> None:
    policy = Objects(evolve(PUZZLE, properties=[], check_deadlock=False), after=4_000)  # 8 units of work for a state
    with suppress_if(LearningPays, learns):
        policy.check(statistics_of(levels, expanded), levels, found)


@pytest.mark.parametrize(
    ("costs", "returns"),
    [
        ([9.0, 3.0, 2.9], True),
        ([9.0, 3.0, 2.0, 1.9], True),
        ([9.0, 3.0, 2.0, 0.9, 0.9], False),
        ([0.2, 0.1], False),
        ([9.0], False),  # the first calls of any search are new
        ([9.0, 3.0], False),
    ],
)
def test_when_learning_is_given_up(costs: list[float], returns: bool) -> None:
    trial, expanded, called, by_oracle = Trial(1_000), 1_000, 0.0, 0
    with suppress_if(CallingPays, returns):
        for number, cost in enumerate(costs):
            more = FIRST * 2 ** max(number - 1, 0)
            assert trial.room(expanded) == more
            expanded, by_oracle, called = expanded + more, by_oracle + 10 * more, called + 10 * more * cost / UNLEARNED
            learning = Learning({}, {}, called=round(called), by_oracle=by_oracle, memory=0, widest=None)
            trial.check(expanded - 1, Statistics)
            trial.check(expanded, lambda learning=learning: Statistics(learning=learning))  # type: ignore[misc]


def test_where_nothing_is_left_to_decide_blocks_are_not_cut_off() -> None:
    """The room had been a single state from the million on."""
    trial = Trial()
    trial.check(MOST_RETURNING + 1, Statistics)
    assert trial.room(MOST_RETURNING + 1) > MOST_RETURNING


@contextmanager
def suppress_if(error: type[Exception], is_expected: bool) -> Iterator[None]:
    """Expect an exception, or none."""
    if is_expected:
        with pytest.raises(error):
            yield
    else:
        yield


@pytest.mark.parametrize(
    "settings", [CompiledSettings(), CompiledSettings(checkpoint=Path("saved"))], ids=["", "saved"]
)
def test_without_the_compiler_states_are_explored_by_calls_but_cannot_be_saved(
    settings: CompiledSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = learning(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "leadline.checker.engines.compiled.packed_form", None)
    monkeypatch.delattr("leadline.checker.engines.compiled.packed_form", raising=False)
    if settings.checkpoint is not None:
        with pytest.raises(LeadlineError, match="checkpoints require Numba, which cannot be loaded"):
            compiled.explore(CHAIN, settings=settings)
    else:
        assert (
            compiled.explore(CHAIN, settings=settings).statistics.distinct == oracle.explore(CHAIN).statistics.distinct
        )
