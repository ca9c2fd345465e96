"""The premises of Kafka's properties: where one is false, the property has nothing to say."""

from __future__ import annotations

import pytest

from leadline.checker import Limits
from leadline.checker.engines.oracle import OracleSearch
from leadline.invariants.catalog import CATALOG

LOSSY = {"records": 1, "max_epoch": 1, "crashes": 0, "lossy_crashes": 1}
WITHOUT_ELR = ["isr_and_elr_disjoint"]
"""What says nothing where no broker is ever in the ELR."""


@pytest.mark.parametrize(
    ("name", "bounds", "nothing"),
    [
        ("atomic/hw-truncation", {"records": 1}, []),
        ("kafka/0.10.2", LOSSY, ["durable_as_promised", "follower_reads", *WITHOUT_ELR]),
        ("kafka/4.0", LOSSY, ["durable_as_promised", *WITHOUT_ELR]),
    ],
)
def test_no_property_is_violated_where_its_premise_is_false(
    name: str, bounds: dict[str, int], nothing: list[str]
) -> None:
    spec = CATALOG[name].with_bounds(bounds)
    search = OracleSearch(spec, Limits(keep_going=True))
    result = search.run()
    violated = {
        item.name
        for state in search.arrivals
        for item in spec.properties
        if item.premise is not None and not item.premise(state)
        for states in ([(state, after) for _, after in spec.successors(state)] if item.kind.of_steps else [(state,)])
        if item.complaint(*states) is not None
    }
    assert violated == set()
    assert [item.property.name for item in result.properties if item.premise is False] == nothing
