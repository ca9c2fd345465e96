"""The compiled engine's check of liveness on packed states, against the oracle's."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest

from leadline.checker import Limits, Result, Verdict
from leadline.checker.engines import oracle
from leadline.checker.liveness.recheck import fault
from leadline.checker.settings import CompiledSettings
from tests.liveness.graphs import drawn, expected, spec_of
from tests.liveness.test_tlc import CASES, with_fairness
from tests.specs import learning
from tests.specs.agreement import SMALL

SEEDS = range(5_000 if os.environ.get("EVERY") else 60)


def assert_alike(found: Result, right: Result) -> None:
    assert found.verdict is right.verdict
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
        spec = spec_of(graph)
        right = {item.name: expected(graph, item) for item in spec.properties}
        spec = spec.with_properties([name for name, holds in right.items() if holds is not None])
        result = learning.explore(spec, Limits())
        assert_alike(result, oracle.explore(spec, Limits()))
        for item in result.properties:
            assert (item.verdict is Verdict.HOLDS) == right[item.property.name], (seed, item.property.name)
            seen.add((item.property.name, item.verdict))
    assert len(seen) == 20


@pytest.mark.parametrize(("name", "bounds", "fair"), CASES)
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
