"""Counterexamples of the oracle: which, how many, and that they are behaviours of the spec."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.checker import Limits, Spec, Step, Trace
from leadline.checker.engines.oracle import explore
from leadline.checker.trace import complaint_at_end
from tests.specs.machines import (
    below_ceiling,
    clock,
    counters,
    good_node,
    no_bad_node,
    no_bad_step,
    path,
    route,
    stutter,
    tick,
    values,
    walks,
)


def traces(spec: Spec[Any], limit: int, *, keep_going: bool = False) -> list[Trace[Any]]:
    """The traces of a spec's only property."""
    (item,) = explore(spec, Limits(traces=limit, keep_going=keep_going)).properties
    return list(item.traces)


def paths(spec: Spec[Any], limit: int, *, keep_going: bool = False) -> list[str]:
    """Where those traces go."""
    return [path(trace) for trace in traces(spec, limit, keep_going=keep_going)]


def test_one_trace_unless_more_are_asked_for() -> None:
    assert paths(walks("axb ayc", no_bad_node, bad="bc"), 1) == ["ab"]


def test_several_violating_states_each_have_a_trace() -> None:
    assert paths(walks("axb ayc azd", no_bad_node, bad="bcd"), 2) == ["ab", "ac"]
    assert paths(walks("axb ayc azd", no_bad_node, bad="bcd"), 9) == ["ab", "ac", "ad"]


def test_several_shortest_paths_lead_to_one_state() -> None:
    assert sorted(paths(walks("axb ayc bxd cxd dxe", no_bad_node, bad="d"), 9)) == ["abd", "acd"]


def test_several_actions_lead_along_one_path() -> None:
    drawn = walks("axb ayb bxc byc bzc", no_bad_node, bad="c")

    assert sorted(map(route, traces(drawn, 9))) == ["xx", "xy", "xz", "yx", "yy", "yz"]


def test_different_states_come_before_other_ways_to_the_same_state() -> None:
    drawn = walks("axb ayb azc", no_bad_node, bad="bc")

    assert paths(drawn, 2) == ["ab", "ac"]
    assert paths(drawn, 3) == ["ab", "ac", "ab"]


def test_a_next_state_that_is_yielded_twice_is_no_second_way() -> None:
    assert paths(walks("axb axb bxc bxc", no_bad_node, bad="c"), 9) == ["abc"]


def test_every_initial_state_is_a_source() -> None:
    assert sorted(paths(walks("axc bxc cxd", no_bad_node, starts="ab", bad="d"), 9)) == ["acd", "bcd"]


def test_an_initial_state_is_not_passed_through() -> None:
    # b begins itself, so that a, b, c is no shortest path.
    assert paths(walks("axb bxc", no_bad_node, starts="ab", bad="c"), 9) == ["bc"]


def test_several_initial_states_that_violate() -> None:
    assert paths(walks("axb", no_bad_node, starts="abc", bad="ac"), 9) == ["a", "c"]


def test_longer_counterexamples_are_not_given() -> None:
    assert paths(walks("axb bxc", no_bad_node, bad="bc"), 9, keep_going=True) == ["ab"]


def test_several_steps_violate_a_step_invariant() -> None:
    drawn = walks("axb ayb azc", no_bad_step, bad_steps="ab ac")

    assert [(path(trace), route(trace)) for trace in traces(drawn, 9)] == [("ab", "x"), ("ab", "y"), ("ac", "z")]


def test_several_ways_to_a_step_that_violates() -> None:
    assert sorted(paths(walks("axb ayc bxd cxd dxa", no_bad_step, bad_steps="da"), 9)) == ["abda", "acda"]


def test_several_deadlocks() -> None:
    assert paths(walks("axb ayc", check_deadlock=True), 9) == ["ab", "ac"]


def test_a_witness_has_one_trace_however_many_are_asked_for() -> None:
    assert paths(walks("axb ayc", good_node, good="bc"), 9) == ["ab"]


def test_all_lattice_paths_to_the_far_corner() -> None:
    # 6 choose 3 ways through a grid of 4 * 4 states.
    found = traces(counters(below_ceiling, limit=3, ceiling=5), 99)

    assert len(found) == len({trace.states for trace in found}) == 20
    assert {values(trace.states[-1]) for trace in found} == {(3, 3)}


@pytest.mark.parametrize(
    "spec",
    [
        counters(below_ceiling, counters=3, ceiling=2),
        walks("axb ayc bxd cxd byb dxa", no_bad_step, bad_steps="da"),
        walks("axb ayc bxd cxd", starts="ac", check_deadlock=True),
    ],
)
def test_every_trace_is_a_behaviour_that_ends_in_the_violation(spec: Spec[Any]) -> None:
    found = traces(spec, 99)

    assert found
    for trace in found:
        assert trace.spec is spec
        assert trace.states[0] in spec.initials()
        assert all(step.after in spec.take(step.instance, step.before) for step in trace.steps)
        assert complaint_at_end(spec, spec.checks[0], trace.states) is not None
        assert complaint_at_end(spec, spec.checks[0], trace.states[:-1]) is None


def test_a_trace_knows_its_steps_and_its_length_in_states() -> None:
    (trace,) = traces(walks("axb byc", no_bad_node, bad="c"), 1)
    a, b, c = trace.states
    by_x, by_y = trace.instances

    assert len(trace) == 3
    assert list(trace.steps) == [Step(a, by_x, b), Step(b, by_y, c)]


def test_a_trace_about_nothing_has_no_complaint() -> None:
    spec = clock(tick, stutter)
    (start,) = spec.initials()

    assert Trace(spec, [start], []).complaint == ""


def test_a_trace_needs_one_state_more_than_steps() -> None:
    spec = clock(tick)
    (start,) = spec.initials()

    with pytest.raises(ValueError, match="2 states require 1 steps, not 0"):
        Trace(spec, [start, start], [])
