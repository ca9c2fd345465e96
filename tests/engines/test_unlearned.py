"""Calls in packed form whose results are not learned: the same steps, verdicts and errors as with the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from attrs import evolve, frozen

from leadline.checker import Bag, Limits, Map, Spec, SpecError, action, component, constant, invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.learning.calls import Caller
from leadline.checker.engines.learning.learn_or_call import Effort
from leadline.checker.settings import CompiledSettings, Tuning
from tests.specs import learning

NEVER = CompiledSettings(workers=1, tuning=Tuning(block=20, alone=5, many_values=3, verify=1.0))


@frozen
class Cell:
    held: frozenset[int] = frozenset()
    bag: Bag[str] = Bag()


@frozen
class State:
    count: object = 0
    cells: tuple[Cell, ...] = component(default=(Cell(), Cell()))
    known: Map[int, object] = Map()
    limit: int = constant(default=3)


@action("{cell} takes {number}", cell=(0, 1), number=(0, 8, 16))
def take(state: State, cell: int, number: int) -> Iterator[State]:
    before = state.cells[cell]
    held = frozenset([number, *sorted(before.held, reverse=True)])  # equal sets that iterate in different orders
    after = Cell(held, before.bag.add("ab"[cell]) if len(held) > len(before.held) else before.bag)
    yield evolve(state, cells=tuple(after if place == cell else each for place, each in enumerate(state.cells)))


@action("the map learns")
def learns(state: State) -> Iterator[State]:
    for held in (cell.held for cell in state.cells):
        yield evolve(state, known=state.known.put(len(held), (held, len(held) > 1)))


@invariant("no cell is full")
def room(state: State) -> Iterator[str]:
    for cell in state.cells:
        if len(cell.held) == state.limit:
            yield f"{sorted(cell.held)} is full"


@invariant("the map is small")
def small(state: State) -> bool:
    return len(state.known) < 4


SPEC = Spec(name="cells", initial_states=lambda _: [State()], actions=[take, learns], properties=[room, small])


@pytest.fixture(autouse=True)
def nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Effort, "is_worthwhile", lambda *_: False)


def told(result: Any) -> Any:
    found = result.statistics
    properties = [(item.verdict, [trace.states for trace in item.traces]) for item in result.properties]
    return properties, found.levels, found.generated, found.actions


def test_steps_and_verdicts_are_those_of_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = 0
    direct = Caller._direct

    def counted(*given: Any) -> Any:
        nonlocal slow
        slow += 1
        return direct(*given)

    monkeypatch.setattr(Caller, "_direct", counted)
    limits = Limits(keep_going=True)
    result = learning.explore(SPEC, limits, settings=NEVER)
    assert told(result) == told(oracle.explore(SPEC, limits))
    assert result.statistics.calls == 0
    assert slow == 0  # no call went the way of errors


class Plain(list[int]):
    pass


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: evolve(s, count=[1]), id="a list"),
        pytest.param(lambda s: evolve(s, count=frozenset([(1, Plain())])), id="a list in a set"),
        pytest.param(lambda s: evolve(s, count=object()), id="an object compared by identity"),
        pytest.param(lambda s: evolve(s, limit=4), id="another constant"),
        pytest.param(lambda s: evolve(s, cells=s.cells[:1]), id="fewer elements"),
        pytest.param(
            lambda s: evolve(s, count=Decimal("0.0") if s.count == Decimal(0) else Decimal(0)), id="0 and 0.0"
        ),
        pytest.param(lambda s: s.cells[0], id="a part of the state"),
        pytest.param(lambda s: None, id="nothing"),
        pytest.param(lambda s: 1 // 0, id="an error"),
    ],
)
def test_errors_are_those_of_the_oracle(change: Any) -> None:
    @action()
    def wrong(state: State) -> Iterator[Any]:
        if len(state.known) == 2:
            yield change(state)

    spec = evolve(SPEC, actions=[take, learns, wrong], properties=[])
    with pytest.raises(SpecError) as expected:
        oracle.explore(spec, Limits(), tuning=Tuning(pure_states=1))
    with pytest.raises(SpecError) as found:
        learning.explore(spec, Limits(), settings=CompiledSettings(workers=1, tuning=Tuning(pure_states=1)))
    assert str(found.value) == str(expected.value)
