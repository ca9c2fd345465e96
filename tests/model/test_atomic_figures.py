"""The `atomic` family has the state counts, depths and shortest counterexamples of the public TLA+ specification.

`tla_figures.json` holds what TLC says of that specification. The few figures that come from our own
runs are marked here.
"""

from __future__ import annotations

import functools

import pytest

from leadline.checker import Limits, Result, Verdict
from leadline.checker.engines.compiled import explore
from leadline.invariants.catalog import CATALOG
from tests.model.tla_figures import FIGURES, STATE_SPACES, bounds_of, row, spec_of
from tests.specs.scenario import Scenario
from tests.suite.samples import EVERY

VIOLATIONS = [
    row(figure["protocol"], bounds_of(figure), name, figure[name])
    for figure in FIGURES["violations"]
    for name in ("weak_isr", "strong_isr")
]


@functools.cache
def searched(protocol: str, bounds: tuple[int, ...]) -> Result:
    """A whole space, searched once for all figures about it."""
    result = explore(spec_of(protocol, bounds), Limits(keep_going=True))
    assert result.exhausted
    return result


def shortest(protocol: str, bounds: tuple[int, ...], name: str) -> int | None:
    """The states of the shortest counterexample to a property, which is played again; None where it holds."""
    result = searched(protocol, bounds)
    traces = result.of(name).traces
    if not traces:
        return None
    scenario = Scenario(result.spec).play(map(str, traces[0].instances))
    assert name in scenario.violations()
    return len(scenario)


def test_the_reference_covers_every_shipped_protocol() -> None:
    assert (len(STATE_SPACES), len(VIOLATIONS)) == (16, 18)
    assert {f"atomic/{figure['protocol']}" for figure in FIGURES["state_spaces"]} == {
        name for name in CATALOG if name.startswith("atomic/")
    }


OTHER_BOUNDS = [space for space in STATE_SPACES if space.values[1] != (3, 1, 1, 1)]
"""Without the smaller ones of three brokers, which are searched with ``EVERY=1``."""


@pytest.mark.parametrize(("protocol", "bounds", "distinct", "depth"), STATE_SPACES if EVERY else OTHER_BOUNDS)
def test_distinct_states_and_depth_are_those_of_tlc(
    protocol: str, bounds: tuple[int, ...], distinct: int, depth: int
) -> None:
    statistics = searched(protocol, bounds).statistics
    assert (statistics.distinct, statistics.depth) == (distinct, depth)


@pytest.mark.parametrize(("protocol", "bounds", "name", "states"), VIOLATIONS)
def test_shortest_counterexample_has_as_many_states_as_that_of_tlc(
    protocol: str, bounds: tuple[int, ...], name: str, states: int | None
) -> None:
    assert shortest(protocol, bounds, name) == states


# With 3 brokers TLC says 12 states for strong_isr of kip-279 in 3/1/1/1 (brokers, log_size, records, max_epoch),
# and in 3/1/1/2 11 for both invariants of kip-279 and 13 for strong_isr of kip-320-first-try; it says that
# all but kip-320 violate both invariants in 3/2/2/2, where every behaviour within smaller bounds is possible too.
# The other numbers are from our own runs.
THREE_BROKERS = [
    row("hw-truncation", (3, 1, 1, 1), 9, 9),
    row("kip-101", (3, 1, 1, 1), None, 12),
    row("kip-279", (3, 1, 1, 1), None, 12),
    row("kip-320-first-try", (3, 1, 1, 1), None, None),
    row("kip-320", (3, 1, 1, 1), None, None),
    row("kip-279", (3, 1, 1, 2), 11, 11),
    row("kip-101", (3, 1, 1, 2), 11, 11),
    row("kip-320-first-try", (3, 1, 1, 2), 12, 13),
    row("kip-320", (3, 1, 1, 2), None, None),
]


@pytest.mark.parametrize(
    ("protocol", "bounds", "weak_isr", "strong_isr"),
    [row for row in THREE_BROKERS if EVERY or row.values[1] != (3, 1, 1, 1)],
)
def test_shortest_counterexamples_with_three_brokers(
    protocol: str, bounds: tuple[int, ...], weak_isr: int | None, strong_isr: int | None
) -> None:
    found = [shortest(protocol, bounds, name) for name in ("weak_isr", "strong_isr")]
    assert found == [weak_isr, strong_isr]


# TLC's figures for the same specification, with this invariant added.
FOLLOWER_PREFIX = [
    row("hw-truncation", (2, 2, 2, 1), None),
    row("hw-truncation", (2, 2, 2, 2), 10),
    row("kip-101", (2, 2, 2, 2), None),
    row("kip-101", (3, 1, 1, 2), 10),
    row("kip-279", (2, 2, 2, 2), None),
    row("kip-279", (3, 1, 1, 2), 10),
    row("kip-320", (2, 2, 2, 2), None),
    row("kip-320", (3, 1, 1, 2), None),
]


@pytest.mark.parametrize(("protocol", "bounds", "states"), FOLLOWER_PREFIX)
def test_shortest_counterexample_to_the_followers_prefix(
    protocol: str, bounds: tuple[int, ...], states: int | None
) -> None:
    assert shortest(protocol, bounds, "follower_log_is_prefix") == states


# --- where a property declares that it is known to fail ---------------------------------------------------------

ENOUGH = ((2, 2, 2, 2), (3, 1, 1, 2))
"""Bounds that are small enough to be searched whole, and large enough for every known failure."""


@pytest.mark.parametrize("name", [name for name in CATALOG if name.startswith("atomic/")])
def test_a_property_fails_where_it_says_so_and_nowhere_else(name: str) -> None:
    results = [searched(name.removeprefix("atomic/"), bounds) for bounds in ENOUGH]
    failing = {item.property.name for each in results for item in each.properties if item.verdict is Verdict.VIOLATED}
    assert failing == {item.name for item in CATALOG[name].checks if name in item.fails_in}


def test_only_specs_that_there_are_are_named() -> None:
    named = {name for spec in CATALOG.values() for item in spec.checks for name in item.fails_in}
    assert named <= set(CATALOG)
    assert len(named) > 3
