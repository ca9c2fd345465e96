"""Breadth-first search on machines whose states were counted by hand: statistics, verdicts and limits.

For counterexamples, see `test_traces.py`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, Verdict, action
from leadline.checker.engines import ENGINES, oracle
from leadline.checker.engines.oracle import explore
from leadline.checker.result import FIRST_VIOLATION, ActionCount, Statistics
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
    path,
    ring,
    stutter,
    tick,
    values,
    walks,
)
from tests.specs.refusals import refused


def counts(result: Result) -> tuple[int, int, int, int | None]:
    """Distinct states, generated states, depth, queue."""
    statistics = result.statistics
    return statistics.distinct, statistics.generated, statistics.depth, statistics.queue


def out_degrees(result: Result) -> tuple[int, float, int]:
    """Smallest, mean and largest out-degree."""
    statistics = result.statistics
    return statistics.out_degree_min, statistics.out_degree_mean, statistics.out_degree_max


def verdicts(result: Result) -> dict[str, str]:
    """The verdict on each property."""
    return {item.property.name: item.verdict.value for item in result.properties}


# Statistics.


def test_two_counters_up_to_two() -> None:
    # 3 * 3 states; each counter rises from 2 of its 3 values, whatever the other's: 2 * (2 * 3) steps.
    result = explore(counters(counters=2, limit=2))

    assert counts(result) == (9, 13, 5, 0)
    assert out_degrees(result) == (0, 12 / 9, 2)
    assert result.statistics.actions == {"increment": ActionCount(generated=12, distinct=8)}
    assert (result.statistics.expanded, result.statistics.deadlocks) == (9, 1)
    assert (result.verdict, result.exhausted, result.reason) == (Verdict.HOLDS, True, None)


def test_four_counters_up_to_nine() -> None:
    # 10 ** 4 states, 4 * 9 * 10 ** 3 steps, and 36 steps to the far corner.
    assert counts(explore(counters(counters=4, limit=9))) == (10_000, 36_001, 37, 0)


def test_one_state_that_leads_nowhere() -> None:
    result = explore(counters(counters=1, limit=0))

    assert counts(result) == (1, 1, 1, 0)
    assert out_degrees(result) == (0, 0.0, 0)
    assert result.statistics.never_enabled == ["increment"]


def test_several_initial_states_are_each_at_depth_one() -> None:
    # a and c begin; b and d are one step away, e two. Two initial states and four steps.
    result = explore(walks("axb bxc cxd dxe", starts="ac"))

    assert counts(result) == (5, 6, 3, 0)
    assert result.statistics.actions == {"walk": ActionCount(generated=4, distinct=3)}


def test_an_initial_state_that_is_given_twice_is_generated_once() -> None:
    assert counts(explore(walks("axb", starts="aa"))) == (2, 2, 2, 0)


def test_one_action_instance_with_several_next_states() -> None:
    # x leads from a to b and to c; out-degrees 2, 1, 1, 0.
    result = explore(walks("axb axc bxd cxd"))

    assert counts(result) == (4, 5, 3, 0)
    assert out_degrees(result) == (0, 1.0, 2)


def test_a_next_state_that_is_yielded_twice_is_generated_twice() -> None:
    result = explore(walks("axb axb"))

    assert counts(result) == (2, 3, 2, 0)
    assert out_degrees(result) == (0, 1.0, 2)


def test_self_loops_are_generated_and_never_new() -> None:
    # a to itself and to b, b to itself.
    result = explore(walks("axa axb bxb"))

    assert counts(result) == (2, 4, 2, 0)
    assert out_degrees(result) == (1, 1.5, 2)
    assert result.statistics.deadlocks == 0


def test_counts_by_action_and_actions_never_enabled() -> None:
    # Three hours: each ticks and stutters; two ticks lead to a new hour. It never rings.
    result = explore(clock(ring, tick, stutter))

    assert counts(result) == (3, 7, 3, 0)
    assert list(result.statistics.actions.items()) == [
        ("ring", ActionCount(0, 0)),
        ("tick", ActionCount(3, 2)),
        ("stutter", ActionCount(3, 0)),
    ]
    assert result.statistics.never_enabled == ["ring"]
    assert out_degrees(result) == (2, 2.0, 2)


def test_a_new_state_counts_for_the_action_that_came_first() -> None:
    result = explore(clock(stutter, tick, properties=[forward]), Limits(keep_going=True))

    assert [count.distinct for count in result.statistics.actions.values()] == [0, 2]


def test_unreachable_edges_are_not_searched() -> None:
    assert counts(explore(walks("axb cxd dxc"))) == (2, 2, 2, 0)


# Verdicts: invariants, step invariants, witnesses, deadlock.


def test_an_invariant_that_holds_everywhere() -> None:
    result = explore(counters(below_ceiling, ceiling=4))

    assert (result.verdict, verdicts(result)) == (Verdict.HOLDS, {"below_ceiling": "holds"})
    assert result.of("below_ceiling").traces == ()


def test_an_invariant_that_the_far_corner_violates() -> None:
    result = explore(counters(below_ceiling, ceiling=3))
    (trace,) = result.of("below_ceiling").traces

    assert (result.verdict, len(trace), values(trace.states[-1])) == (Verdict.VIOLATED, 5, (2, 2))
    assert trace.complaint == "the sum is 4, the ceiling 3"


def test_an_invariant_that_an_initial_state_violates() -> None:
    result = explore(walks("axb bxc", no_bad_node, starts="ab", bad="b"))
    (trace,) = result.of("no_bad_node").traces

    assert (path(trace), trace.instances) == ("b", ())
    assert counts(result) == (2, 2, 1, 2)
    assert result.reason == "stopped at the first violation"


def test_a_step_invariant_violated_between_states_that_are_already_known() -> None:
    # No new state shows it: c leads back to a.
    result = explore(walks("axb bxc cxa", no_bad_step, bad_steps="ca"))
    (trace,) = result.of("no_bad_step").traces

    assert (path(trace), counts(result)) == ("abca", (3, 4, 3, 0))


def test_a_step_invariant_violated_by_a_self_loop() -> None:
    (trace,) = explore(walks("axb bxb", no_bad_step, bad_steps="bb")).of("no_bad_step").traces

    assert path(trace) == "abb"


def test_a_step_invariant_that_no_step_violates() -> None:
    # cb is bad, but only bc can be walked.
    assert explore(walks("axb bxc", no_bad_step, bad_steps="cb")).verdict is Verdict.HOLDS


def test_the_clock_goes_back_after_three_ticks() -> None:
    (trace,) = explore(clock(tick, properties=[forward])).of("forward").traces

    assert [state.hour for state in trace.states] == [0, 1, 2, 0]


def test_a_witness_that_is_reached_holds_and_shows_the_way() -> None:
    result = explore(counters(all_at_limit, limit=1))
    found = result.of("all_at_limit")

    assert (result.verdict, found.verdict) == (Verdict.HOLDS, Verdict.HOLDS)
    assert [values(state) for state in found.traces[0].states] == [(0, 0), (1, 0), (1, 1)]


def test_a_witness_in_an_initial_state_needs_no_step() -> None:
    (trace,) = explore(walks("axb", good_node, good="a")).of("good_node").traces

    assert path(trace) == "a"


def test_a_witness_that_is_not_reached_is_violated_and_has_no_trace() -> None:
    result = explore(walks("axb cxd", good_node, good="d"))

    assert (result.verdict, verdicts(result)) == (Verdict.VIOLATED, {"good_node": "violated"})
    assert (result.exhausted, result.of("good_node").traces) == (True, ())


def test_a_witness_that_is_reached_does_not_stop_the_search() -> None:
    assert counts(explore(walks("axb bxc cxd", good_node, good="b"))) == (4, 4, 4, 0)


def test_a_step_witness_that_is_reached_between_known_states() -> None:
    result = explore(walks("axb bxa", good_step, good_steps="ba"))

    assert (result.verdict, path(result.of("good_step").traces[0])) == (Verdict.HOLDS, "aba")


def test_a_step_witness_is_not_reached_by_its_two_states_alone() -> None:
    # a, b and c are all reached, but never c from a in one step.
    result = explore(walks("axb bxc", good_step, good_steps="ac"))

    assert (result.verdict, verdicts(result)) == (Verdict.VIOLATED, {"good_step": "violated"})


def test_a_deadlock_is_violated_where_it_is_asked_for() -> None:
    result = explore(walks("axb axc cxa", check_deadlock=True))
    (trace,) = result.of("deadlock").traces

    assert (path(trace), trace.complaint) == ("ab", "no action is enabled")
    assert (result.verdict, result.statistics.deadlocks) == (Verdict.VIOLATED, 1)


def test_a_deadlock_is_only_counted_where_it_is_not_asked_for() -> None:
    result = explore(walks("axb axc cxa"))

    assert (result.verdict, result.statistics.deadlocks, result.properties) == (Verdict.HOLDS, 1, ())


def test_a_cycle_has_no_deadlock() -> None:
    result = explore(walks("axb bxa", check_deadlock=True))

    assert (result.verdict, verdicts(result)) == (Verdict.HOLDS, {"deadlock": "holds"})


def test_a_self_loop_is_no_deadlock() -> None:
    assert explore(walks("axb bxb", check_deadlock=True)).verdict is Verdict.HOLDS


def test_a_deadlock_in_an_initial_state() -> None:
    (trace,) = explore(walks("axb bxa", starts="az", check_deadlock=True)).of("deadlock").traces

    assert path(trace) == "z"


# Where a search ends.


def test_the_search_ends_with_the_level_of_the_first_violation() -> None:
    # b leads to the bad d, which is found first; c's successor e is of the same level, f and g are not.
    result = explore(walks("axb axc bxd cxe dxf exg", no_bad_node, bad="d"))

    assert counts(result) == (5, 5, 3, 2)
    assert (result.exhausted, result.reason) == (False, "stopped at the first violation")


def test_violations_of_the_same_level_are_found_by_one_search() -> None:
    result = explore(walks("axb axc bxd", no_bad_node, no_bad_step, bad="b", bad_steps="ac"))

    assert verdicts(result) == {"no_bad_node": "violated", "no_bad_step": "violated"}


def test_what_a_violation_cut_short_is_incomplete() -> None:
    drawn = walks("axb bxc cxd", no_bad_node, no_bad_step, good_node, bad="b", bad_steps="cd", good="d")

    assert verdicts(explore(drawn)) == {
        "no_bad_node": "violated",
        "no_bad_step": "incomplete",
        "good_node": "incomplete",
    }


def test_keep_going_exhausts_the_space_after_a_violation() -> None:
    drawn = walks("axb bxc cxd", no_bad_node, no_bad_step, good_node, bad="b", bad_steps="cd", good="d")
    result = explore(drawn, Limits(keep_going=True))

    assert (counts(result), result.exhausted) == ((4, 4, 4, 0), True)
    assert verdicts(result) == {"no_bad_node": "violated", "no_bad_step": "violated", "good_node": "holds"}
    assert path(result.of("no_bad_node").traces[0]) == "ab"


@pytest.mark.parametrize("engine", ["oracle", "compiled"])
def test_only_a_violation_of_what_is_sought_ends_a_search(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = walks("axb bxc cxd dxe", no_bad_node, no_bad_step, good_node, bad="b", bad_steps="cd", good="d")
    search = functools.partial(ENGINES[engine], drawn)
    first = search(Limits(sought=("no_bad_step",)))
    assert verdicts(first) == {"no_bad_node": "violated", "no_bad_step": "violated", "good_node": "holds"}
    assert (first.stop, first.statistics.distinct, first.sought) == (FIRST_VIOLATION, 4, ("no_bad_step",))
    assert path(first.of("no_bad_node").traces[0]) == "ab"

    monkeypatch.setattr("leadline.checker.result.SOUGHT_STATES", 3)
    bounded = search(Limits(sought=("no_bad_step",)))
    assert (bounded.stop, bounded.statistics.distinct) == (FIRST_VIOLATION, 3)
    assert verdicts(bounded)["no_bad_step"] == "incomplete"


def test_a_violation_in_the_last_level_leaves_nothing_to_search() -> None:
    result = explore(walks("axb bxa", no_bad_step, bad_steps="ba"))

    assert (result.verdict, result.exhausted, result.reason) == (Verdict.VIOLATED, True, None)


@pytest.mark.parametrize(
    ("depth", "expected"),
    [(1, (1, 1, 1, 1)), (3, (3, 3, 3, 1)), (5, (5, 5, 5, 1))],
)
def test_a_depth_bound_leaves_the_states_at_that_depth_in_the_queue(depth: int, expected: tuple[int, ...]) -> None:
    result = explore(walks("axb bxc cxd dxe", no_bad_node), Limits(depth=depth))

    assert counts(result) == expected
    assert (result.verdict, verdicts(result)) == (Verdict.INCOMPLETE, {"no_bad_node": "incomplete"})
    assert result.reason == f"reached depth {depth}"


def test_a_depth_bound_beyond_the_space_changes_nothing() -> None:
    result = explore(walks("axb bxc cxd dxe"), Limits(depth=6))

    assert (counts(result), result.verdict) == ((5, 5, 5, 0), Verdict.HOLDS)


@pytest.mark.parametrize(("bad", "verdict"), [("c", Verdict.VIOLATED), ("d", Verdict.INCOMPLETE)])
def test_states_at_the_depth_bound_are_checked_and_deeper_ones_are_not(bad: str, verdict: Verdict) -> None:
    assert explore(walks("axb bxc cxd", no_bad_node, bad=bad), Limits(depth=3)).verdict is verdict


def test_a_violation_at_the_depth_bound_is_what_stopped_the_search() -> None:
    result = explore(walks("axb bxc cxd", no_bad_node, bad="c"), Limits(depth=3))

    assert (result.verdict, result.reason) == (Verdict.VIOLATED, "stopped at the first violation")


def test_a_witness_found_within_the_depth_bound_holds_though_the_run_is_incomplete() -> None:
    result = explore(walks("axb bxc", good_node, good="b"), Limits(depth=2))

    assert (result.verdict, verdicts(result)) == (Verdict.INCOMPLETE, {"good_node": "holds"})


def test_max_states_holds_when_the_space_has_exactly_so_many() -> None:
    result = explore(counters(below_ceiling), Limits(max_states=9))

    assert (counts(result), result.verdict, result.reason) == ((9, 13, 5, 0), Verdict.HOLDS, None)


def test_max_states_is_never_exceeded() -> None:
    # All but the far corner are found when one of its two neighbours is being expanded.
    result = explore(counters(below_ceiling), Limits(max_states=8))

    assert (result.statistics.distinct, result.statistics.queue) == (8, 2)
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 8 states")


def test_max_states_may_stop_among_the_initial_states() -> None:
    result = explore(walks("axb", starts="abcd"), Limits(max_states=3))

    assert (result.statistics.distinct, result.statistics.generated, result.statistics.queue) == (3, 3, 3)
    assert result.verdict is Verdict.INCOMPLETE


def test_a_violation_found_before_max_states_is_kept() -> None:
    result = explore(walks("axb axc axd", no_bad_node, bad="b"), Limits(max_states=3))

    assert (result.verdict, result.reason) == (Verdict.VIOLATED, "reached 3 states")
    assert path(result.of("no_bad_node").traces[0]) == "ab"


def test_the_mean_out_degree_of_a_cut_search_is_of_expanded_states_only() -> None:
    # a is expanded, with one step; b is stopped at its third.
    result = explore(walks("axb bxc bxd bxe"), Limits(max_states=4))

    assert (result.statistics.expanded, out_degrees(result)) == (1, (1, 1.0, 1))


@attrs.frozen
class Number:
    """Any number: the space of `forever` is infinite."""

    value: int


@action()
def forever(state: Number) -> Iterator[Number]:
    yield Number(state.value + 1)


def zero(_: Any) -> list[Number]:
    return [Number(0)]


def test_max_seconds_stops_an_infinite_search() -> None:
    started = time.monotonic()
    result = explore(Spec(name="forever", initial_states=zero, actions=[forever]), Limits(max_seconds=0.2))

    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 0.2 seconds")
    assert 0.2 <= result.statistics.seconds <= time.monotonic() - started < 10
    assert result.statistics.distinct == result.statistics.depth > 100


@pytest.mark.parametrize(
    ("limit", "value"),
    [("max_seconds", float("nan")), ("depth", 2.0), ("max_states", 1e3), ("traces", True), ("max_seconds", "5")],
)
def test_refuses_limits_that_are_no_numbers_of_their_kind(limit: str, value: Any) -> None:
    with refused(f"limit {limit}={value}", "a number" if limit == "max_seconds" else "an integer"):
        Limits(**{limit: value})


@pytest.mark.parametrize("limit", ["depth", "max_states", "max_seconds", "traces"])
@pytest.mark.parametrize("value", [0, -1])
def test_refuses_limits_that_are_not_positive(limit: str, value: Any) -> None:
    with refused(f"limit {limit}={value}", "greater than 0"):
        Limits(**{limit: value})


# Ctrl-C, and progress.


@action()
def count_until_interrupted(state: Number) -> Iterator[Number]:
    if state.value == 5:
        raise KeyboardInterrupt
    yield Number(state.value + 1)


def test_an_interrupt_gives_what_was_found_until_then() -> None:
    result = explore(Spec(name="stop", initial_states=zero, actions=[count_until_interrupted]))

    assert counts(result) == (6, 6, 6, 1)
    assert (result.verdict, result.exhausted, result.reason) == (Verdict.INCOMPLETE, False, "interrupted")


def test_a_violation_found_before_an_interrupt_is_kept() -> None:
    drawn = walks("axb bxc cxd", no_bad_node, bad="b")
    result = explore(attrs.evolve(drawn, actions=[interrupted_walk]), Limits(keep_going=True))

    assert (result.verdict, result.reason) == (Verdict.VIOLATED, "interrupted")
    assert path(result.of("no_bad_node").traces[0]) == "ab"


@action()
def interrupted_walk(state: Any) -> Iterator[Any]:
    for source, _, target in state.graph.edges:
        if state.node == "c":
            raise KeyboardInterrupt
        if source == state.node:
            yield attrs.evolve(state, node=target)


def test_progress_is_told_now_and_then_and_at_the_end() -> None:
    told: list[tuple[int, int | None]] = []

    def progress(statistics: Statistics) -> None:
        told.append((statistics.expanded, statistics.queue))

    explore(counters(counters=2, limit=31), progress=progress)

    every = oracle.REPORTED_STATES
    assert {0, every, 2 * every, 32 * 32} <= {expanded for expanded, _ in told}
    assert (told[0][1], told[-1][1]) == (1, 0)


def test_a_result_names_its_engine_and_its_spec() -> None:
    spec = clock(tick, properties=[forward])
    result = explore(spec)

    assert (result.engine, result.spec) == ("oracle", spec)
    assert result.of("forward").property is forward


def test_the_states_at_each_depth_are_counted_and_those_beyond_the_last_one_begun() -> None:
    spec = counters(counters=2, limit=2)
    whole = explore(spec).statistics
    assert whole.levels == (1, 2, 3, 2, 1)
    cut = explore(spec, Limits(max_states=4)).statistics
    assert cut.levels == (1, 2, 1)
    assert explore(spec, Limits(depth=2)).statistics.levels == (1, 2)
