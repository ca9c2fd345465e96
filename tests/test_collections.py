"""Sets, bags and nested tuples are taken apart, and whatever code does with them, the answers are the oracle's."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from checker import compiled, oracle
from checker.compiled import effort, layout
from tests.collection_constructs import CONSTRUCTS, spec_of
from tests.going_wrong import answer


@functools.cache
def expected(name: str, guard: bool) -> Any:
    """What the oracle says."""
    return answer(oracle.explore, spec_of(CONSTRUCTS[name], guard=guard))


@pytest.fixture(scope="module", autouse=True)
def taken_apart() -> Iterator[None]:
    """What takes a few values is taken apart."""
    with mock.patch.multiple(layout, MANY_VALUES=3):
        yield


@pytest.mark.usefixtures("no_comparisons")
@pytest.mark.parametrize(
    ("name", "guard", "learns"),
    [
        *((name, guard, True) for name in CONSTRUCTS for guard in (True, False)),
        *((name, True, False) for name in list(CONSTRUCTS)[::4]),
    ],
)
def test_a_construct_is_exact_or_refused(name: str, guard: bool, learns: bool) -> None:
    spec = spec_of(CONSTRUCTS[name], guard=guard)
    with mock.patch.multiple(effort, ALWAYS=effort.ALWAYS if learns else 1, PAYS=effort.PAYS if learns else 3):
        found = answer(compiled.explore, spec, workers=1)
    assert found in (expected(name, guard), "refused")
