"""The voters of KRaft's quorum are interchangeable: the orbits have as many states as there are without symmetry."""

from __future__ import annotations

import pytest

from leadline.checker import Limits
from leadline.checker.engines import explore
from leadline.invariants.catalog import CATALOG
from tests.symmetry.__main__ import WAYS


@pytest.mark.parametrize(
    ("bounds", "permutations"),
    [({"max_epoch": 1, "restarts": 1}, 6), ({"max_epoch": 1, "dynamic": True, "observers": 1, "changes": 1}, 2)],
)
def test_orbits_have_as_many_states_as_a_search_without_symmetry(bounds: dict[str, int], permutations: int) -> None:
    spec = CATALOG["quorum/4.0"].with_bounds(bounds)
    limits = Limits(keep_going=True)
    result, whole = WAYS["compiled"](spec, limits), explore(spec, limits)
    counts = result.statistics.orbits
    assert counts is not None
    assert (counts.permutations, counts.states) == (permutations, whole.statistics.distinct)
    assert result.statistics.depth == whole.statistics.depth
    for item, other in zip(result.properties, whole.properties, strict=True):
        assert (item.property.name, item.verdict) == (other.property.name, other.verdict)
        assert [len(trace) for trace in item.traces] == [len(trace) for trace in other.traces]
