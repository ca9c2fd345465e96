"""Verdicts of TLC on temporal properties of the public TLA+ specification of Kafka's replication."""

from __future__ import annotations

import attrs
import pytest

from leadline.checker import Property, Spec, Verdict, leads_to
from leadline.checker.engines import oracle
from leadline.checker.result import Limits
from leadline.invariants.catalog import CATALOG
from leadline.model.atomic.state import Partition

SMALL = {"brokers": 2, "log_size": 1, "records": 1, "max_epoch": 1}
LARGER = {"brokers": 2, "log_size": 2, "records": 2, "max_epoch": 1}

UNDECLARED = ["atomic/kip-320-first-try"]
"""The modules that declare fairness of an action that their `Next` does not have. Under the fairness that they declare,
TLC's verdicts are about other behaviours than those of this model, and are left out."""

HOLD_AS_DECLARED = {"leader_learns", "followers_learn", "all_written"}


def rejoins(broker: int) -> Property:
    def outside(state: Partition) -> bool:
        return state.quorum.leader is not None and broker not in state.quorum.isr

    @leads_to(f"broker {broker} rejoins the ISR, unless there is no leader", after=outside)
    def shrunk_expands(state: Partition) -> bool:
        return state.quorum.leader is None or broker in state.quorum.isr

    return attrs.evolve(shrunk_expands, name=f"shrunk_expands_{broker}")


def with_fairness(name: str, bounds: dict[str, int], fair: str | None) -> Spec[Partition]:
    spec = CATALOG[name].with_bounds(bounds)
    actions = [action.name for action in spec.actions if not action.name.startswith("controller")]
    fairness = {} if fair is None else dict.fromkeys(actions, fair)
    properties = [*spec.optional] + [rejoins(broker) for broker in range(2)]
    return attrs.evolve(spec, properties=properties, optional=(), fairness=fairness)


CASES = [
    (name, bounds, fair)
    for name, bounds in (("atomic/kip-320", SMALL), ("atomic/kip-320-first-try", LARGER))
    for fair in ("", "weak", "strong", None)
    if fair is not None or name not in UNDECLARED
]


@pytest.mark.parametrize(("name", "bounds", "fair"), CASES)
def test_verdicts_are_those_of_tlc(name: str, bounds: dict[str, int], fair: str | None) -> None:
    spec = with_fairness(name, bounds, fair)
    result = oracle.explore(spec, Limits())
    for item in result.properties:
        if fair == "" or (fair is None and item.property.name not in HOLD_AS_DECLARED):
            assert item.verdict is Verdict.VIOLATED, item.property.name
            assert item.traces[0].loop is not None
        else:
            assert item.verdict is Verdict.HOLDS, item.property.name
