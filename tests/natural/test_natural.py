"""Ports of public specifications have the states that were published, and the engines agree on them."""

from __future__ import annotations

import pytest

from leadline.checker import Limits
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings
from leadline.reports.loading import load_spec
from tests.natural.figures import LARGE, SMALL, Size
from tests.specs import learning
from tests.specs.agreement import answers


@pytest.mark.parametrize("size", SMALL, ids=lambda size: size.name)
def test_states_are_those_published(size: Size) -> None:
    spec = load_spec(size.file).with_bounds(size.bounds)
    limits = Limits(keep_going=True)
    found = learning.explore(spec, limits, settings=CompiledSettings(workers=1))
    assert found.statistics.distinct == size.states
    assert answers(found) == answers(oracle.explore(spec, limits))


def test_there_are_at_least_eight_ports() -> None:
    assert len({size.name for size in LARGE} - {"counters"}) >= 8


def test_a_conjunction_takes_as_few_calls_as_its_parts() -> None:
    spec = load_spec(next(size.file for size in SMALL if size.name == "counters")).with_bounds({"counters": 4})
    result = learning.explore(spec, settings=CompiledSettings(workers=1))
    learned = result.statistics.learning
    assert learned is not None
    assert learned.properties["conjunction"] < 200 < result.statistics.distinct
    assert sum(calls for name, calls in learned.properties.items() if name.startswith("split")) < 200
