"""Fairness of a group of actions: one of them has to be taken, as with ``WF(A or B)`` in TLA+."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from leadline.checker import Limits, Result, Spec, SpecError, Verdict, action, always_eventually
from leadline.checker.engines import oracle
from leadline.checker.liveness.recheck import fault, neglected
from leadline.checker.settings import CompiledSettings
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.reports.spec_document import spec_object
from tests.specs import learning
from tests.specs.agreement import SMALL


@frozen
class Tables:
    """How often each of two guests was served, modulo 2, and whether the light is on."""

    served: tuple[int, int] = (0, 0)
    light: bool = True


def serve(tables: Tables, guest: int) -> Tables:
    one, other = tables.served
    return evolve(tables, served=(1 - one, other) if guest == 0 else (one, 1 - other))


@action("guest {guest} gets tea", guest=(0, 1))
def tea(tables: Tables, guest: int) -> Iterator[Tables]:
    if not tables.served[guest]:
        yield serve(tables, guest)


@action("guest {guest} gets coffee", guest=lambda state: [0, 1])
def coffee(tables: Tables, guest: int) -> Iterator[Tables]:
    if tables.served[guest] and tables.light:
        yield serve(tables, guest)


@action("the light is switched")
def switch(tables: Tables) -> Iterator[Tables]:
    yield evolve(tables, light=not tables.light)


@action("somebody drops a cup", effect="perturbing")
def drop(tables: Tables) -> Iterator[Tables]:
    yield tables


@always_eventually("a guest has nothing")
def some_empty(tables: Tables) -> bool:
    return 0 in tables.served


@always_eventually("a guest has something")
def some_served(tables: Tables) -> bool:
    return 1 in tables.served


@always_eventually("guest 1 has something")
def second_served(tables: Tables) -> bool:
    return tables.served[1] == 1


def spec_of(fairness: dict[Any, str]) -> Spec[Any]:
    return Spec(
        name="tables",
        initial_states=lambda _: [Tables()],
        actions=[tea, coffee, switch, drop],
        properties=[some_empty, some_served, second_served],
        fairness=fairness,
    )


def held(result: Result) -> list[str]:
    return [item.property.name for item in result.properties if item.verdict is Verdict.HOLDS]


@pytest.mark.parametrize(
    ("fairness", "hold"),
    [
        ({}, ""),
        ({"tea": "weak"}, "some_served"),
        ({("tea", "coffee"): "weak"}, "some_served"),
        # when both are served and the light is off, nothing has to happen
        ({("tea", "coffee"): "strong"}, "some_served"),
        ({("tea", "coffee"): "strong", "switch": "weak"}, "some_empty some_served"),  # guest 0 may get everything
        ({("tea", "coffee"): "strong each guest", "switch": "weak"}, "some_empty some_served second_served"),
        ({("tea", "coffee"): "weak each guest", "switch": "weak"}, "some_served second_served"),
        ({("coffee", "switch"): "weak", "tea": "weak"}, "some_served"),  # the light is switched for ever
        ({("coffee", "tea"): "strong", ("coffee", "switch"): "strong", "tea": "weak"}, "some_empty some_served"),
    ],
)
def test_one_action_of_a_group_is_taken(fairness: dict[Any, str], hold: str, tmp_path: Path) -> None:
    spec = spec_of(fairness)
    limits = Limits(keep_going=True)
    for result in (
        oracle.explore(spec, limits),
        learning.explore(spec, limits, settings=CompiledSettings(workers=1)),
        learning.explore(spec, limits, settings=CompiledSettings(workers=2, tuning=SMALL)),
    ):
        assert " ".join(held(result)) == hold, result.engine
        for item in result.properties:
            for trace in item.traces:
                assert fault(trace) is None
                write_trace(trace, tmp_path / "trace.itf.json")
                assert replay(spec, read_trace(tmp_path / "trace.itf.json")).states == trace.states


def test_a_loop_that_neglects_a_group_is_refused() -> None:
    (result,) = [item for item in oracle.explore(spec_of({}), Limits(keep_going=True)).properties if item.traces][:1]
    lasso = evolve(result.traces[0], spec=spec_of({("tea", "coffee"): "weak"}))
    assert fault(lasso) == "the loop is not fair: tea or coffee is enabled, but never taken"


def test_what_a_group_does_not_promise_is_said() -> None:
    """The light is switched for ever, which is all that the group promises."""
    spec = spec_of({("tea", "switch"): "strong"}).with_properties(["some_served"])
    (result,) = oracle.explore(spec, Limits()).properties
    said = [str(each) for each in neglected(result.traces[0])]
    assert "tea is enabled in every state, but never taken: it is fair only together with others: tea or switch" in said


def test_specs_names_the_group() -> None:
    text = str(spec_object(spec_of({("tea", "coffee"): "strong each guest"})))
    assert "strongly fair for each guest together with coffee" in text
    assert "strongly fair for each guest together with tea" in text


@pytest.mark.parametrize(
    ("fairness", "message"),
    [
        ({("tea", "cofee"): "weak"}, "fairness names an unknown action 'cofee': did you mean 'coffee'?"),
        ({("tea", 1): "weak"}, "fairness names an unknown action 1"),
        ({("tea",): "weak"}, "fairness of the group tea: a group must consist of two or more different actions"),
        ({("tea", "tea"): "weak"}, "a group must consist of two or more different actions"),
        ({(): "weak"}, "a group must consist of two or more different actions"),
        ({("tea", "drop"): "weak"}, "action drop is perturbing, so it cannot be fair"),
        ({("tea", "coffee"): ""}, "must be 'weak', 'strong', or one of them with parameters, as in 'weak each client'"),
        ({("tea", "coffee"): "weak each"}, "must be 'weak', 'strong', or one of them with parameters"),
        ({("tea", "coffee"): "fair"}, "fair must be one of"),
        ({("tea", "switch"): "weak each guest"}, "fair='weak each guest' names 'guest', which is not a parameter"),
    ],
)
def test_what_is_no_group_is_refused(fairness: dict[Any, str], message: str) -> None:
    with pytest.raises(SpecError) as error:
        spec_of(fairness)
    assert message in str(error.value)
