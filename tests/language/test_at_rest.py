"""Invariants at rest: they apply where no healing action can change anything, and every engine agrees on where."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.checker import Limits, Spec, SpecError, Verdict, action, component, fuzz, invariant, recoverable
from leadline.checker.engines import ENGINES, oracle
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.spark.session import Session
from leadline.checker.engines.spark.shipping import cloudpickled
from leadline.checker.properties import AT_REST, DEADLOCK, Kind, Property
from leadline.checker.settings import RandomSettings
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.checker.update import put
from leadline.invariants.catalog import CATALOG
from tests.specs.agreement import Board, assert_same_answers, specs


@attrs.frozen
class Pump:
    works: bool = True
    asked: bool = False


@attrs.frozen
class Station:
    pumps: tuple[Pump, ...] = component(each="pump")
    repaired: int = 0


@action("pump {pump} breaks", pump=range(2), effect="perturbing")
def breaks(state: Station, pump: int) -> Iterator[Station]:
    if state.pumps[pump].works:
        yield put(state, "pumps", pump, Pump(works=False))


@action("pump {pump} reports", pump=range(2), effect="healing")
def reports(state: Station, pump: int) -> Iterator[Station]:
    """It reports again and again, which changes nothing."""
    if not state.pumps[pump].works:
        yield put(state, "pumps", pump, "asked", True)


@action("pump {pump} is repaired", pump=range(2), effect="healing")
def repair(state: Station, pump: int) -> Iterator[Station]:
    if state.pumps[pump].asked and state.repaired < 1:
        yield attrs.evolve(put(state, "pumps", pump, Pump()), repaired=state.repaired + 1)


@invariant("at rest, every pump works", at_rest=True)
def all_work(state: Station) -> Iterator[str]:
    for number, pump in enumerate(state.pumps):
        if not pump.works:
            yield f"pump {number} is broken"


STATION = Spec(
    name="station",
    initial_states=lambda _: [Station((Pump(), Pump()))],
    actions=[breaks, reports, repair],
    properties=[all_work],
)


def engines() -> Iterator[Any]:
    yield ENGINES["oracle"](STATION)
    yield ENGINES["compiled"](STATION)
    yield fuzz(STATION, settings=RandomSettings(examples=300))


SHORTEST = (
    ["breaks", "reports", "repair", "breaks", "reports"],
    ["breaks", "breaks", "reports", "repair", "reports"],
)


def test_every_engine_finds_the_state_in_which_nothing_heals_any_more() -> None:
    for result in engines():
        (found,) = result.properties
        assert found.verdict is Verdict.VIOLATED
        assert found.premise is True
        trace = found.traces[0]
        assert [step.action for step in trace.steps] in SHORTEST
        assert STATION.is_at_rest(trace.states[-1])
        assert not any(STATION.is_at_rest(state) for state in trace.states[1:3])
        assert len(trace.complaints) == 1


def test_a_step_that_changes_nothing_does_not_heal() -> None:
    reported = Station((Pump(works=False, asked=True), Pump()), repaired=1)
    assert STATION.take(STATION.instances[2], reported) == [reported]
    assert STATION.is_at_rest(reported)
    assert not STATION.is_at_rest(attrs.evolve(reported, repaired=0))


def test_an_open_state_is_not_at_rest() -> None:
    spec = attrs.evolve(STATION, cut=lambda state: state.repaired == 1)
    assert ENGINES["oracle"](spec).verdict is Verdict.HOLDS
    assert_same_answers(spec, Limits())


def test_a_property_at_rest_is_vacuous_if_no_state_is_at_rest() -> None:
    @action("time passes", effect="healing")
    def passes(state: Station) -> Iterator[Station]:
        yield attrs.evolve(state, repaired=(state.repaired + 1) % 3)

    spec = attrs.evolve(STATION, actions=[passes])
    result = ENGINES["compiled"](spec)
    assert result.verdict is Verdict.HOLDS
    assert result.properties[0].says_nothing
    assert_same_answers(spec, Limits())


def test_a_trace_is_replayed_as_it_was_found(tmp_path: Any) -> None:
    trace = ENGINES["oracle"](STATION).properties[0].traces[0]
    write_trace(trace, tmp_path / "trace.itf.json")
    assert replay(STATION, read_trace(tmp_path / "trace.itf.json")).complaints == trace.complaints


def test_mistakes_are_refused() -> None:
    with pytest.raises(SpecError, match="all_work is about states at rest, but no action is declared"):
        Spec(name="x", initial_states=lambda _: [Station(())], actions=[breaks], properties=[all_work])
    with pytest.raises(SpecError, match="at_rest must be True or False, not 1"):
        invariant("x", at_rest=1)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="a property at rest cannot have a premise"):
        invariant("x", at_rest=True, premise=lambda state: True)


def test_what_is_not_at_rest_can_still_be_healed() -> None:
    """The words mean the same as those of recoverability: a state at rest violates what it has to recover."""

    @recoverable("all pumps can be repaired", by_healing=True)
    def can_work(state: Station) -> bool:
        return all(pump.works for pump in state.pumps)

    result = ENGINES["oracle"](attrs.evolve(STATION, properties=[can_work]))
    assert result.verdict is Verdict.VIOLATED


def at_rest(spec: Spec[Board], healing: int) -> Spec[Board]:
    """The spec with its first actions healing, and its invariants at rest."""
    return attrs.evolve(
        spec,
        actions=[
            attrs.evolve(each, effect="healing" if number < healing else "") for number, each in enumerate(spec.actions)
        ],
        properties=[attrs.evolve(item, at_rest=item.kind is Kind.INVARIANT, premise=None) for item in spec.properties],
    )


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(specs(), st.integers(1, 3), st.booleans())
def test_random_specs_get_the_answers_of_plain_calls(spec: Spec[Board], healing: int, keep_going: bool) -> None:
    """The oracle agrees with a definition that calls the actions, and the compiled engine with the oracle."""
    spec = at_rest(spec, healing)
    limits = Limits(max_states=1000, keep_going=keep_going)
    assert_same_answers(spec, limits)
    search = OracleSearch(spec, Limits(max_states=1000, keep_going=True))
    result = search.run()
    if not result.exhausted:
        return
    for found in result.properties:
        if found.property.at_rest:
            wrong = [
                state
                for state in search.arrivals
                if spec.is_within(state)
                and not found.property(state)
                and all(
                    after == state
                    for instance in spec.instances
                    if instance.action.effect == "healing"
                    for after in spec.take(instance, state)
                )
            ]
            assert bool(wrong) == (found.verdict is Verdict.VIOLATED)


@pytest.mark.parametrize("name", ["control/2.0.1", "control/2.4"])
def test_the_engines_agree_on_a_shipped_spec(name: str) -> None:
    """Both have states at rest without records too; 2.0.1 violates two of the properties, 2.4 none of them."""
    assert_same_answers(CATALOG[name].with_bounds({"records": 0}), Limits(keep_going=True))


@pytest.mark.spark
def test_spark_agrees(spark: Session) -> None:
    from leadline.checker.engines.spark import launch as distributed
    from leadline.checker.settings import SparkSettings, SparkTuning

    spec = CATALOG["control/2.1"].with_bounds({"records": 0})
    spec = spec.with_properties(["agreed_at_rest", "led_at_rest"])
    limits = Limits(keep_going=True)
    found = distributed.explore(
        spec, limits, session=spark, settings=SparkSettings(tuning=SparkTuning(large=1, small=1))
    )
    expected = oracle.explore(spec, limits)
    assert found.statistics.distinct == expected.statistics.distinct
    assert [(item.verdict, len(item.traces[0])) for item in found.properties] == [
        (item.verdict, len(item.traces[0])) for item in expected.properties
    ]


@pytest.mark.parametrize("constant", [AT_REST, DEADLOCK])
def test_constants_stay_themselves_in_another_process(constant: Property) -> None:
    """Spark's workers took every state for one at rest, because a copy of the premise is not the premise."""
    kept, ordinary = pickle.loads(cloudpickled((constant, all_work)))
    assert kept is constant
    assert ordinary is not all_work
    assert ordinary.sentence == all_work.sentence
