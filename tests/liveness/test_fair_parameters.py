"""Fairness for each value of a parameter, also of values that are drawn from the state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve, frozen

from leadline.checker import Limits, Spec, Verdict, action, leads_to
from leadline.checker.engines import oracle
from leadline.checker.liveness.recheck import fault
from leadline.checker.settings import CompiledSettings
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from tests.specs import learning
from tests.specs.agreement import SMALL


@frozen
class Net:
    sent: frozenset[str] = frozenset()
    last: str = ""
    side: int = 0


@action("a message to {to} is sent", to=("a", "b"))
def send(net: Net, to: str) -> Iterator[Net]:
    if to not in net.sent:
        yield evolve(net, sent=net.sent | {to})


@action("the message to {to} arrives at side {side}", to=lambda state: state.sent, side=range(2))
def arrive(net: Net, to: str, side: int) -> Iterator[Net]:
    if side == net.side:
        yield evolve(net, sent=net.sent - {to}, last=to)


@action("the sides change")
def change(net: Net) -> Iterator[Net]:
    yield evolve(net, side=1 - net.side)


@leads_to("a message to {to} arrives", to=("a", "b"), after=lambda net, to: to in net.sent)
def arrives(net: Net, to: str) -> bool:
    return to not in net.sent


@pytest.mark.parametrize(
    ("fair", "holds"),
    [
        ("weak", False),  # the other message arrives again and again
        ("strong", False),
        ("weak each", False),  # no instance is enabled in every state, as the sides change
        ("strong each", True),
        ("weak each to", True),
        ("strong each to", True),
        ("strong each side", False),  # the other message arrives at each side
        ("weak each to, side", False),
        ("strong each side, to", True),
    ],
)
def test_fairness_for_each_value(fair: str, holds: bool, tmp_path: Path) -> None:
    spec = Spec(
        name="net",
        initial_states=lambda _: [Net()],
        actions=[send, arrive, change],
        properties=[arrives],
        fairness={"arrive": fair},
    )
    limits = Limits(keep_going=True)
    for result in (
        oracle.explore(spec, limits),
        learning.explore(spec, limits, settings=CompiledSettings(workers=1)),
        learning.explore(spec, limits, settings=CompiledSettings(workers=2, tuning=SMALL)),
    ):
        for item in result.properties:
            assert (item.verdict is Verdict.HOLDS) == holds, result.engine
            for trace in item.traces:
                assert fault(trace) is None
                write_trace(trace, tmp_path / "trace.itf.json")
                assert replay(spec, read_trace(tmp_path / "trace.itf.json")).states == trace.states
