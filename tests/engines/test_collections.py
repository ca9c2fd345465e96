"""Sets, bags and nested tuples are taken apart, and whatever code does with them, the answers are the oracle's."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import pytest

from checker.engines import compiled, oracle
from checker.settings import CompiledSettings
from tests.tools.collection_constructs import CONSTRUCTS, spec_of
from tests.tools.going_wrong import ONLY_LEARNED, answer


@functools.cache
def expected(name: str, guard: bool) -> Any:
    """What the oracle says."""
    return answer(oracle.explore, spec_of(CONSTRUCTS[name], guard=guard))


TAKEN_APART = attrs.evolve(ONLY_LEARNED, many_values=3)
"""What takes a few values is taken apart."""


@pytest.mark.parametrize(
    ("name", "guard", "learns"),
    [
        *((name, guard, True) for name in CONSTRUCTS for guard in (True, False)),
        *((name, True, False) for name in list(CONSTRUCTS)[::4]),
    ],
)
def test_a_construct_is_exact_or_refused(name: str, guard: bool, learns: bool) -> None:
    spec = spec_of(CONSTRUCTS[name], guard=guard)
    tuning = TAKEN_APART if learns else attrs.evolve(TAKEN_APART, always=1, pays=3)
    found = answer(compiled.explore, spec, settings=CompiledSettings(workers=1, tuning=tuning))
    assert found in (expected(name, guard), "refused")
