"""Constraints of steps: what is searched under them, and what cannot be said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import attrs
import pytest

from leadline.checker import (
    Limits,
    Result,
    Spec,
    SpecError,
    TraceError,
    Verdict,
    action,
    component,
    enabled,
    eventually,
    fuzz,
    identity,
    invariant,
    put,
    recoverable,
    refines,
)
from leadline.checker.engines import compiled, oracle
from leadline.checker.settings import CompiledSettings, RandomSettings, Tuning
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.reports.explorer import answer
from tests.specs import learning
from tests.specs.lift import Lift, high, lift, low, one_at_a_time, only_to_four, stops_at_three, up
from tests.suite.command import call, write

LIMITS = Limits(keep_going=True, coverage=True)


def searched(spec: Spec[Any]) -> list[Result]:
    return [
        oracle.explore(spec, LIMITS),
        learning.explore(spec, LIMITS, settings=CompiledSettings(workers=1)),
    ]


def test_steps_that_are_left_out_are_not_searched_and_not_judged() -> None:
    for result in searched(lift(None, stops_at_three, low)):
        assert {each.verdict for each in result.properties} == {Verdict.VIOLATED}
        assert (result.statistics.distinct, result.statistics.generated) == (7, 33)
    for result in searched(lift(one_at_a_time, stops_at_three)):
        assert result.verdict is Verdict.HOLDS
        assert (result.statistics.distinct, result.statistics.generated) == (7, 13)
        covered = result.statistics.covered
        assert covered is not None
        assert covered.instances["up(by=2)"].enabled == 0
    for result in searched(lift(only_to_four, stops_at_three, low)):
        assert {each.property.name: each.verdict for each in result.properties} == {
            "stops_at_three": Verdict.VIOLATED,
            "low": Verdict.HOLDS,
        }


def test_a_state_whose_steps_are_all_left_out_is_no_deadlock() -> None:
    def only_up(before: Lift, after: Lift) -> bool:
        return before.floor < after.floor <= 4

    for result in searched(lift(only_up, check_deadlock=True)):
        assert (result.verdict, result.statistics.deadlocks) == (Verdict.HOLDS, 1)
    final = lift(only_up, final=lambda state: state.floor == 9)
    assert all(result.verdict is Verdict.HOLDS for result in searched(final))

    @action("it breaks")
    def breaks(state: Lift) -> Iterator[Lift]:
        if state.floor == 1:
            yield Lift(-3)

    broken = attrs.evolve(lift(lambda before, after: True, check_deadlock=True), actions=[up, breaks])
    broken = attrs.evolve(broken, within_step=lambda before, after: after.floor < 0 or after.floor <= 2)
    # a lift that is up may be left out; one below the ground can always go up, so nothing is stuck
    assert all(result.verdict is Verdict.HOLDS for result in searched(broken))
    stuck = attrs.evolve(broken, actions=[breaks], within_step=lambda before, after: True)
    assert all(result.of("deadlock").verdict is Verdict.VIOLATED for result in searched(stuck))


def test_liveness_does_not_hold_because_steps_are_left_out() -> None:
    """Without the constraint, the lift may go up and down for ever between low floors."""

    @eventually("it gets somewhere")
    def gone(state: Lift) -> bool:
        return state.floor > 0

    assert {result.verdict for result in searched(lift(None, high))} == {Verdict.VIOLATED}
    only_up = lift(lambda before, after: after.floor == before.floor + 1, high, gone)
    for result in searched(only_up):  # every state but the last has a step of two floors that is left out
        assert result.of("high").verdict is not Verdict.VIOLATED
    stuck = lift(lambda before, after: False, high, gone)
    for result in searched(stuck):
        assert {each.verdict for each in result.properties} == {Verdict.INCOMPLETE}
        liveness = result.statistics.liveness
        assert liveness is not None
        assert liveness.open == 1
    assert stuck.is_open(Lift())
    assert not lift(lambda before, after: True, high).is_open(Lift())


def test_a_left_out_step_that_changes_nothing_opens_no_state() -> None:
    @action()
    def stay(state: Lift) -> Iterator[Lift]:
        yield state

    def changes(before: Lift, after: Lift) -> bool:
        return before != after

    staying = attrs.evolve(lift(changes, high, check_deadlock=True), actions=[stay])
    for result in searched(staying):
        assert result.of("high").verdict is Verdict.VIOLATED
        assert result.of("deadlock").verdict is Verdict.HOLDS  # without the constraint, it is none either
    assert not staying.is_open(Lift())


def test_no_action_is_called_outside_of_within() -> None:
    @action("")
    def fragile_up(state: Lift) -> Iterator[Lift]:
        if state.floor > 2:
            raise ValueError("too high")
        yield Lift(state.floor + 1)

    @recoverable("it can be low")
    def can_be_low(state: Lift) -> bool:
        return state.floor == 0

    spec = lift(lambda before, after: True, can_be_low, within=lambda state: state.floor <= 2)
    spec = attrs.evolve(spec, actions=[fragile_up])
    packed = CompiledSettings(workers=1, tuning=Tuning(learn_after=0))
    for result in [*searched(spec), learning.explore(spec, LIMITS, settings=packed)]:
        assert result.verdict is Verdict.INCOMPLETE  # what is outside may lead back


@attrs.frozen
class Floors:
    of: tuple[Lift, ...] = component(each="lift")


LiftId = Annotated[int, identity("lift")]


@action("", lift=range(3))
def rise(state: Floors, lift: LiftId) -> Iterator[Floors]:
    if state.of[lift].floor < 3:
        yield put(state, "of", lift, "floor", state.of[lift].floor + 1)


def test_a_search_with_symmetry_leaves_out_the_same_steps_and_refuses_other_constraints() -> None:
    spec = Spec(
        name="lifts",
        initial_states=lambda bounds: [Floors((Lift(),) * 3)],
        actions=[rise],
        symmetric={"lift": range(3)},
        within_step=lambda before, after: sum(each.floor for each in after.of) <= 5,
        check_deadlock=True,
    )
    plain, found = (compiled.explore(spec, None, None, CompiledSettings(symmetry=each)) for each in (False, True))
    assert found.verdict is plain.verdict is Verdict.HOLDS
    orbits = found.statistics.orbits
    assert orbits is not None
    assert orbits.states == plain.statistics.distinct == 44
    first = attrs.evolve(spec, within_step=lambda before, after: after.of[0].floor <= 1)
    with pytest.raises(SpecError, match="spec lifts is not symmetric"):
        compiled.explore(first, None, None, CompiledSettings(symmetry=True))


@attrs.frozen
class Heights:
    of: tuple[int, ...] = (0, 0, 0)


def test_a_constraint_may_look_at_what_an_action_only_copies() -> None:
    @action("", lift=range(3))
    def higher(state: Heights, lift: int) -> Iterator[Heights]:
        yield Heights((*state.of[:lift], state.of[lift] + 1, *state.of[lift + 1 :]))

    def low_together(before: Heights, after: Heights) -> bool:
        return sum(after.of) < 5

    spec = Spec(name="heights", initial_states=lambda bounds: [Heights()], actions=[higher], within_step=low_together)
    assert [result.statistics.distinct for result in searched(spec)] == [35, 35]


def test_a_random_search_takes_the_same_steps() -> None:
    result = fuzz(lift(one_at_a_time, stops_at_three), settings=RandomSettings(seed=1, examples=40, steps=30))
    assert not [each for each in result.properties if each.verdict is Verdict.VIOLATED]
    result = fuzz(lift(only_to_four, stops_at_three), settings=RandomSettings(seed=1, examples=40, steps=30))
    (trace,) = result.of("stops_at_three").traces
    assert max(state.floor for state in trace.states) == 4


def test_a_trace_with_a_step_that_is_left_out_is_not_replayed(tmp_path: Any) -> None:
    (trace,) = oracle.explore(lift(None, stops_at_three)).of("stops_at_three").traces
    write_trace(trace, tmp_path / "trace.itf.json")
    recorded = read_trace(tmp_path / "trace.itf.json")
    assert replay(lift(None, stops_at_three), recorded).states == trace.states
    with pytest.raises(TraceError, match=r"step \d: up\(by=2\) is not enabled in the previous state"):
        replay(lift(one_at_a_time, stops_at_three), recorded)


def test_enabled_is_about_the_action_itself() -> None:
    @invariant("two floors are possible")
    def possible(state: Lift) -> bool:
        return enabled(up, by=2)(state) == (state.floor <= 4)

    assert all(result.verdict is Verdict.HOLDS for result in searched(lift(one_at_a_time, possible)))


def test_the_constraint_of_an_abstract_spec_has_no_effect() -> None:
    abstract = lift(lambda before, after: False)
    concrete = lift(None, *refines(abstract, lambda state: state))
    assert all(result.of("refines_lift").verdict is Verdict.HOLDS for result in searched(concrete))


@pytest.mark.parametrize(
    ("allows", "said"),
    [
        (lambda state: True, "spec lift: within_step must take two parameters, before and after, not (state)"),
        (3, "spec lift: within_step must be a function"),
    ],
)
def test_wrong_constraints_are_refused(allows: Any, said: str) -> None:
    with pytest.raises(SpecError) as error:
        lift(allows)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("explore", [oracle.explore, learning.explore])
def test_a_constraint_must_return_a_bool(explore: Callable[[Spec[Lift]], Result]) -> None:
    with pytest.raises(SpecError, match="spec lift: within_step must return True or False, not 1"):
        explore(lift(lambda before, after: 1))
    with pytest.raises(SpecError, match=r"lift: within_step raised ZeroDivisionError: .*test_within_step.py, line \d+"):
        explore(lift(lambda before, after: 1 / 0 > 1))


def test_within_of_two_states_names_the_other_attribute() -> None:
    with pytest.raises(SpecError, match="within must take one parameter, state, not"):
        Spec(name="lift", initial_states=lambda _: [Lift()], actions=[up], within=one_at_a_time)  # type: ignore[arg-type]


def test_the_explorer_and_diff_take_no_step_that_is_left_out(tmp_path: Path) -> None:
    one: Spec[Any] = lift(lambda before, after: after.floor <= before.floor + 1)
    page = answer(one, "/?path=0").content
    assert "up(by=1)" in page
    assert "up(by=2)" not in page
    write(
        tmp_path,
        it="from attrs import evolve\nfrom tests.specs.lift import lift\n"
        "one = evolve(lift(lambda before, after: after.floor <= before.floor + 1), name='one')\n"
        "all = evolve(lift(None), name='all')\n",
    )
    run = call("diff", "it.py:one", "it.py:all", folder=tmp_path)
    assert run.code == 1
    assert "it.py:one does not take up(by=2) here" in run.out
    assert call("diff", "it.py:one", "it.py:one", folder=tmp_path).code == 0
