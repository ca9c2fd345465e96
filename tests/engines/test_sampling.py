"""What a search has stored is sampled too: states that were merged, and the labels of steps that decide liveness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Result, Spec, SpecError, action, eventually, invariant
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.observing.domains import Domain
from leadline.checker.result import Verdict
from leadline.checker.settings import CompiledSettings, Tuning
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED
from tests.specs.grid import grid

NET_ONLY = attrs.evolve(ONLY_LEARNED, verify=None)


def searched(spec: Spec[Any], tuning: Tuning) -> Result:
    return learning.explore(spec, settings=CompiledSettings(workers=1, tuning=tuning))


@attrs.frozen
class Flagged:
    number: int = 0
    flag: object = 0


@action(by=(1, 2))
def count(state: Flagged, by: int) -> Iterator[Flagged]:
    if state.number + by < 9:
        yield Flagged(state.number + by, False if state.number == 6 else 0)


@invariant("a flag is no bool")
def no_bool(state: Flagged) -> bool:
    return type(state.flag) is int


FLAGS = Spec(name="flags", initial_states=lambda _: [Flagged()], actions=[count], properties=[no_bool])


def merging(monkeypatch: pytest.MonkeyPatch) -> None:
    """False is stored as 0."""
    number = Domain.number
    monkeypatch.setattr(Domain, "number", lambda domain, value: number(domain, 0 if value is False else value))


def test_values_that_were_stored_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    merging(monkeypatch)
    wrong = searched(FLAGS, attrs.evolve(ONLY_LEARNED, verify=0.0))
    assert wrong.verdict is Verdict.HOLDS, "without the net the answer is wrong, so this test can fail"
    with pytest.raises(SpecError, match=r"Flagged\.flag holds both 0 and False, which are equal but not the same"):
        searched(FLAGS, NET_ONLY)


def test_the_stored_states_of_a_sound_search_are_the_same() -> None:
    found = searched(grid(40), NET_ONLY).statistics.verified
    assert found is not None
    assert (found.states, found.graph) == (149, 0)  # 30 of 30, and 30 more for each factor of e up to 1,600
    every = learning.explore(grid(20), settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED, verify=1.0))
    assert every.statistics.verified is not None
    assert every.statistics.verified.states == 400


@attrs.frozen
class Wheel:
    turned: int = 0
    done: bool = False


@action(fair="weak")
def turn(state: Wheel) -> Iterator[Wheel]:
    if not state.done:
        yield Wheel((state.turned + 1) % 3)


@action()
def finish(state: Wheel) -> Iterator[Wheel]:
    if not state.done:
        yield Wheel(state.turned, True)


@eventually("it is done")
def done(state: Wheel) -> bool:
    return state.done


WHEEL = Spec(name="wheel", initial_states=lambda _: [Wheel()], actions=[turn, finish], properties=[done])


def test_a_wrong_label_is_found_before_liveness_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both labels exchanged, `finish` is fair instead of `turn`, and the false property is true."""
    spec, made = WHEEL.with_properties(["done"]), list[PackedGraph[Any]]()
    of = PackedGraph.of.__func__  # type: ignore[attr-defined]

    def exchanged(cls: type[PackedGraph[Any]], expander: Expander[Any], steps: int) -> PackedGraph[Any]:
        graph: PackedGraph[Any] = of(cls, expander, steps)
        if expander.tables.spec is spec:  # not the one with which the loops are compiled
            if not made:
                graph.rows[2][:] = 1 - graph.rows[2]
            made.append(graph)
        return graph

    monkeypatch.setattr(PackedGraph, "of", classmethod(exchanged))
    wrong = searched(spec, attrs.evolve(ONLY_LEARNED, verify=0.0))
    assert wrong.verdict is Verdict.HOLDS, "without the net the answer is wrong, so this test can fail"
    made.clear()
    found = searched(spec, NET_ONLY)
    assert len(made) == 2, "the search began again"
    assert found.verdict is Verdict.VIOLATED
    assert found.statistics.verified is not None
    assert found.statistics.verified.graph == 6
