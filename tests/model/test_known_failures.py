"""The shipped specs in which a property declares that it is known to fail, compared with runs."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.checker.engines import ENGINES
from leadline.checker.result import Limits, Verdict
from leadline.checker.spec import Spec
from leadline.invariants.catalog import CATALOG

BOUNDS = (
    {"brokers": 2, "log_size": 2, "records": 2, "max_epoch": 2},
    {"brokers": 3, "log_size": 1, "records": 1, "max_epoch": 2},
)
"""Small enough to be searched whole, large enough for every known failure."""

ATOMIC = {name: spec for name, spec in CATALOG.items() if name.startswith("atomic/")}


@pytest.mark.parametrize("spec", ATOMIC.values(), ids=ATOMIC)
def test_a_property_fails_where_it_says_so_and_nowhere_else(spec: Spec[Any]) -> None:
    failing: set[str] = set()
    for bounds in BOUNDS:
        result = ENGINES["compiled"](spec.with_bounds(bounds), Limits(keep_going=True), None)
        assert result.exhausted
        failing |= {item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED}

    assert failing == {item.name for item in spec.checks if spec.name in item.fails_in}


def test_only_specs_that_there_are_are_named() -> None:
    named = {name for spec in CATALOG.values() for item in spec.checks for name in item.fails_in}

    assert named <= set(CATALOG)
    assert len(named) > 3
