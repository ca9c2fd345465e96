"""The engines learn the shipped specs in parts, under pytest too, which rewrites `assert` statements of a plugin."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from leadline.checker import Limits
from leadline.invariants.catalog import find
from tests.specs.learning import explore
from tests.suite.samples import sampled

PROJECT = Path(__file__).parents[2]
NOT_OF_STATES = {"conformance", "drawing.py", "explanation.py", "releases.py", "audit"}
"""What an engine never calls."""


@pytest.mark.parametrize(
    "name",
    sampled(["kafka/4.1", "kafka/0.10.2", "control/2.0.1", "kafka/2.8", "atomic/kip-320", "rpc/kip-101"], 2),
)
def test_no_function_of_a_shipped_spec_is_given_whole_states(name: str) -> None:
    """A search of such a spec takes about twenty times longer."""
    spec = find(name)
    assert spec is not None
    result = explore(spec, Limits(keep_going=True, max_states=3_000))
    assert [read for read in result.statistics.whole_reads if read.reads == "whole states"] == []


def test_no_function_of_states_has_an_assert() -> None:
    """Pytest rewrites it to tests of identity, of which the search above meets only those of its own actions."""
    files = [path for folder in ("model", "invariants") for path in (PROJECT / folder).rglob("*.py")]
    read = [path for path in files if not NOT_OF_STATES & set(path.parts)]
    assert len(read) > 50
    trees = {path.name: ast.parse(path.read_text()) for path in read}
    assert [name for name, tree in trees.items() if any(isinstance(node, ast.Assert) for node in ast.walk(tree))] == []
