"""Hypothesis: a spec as a state machine in pytest, and as a random search."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import Phase, settings, target
from hypothesis.stateful import run_state_machine_as_test

from leadline.checker import Spec, Verdict, action, fuzz, invariant, step_invariant
from leadline.checker.engines import progress
from leadline.checker.engines.oracle import explore
from leadline.checker.observing.digest import own_modules
from leadline.checker.result import ActionCount, Limits, Result, Statistics
from leadline.checker.settings import RandomSettings
from leadline.checker.stateful import PropertyViolated, SpecMachine, state_machine
from leadline.checker.traces.itf import decode_trace, encode_trace
from leadline.checker.traces.replay import replay
from tests.specs.machines import (
    Clock,
    Counters,
    Graph,
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
    walk_spec,
    walks,
)
from tests.specs.refusals import refused
from tests.specs.two_phase_commit import tm_commits_too_soon, two_phase_commit
from tests.suite.samples import sampled

TestCounters = state_machine(counters(below_ceiling, all_at_limit, ceiling=4)).TestCase
TestCounters.settings = settings(max_examples=10, stateful_step_count=5)

FEW = settings(max_examples=20, stateful_step_count=6)


def run(machine: type[SpecMachine]) -> None:
    """Run a machine as a test, for a moment."""
    run_state_machine_as_test(machine, settings=FEW)


def violation(spec: Spec[Any]) -> PropertyViolated:
    """The failure of a spec's state machine."""
    with pytest.raises(PropertyViolated) as failure:
        run(state_machine(spec))
    return failure.value


# In pytest.

PYTEST_FILE = """
from hypothesis import settings
from leadline.checker.stateful import state_machine
from tests.specs.machines import below_ceiling, counters

TestGood = state_machine(counters(below_ceiling, ceiling=4)).TestCase
TestGood.settings = settings(max_examples=5, stateful_step_count=5, deadline=None)
TestBad = state_machine(counters(below_ceiling, ceiling=2)).TestCase
"""


def test_one_line_in_pytest_passes_for_a_good_spec_and_fails_readably_for_a_bad_one(tmp_path: Path) -> None:
    file = tmp_path / "test_them.py"
    file.write_text(PYTEST_FILE)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", str(file)]
    root = Path(__file__).parents[2]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout

    assert "1 failed, 1 passed" in output
    assert "test_them.py::TestBad::runTest" in output.split("FAILED")[1]
    assert "state.take(moves=[increment(index=" in output
    assert "below_ceiling is violated: it requires that the sum of the counters is not above the ceiling" in output
    assert "(the sum is 3, the ceiling 2)" in output
    assert "  3. increment(index=" in output
    assert "  4. " not in output


@pytest.mark.parametrize(
    "spec",
    [
        counters(below_ceiling, all_at_limit, ceiling=4),
        clock(tick, ring),
        walks("axb bxa", no_bad_node, no_bad_step, bad="c", bad_steps="bb", check_deadlock=True),
        two_phase_commit(2),
    ],
)
def test_a_machine_of_a_good_spec_passes(spec: Spec[Any]) -> None:
    run(state_machine(spec))


def test_witnesses_that_are_never_reached_are_no_failure_of_a_machine() -> None:
    run(state_machine(walks("axb bxa", good_node, good_step, good="z")))


def test_a_violated_invariant_is_a_failure_that_prints_as_a_program() -> None:
    failure = violation(counters(below_ceiling, counters=1, limit=3, ceiling=1))

    assert str(failure).splitlines() == [
        "below_ceiling is violated: it requires that the sum of the counters is not above the ceiling "
        "(the sum is 2, the ceiling 1)",
        "  1. increment(index=0)",
        "  2. increment(index=0)",
    ]
    assert isinstance(failure, AssertionError)


def test_a_violated_step_invariant_is_a_failure() -> None:
    failure = violation(clock(tick, properties=[forward]))

    assert [state.hour for state in failure.trace.states] == [0, 1, 2, 0]
    assert str(failure).startswith("forward is violated: it requires that the hour never goes back\n  1. tick()\n")


def test_a_deadlock_is_a_failure_only_where_it_is_asked_for() -> None:
    failure = violation(walks("axb bxc", check_deadlock=True))

    assert path(failure.trace) == "abc"
    assert "deadlock is violated: it requires that every state has a next state (no action is enabled)" in str(failure)
    run(state_machine(walks("axb bxc")))


def test_a_violation_in_an_initial_state_is_a_failure_without_steps() -> None:
    failure = violation(walks("axb", no_bad_node, bad="a"))

    assert str(failure) == "no_bad_node is violated: it requires that no bad node is visited"


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("atomic/kip-320", "AtomicKip320"),
        ("atomic/kip-320-first-try", "AtomicKip320FirstTry"),
        ("my_lock", "My_lock"),
        ("path/to/file.py:lock", "Machine"),
        ("3 brokers", "Machine"),
    ],
)
def test_a_machine_is_named_after_its_spec(name: str, machine: str) -> None:
    assert state_machine(attrs.evolve(clock(tick), name=name)).__name__ == machine


class Log:
    """Every behaviour of a machine, as it grows."""

    def __init__(self, spec: Spec[Any]) -> None:
        self.spec = spec
        self.behaviours: list[list[Any]] = []

    def machine(self) -> type[SpecMachine]:
        """A machine that keeps this log."""
        log = self

        class Logged(state_machine(self.spec)):  # type: ignore[misc]
            def _look(self) -> None:
                if len(self.states) == 1:
                    log.behaviours.append([])
                log.behaviours[-1] = list(zip(self.states, [None, *self.instances], strict=True))
                super()._look()

        return Logged


@pytest.mark.parametrize("spec", [two_phase_commit(2), counters(limit=3), walks("axb axc bxd cyc dya", starts="ac")])
def test_every_step_of_a_machine_is_one_that_the_spec_takes(spec: Spec[Any]) -> None:
    log = Log(spec)
    run(log.machine())
    steps = [
        (before, instance, after)
        for behaviour in log.behaviours
        for (before, _), (after, instance) in itertools.pairwise(behaviour)
    ]

    assert len(steps) > 50  # how many Hypothesis draws differs between versions of Python
    assert all(after in spec.take(instance, before) for before, instance, after in steps)
    assert all(behaviour[0][0] in spec.initials() for behaviour in log.behaviours)


def test_every_enabled_instance_and_every_next_state_is_drawn_sooner_or_later() -> None:
    spec = walks("axb axc ayd bxa bza cya dxa", starts="ab")
    log = Log(spec)
    run(log.machine())
    drawn = {
        (before.node, instance.values[0], after.node)
        for behaviour in log.behaviours
        for (before, _), (after, instance) in itertools.pairwise(behaviour)
    }

    assert {"".join(step) for step in drawn} == {"axb", "axc", "ayd", "bxa", "bza", "cya", "dxa"}
    assert {behaviour[0][0].node for behaviour in log.behaviours} == {"a", "b"}


def test_another_behaviour_begins_only_where_nothing_is_enabled() -> None:
    log = Log(counters(counters=2, limit=1))
    run(log.machine())
    lengths = [len(behaviour) for behaviour in log.behaviours]

    assert lengths.count(3) > 100
    assert lengths.count(3) > len(lengths) - 21  # but for the last one of each example


# With a distance.


@attrs.frozen
class Lock:
    """How many digits of the combination have been dialled."""

    right: int = 0


COMBINATION = (3, 1, 4, 1, 5, 9)


@action("digit {digit} is dialled", digit=range(10))
def dial(state: Lock, digit: int) -> Iterator[Lock]:
    if state.right < len(COMBINATION):
        yield Lock(state.right + 1) if digit == COMBINATION[state.right] else Lock()


@invariant("the lock stays closed")
def closed(state: Lock) -> bool:
    return state.right < len(COMBINATION)


def digits_missing(state: Lock) -> int:
    return len(COMBINATION) - state.right


LOCK = Spec(name="lock", initial_states=lambda _: [Lock()], actions=[dial], properties=[closed])
GUIDED_LOCK = attrs.evolve(LOCK, distance=digits_missing)
DERANDOMIZED = settings(
    max_examples=60, stateful_step_count=10, derandomize=True, database=None, phases=[Phase.generate, Phase.target]
)


def test_a_distance_leads_to_a_violation_that_is_not_found_without_it() -> None:
    run_state_machine_as_test(state_machine(LOCK), settings=DERANDOMIZED)
    with pytest.raises(PropertyViolated) as failure:
        run_state_machine_as_test(state_machine(GUIDED_LOCK), settings=DERANDOMIZED)

    assert [instance.values[0] for instance in failure.value.trace.instances[-len(COMBINATION) :]] == list(COMBINATION)


def test_the_least_distance_of_each_test_case_is_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(attrs.evolve(GUIDED_LOCK, properties=[]))
    seen: list[tuple[float, str]] = []

    def note(observation: float, *, label: str) -> None:
        least = min(digits_missing(state) for behaviour in log.behaviours for state, _ in behaviour)
        seen.append((observation, label))
        assert seen[-1] == (-least, "distance")
        log.behaviours.clear()
        target(observation, label=label)

    monkeypatch.setattr("leadline.checker.stateful.target", note)
    run(log.machine())

    assert len(seen) >= FEW.max_examples
    assert len(set(seen)) > 1


def test_a_distance_that_fails_is_an_error_in_one_line() -> None:
    with refused("distance raised ZeroDivisionError: division by zero (test_stateful.py, line "):
        run(state_machine(attrs.evolve(LOCK, distance=lambda state: 1 / state.right)))


def test_the_module_of_a_distance_belongs_to_its_spec() -> None:
    elsewhere: Spec[Any] = counters()

    assert __name__ not in own_modules(elsewhere)
    assert __name__ in own_modules(attrs.evolve(elsewhere, distance=digits_missing))


# As a search.


def length(result: Result, name: str) -> int:
    """The length of the trace about a property."""
    (trace,) = result.of(name).traces
    return len(trace)


def outcome(result: Result) -> Any:
    """All that the same seed must give again."""
    traces = [
        (item.property.name, item.verdict, [trace.instances for trace in item.traces]) for item in result.properties
    ]
    return traces, attrs.evolve(result.statistics, seconds=0.0, verified=None)


def test_fuzz_finds_an_invariant_violated_by_the_shortest_trace() -> None:
    spec = counters(below_ceiling, counters=3, limit=3, ceiling=6)
    result = fuzz(spec, settings=RandomSettings(examples=50))
    (trace,) = result.of("below_ceiling").traces

    assert (result.verdict, result.of("below_ceiling").verdict) == (Verdict.VIOLATED, Verdict.VIOLATED)
    assert (len(trace), sum(values(trace.states[-1])), trace.complaint) == (8, 7, "the sum is 7, the ceiling 6")
    assert (result.engine, result.exhausted) == ("random", False)


FORKS = range(1, 60)
FORK = tuple((0, f"to {node}", node) for node in FORKS)


def test_a_step_invariant_is_never_violated_by_a_step_that_does_not_exist() -> None:
    # A search sees only some of the forks. No fork leads to itself, though that would be a bad step.
    back = tuple((node, "back", 0) for node in FORKS)
    bad_steps = frozenset((node, after) for node in FORKS for after in (0, node))
    spec = walk_spec(Graph((*FORK, *back), (0,), bad_steps=bad_steps), no_bad_step)
    (trace,) = fuzz(spec, settings=RandomSettings(examples=5)).of("no_bad_step").traces

    assert trace.states[0] == trace.states[2]
    assert [repr(instance) for instance in trace.instances][1:] == ["walk(label=back)"]


def test_a_state_that_was_not_visited_is_not_taken_for_a_deadlock() -> None:
    # Every fork leads on to 100, and from there to the dead end.
    on = (*((node, "on", 100) for node in FORKS), (100, "on", 101))
    (trace,) = (
        fuzz(walk_spec(Graph((*FORK, *on), (0,)), check_deadlock=True), settings=RandomSettings(examples=5))
        .of("deadlock")
        .traces
    )

    assert [state.node for state in trace.states][2:] == [100, 101]


def test_fuzz_finds_a_deadlock_where_it_is_asked_for_and_only_there() -> None:
    drawn = "axb bxa byc cxd"

    assert length(fuzz(walks(drawn, check_deadlock=True), settings=RandomSettings(examples=20)), "deadlock") == 4
    assert fuzz(walks(drawn), settings=RandomSettings(examples=20)).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize(("bad", "steps"), [("a", 0), ("b", 1), ("c", 2)])
def test_fuzz_finds_violations_after_no_step_and_after_few(bad: str, steps: int) -> None:
    result = fuzz(walks("axb bxc cxa", no_bad_node, bad=bad), settings=RandomSettings(examples=20))

    assert length(result, "no_bad_node") == steps + 1


def test_fuzz_finds_a_violation_where_no_action_exists() -> None:
    assert length(fuzz(walks("", no_bad_node, bad="a"), settings=RandomSettings(examples=5)), "no_bad_node") == 1


def test_after_a_violation_fuzz_goes_on_for_the_other_properties() -> None:
    spec = walks("axb bxc cxa", no_bad_node, no_bad_step, good_node, bad="b", bad_steps="bc ca", good="c")
    result = fuzz(spec, settings=RandomSettings(examples=20))

    assert [(item.property.name, item.verdict, len(item.traces[0])) for item in result.properties] == [
        ("no_bad_node", Verdict.VIOLATED, 2),
        ("no_bad_step", Verdict.VIOLATED, 3),
        ("good_node", Verdict.HOLDS, 3),
    ]


def test_fuzz_ends_when_every_property_is_violated_and_only_then() -> None:
    drawn, walked = "axb bxa", 5000
    ended = fuzz(walks(drawn, no_bad_node, bad="b"), settings=RandomSettings(examples=walked)).statistics.walked
    searched_on = fuzz(
        walks(drawn, no_bad_node, no_bad_step, bad="b"), settings=RandomSettings(examples=walked)
    ).statistics.walked

    kept_going = fuzz(
        walks(drawn, no_bad_node, bad="b"), Limits(keep_going=True), settings=RandomSettings(examples=walked)
    ).statistics.walked

    assert ended is not None
    assert searched_on is not None
    assert kept_going is not None
    assert ended.behaviours < walked == searched_on.behaviours == kept_going.behaviours


def test_fuzz_reports_the_witnesses_that_it_met() -> None:
    result = fuzz(
        walks("axb bya", good_node, good_step, good="b", good_steps="aa"), settings=RandomSettings(examples=20)
    )

    assert [(item.property.name, item.verdict) for item in result.properties] == [
        ("good_node", Verdict.HOLDS),
        ("good_step", Verdict.INCOMPLETE),
    ]
    assert path(result.of("good_node").traces[0]) == "ab"
    assert result.of("good_step").traces == ()


def test_fuzz_never_proves_and_says_what_it_tried() -> None:
    result = fuzz(counters(below_ceiling), settings=RandomSettings(examples=20, steps=10, seed=3))

    assert (result.verdict, result.of("below_ceiling").verdict) == (Verdict.INCOMPLETE, Verdict.INCOMPLETE)
    steps = sum(count.generated for count in result.statistics.actions.values())
    assert result.statistics.generated - steps == 20 + 1  # initial states: of each behaviour, and the expanded one
    assert result.reason == "20 random behaviours of at most 10 steps are only a sample"
    assert result.settings == {"examples": 20, "steps": 10, "seed": 3}


BUGGY = two_phase_commit(3, tm_commits_too_soon)


@pytest.mark.parametrize("seed", sampled([0, 20], 2))
def test_the_same_seed_gives_the_same_result(seed: int) -> None:
    first, again = (fuzz(BUGGY, settings=RandomSettings(examples=30, seed=seed)) for _ in range(2))

    assert outcome(first) == outcome(again)


def test_another_seed_searches_other_behaviours() -> None:
    spec = two_phase_commit(3)
    mixes = {str(fuzz(spec, settings=RandomSettings(examples=5, seed=seed)).statistics.actions) for seed in range(4)}

    assert len(mixes) == 4


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_the_shortened_trace_replays_and_is_hardly_longer_than_the_oracle_s(seed: int) -> None:
    (trace,) = fuzz(BUGGY, settings=RandomSettings(examples=200, seed=seed)).of("consistent").traces
    (shortest,) = explore(BUGGY).of("consistent").traces

    assert replay(BUGGY, decode_trace(encode_trace(trace))).states == trace.states
    assert trace.spec is BUGGY
    assert len(shortest) <= len(trace) <= len(shortest) + 2


@invariant("it is never noon")
def never_noon(state: Clock) -> bool:
    return state.hour < 12


@step_invariant("time passes")
def time_passes(before: Clock, after: Clock) -> bool:
    return before != after


@invariant("counter 0 is at most 3")
def first_is_small(state: Counters) -> bool:
    return values(state)[0] <= 3


@pytest.mark.parametrize("seed", range(3))
def test_steps_that_a_violation_does_not_need_are_left_out(seed: int) -> None:
    result = fuzz(
        counters(first_is_small, counters=4, limit=9), settings=RandomSettings(examples=20, seed=seed, uniform=True)
    )

    assert result.statistics.depth > 5  # the states of the shortest
    assert [instance.arguments for instance in result.of("first_is_small").traces[0].instances] == [{"index": 0}] * 4


@pytest.mark.parametrize("steps", [1, 3, 15])
def test_no_behaviour_of_fuzz_has_more_steps_than_are_allowed(steps: int) -> None:
    result = fuzz(counters(all_at_limit, counters=1, limit=99), settings=RandomSettings(examples=20, steps=steps))

    assert result.statistics.depth == steps + 1


def test_behaviours_may_be_longer_than_the_usual_bursts_allow() -> None:
    # Ten bursts of twenty steps at most would be 201 states.
    assert fuzz(clock(tick), settings=RandomSettings(examples=10, steps=999)).statistics.depth > 201


def test_a_violation_beyond_the_allowed_steps_is_not_found() -> None:
    spec = counters(below_ceiling, counters=1, limit=9, ceiling=4)

    assert fuzz(spec, settings=RandomSettings(examples=20, steps=4)).verdict is Verdict.INCOMPLETE
    assert fuzz(spec, settings=RandomSettings(examples=20, steps=5)).verdict is Verdict.VIOLATED


def test_statistics_of_a_search_count_steps_taken_and_states_met() -> None:
    # Every tick is counted, and there are three hours, of which two are new after a tick.
    statistics = fuzz(clock(tick, ring), settings=RandomSettings(examples=10, steps=6)).statistics
    ticks = statistics.actions["tick"].generated

    assert statistics.actions == {"tick": ActionCount(ticks, 2), "ring": ActionCount(0, 0)}
    assert statistics.never_enabled == ["ring"]
    assert (statistics.distinct, statistics.depth, statistics.queue) == (3, 7, None)
    assert statistics.generated > ticks > 50
    assert (statistics.expanded, statistics.out_degree_min, statistics.out_degree_max) == (3, 1, 1)
    assert statistics.out_degree_mean == 1.0


def test_deadlocks_are_counted_by_state_not_by_visit() -> None:
    assert fuzz(walks("axb ayc"), settings=RandomSettings(examples=20)).statistics.deadlocks == 2


def test_a_search_that_has_met_every_state_has_the_oracle_s_statistics() -> None:
    spec = counters(limit=2)
    whole, sample = explore(spec).statistics, fuzz(spec, settings=RandomSettings(examples=20)).statistics

    assert sample.distinct == whole.distinct == 9
    assert (sample.out_degree_min, sample.out_degree_max) == (whole.out_degree_min, whole.out_degree_max) == (0, 2)
    assert sample.successors == whole.successors == 12


def test_fuzz_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert fuzz(walks("axb", no_bad_node, bad="b"), settings=RandomSettings(examples=3)).verdict is Verdict.VIOLATED
    assert fuzz(walks("axb"), settings=RandomSettings(examples=3)).verdict is Verdict.INCOMPLETE

    assert capfd.readouterr() == ("", "")


def test_progress_is_told_while_fuzz_searches() -> None:
    told: list[int] = []

    def progress(statistics: Statistics) -> None:
        told.append(statistics.generated)

    result = fuzz(clock(tick), progress=progress, settings=RandomSettings(examples=30))

    assert told == sorted(told)
    assert told[-1] == result.statistics.generated


@pytest.fixture
def each_round_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)


def tired(statistics: Statistics) -> None:
    """A progress function that stops the search."""
    if statistics.generated > 40:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("each_round_is_reported")
def test_an_interrupt_gives_what_fuzz_found_until_then() -> None:
    result = fuzz(clock(tick, ring), progress=tired)

    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "interrupted")
    assert result.statistics.distinct == 3


@pytest.mark.usefixtures("each_round_is_reported")
def test_an_interrupt_keeps_what_was_violated_until_then() -> None:
    result = fuzz(clock(tick, ring, properties=[forward, never_noon]), progress=tired)

    assert (result.verdict, result.reason) == (Verdict.VIOLATED, "interrupted")
    assert length(result, "forward") == 4


def test_steps_that_change_nothing_are_looked_at_but_not_taken() -> None:
    # The walk of the action `stutter` alone would never end; two thirds of the steps would go nowhere.
    statistics = fuzz(clock(tick, stutter), settings=RandomSettings(examples=10, steps=6)).statistics

    assert statistics.actions["stutter"] == ActionCount(0, 0)
    assert statistics.never_enabled == []
    assert statistics.actions["tick"].generated > 50
    assert fuzz(clock(stutter), settings=RandomSettings(examples=10)).statistics.depth == 1


def test_a_step_that_changes_nothing_may_violate_a_step_invariant() -> None:
    (trace,) = (
        fuzz(clock(tick, stutter, properties=[time_passes]), settings=RandomSettings(examples=5))
        .of("time_passes")
        .traces
    )
    failure = violation(clock(tick, stutter, properties=[time_passes]))

    assert list(map(repr, trace.instances)) == list(map(repr, failure.trace.instances)) == ["stutter()"]
    assert [state.hour for state in failure.trace.states] == [0, 0]
