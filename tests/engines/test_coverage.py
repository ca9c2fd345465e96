"""Coverage: premises, action instances, the values of fields, and source lines."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import (
    Limits,
    Spec,
    SpecError,
    Verdict,
    action,
    bound,
    component,
    constant,
    coverage,
    explore,
    fuzz,
    invariant,
    put,
    step_invariant,
    step_witness,
    witness,
)
from leadline.checker.coverage import FieldCoverage, InstanceCoverage
from leadline.checker.engines import ENGINES
from leadline.checker.engines.compiled import results
from leadline.checker.engines.random import distinct_estimate
from leadline.checker.observing import line_coverage as source
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.result import Result
from leadline.checker.settings import CompiledSettings, RandomSettings, Tuning
from leadline.invariants.catalog import CATALOG
from leadline.reports.loading import load_spec
from leadline.reports.runs.phrases import walked_lines
from tests.specs.agreement import SMALL
from tests.specs.going_wrong import ONLY_LEARNED
from tests.specs.learning import learning
from tests.suite.samples import sampled

COVERAGE = Limits(coverage=True)


@attrs.frozen
class Lamp:
    """A lamp with a switch, of some brightness."""

    on: bool = False
    level: int = 0


@attrs.frozen
class Room:
    """Two lamps; a blackout may put out both."""

    lamps: tuple[Lamp, ...] = component(each="lamp", default=(Lamp(), Lamp()))
    seen: frozenset[str] = frozenset()
    visitor: int | None = None
    name: str = constant(default="hall")


@action(lamp=range(2), by=(1, 5))
def brighten(state: Room, lamp: int, by: int) -> Iterator[Room]:
    if by == 5 and state.lamps[lamp].level < 3:
        return
    if state.lamps[lamp].level < 3:
        yield put(attrs.evolve(state, seen=state.seen | {f"up {lamp}"}), "lamps", lamp, "level", _more(state, lamp))


def _more(state: Room, lamp: int) -> int:
    return state.lamps[lamp].level + 1


@action(lamp=range(2))
def switch(state: Room, lamp: int) -> Iterator[Room]:
    yield put(state, "lamps", lamp, "on", not state.lamps[lamp].on)
    yield put(state, "lamps", lamp, "on", False)


@action("a visitor comes")
def visit(state: Room) -> Iterator[Room]:
    yield attrs.evolve(state, visitor=(state.visitor or 0) + 1 if state.visitor is None else state.visitor)


@action("nothing like it happens")
def blackout(state: Room) -> Iterator[Room]:
    if len(state.lamps) > 2:
        yield Room()


@witness("both lamps are on")
def both_on(state: Room) -> bool:
    return all(lamp.on for lamp in state.lamps)


def third_lamp(state: Room) -> bool:
    return len(state.lamps) > 2


@invariant("the levels stay low", premise=both_on)
def low(state: Room) -> bool:
    return all(lamp.level <= 3 for lamp in state.lamps)


@invariant("a third lamp is on", premise=third_lamp)
def third_on(state: Room) -> bool:
    return len(state.lamps) < 3 or state.lamps[2].on


@step_invariant("no lamp is taken away", premise=third_lamp)
def none_taken(before: Room, after: Room) -> bool:
    return len(after.lamps) >= len(before.lamps)


@step_witness("a lamp goes out")
def goes_out(before: Room, after: Room) -> bool:
    return sum(lamp.on for lamp in after.lamps) < sum(lamp.on for lamp in before.lamps)


ROOM = Spec(
    name="room",
    initial_states=lambda _: [Room()],
    actions=[brighten, switch, visit, blackout],
    properties=[low, third_on, none_taken, both_on, goes_out],
)


def compiled(spec: Spec[Any], limits: Limits) -> Result:
    """A search that learns, however small the space is."""
    return explore(spec, limits, settings=learning())


# Premises


def test_every_engine_says_which_premises_are_ever_true() -> None:
    expected = {"low": True, "third_on": False, "none_taken": False, "both_on": None, "goes_out": None}
    for result in (ENGINES["oracle"](ROOM), compiled(ROOM, Limits())):
        assert result.verdict is Verdict.HOLDS
        assert {item.property.name: item.premise for item in result.properties} == expected
        assert [item.property.name for item in result.properties if item.says_nothing] == ["third_on", "none_taken"]
    found = fuzz(ROOM, settings=RandomSettings(examples=200))
    assert {item.property.name: item.premise for item in found.properties} == expected
    assert not any(item.says_nothing for item in found.properties)  # as nothing is known of other states


def test_of_the_same_premise_there_is_one_and_it_is_no_property_of_its_own() -> None:
    assert [item.name for item in ROOM.premises] == ["both_on", "third_lamp"]
    assert ROOM.premise_of(third_on) is ROOM.premise_of(none_taken)
    assert [item.property.name for item in explore(ROOM).properties] == [item.name for item in ROOM.checks]


@pytest.mark.parametrize("premise", [3, lambda before, after: True, goes_out, third_on])
def test_what_is_no_predicate_of_a_state_is_no_premise(premise: Any) -> None:
    with pytest.raises(SpecError, match="premise"):
        invariant("it is so", premise=premise)


def test_a_premise_must_have_parameters_that_are_known() -> None:
    with pytest.raises(SpecError, match="the parameters of premise bool are unknown"):
        invariant("it is so", premise=bool)


def test_a_premise_that_raises_is_named() -> None:
    def broken(state: Room) -> bool:
        raise KeyError(state.name)

    @invariant("it is so", premise=broken)
    def so(state: Room) -> bool:
        return True

    with pytest.raises(SpecError, match="premise broken raised KeyError"):
        explore(attrs.evolve(ROOM, properties=[so]))


# Coverage


def test_instances_states_and_fields_are_counted() -> None:
    for result in (ENGINES["oracle"](ROOM, COVERAGE), compiled(ROOM, COVERAGE)):
        covered, distinct = result.statistics.covered, result.statistics.distinct
        assert covered is not None
        assert distinct == 4**2 * 2**2 * 2  # the levels, the switches, the visitor; what was seen follows the levels
        assert covered.instances["brighten(lamp=0, by=1)"].enabled == distinct * 3 // 4
        assert covered.instances["brighten(lamp=0, by=5)"] == InstanceCoverage(0, 0, 0)
        assert covered.instances["switch(lamp=1)"].enabled == distinct
        assert covered.instances["switch(lamp=1)"].generated == 2 * distinct
        assert sum(instance.distinct for instance in covered.instances.values()) == distinct - 1
        assert covered.shown == {"low": distinct // 4, "third_on": 0, "none_taken": 0, "both_on": distinct // 4}
        assert covered.fields["Room.lamps[].level"] == FieldCoverage(4, True, ("0", "1", "2", "3"))
        assert covered.fields["Room.visitor"] == FieldCoverage(2, True, ("1", "None"))
        assert covered.fields["Room.seen"].count == 4
        assert "Room.name" not in covered.fields


def test_lines_and_branches_that_were_never_run_are_marked() -> None:
    covered = explore(ROOM, COVERAGE).statistics.covered
    assert covered is not None
    functions = {function.name: function for function in covered.source}
    marks = {line.text.strip(): line.mark for function in covered.source for line in function.lines}
    assert marks["if len(state.lamps) > 2:"] == "partly"
    assert marks["yield Room()"] == "never"
    assert marks["return state.lamps[lamp].level + 1"] == "run"  # a function that an action calls
    assert not functions["blackout"].is_complete
    assert functions["switch"].is_complete
    assert functions["low"].is_complete
    assert "compiled" not in functions  # it is in the file, and no part of the spec
    assert "test_what_is_no_predicate_of_a_state_is_no_premise" not in functions


LOSSY = {"records": 1, "max_epoch": 1, "crashes": 0, "lossy_crashes": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bounds"), sampled([("atomic/kip-320", {"records": 1}), ("kafka/4.0", LOSSY)], 2))
def test_learned_calls_run_every_line_and_branch_that_the_oracle_runs(name: str, bounds: dict[str, int]) -> None:
    spec, limits = CATALOG[name].with_bounds(bounds), Limits(coverage=True, keep_going=True)
    by_calls, learned = ENGINES["oracle"](spec, limits), compiled(spec, limits)
    assert learned.statistics.calls
    assert learned.statistics.covered == by_calls.statistics.covered


@attrs.frozen
class Box:
    """What a box holds, and six switches."""

    switches: tuple[bool, ...] = component(default=(False,) * 6)
    held: frozenset[int] = frozenset()


@action(at=range(6))
def turn(state: Box, at: int) -> Iterator[Box]:
    yield attrs.evolve(put(state, "switches", at, not state.switches[at]), held=state.held - {33})


@action(item=range(40))
def fill(state: Box, item: int) -> Iterator[Box]:
    if item != 33 or state.switches == (True, False) * 3:
        yield attrs.evolve(state, held=frozenset({item}))


@invariant("no 99 is held")
def no_99(state: Box) -> bool:
    found = 0
    for item in state.held:
        if item == 33:
            continue
        if item == 99:
            found += 1
    return found == 0


def test_lines_run_for_members_that_a_loop_passes_over_are_covered() -> None:
    spec = Spec(name="box", initial_states=lambda _: [Box()], actions=[turn, fill], properties=[no_99])
    only_learned = learning(CompiledSettings(tuning=ONLY_LEARNED))
    learned = ENGINES["compiled"](spec, COVERAGE, settings=only_learned)
    assert learned.statistics.calls
    assert learned.statistics.covered is not None
    marks = {line.text.strip(): line.mark for each in learned.statistics.covered.source for line in each.lines}
    assert (marks["continue"], marks["found += 1"]) == ("run", "never")


@attrs.frozen
class Count:
    """A counter."""

    at: int = 0


@attrs.frozen
class Top:
    """Where the counter ends."""

    top: int = bound(150, "the last value", at_least=1)


@action("it counts")
def count_up(state: Count) -> Iterator[Count]:
    if state.at < 150:
        yield Count(state.at + 1)


def test_many_values_are_not_counted_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "MOST_VALUES", 100)
    spec = Spec(name="count", initial_states=lambda _: [Count()], actions=[count_up], bounds=Top())
    covered = explore(spec, COVERAGE).statistics.covered
    assert covered is not None
    assert covered.fields == {"Count.at": FieldCoverage(100, False, ())}


@attrs.frozen
class Queues:
    """Values of which actions draw some: elements of components, members of sets, and the same value twice."""

    slots: tuple[int, ...] = component(default=(0, 1, 2))
    queue: tuple[int, ...] = ()
    log: frozenset[int] = frozenset()
    got: int = 9


def slots(state: Queues) -> tuple[int, ...]:
    return state.slots


@action(value=slots)
def pick(state: Queues, value: int) -> Iterator[Queues]:
    yield attrs.evolve(state, got=value)  # the value is only copied


@action(value=slots)
def touch(state: Queues, value: int) -> Iterator[Queues]:
    if value != 1:
        yield attrs.evolve(state, got=7)  # several values lead to the same state


@action()
def rotate(state: Queues) -> Iterator[Queues]:
    yield attrs.evolve(state, slots=(*state.slots[1:], state.slots[0]))


@action(number=range(3))
def push(state: Queues, number: int) -> Iterator[Queues]:
    if len(state.queue) < 3:
        yield attrs.evolve(state, queue=(*state.queue, number), log=frozenset({*state.log, number}))


@action(value=lambda state: state.queue, other=lambda state: state.log, least=range(2))
def pop(state: Queues, value: int, other: int, least: int) -> Iterator[Queues]:
    if value > least:
        rest = tuple(each for each in state.queue if each != value)
        yield attrs.evolve(state, queue=rest, log=state.log - {other})
        yield attrs.evolve(state, log=frozenset({least}))


@pytest.mark.parametrize("limits", sampled([Limits(coverage=True, max_states=97), Limits(coverage=True, depth=5)], 2))
def test_instances_with_drawn_values_are_counted(limits: Limits) -> None:
    spec = Spec(name="queues", initial_states=lambda _: [Queues()], actions=[pick, touch, rotate, push, pop])
    expected = ENGINES["oracle"](spec, limits).statistics
    assert expected.covered is not None
    instances = expected.covered.instances
    assert {"pick(value=0)", "touch(value=2)"} <= instances.keys()
    assert ("pop(least=1, value=2, other=0)" in instances) == (limits.max_states is None)
    assert not {"touch(value=1)", "pick()", "pop(least=0)"} & instances.keys()
    assert sum(each.generated for each in instances.values()) == expected.generated - 1
    assert sum(each.distinct for each in instances.values()) == expected.distinct - 1
    for tuning in (Tuning(), ONLY_LEARNED, SMALL):
        found = ENGINES["compiled"](spec, limits, settings=learning(CompiledSettings(tuning=tuning))).statistics
        assert found.calls
        assert found.covered is not None
        assert found.covered.instances == instances


@pytest.mark.parametrize("engine", ["oracle", "compiled", "random"])
def test_initial_states_are_made_within_the_limits(engine: str) -> None:
    def initial_states(_: Any) -> list[Room]:
        while True:
            pass

    spec = attrs.evolve(ROOM, initial_states=initial_states)
    result = ENGINES[engine](spec, Limits(coverage=True, max_seconds=0.01))
    assert (result.reason, result.statistics.covered) == ("reached 0.01 seconds", None)


def test_a_search_that_was_stopped_does_not_start_again_for_its_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(*_: Any) -> Any:
        raise ShapeChanged("lamps")

    monkeypatch.setattr(results, "field_coverage", change)
    found = compiled(ROOM, attrs.evolve(COVERAGE, max_states=4))
    assert (found.statistics.distinct, found.statistics.covered) == (4, None)
    assert found.note == "coverage was not counted: the search was stopped"


def test_states_outside_of_the_constraint_are_not_counted() -> None:
    spec = attrs.evolve(ROOM, within=lambda state: state.lamps[0].level < 2)
    found = [ENGINES["oracle"](spec, COVERAGE), compiled(spec, COVERAGE)]
    covered = found[0].statistics.covered
    assert covered is not None
    assert covered == found[1].statistics.covered
    assert covered.fields["Room.lamps[].level"].values == ("0", "1", "2", "3")
    assert covered.instances["brighten(lamp=0, by=1)"].enabled == found[0].statistics.distinct


@pytest.mark.parametrize("states", [7, 40])
def test_steps_that_a_limit_cuts_short_are_counted(states: int) -> None:
    limits = Limits(coverage=True, max_states=states)
    for result in (ENGINES["oracle"](ROOM, limits), compiled(ROOM, limits)):
        covered, actions = result.statistics.covered, result.statistics.actions
        assert covered is not None
        for name, count in actions.items():
            of_action = [item for instance, item in covered.instances.items() if instance.startswith(f"{name}(")]
            assert sum(item.generated for item in of_action) == count.generated
            assert sum(item.distinct for item in of_action) == count.distinct


def test_a_random_search_that_visits_all_states_covers_what_an_exhaustive_one_covers() -> None:
    result, known = (
        fuzz(ROOM, Limits(coverage=True), settings=RandomSettings(examples=1000)),
        explore(ROOM, COVERAGE).statistics,
    )
    covered, exhaustive, statistics = result.statistics.covered, known.covered, result.statistics
    assert covered is not None
    assert exhaustive is not None
    assert (statistics.distinct, covered.sampled) == (known.distinct, None)
    assert (covered.shown, covered.fields) == (exhaustive.shown, exhaustive.fields)
    assert list(covered.instances) == list(exhaustive.instances)
    for name, instance in covered.instances.items():
        assert bool(instance.enabled) == bool(exhaustive.instances[name].enabled)
    assert covered.instances["switch(lamp=1)"].enabled == statistics.generated  # it may lead back to the same state
    for name, count in statistics.actions.items():
        of_action = [instance for each, instance in covered.instances.items() if each.startswith(f"{name}(")]
        assert sum(instance.generated for instance in of_action) == count.generated
        assert sum(instance.distinct for instance in of_action) == count.distinct
    assert not next(function for function in covered.source if function.name == "blackout").is_complete


@attrs.frozen
class Ticket:
    drawn: int = 0
    sum: int = 0


@action(number=range(1, 60))
def draw(state: Ticket, number: int) -> Iterator[Ticket]:
    if not state.drawn:
        yield attrs.evolve(state, drawn=number)


@action()
def win(state: Ticket) -> Iterator[Ticket]:
    if state.drawn == 57:
        prize = 1_000_000
        yield attrs.evolve(state, sum=prize)


@action()
def save(state: Ticket) -> Iterator[Ticket]:
    if state.sum < 5:
        yield attrs.evolve(state, sum=state.sum + 1)


@invariant("little is saved")
def is_little(state: Ticket) -> bool:
    return state.sum < 5


def test_what_only_the_search_for_a_shorter_counterexample_runs_is_not_covered() -> None:
    spec = Spec(
        name="lottery",
        initial_states=lambda _: [Ticket()],
        actions=[draw, win, save],
        properties=[is_little],
    )
    result = fuzz(spec, Limits(coverage=True), settings=RandomSettings(examples=3, uniform=True))
    covered = result.statistics.covered
    assert result.note == "there is no shorter counterexample to is_little"
    assert covered is not None
    assert not covered.instances["win()"].enabled
    assert {function.name: function.is_complete for function in covered.source}["win"] is False


def test_of_a_random_search_with_many_states_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_estimate, "SAMPLED", 40)
    settings = RandomSettings(examples=300)
    statistics = fuzz(ROOM, Limits(coverage=True), settings=settings).statistics
    covered, plain = statistics.covered, fuzz(ROOM, settings=settings).statistics
    assert covered is not None
    assert covered.sampled == 40
    assert 4 <= covered.shown["both_on"] <= 20  # a quarter of the space
    assert covered.fields["Room.lamps[].on"].values == ("False", "True")
    assert (statistics.generated, statistics.walked) == (plain.generated, plain.walked)


def test_what_a_random_run_says_of_itself_is_true_of_a_space_that_is_known() -> None:
    spec = CATALOG["atomic/kip-320"]
    result, levels = fuzz(spec, settings=RandomSettings(examples=400)).statistics, explore(spec).statistics.levels
    assert result.walked is not None
    visits = result.walked.steps + result.walked.behaviours + result.walked.expanded
    deepest = len(result.walked.depths) - 1
    assert result.walked.expanded == sum(levels) == result.distinct
    assert walked_lines(result)[2] == (
        f"each of {result.distinct} states was visited {visits / result.distinct:.1f} times on average; "
        f"the deepest are {deepest} steps from the beginning"
    )
    assert len(levels) - 1 <= deepest or sum(levels[: deepest + 1]) >= result.distinct
    reached = itertools.accumulate(result.walked.depths)
    possible = itertools.accumulate(itertools.chain(levels, itertools.repeat(0)))
    assert all(found <= known for found, known in zip(reached, possible, strict=False))


def test_a_premise_that_yields_is_refused() -> None:
    def yields(state: Room) -> Iterator[str]:
        yield "a sentence"

    with pytest.raises(SpecError, match="premise yields must return True or False"):
        invariant("it is so", premise=yields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["atomic/kip-320", "tests/specs/words.py:ENABLED"])
def test_leadlines_own_reports_are_not_covered(name: str) -> None:
    """The first spec is in another package of leadline; the second has a property with `enabled`."""
    importlib.import_module("leadline.reports.terminal.progress")
    project = Path(__file__).parents[2]
    files = source._files(list(source._functions(load_spec(name, project))))
    assert files
    assert not [file for file in files if {"reports", "checker"} & set(file.relative_to(project).parts)]


def test_the_last_statement_of_a_function_is_shown_whole() -> None:
    file = Path(__file__)
    found = source._lines(
        {
            "executed_lines": [],
            "missing_lines": [],
            "missing_branches": [],
            "start_line": spread.__code__.co_firstlineno,
        },
        str(file),
    )
    assert [line.text.strip() for line in found] == ["def spread() -> tuple[int, ...]:", "return (", "1,", ")"]


# fmt: off
def spread() -> tuple[int, ...]:
    return (
        1,
    )
# fmt: on
