"""Each search of model/left-out.md would find a mistake made in its situation: a promise can still fail there."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Property, Spec
from leadline.checker.engines import ENGINES
from leadline.checker.result import Verdict
from leadline.model.kafka.mistakes import MISTAKES
from tests.model.test_left_out import PROMISES, ROWS, SETTINGS, SITUATIONS, never, values, with_rules

(COUNTED,) = (each for each in MISTAKES if each.name == "counts-what-was-sent")
"""From the situation on, a leader counts records as received as soon as it has sent them."""


def these(states: list[Any], bounds: Any) -> list[Any]:
    return states


def reaching(spec: Spec[Any], situation: Property) -> Iterator[Any]:
    """Yield states in which the situation is reached first."""
    searched = attrs.evolve(spec, properties=[never(situation), *spec.properties])
    result = ENGINES["compiled"](searched, Limits(traces=50))
    for trace in result.properties[0].traces:
        yield trace.states[-1]


@pytest.mark.parametrize(("what", "bounds", "reached"), ROWS, ids=[f"{what}, {bounds}" for what, bounds, _ in ROWS])
def test_a_mistake_in_the_situation_of_a_row_is_found(what: str, bounds: str, reached: str) -> None:
    make, situations = SITUATIONS[what]
    spec = make().with_bounds(SETTINGS | values(bounds)).with_properties(PROMISES)
    for situation in situations:
        states = list(reaching(spec, situation))
        mistaken = attrs.evolve(
            spec, initial_states=functools.partial(these, states), actions=COUNTED.replacing(spec.actions)
        )
        assert ENGINES["compiled"](mistaken).verdict is Verdict.VIOLATED


def test_a_leader_that_proposes_a_restarted_follower_must_not_count_what_it_fetched_before() -> None:
    """The rule adds this to what Kafka can do: see the argument in model/left-out.md."""
    more = {"records": 1, "max_epoch": 1, "session_expiries": 1, "lossy_crashes": 1, "late_fetches": 1}
    bounds = SETTINGS | more | {"crashes": 0, "isr_shrinks": 0}
    lengths = []
    for changed in ("+late_fetch=counted", ""):
        spec = with_rules(changed).with_bounds(bounds).with_properties(["durable_after_few_unclean_stops"])
        (item,) = ENGINES["compiled"](spec).properties
        lengths.append([len(trace) for trace in item.traces])
    assert lengths == [[16], []]
