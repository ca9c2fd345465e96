"""Replay: a good trace is followed to its end, and a stale one is refused saying precisely where it departs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, Trace, TraceError, action
from leadline.checker.engines.oracle import explore
from leadline.checker.traces.itf import TraceFile, decode_trace, encode_trace, read_trace, write_trace
from leadline.checker.traces.replay import replay
from tests.specs.machines import (
    Counters,
    all_at_limit,
    below_ceiling,
    clock,
    counters,
    good_step,
    no_bad_node,
    no_bad_step,
    stutter,
    tick,
    values,
    walks,
)
from tests.specs.refusals import refused
from tests.specs.two_phase_commit import tm_commits_too_soon, two_phase_commit

GRID = counters(below_ceiling, ceiling=2)


def evidence(spec: Spec[Any]) -> Trace[Any]:
    """The first trace that a search finds."""
    return next(trace for item in explore(spec, Limits(keep_going=True)).properties for trace in item.traces)


def recorded(spec: Spec[Any]) -> Any:
    """That trace as JSON, to be tampered with."""
    return json.loads(json.dumps(encode_trace(evidence(spec))))


def followed(spec: Spec[Any], content: Any) -> Trace[Any]:
    """What replay makes of it."""
    return replay(spec, decode_trace(content))


@pytest.fixture
def three_steps() -> Any:
    """Counter 0 goes up twice, then counter 1; the sum of 3 is above the ceiling of 2."""
    content = recorded(GRID)
    assert [state["#meta"].get("parameters") for state in content["states"]] == [
        None,
        {"index": {"#bigint": "0"}},
        {"index": {"#bigint": "0"}},
        {"index": {"#bigint": "1"}},
    ]
    return content


# Good traces.


@pytest.mark.parametrize(
    "spec",
    [
        GRID,
        counters(all_at_limit, counters=3, limit=1),
        walks("axb bxc cxa", no_bad_step, bad_steps="ca"),
        walks("axb bxc", good_step, good_steps="bc"),
        walks("axb bxa", no_bad_node, starts="ab", bad="b"),
        walks("axb", check_deadlock=True),
        two_phase_commit(3, tm_commits_too_soon),
    ],
)
def test_every_kind_of_trace_is_followed_to_its_end(spec: Spec[Any], tmp_path: Path) -> None:
    trace = evidence(spec)
    write_trace(trace, tmp_path / "trace.itf.json")
    again = replay(spec, read_trace(tmp_path / "trace.itf.json"))

    assert (again.states, again.instances, again.about) == (trace.states, trace.instances, trace.about)
    assert again.spec is spec


def test_a_replayed_trace_has_the_constants_of_the_model() -> None:
    again = followed(GRID, recorded(GRID))

    assert all(state.bounds is GRID.bounds for state in again.states)


def test_the_next_state_that_was_recorded_is_taken_among_several() -> None:
    spec = walks("axb axc axd cxe", no_bad_node, bad="e")

    assert [state.node for state in followed(spec, recorded(spec)).states] == ["a", "c", "e"]


def test_a_behaviour_about_no_property_is_replayed() -> None:
    spec = clock(tick, stutter)
    (start,) = spec.initials()
    trace = Trace(spec, [start, start], [spec.instances[1]])

    assert replay(spec, decode_trace(encode_trace(trace))).about is None


# Actions that are no longer possible.


def test_an_unknown_action_is_named_with_its_step_and_the_nearest(three_steps: Any) -> None:
    three_steps["states"][2]["#meta"]["action"] = "incremented"

    with refused("step 2", "tests/counters has no action 'incremented'", "mean 'increment'?", error=TraceError):
        followed(GRID, three_steps)


@pytest.mark.parametrize(
    ("parameters", "written"),
    [
        ({"index": {"#bigint": "7"}}, "increment(index=7)"),
        ({"index": "0"}, "increment(index=0)"),
        ({"idx": {"#bigint": "0"}}, "increment(idx=0)"),
        ({}, "increment()"),
        ({"index": {"#bigint": "0"}, "by": {"#bigint": "2"}}, "increment(index=0, by=2)"),
    ],
)
def test_parameters_that_the_bounds_do_not_allow(three_steps: Any, parameters: Any, written: str) -> None:
    three_steps["states"][3]["#meta"]["parameters"] = parameters

    with refused("step 3", written, "not possible", "counters=2", error=TraceError):
        followed(GRID, three_steps)


def test_a_step_that_does_not_say_its_action(three_steps: Any) -> None:
    del three_steps["states"][1]["#meta"]

    with refused("step 1", "does not name its action", '"#meta"', error=TraceError):
        followed(GRID, three_steps)


def test_an_action_that_is_not_enabled(three_steps: Any) -> None:
    with refused("step 2", "increment(index=0)", "not enabled", error=TraceError):
        followed(GRID.with_bounds({"limit": 1}), three_steps)


# States that are no longer reached.


def test_an_action_that_leads_elsewhere_names_the_innermost_variable(three_steps: Any) -> None:
    three_steps["states"][2]["counters"]["#tup"][0]["value"] = {"#bigint": "5"}

    with refused(
        "step 2",
        "increment(index=0) leads to a different state",
        "counters[0].value is 2 in the model, but 5 in the file",
        error=TraceError,
    ):
        followed(GRID, three_steps)


def test_a_component_of_another_length_is_shown_whole(three_steps: Any) -> None:
    three_steps["states"][1]["counters"]["#tup"].pop()

    with refused(
        "step 1", "counters is ((value=1), (value=0)) in the model, but ((value=1),) in the file", error=TraceError
    ):
        followed(GRID, three_steps)


def test_values_of_another_kind_are_shown_as_they_are(three_steps: Any) -> None:
    three_steps["states"][1]["counters"]["#tup"][1] = {"tag": "Gone", "value": "U_OF_UNIT"}

    with refused("step 1", "counters[1] is (value=0) in the model, but Gone in the file", error=TraceError):
        followed(GRID, three_steps)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("rms", "#tup", 1),
            {"tag": "Stage", "value": "LOST"},
            "rms[1] is Stage.WORKING in the model, but Stage.LOST in",
        ),
        (
            ("tm", "outcome"),
            {"tag": "Outcome", "value": "ABORT"},
            "tm.outcome is None in the model, but Outcome.ABORT",
        ),
        (("tm", "prepared"), {"#set": [{"#bigint": "1"}]}, "tm.prepared is {} in the model, but {1} in"),
        (("sent",), {"#set": []}, "sent is {Prepared(rm=0)} in the model, but {} in the file"),
    ],
)
def test_each_kind_of_value_is_named_where_it_differs(path: tuple[Any, ...], value: Any, message: str) -> None:
    spec = two_phase_commit(2, tm_commits_too_soon)
    content = recorded(spec)
    assert content["states"][1]["#meta"] == {
        "index": 1,
        "action": "rm_prepares",
        "parameters": {"rm": {"#bigint": "0"}},
    }
    *folders, last = path
    target = content["states"][1]
    for folder in folders:
        target = target[folder]
    target[last] = value

    with refused("step 1: rm_prepares(rm=0) leads to a different state", message, error=TraceError):
        followed(spec, content)


def test_the_first_of_several_differences_is_named(three_steps: Any) -> None:
    for state in three_steps["states"][2:]:
        state["counters"]["#tup"] = [{"value": {"#bigint": "8"}}, {"value": {"#bigint": "9"}}]

    with refused("step 2", "counters[0].value is 2 in the model, but 8 in the file", error=TraceError):
        followed(GRID, three_steps)


def test_another_initial_state_is_named_with_its_variable(three_steps: Any) -> None:
    three_steps["states"][0]["counters"]["#tup"][1]["value"] = {"#bigint": "4"}

    with refused(
        "is not an initial state of the spec",
        "counters[1].value is 0 in the model, but 4 in the file",
        error=TraceError,
    ):
        followed(GRID, three_steps)


def test_other_bounds_make_another_initial_state(three_steps: Any) -> None:
    with refused("initial state", "counters is ((value=0), (value=0), (value=0)) in the model", error=TraceError):
        followed(GRID.with_bounds({"counters": 3}), three_steps)


def test_a_variable_that_the_model_no_longer_has(three_steps: Any) -> None:
    three_steps["vars"].append("turn")
    for state in three_steps["states"]:
        state["turn"] = {"#bigint": "0"}

    with refused("variable 'turn' exists only in the file", error=TraceError):
        followed(GRID, three_steps)


def test_a_variable_that_the_file_does_not_have(three_steps: Any) -> None:
    three_steps["vars"].remove("counters")

    with refused("variable 'counters' exists only in the model", error=TraceError):
        followed(GRID, three_steps)


# Properties that are no longer violated.


def test_an_unknown_property_is_named_with_the_nearest(three_steps: Any) -> None:
    three_steps["#meta"]["property"] = "below_the_ceiling"

    with refused("tests/counters has no property 'below_the_ceiling'", "mean 'below_ceiling'?", error=TraceError):
        followed(GRID, three_steps)


def test_deadlock_is_an_unknown_property_where_it_is_not_checked() -> None:
    content = recorded(walks("axb", check_deadlock=True))

    with refused("walk has no property 'deadlock'", error=TraceError):
        followed(walks("axb"), content)


def test_a_property_that_is_no_longer_violated_is_named_with_its_sentence(three_steps: Any) -> None:
    with refused(
        "every step is as recorded", "no longer violates below_ceiling", below_ceiling.sentence, error=TraceError
    ):
        followed(GRID.with_bounds({"ceiling": 3}), three_steps)


def test_a_step_invariant_that_is_no_longer_violated() -> None:
    content = recorded(walks("axb bxc", no_bad_step, bad_steps="bc"))

    with refused("no longer violates no_bad_step", error=TraceError):
        followed(walks("axb bxc", no_bad_step, bad_steps="ab"), content)


def test_a_deadlock_that_has_a_way_out_now() -> None:
    content = recorded(walks("axb", check_deadlock=True))

    with refused("no longer violates deadlock", error=TraceError):
        followed(walks("axb bxa", check_deadlock=True), content)


def test_a_witness_that_is_no_longer_shown() -> None:
    content = recorded(counters(all_at_limit, limit=1))

    with refused("no longer shows all_at_limit", all_at_limit.sentence, error=TraceError):
        followed(counters(all_at_limit, limit=2), content)


def test_a_trace_that_ends_before_the_violation_is_no_evidence_of_it(three_steps: Any) -> None:
    three_steps["states"].pop()

    with refused("no longer violates below_ceiling", error=TraceError):
        followed(GRID, three_steps)


# A model that fails is named as it is in a search.


@action(index=[0, 1])
def increment(state: Counters, index: int) -> Iterator[Counters]:
    raise ArithmeticError("overflow")
    yield state


def test_an_action_that_raises_now_is_named(three_steps: Any) -> None:
    with refused("action increment(index=0) raised ArithmeticError: overflow"):
        followed(attrs.evolve(GRID, actions=[increment]), three_steps)


def test_a_file_of_another_tool_is_followed_as_far_as_it_says_what_it_does() -> None:
    bare = TraceFile(None, {}, None, "", decode_trace(recorded(GRID)).states[:1])

    assert [values(state) for state in replay(GRID, bare).states] == [(0, 0)]
