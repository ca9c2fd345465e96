"""The order of a trace's steps with the fewest switches between parts of the state."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, Trace, action, component, invariant
from leadline.checker.engines import ENGINES, EXHAUSTIVE
from leadline.checker.engines.oracle import explore
from leadline.checker.properties import Property, step_invariant
from leadline.checker.state import changed_parts
from leadline.checker.traces.reordering import with_fewest_switches
from leadline.invariants.catalog import CATALOG
from tests.suite.samples import EVERY


def switches(trace: Trace[Any]) -> int:
    """The switches of a trace, by trying every part for every step."""
    changed = [changed_parts(step.before, step.after) for step in trace.steps]
    return min(sum(one != other for one, other in itertools.pairwise(parts)) for parts in itertools.product(*changed))


@pytest.mark.parametrize(
    ("name", "bounds", "failing"),
    [
        ("atomic/hw-truncation", {}, "strong_isr"),
        ("atomic/kip-101", {"max_epoch": 2}, "strong_isr"),
        ("rpc/hw-truncation", {}, "committed_never_lost"),
        *(
            [
                ("atomic/kip-320-first-try", {"brokers": 3, "records": 1, "log_size": 1, "max_epoch": 2}, "strong_isr"),
                ("rpc/kip-101", {"max_epoch": 2}, "logs_prefix_consistent"),
            ]
            if EVERY
            else []
        ),
    ],
)
def test_no_other_shortest_counterexample_that_ends_alike_switches_less(
    name: str, bounds: dict[str, Any], failing: str
) -> None:
    spec = CATALOG[name].with_bounds(bounds).with_properties([failing])
    (told,) = ENGINES["compiled"](spec).properties[0].traces
    every = ENGINES["compiled"](spec, Limits(traces=2_000)).properties[0].traces
    alike = [trace for trace in every if trace.states[-1] == told.states[-1]]
    assert 1 < len(alike) < 2_000
    assert switches(told) == min(map(switches, alike)) < max(map(switches, alike))


# Doors: each is opened, then closed. A search finds first that all are opened, then all closed.


@attrs.frozen
class Doors:
    doors: tuple[int, ...] = component(each="door")

    def moved(self, door: int) -> Doors:
        return Doors((*self.doors[:door], self.doors[door] + 1, *self.doors[door + 1 :]))


def every_door(bounds: Any) -> range:
    return range(len(initial_states(bounds)[0].doors))


def initial_states(_: Any) -> list[Doors]:
    return [Doors((0, 0))]


@action("door {door} is opened", door=every_door)
def opens(state: Doors, door: int) -> Iterator[Doors]:
    if state.doors[door] == 0:
        yield state.moved(door)


@action("door {door} is closed", door=every_door)
def closes(state: Doors, door: int) -> Iterator[Doors]:
    if state.doors[door] == 1:
        yield state.moved(door)


@invariant("some door was not closed yet")
def not_all_closed(state: Doors) -> bool:
    return state.doors != (2, 2)


@step_invariant("door 0 is not the last to be closed")
def other_door_last(before: Doors, after: Doors) -> bool:
    return not (after.doors == (2, 2) and before.doors == (1, 2))


@pytest.mark.parametrize("engine", EXHAUSTIVE)
@pytest.mark.parametrize(
    ("failing", "told"),
    [
        (not_all_closed, ["opens(door=0)", "closes(door=0)", "opens(door=1)", "closes(door=1)"]),
        (other_door_last, ["opens(door=1)", "closes(door=1)", "opens(door=0)", "closes(door=0)"]),
    ],
)
def test_what_a_part_can_do_in_one_go_it_does(engine: str, failing: Property, told: list[str]) -> None:
    spec = Spec(name="doors", initial_states=initial_states, actions=[opens, closes], properties=[failing])
    (trace,) = ENGINES[engine](spec).properties[0].traces
    assert list(map(repr, trace.instances)) == told
    assert failing.complaint(*trace.states[-2 if failing is other_door_last else -1 :]) is not None


def test_of_all_traces_the_first_is_the_one_told_best_and_none_is_there_twice() -> None:
    spec = Spec(name="doors", initial_states=initial_states, actions=[opens, closes], properties=[not_all_closed])
    traces = explore(spec, Limits(traces=99)).properties[0].traces
    assert len({repr(trace.instances) for trace in traces}) == len(traces) == 6
    assert switches(traces[0]) == 1


@action("counter {counter} goes up", counter=range(6))
def up(state: Doors, counter: int) -> Iterator[Doors]:
    yield state.moved(counter)


def test_a_long_trace_whose_steps_may_come_in_any_order_takes_a_moment_only() -> None:
    spec = Spec(name="counters", initial_states=lambda _: [Doors((0,) * 6)], actions=[up], properties=[])
    instances = [spec.instances[number % 6] for number in range(60)]
    states = itertools.accumulate(instances, lambda state, it: state.moved(*it.values), initial=Doors((0,) * 6))
    began = time.monotonic()
    told = with_fewest_switches(Trace(spec, list(states), instances))
    assert time.monotonic() - began < 10
    assert switches(told) == 5
    assert told.states[-1] == Doors((10,) * 6)


@attrs.frozen
class Meter:
    level: int = 0
    marks: int = 0


@action()
def rise(state: Meter) -> Iterator[Meter]:
    yield attrs.evolve(state, level=state.level + 1)


@action()
def mark(state: Meter) -> Iterator[Meter]:
    if state.marks < 2:
        yield attrs.evolve(state, marks=state.marks + 1)


@invariant("the level is not marked twice at 3")
def is_low(state: Meter) -> bool:
    return (state.level, state.marks) != (3, 2)


def test_no_step_is_taken_from_a_state_outside_of_the_constraint() -> None:
    """The marks could come last, but the level is outside then."""
    spec = Spec(
        name="meter",
        initial_states=lambda _: [Meter()],
        actions=[rise, mark],
        properties=[is_low],
        within=lambda state: state.level < 3,
    )
    (trace,) = explore(spec).of("is_low").traces
    assert all(map(spec.is_within, trace.states[:-1]))
