"""The compiled engine's check of liveness on packed states, against the oracle's."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import (
    Limits,
    Result,
    Spec,
    SpecError,
    Verdict,
    action,
    always_eventually,
    eventually_always,
    leads_to,
)
from leadline.checker.action import Action
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.liveness import LivenessCheck
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.liveness.recheck import fault
from leadline.checker.result import StopKind
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.liveness.graphs import Node, drawn, expected, spec_of
from tests.liveness.test_tlc import CASES, with_fairness
from tests.specs import learning
from tests.specs.agreement import SMALL
from tests.suite.samples import sampled

SEEDS = range(5_000 if os.environ.get("EVERY") else 100)


def assert_alike(found: Result, right: Result) -> None:
    assert (found.verdict, found.reason) == (right.verdict, right.reason)
    for item, other in zip(found.properties, right.properties, strict=True):
        assert item.verdict is other.verdict, item.property.name
        assert len(item.traces) == len(other.traces)
        for trace in item.traces:
            assert all(step.after in trace.spec.take(step.instance, step.before) for step in trace.steps)
            assert fault(trace) is None
    one, two = found.statistics.liveness, right.statistics.liveness
    assert one is not None
    assert two is not None
    assert attrs.evolve(one, seconds=0) == attrs.evolve(two, seconds=0)
    assert (found.statistics.distinct, found.statistics.generated) == (
        right.statistics.distinct,
        right.statistics.generated,
    )


def test_random_graphs() -> None:
    seen = set()
    for seed in SEEDS:
        graph = drawn(seed)
        spec = spec_of(graph, draws=seed % 3 == 0)
        right = {item.name: expected(graph, item) for item in spec.properties}
        result = learning.explore(spec, Limits())
        assert_alike(result, oracle.explore(spec, Limits()))
        for item in result.properties:
            assert item.verdict is right[item.property.name], (seed, item.property.name)
            seen.add((item.property.name, item.verdict))
    assert len(seen) == 30


@pytest.mark.parametrize(("name", "bounds", "fair"), sampled(CASES, 2))
def test_verdicts_are_those_of_the_oracle(name: str, bounds: dict[str, int], fair: str | None) -> None:
    """Blocks are so small that there are many, and that many states have to wait for their paths."""
    spec = with_fairness(name, bounds, fair)
    found = learning.explore(spec, Limits(), settings=CompiledSettings(workers=2, tuning=SMALL))
    assert found.statistics.calls > 0
    assert_alike(found, oracle.explore(spec, Limits()))


def test_resumed_search_checks_liveness(tmp_path: Path) -> None:
    spec = with_fairness("atomic/kip-320", {"log_size": 1, "records": 1, "max_epoch": 1}, None)
    folder = tmp_path / "saved"
    first = learning.explore(spec, Limits(max_states=100), settings=CompiledSettings(checkpoint=folder))
    assert {item.verdict for item in first.properties} == {Verdict.INCOMPLETE}
    again = learning.explore(spec, Limits(), settings=CompiledSettings(resume=folder))
    assert_alike(again, oracle.explore(spec, Limits()))


def moves(name: str, count: int, fair: str, targets: Callable[[int, int], Iterable[int]]) -> Action[Node, [int]]:
    def move(state: Node, instance: int) -> Iterator[Node]:
        yield from map(Node, targets(state.at, instance))

    move.__name__ = name
    return action("", fair=fair, instance=range(count))(move)


@always_eventually("state 0 comes again and again")
def back(state: Node) -> bool:
    return state.at == 0


@pytest.mark.parametrize("seed", sampled(range(30), 5))
def test_more_conditions_than_bits_of_a_word(seed: int) -> None:
    """150 instances, each with a condition of its own, whose steps are few and random."""
    chance = random.Random(seed)
    tables = [{chance.randrange(12): chance.randrange(1, 12)} for _ in range(150)]
    fair = ("strong each", "weak each")[seed % 2]
    steps = moves("go", 150, fair, lambda at, instance: [tables[instance][at]] if at in tables[instance] else [])
    spec = Spec(name="many", initial_states=lambda _: [Node(0)], actions=[steps], properties=[back])
    assert_alike(learning.explore(spec, Limits()), oracle.explore(spec, Limits()))


def ring(size: int, *, fair: str) -> Spec[Node]:
    """States in a ring, with a fair way out of one of them."""
    turn = moves("turn", 1, "weak", lambda at, _: [(at + 1) % size] if at < size else [])
    leave = moves("leave", 1, fair, lambda at, _: [size] if at == size // 2 else [])

    @eventually_always("it leaves")
    def leaves(state: Node) -> bool:
        return state.at == size

    return Spec(name="ring", initial_states=lambda _: [Node(1)], actions=[turn, leave], properties=[leaves])


def test_large_component() -> None:
    result = learning.explore(ring(1_500, fair="weak"))
    (trace,) = result.properties[0].traces
    assert trace.loop is not None
    assert len(trace.loop_steps) == 1_500
    assert fault(trace) is None
    assert result.statistics.liveness is not None
    assert (result.statistics.liveness.components, result.statistics.liveness.largest) == (2, 1_500)
    assert learning.explore(ring(1_500, fair="strong")).verdict is Verdict.HOLDS


def test_impure_action_is_noticed_when_the_steps_are_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of steps is compared with that of the search, since a step that is missing would be a false holds."""
    of = PackedGraph.of
    for wrong in (-1, 1):
        monkeypatch.setattr(PackedGraph, "of", lambda expander, steps, wrong=wrong: of(expander, steps + wrong))
        with pytest.raises(SpecError, match="not a pure function"):
            learning.explore(ring(10, fair="weak"))


@pytest.mark.parametrize("limit", [{"max_states": 20}, {"depth": 5}, {"max_seconds": 1e-9}])
def test_limited_search_decides_nothing(limit: dict[str, Any]) -> None:
    result = learning.explore(ring(100, fair="strong"), Limits(**limit))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.statistics.liveness is None


def test_graph_that_does_not_fit_in_memory_leaves_liveness_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_loops, "MOST_STEPS", 100)
    result = learning.explore(ring(100, fair="strong"))
    assert result.stop is not None
    assert str(result.stop) == "found 101 states and 101 steps, too many to check liveness"
    assert result.verdict is Verdict.INCOMPLETE


def test_shortest_stem_is_found_in_the_graph() -> None:
    """The violation begins near the initial state on a detour, and far from it on a shorter way to the loop."""
    path = {0: (1, 2), 1: (9,), 2: (3,), 3: (4,), 4: (5,), 5: (9,), 9: (10,), 10: (9,)}
    go = moves("go", 1, "weak", lambda at, _: path.get(at, ()))

    @leads_to("never", after=lambda state: state.at in (0, 5))
    def never(state: Node) -> bool:
        return state.at == 99

    spec = Spec(name="stems", initial_states=lambda _: [Node(0)], actions=[go], properties=[never])
    (trace,) = learning.explore(spec).properties[0].traces
    assert [state.at for state in trace.states] == [0, 1, 9, 10, 9]


def test_check_that_was_interrupted_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the check leaves a report in which the invariants are decided, and a checkpoint with all states."""
    spec = attrs.evolve(
        with_fairness("atomic/kip-320", {"log_size": 1, "records": 1, "max_epoch": 1}, None),
        optional=(CATALOG["atomic/kip-320"].properties[0],),
    )
    spec = spec.with_properties([item.name for item in (*spec.properties, *spec.optional)])
    folder = tmp_path / "saved"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LivenessCheck, "judged", interrupted)
        first = learning.explore(spec, Limits(), settings=CompiledSettings(checkpoint=folder))
    assert first.stop is not None
    assert first.stop.kind is StopKind.INTERRUPT
    for item in first.properties:
        assert item.verdict is (Verdict.INCOMPLETE if item.property.kind.is_liveness else Verdict.HOLDS)
    again = learning.explore(spec, Limits(), settings=CompiledSettings(resume=folder))
    assert again.statistics.distinct == first.statistics.distinct
    assert_alike(again, oracle.explore(spec, Limits()))
