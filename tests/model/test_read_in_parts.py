"""The engines learn the shipped specs in parts, under pytest too, which rewrites `assert` statements of a plugin."""

from __future__ import annotations

import pytest

from leadline.checker import Limits
from leadline.invariants.catalog import find
from tests.specs.learning import explore


@pytest.mark.parametrize(
    "name", ["atomic/kip-320", "rpc/kip-101", "kafka/0.10.2", "kafka/2.8", "kafka/4.1", "control/2.0.1"]
)
def test_no_function_of_a_shipped_spec_is_given_whole_states(name: str) -> None:
    """A search of such a spec takes about twenty times longer."""
    spec = find(name)
    assert spec is not None
    result = explore(spec, Limits(keep_going=True, max_states=3_000))
    assert [read for read in result.statistics.whole_reads if read.reads == "whole states"] == []
