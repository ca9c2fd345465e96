"""The oracle's algorithm against a second one that tries all sets of states, on random graphs."""

from __future__ import annotations

import os

from leadline.checker import Verdict
from leadline.checker.engines import oracle
from leadline.checker.liveness.decide import counterexample, judges_nothing
from leadline.checker.liveness.graph import StateGraph
from leadline.checker.liveness.recheck import fault
from leadline.checker.result import Limits
from leadline.checker.trace import Trace
from tests.liveness.graphs import Drawn, Node, drawn, expected, spec_of

SEEDS = range(20_000 if os.environ.get("EVERY") else 1_000)


def is_right(trace: Trace[Node]) -> bool:
    steps = all(step.after in trace.spec.take(step.instance, step.before) for step in trace.steps)
    return trace.states[0] in trace.spec.initials() and steps and fault(trace) is None


def test_oracle_agrees_with_trying_all_sets_of_states() -> None:
    seen = set()
    for seed in SEEDS:
        graph = drawn(seed)
        spec = spec_of(graph)
        search = oracle.OracleSearch(spec.with_properties([]), Limits())
        search.run()
        found = StateGraph.of(spec, search.arrivals)
        for item in spec.properties:
            right = expected(graph, item)
            seen.add((item.name, right))
            trace = counterexample(found, item)
            assert (trace is not None) == (right is Verdict.VIOLATED), (seed, item.name)
            assert trace is None or is_right(trace), (seed, item.name)
            assert trace or judges_nothing(found, item) == (right is Verdict.INCOMPLETE), (seed, item.name)
    assert len(seen) == 30  # each property holds, is violated, and is undecided


def test_engine_reports_what_the_algorithm_found() -> None:
    for seed in SEEDS[:100]:
        graph = drawn(seed)
        spec = spec_of(graph)
        result = oracle.explore(spec, Limits())
        undecided = [item.name for item in spec.properties if expected(graph, item) is Verdict.INCOMPLETE]
        assert result.exhausted == (not undecided)
        assert not undecided or f"nothing shows whether {', '.join(undecided)} is true" in str(result.reason)
        assert result.statistics.liveness is not None
        for item in result.properties:
            assert item.verdict is expected(graph, item.property)
            assert len(item.traces) == (item.verdict is Verdict.VIOLATED)


def test_counterexample_begins_in_the_nearest_initial_state() -> None:
    steps: tuple[tuple[dict[int, tuple[int, ...]], ...], ...] = (({0: (1,), 1: (2,)}, {}), ({}, {}), ({}, {}))
    graph = Drawn(
        size=3, initials=(0, 1), steps=steps, fair=("",) * 3, effects=("",) * 3, p=frozenset(), q=frozenset({0, 1}),
        cut=frozenset(),
    )  # fmt: skip
    result = oracle.explore(spec_of(graph).with_properties(["recoverable_8"]), Limits())
    (trace,) = result.of("recoverable_8").traces
    assert [state.at for state in trace.states] == [1, 2]  # not 0, 1, 2
