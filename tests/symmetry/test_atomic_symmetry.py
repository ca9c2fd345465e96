"""The `atomic` family has as many orbits as TLC counts with ``SYMMETRY Permutations(Replicas)``.

TLC's figures are of the public TLA+ specification, without properties.
"""

from __future__ import annotations

import pytest

from leadline.checker import Limits, Result
from leadline.invariants.catalog import CATALOG
from tests.symmetry.__main__ import WAYS, faults

ORBITS = [
    # protocol, brokers, log_size, records, max_epoch: states (of four brokers: from our own run), orbits, depth
    ("kip-320", 3, 1, 1, 1, 6_787, 1_165, 18),
    ("kip-320", 3, 2, 2, 1, 39_619, 6_713, 22),
    ("hw-truncation", 3, 1, 1, 1, 10_681, 1_823, 17),
    ("kip-320", 4, 1, 1, 1, 155_041, 7_274, 24),
]


def searched(protocol: str, bounds: tuple[int, ...], *names: str) -> Result:
    spec = CATALOG[f"atomic/{protocol}"]
    given = dict(zip(("brokers", "log_size", "records", "max_epoch"), bounds, strict=True))
    spec = spec.with_bounds(given).with_properties(names) if names else spec.with_bounds(given)
    return WAYS["compiled"](spec, Limits(keep_going=True))


@pytest.mark.parametrize(("protocol", "brokers", "size", "records", "epoch", "states", "orbits", "depth"), ORBITS)
def test_orbits_are_those_of_tlc(
    protocol: str, brokers: int, size: int, records: int, epoch: int, states: int, orbits: int, depth: int
) -> None:
    now = searched(protocol, (brokers, size, records, epoch), "weak_isr").statistics
    assert now.orbits is not None
    assert (now.distinct, now.orbits.states, now.depth) == (orbits, states, depth)


def test_counterexamples_are_as_short_as_without_symmetry() -> None:
    """The lengths are those of `test_atomic_figures.py`."""
    result = searched("hw-truncation", (3, 1, 1, 1))
    traces = {name: result.of(name).traces for name in ("weak_isr", "strong_isr")}
    assert {name: len(found[0]) for name, found in traces.items()} == {"weak_isr": 9, "strong_isr": 9}
    assert not any(faults(found) for found in traces.values())
