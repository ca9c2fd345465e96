"""Random walks through the learned tables: results, counts and reproducibility."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from leadline.checker import Spec, Trace, Verdict, action, component, explore, fuzz, invariant, put, step_invariant
from leadline.checker.content import content
from leadline.checker.engines import ENGINES
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random import distinct_estimate, leave_out, walkers
from leadline.checker.engines.random.ahead import ahead
from leadline.checker.engines.random.distinct_estimate import SAMPLED, StateSample
from leadline.checker.engines.random.frontier import Frontier
from leadline.checker.engines.random.shorten import IN_ORDER, shorten_along
from leadline.checker.engines.random.walkers import Next, Walks
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits, Result, StopKind, WalkCounts
from leadline.checker.settings import OracleSettings, RandomSettings
from leadline.invariants.catalog import CATALOG
from tests.natural import klotski
from tests.reference.compare import without_liveness
from tests.reference.specs import pair, unload
from tests.specs.agreement import Pair, Shelf, Slot
from tests.specs.agreement import put as put_on_shelf
from tests.suite.samples import sampled

LOSS = CATALOG["atomic/hw-truncation"]


@attrs.frozen
class Dial:
    """One of the dials of a lock."""

    at: int = 0


@attrs.frozen
class Lock:
    """Twelve dials of ten digits."""

    dials: tuple[Dial, ...] = component(each="dial", default=(Dial(),) * 12)


@action(dial=range(12))
def turn(state: Lock, dial: int) -> Iterator[Lock]:
    yield put(state, "dials", dial, "at", (state.dials[dial].at + 1) % 10)


@invariant("the lock stays closed")
def closed(state: Lock) -> bool:
    return not (state.dials[3].at == 8 and state.dials[7].at == state.dials[11].at == 7)


LOCK = Spec(name="lock", initial_states=lambda _: [Lock()], actions=[turn], properties=[closed])


def repeatable(result: Result) -> Any:
    """All that the same seed must give again."""
    traces = [
        [(step.action, step.after) for step in trace.steps] for item in result.properties for trace in item.traces
    ]
    statistics = attrs.evolve(result.statistics, seconds=0.0, memory=0, calls=0, compared=0, verified=None)
    return traces, statistics, result.reason, result.note


def walked(result: Result) -> WalkCounts:
    """The coverage of a random search."""
    assert result.statistics.walked is not None
    return result.statistics.walked


def test_a_bug_in_a_space_of_ten_to_the_twelve_states_is_found() -> None:
    result = fuzz(LOCK, settings=RandomSettings(examples=100_000, steps=80))
    (trace,) = result.of("closed").traces
    assert result.verdict is Verdict.VIOLATED
    assert not closed(trace.states[-1])
    assert len(trace) == 23  # the shortest there is


@pytest.mark.parametrize("uniform", sampled([False, True], 2))
def test_the_number_of_workers_makes_no_difference(uniform: bool) -> None:
    one, two = (
        fuzz(LOSS, settings=RandomSettings(examples=300, seed=5, workers=workers, uniform=uniform))
        for workers in (1, 3)
    )
    assert repeatable(one) == repeatable(two)
    assert repeatable(one) != repeatable(fuzz(LOSS, settings=RandomSettings(examples=300, seed=6, uniform=uniform)))


def test_what_was_learned_before_makes_no_difference() -> None:
    def steps(walks: Walks[Any]) -> Any:
        while walks.round() and walks.steps < 600:
            pass
        walks.sampled.settle()
        return walks.steps, walks.begun, walks.taken.tolist(), walks.sampled.hashes.tolist()

    watch = Watch(Budget(Limits()), Workers(1))
    first, again = (Walks(LOSS, 10**6, 30, seed, watch, Purity(LOSS)) for seed in (5, 6))
    wanted, other = steps(first), steps(again)
    again.begin(5, uniform=False)
    assert steps(again) == wanted != other


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("kind", ["drawn", "bounds", "initials"])
def test_a_single_walk_takes_the_same_steps_ahead(kind: str, uniform: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def walked(spec: Spec[Any], most: int) -> Any:
        def some(expander: Any, walk: Any, steps: int, *given: Any, **how: Any) -> Any:
            found = ahead(expander, walk, min(steps, most), *given, **how)
            taken.append(len(found.trees))
            return found

        monkeypatch.setattr(walkers, "ahead", some)
        walks = Walks(spec, 1, 400, 1, Watch(Budget(Limits()), Workers(1)), Purity(spec), uniform=uniform)
        while walks.round():
            pass
        found = walks.statistics
        ends, hashes = walks.ends.nonzero(), walks.sampled.hashes.tolist()
        traces = {item.name: trace.states for item, trace in walks.traces.items()}
        return walks.steps, *map(np.ndarray.tolist, (walks.taken, walks.enabled, *ends)), hashes, found.depth, traces

    for text in pair(kind, 1):
        spec = without_liveness(text.load())
        assert walked(spec, 400) == walked(spec, 0)
        unload(spec)
    assert sum(taken) > 100


SETS = """
from collections import Counter
from collections.abc import Iterator
import attrs
from leadline.checker import Spec, action, explore, fuzz, invariant
from leadline.checker.engines.random.shorten import IN_ORDER
from leadline.checker.settings import RandomSettings

@attrs.frozen
class Room:
    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset({"ann", "bob", "eve", "joe", "sue"})

@action()
def enter(state: Room) -> Iterator[Room]:
    for name in state.outside:
        yield Room(state.inside | {name}, state.outside - {name})

@action()
def leave(state: Room) -> Iterator[Room]:
    for name in state.inside:
        yield Room(state.inside - {name}, state.outside | {name})

@invariant("there is room for three")
def is_not_full(state: Room) -> bool:
    return len(state.inside) < 4

room = Spec(name="room", initial_states=lambda _: [Room()], actions=[enter, leave], properties=[is_not_full])
statistics = fuzz(room.with_properties([]), settings=RandomSettings(examples=9, steps=6)).statistics
print(attrs.evolve(statistics, seconds=0.0, memory=0, calls=0, compared=0, verified=None))
(trace,) = fuzz(room, settings=RandomSettings(examples=9)).of("is_not_full").traces
print([sorted(state.inside) for state in trace.states])
(trace,) = explore(room, settings=IN_ORDER).of("is_not_full").traces
print([sorted(state.inside) for state in trace.states])
"""


def test_the_order_of_sets_makes_no_difference() -> None:
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root / 'src'}:{root}", "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1
    assert "steps=54" in outputs.pop()


@action()
def add_a_digit(state: Dial) -> Iterator[Dial]:
    if state.at < 32:
        yield from (Dial(2 * state.at), Dial(2 * state.at + 1))


@invariant("the binary number is not 101101")
def is_another(state: Dial) -> bool:
    return state.at != 0b101101


def test_a_counterexample_need_not_take_the_first_of_several_next_states() -> None:
    spec = Spec(name="digits", initial_states=lambda _: [Dial(1)], actions=[add_a_digit], properties=[is_another])
    (trace,) = fuzz(spec, settings=RandomSettings(examples=200, steps=5)).of("is_another").traces
    assert [state.at for state in trace.states] == [0b1, 0b10, 0b101, 0b1011, 0b10110, 0b101101]


@action()
def climb(state: Dial) -> Iterator[Dial]:
    if state.at < 8:
        yield Dial(state.at + 1)


@action()
def leap(state: Dial) -> Iterator[Dial]:
    if state.at % 4 == 0 and state.at < 8:
        yield Dial(state.at + 4)


@invariant("the top is not reached")
def below_the_top(state: Dial) -> bool:
    return state.at < 8


@step_invariant("no step leads to the top")
def short_of_the_top(before: Dial, after: Dial) -> bool:
    return after.at < 8


@pytest.mark.parametrize(("most", "expected"), [(99, [0, 4, 8]), (12, [0, 1, 2, 3, 4, 8]), (3, [*range(9)])])
@pytest.mark.parametrize("about", ["below_the_top", "short_of_the_top", "deadlock"])
def test_searches_along_a_counterexample_find_a_shorter_end(about: str, most: int, expected: list[int]) -> None:
    properties = [below_the_top, short_of_the_top]
    spec = Spec(
        name="climb",
        initial_states=lambda _: [Dial()],
        actions=[climb, leap],
        properties=properties,
        check_deadlock=True,
    )
    (item,) = spec.with_properties([about]).checks
    trace = Trace(spec, [Dial(at) for at in range(9)], spec.instances[:1] * 8, item)
    kept = [trace]
    shorten_along(trace, most, lambda spec, limits: explore(spec, limits, settings=IN_ORDER), kept.append)
    assert [state.at for state in kept[-1].states] == expected


def test_an_action_that_leads_elsewhere_later_is_refused() -> None:
    looked_at: list[Dial] = []

    @action()
    def advance(state: Dial) -> Iterator[Dial]:
        yield Dial(state.at + 1 + len(looked_at))

    @invariant("40 is not reached, and nobody looks at it")
    def below(state: Dial) -> bool:
        if state.at == 40:
            looked_at.append(state)
        return state.at < 40

    spec = Spec(name="dial", initial_states=lambda _: [Dial()], actions=[advance], properties=[below])
    with pytest.raises(SpecError, match=r"action advance\(\) is not deterministic"):
        fuzz(spec, settings=RandomSettings(examples=1))


def test_shortening_a_very_long_counterexample_ends() -> None:
    instances = [LOCK.instances[dial] for dial in [3] * 8 + [5] * 100 + [7] * 7 + [11] * 7]
    states = [Lock()]
    for instance in instances:
        states += LOCK.take(instance, states[-1])
    trace = leave_out.without_needless_steps(Trace(LOCK, states, instances, closed), lambda _: None, 1000)
    assert 23 < len(trace) < 123
    assert not closed(trace.states[-1])


@attrs.frozen
class Basket:
    """A set is split into its members during the walks, because it takes many values."""

    held: frozenset[int] = frozenset()
    count: int = 0


@action(item=range(6))
def put_in(state: Basket, item: int) -> Iterator[Basket]:
    if item not in state.held:
        yield Basket(state.held | {item}, state.count + 1)


@invariant("the count is the number of items")
def is_counted(state: Basket) -> bool:
    return len(state.held) == state.count


@pytest.mark.parametrize("uniform", [False, True])
def test_expanding_equal_states_once_and_checking_states_once_makes_no_difference(
    uniform: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = LOSS.with_properties([item.name for item in LOSS.checks])
    settings = RandomSettings(examples=2_000, steps=20, uniform=uniform, workers=1)
    quick, choose, together = fuzz(spec, Limits(keep_going=True), settings=settings), Walks._choose_block, 0

    def choose_all(walks: Walks[Any]) -> int:
        nonlocal together
        alone = choose(walks)
        states = walks._block.states
        together += len(states) - len(walks._first)
        walks._first = walks._place = np.arange(len(states))
        walks._store.put(0, states, np.zeros(len(states), np.int64))
        return alone

    monkeypatch.setattr(Walks, "_choose_block", choose_all)
    if uniform:
        monkeypatch.setattr(Frontier, "is_known", lambda _, hashes: np.zeros(len(hashes), np.bool_))
    assert repeatable(fuzz(spec, Limits(keep_going=True), settings=settings)) == repeatable(quick)
    assert together > 100
    assert quick.verdict is Verdict.VIOLATED


def test_a_walk_that_begins_leaves_nothing_of_the_one_before() -> None:
    spec = Spec(name="basket", initial_states=lambda _: [Basket()], actions=[put_in], properties=[is_counted])
    result = fuzz(spec, settings=RandomSettings(examples=2_000, steps=10))
    assert result.verdict is Verdict.INCOMPLETE
    assert walked(result).depths == (1, 6, 15, 20, 15, 6, 1)
    assert walked(result).lengths == (0,) * 6 + (2_000,)


def test_few_calls_are_recorded_of_a_spec_of_which_little_can_be_reused() -> None:
    """In this puzzle, nearly every state is the first with its free squares. A recorded call costs ten others."""
    workers = Workers(1)
    try:
        walks = Walks(klotski.spec, 10**9, 60, 0, Watch(Budget(Limits()), workers), Purity(klotski.spec))
        while walks.round() and walks.steps < 1_000:
            pass
    finally:
        workers.close()
    effort = walks.expander.tables.effort
    assert sum(effort.learned) < 400 < 2_000 < sum(effort.called)


def test_initial_states_may_differ_in_shape() -> None:
    spec = Spec(name="shelf", initial_states=lambda bounds: [Shelf(Slot(0)), Shelf(Pair(0, 1))], actions=[put_on_shelf])
    assert fuzz(spec, settings=RandomSettings(examples=20)).statistics.distinct == explore(spec).statistics.distinct


class Access(enum.Flag):
    READ = 1


@dataclasses.dataclass(frozen=True)
class Guests:
    names: frozenset[str]
    room: int = dataclasses.field(repr=False)


class Point:
    """Without a `__repr__`, and with nothing in a `__dict__`."""

    __slots__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    def __hash__(self) -> int:
        return hash(self.x)


def test_contents_do_not_depend_on_the_order_of_sets_but_on_all_else() -> None:
    assert content("S.x", frozenset("abc")) == content("S.x", frozenset("cba"))
    others = [content("S.x", frozenset("ab")), content("S.y", frozenset("abc")), content("S.x", tuple("abc"))]
    assert len({content("S.x", frozenset("abc")), *others}) == 4
    assert content("S", Dial(1)) != content("S", Dial(2))
    assert content("S", Access(0)) != content("S", Access.READ)
    assert content("S", Guests(frozenset("abc"), 1)) == content("S", Guests(frozenset("cba"), 1))
    assert content("S", Guests(frozenset("abc"), 1)) != content("S", Guests(frozenset("abc"), 2))
    assert content("S", Point(1)) == content("S", Point(1)) != content("S", Point(2))


def test_coverage_of_a_space_that_is_known_is_exact() -> None:
    result, whole = (
        fuzz(CATALOG["atomic/kip-320"], settings=RandomSettings(examples=10_000)),
        explore(CATALOG["atomic/kip-320"]),
    )
    coverage = walked(result)
    assert coverage.is_exact
    assert 900 < result.statistics.distinct <= whole.statistics.distinct == 957
    assert sum(coverage.depths) == result.statistics.distinct
    assert sum(count.distinct for count in result.statistics.actions.values()) + 1 == result.statistics.distinct
    assert sum(coverage.lengths) == coverage.behaviours == 10_000
    assert result.statistics.never_enabled == []


def taken(spec: Spec[Any], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[tuple[Any, Any, Any]]:
    """The steps of the walks of a search, and those to the states that join the frontier."""
    steps = []

    def go_on(walks: Walks[Any], found: Next) -> None:
        packing, layout = walks.expander.packing, walks.expander.layout
        # the warm-up searches another spec
        for place in [*found.chosen[found.chosen >= 0], *found.new] if walks.spec is spec else ():
            before, after = walks.expander.store.states[walks._place[found.parents[place]]], found.states[place]
            instance = spec.instances[found.trees[place]]
            steps.append((*(layout.state(packing.unpack(state)) for state in (before, after)), instance))
        goes_on(walks, found)

    goes_on = Walks._go_on
    monkeypatch.setattr(Walks, "_go_on", go_on)
    fuzz(spec, Limits(keep_going=True), settings=RandomSettings(**settings))
    return steps


@pytest.mark.parametrize("uniform", [False, True])
def test_every_step_is_one_that_the_spec_takes(uniform: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = attrs.evolve(LOSS, properties=(), within=lambda state: len(state.replicas[0].log.records) < 2)
    steps = taken(spec, monkeypatch, examples=400, uniform=uniform)
    next_states: dict[Any, set[Any]] = {}
    for before, after, instance in steps:
        if (before, instance) not in next_states:
            next_states[before, instance] = set(spec.take(instance, before))
        assert before != after
        assert after in next_states[before, instance]
        assert spec.is_within(before)
        assert spec.is_within(after)
    assert len(steps) > 2_000


@action(by=(1, 2))
def turn_on(state: Dial, by: int) -> Iterator[Dial]:
    yield from (Dial((state.at + step) % 4) for step in (by, 0, by + 1))


def test_all_steps_to_another_state_are_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four steps from each of four states: two instances lead to 2, and one leads back to the state itself."""
    spec = Spec(name="turned", initial_states=lambda _: [Dial()], actions=[turn_on])
    counts = Counter(taken(spec, monkeypatch, examples=500, steps=40, seed=1, uniform=True))
    visits = Counter[Dial]()
    for (before, _, _), count in counts.items():
        visits[before] += count

    def chi_square(of: Counter[Any]) -> float:
        return sum((count - visits[step[0]] / 4) ** 2 / (visits[step[0]] / 4) for step, count in of.items())

    assert sum(counts.values()) == 500 * 40
    assert len(counts) == 16
    assert chi_square(counts) < 32.9  # the 99.9th percentile for 12 degrees of freedom
    (often, _), *_, (seldom, _) = counts.most_common()
    assert chi_square(counts + Counter({often: 200}) - Counter({seldom: 200})) > 32.9


def test_the_estimate_does_not_depend_on_which_states_are_expanded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the seed 0, states were once expanded in the order of the hashes by which the sample is drawn."""
    found = set[int]()

    def add(sampled: StateSample, hashes: Any, *columns: Any) -> None:
        found.update(hashes.tolist())
        adds(sampled, hashes, *columns)

    adds = StateSample.add
    monkeypatch.setattr(StateSample, "add", add)
    monkeypatch.setattr(distinct_estimate, "SAMPLED", 2**10)
    result = fuzz(LOCK.with_properties([]), settings=RandomSettings(examples=500, steps=40))
    assert not walked(result).is_exact
    assert result.statistics.distinct == pytest.approx(len(found), rel=0.1)


def test_more_states_than_the_sample_holds_are_estimated() -> None:
    result = fuzz(LOCK.with_properties([]), settings=RandomSettings(examples=2000, steps=40, uniform=True))
    coverage = walked(result)
    assert not coverage.is_exact
    # Nearly every state is new: after some steps, two behaviours hardly ever meet.
    assert 0.85 * coverage.steps < result.statistics.distinct < 1.03 * coverage.steps
    assert (result.statistics.out_degree_min, result.statistics.out_degree_max) == (12, 12)


@pytest.mark.parametrize("states", [100, SAMPLED, 3 * SAMPLED, 50 * SAMPLED])
def test_the_estimate_is_within_three_percent(states: int) -> None:
    hashes = np.random.default_rng(states).integers(0, 2**64, states, np.uint64)
    sampled, zeros = StateSample(), np.zeros(states, np.int64)
    for part in np.array_split(np.concatenate([hashes, hashes[::-1]]), 7):
        sampled.add(part, zeros[: len(part)], zeros[: len(part)], zeros[: len(part)])
    sampled.settle()
    assert sampled.is_exact == (states <= SAMPLED)
    assert sampled.distinct == (states if states <= SAMPLED else pytest.approx(states, rel=0.03))


def test_every_step_of_a_counterexample_is_one_that_the_spec_takes() -> None:
    result = fuzz(CATALOG["atomic/kip-101"].with_bounds({"max_epoch": 2}), settings=RandomSettings(examples=1000))
    for item in result.properties:
        for trace in item.traces:
            for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
                assert after in trace.spec.take(instance, before)


def test_a_search_ends_when_its_time_is_up() -> None:
    result = fuzz(CATALOG["atomic/kip-320"], Limits(max_seconds=1.0), settings=RandomSettings(examples=10**9))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 1 seconds")
    assert result.statistics.distinct > 0


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ({"examples": 10**30}, "at most 1,000,000,000,000,000"),
        ({"steps": 10**7}, "at most 1,000,000"),
        ({"workers": 300}, "at most 256"),
        ({"examples": 0}, "an integer greater than 0"),
        ({"steps": -1}, "an integer greater than 0"),
        ({"workers": 1.5}, "an integer greater than 0"),
        ({"seed": "1"}, "an integer"),
    ],
)
def test_settings_out_of_range_are_refused(given: dict[str, Any], right: str) -> None:
    ((name, value),) = given.items()
    with pytest.raises(SpecError) as refusal:
        RandomSettings(**given)
    assert str(refusal.value) == f"{name}={value} is out of range: it must be {right}"


@pytest.mark.parametrize("limits", [Limits(depth=3), Limits(max_states=3), Limits(traces=3)])
def test_limits_that_random_search_does_not_have_are_refused(limits: Limits) -> None:
    with pytest.raises(SpecError, match=r"^random search "):
        fuzz(LOCK, limits)


def test_random_search_is_an_engine_like_the_others() -> None:
    settings = RandomSettings(examples=50, steps=9, seed=3)
    assert repeatable(ENGINES["random"](LOCK, Limits(), None, settings)) == repeatable(fuzz(LOCK, settings=settings))
    for name, engine in ENGINES.items():
        other = OracleSettings() if name != "oracle" else settings
        with pytest.raises(SpecError, match=f"must be of type {engine.settings.__name__}, not {type(other).__name__}$"):
            engine(LOCK, Limits(), None, other)


def test_random_search_keeps_to_a_limit_on_memory() -> None:
    result = fuzz(LOCK, Limits(max_memory=1), settings=RandomSettings(examples=10**9))
    assert result.stop is not None
    assert result.stop.kind is StopKind.MEMORY
