"""Data that a spec reads at call time may change before a search is resumed: the resumed search is refused, or right.

The digest of the code does not show such a change, and the changed results matter in few of the saved states.
"""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.checker import LeadlineError, Limits, Spec, Verdict
from leadline.checker.result import Result
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.agreement import answers

SOURCE = """
import builtins, functools, os
from pathlib import Path
from attrs import frozen
from leadline.checker import Spec, action, invariant, step_invariant, witness

{read}

@frozen
class Counters:
    a: int = 0
    b: int = 0
    c: int = 0

def is_bad(state):
    return state.a == bad() and state.b == bad() and state.c == 0

@action()
def count_a(state):
    if state.a < 20:
        yield Counters(state.a + 1, state.b, state.c)

@action()
def count_b(state):
    if state.b < 20:
        yield Counters(state.a, state.b + 1, state.c)

@action()
def count_c(state):
    if state.c < 20:
        yield Counters(state.a, state.b, state.c + 1)

@action()
def jump(state):
    if {guard}:
        yield Counters(-1, -1, -1)

@action(number=lambda state: {domain})
def draw(state, number):
    yield Counters(number, number, number)

@{kind}
def named({arguments}):
    return {holds}

spec = Spec(
    name="counters",
    initial_states=lambda bounds: [Counters()],
    actions=[count_a, count_b, count_c, jump, draw],
    properties=[named],
)
"""

READS = {
    "environment": "def bad(): return int(os.environ['BAD'])",
    "cached file": "@functools.cache\ndef bad(): return int(Path(__file__).with_suffix('.txt').read_text())",
    "open": "def bad():\n    with open(Path(__file__).with_suffix('.txt')) as file:\n        return int(file.read())",
    "globals": "def bad(): return globals()['BA' + 'D']",
    "builtins": "def bad(): return builtins.leadline_bad",
}
"""The ways in which a function reads data when it is called."""

PLACES = {
    "property": {"holds": "not is_bad(state)"},
    "guard": {"guard": "is_bad(state)", "holds": "state.a >= 0"},
    "witness": {"kind": "witness('it is bad')", "holds": "is_bad(state)"},
    "step property": {
        "kind": "step_invariant('it is not bad')",
        "arguments": "before, state",
        "holds": "not is_bad(state)",
    },
    "domain": {"domain": "[-1] if is_bad(state) else []", "holds": "state.a >= 0"},
}
"""The functions of a spec that read the data."""

SAVED, FIRST, LATER = Limits(depth=25), 30, 5
"""A search to depth 25 never meets the first value, and meets the second one in the 11th level."""


@pytest.fixture
def spec_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, int], Spec[Any]]:
    """A function that returns the spec of a file after its data has been given a value."""

    def made(read: str, place: str, value: int) -> Spec[Any]:
        file = tmp_path / "of_counters.py"
        parts = {"guard": "False", "domain": "[]", "kind": "invariant('it is not bad')", "arguments": "state"} | PLACES[
            place
        ]
        file.write_text(SOURCE.format(read=READS[read], **parts))
        file.with_suffix(".txt").write_text(str(value))
        monkeypatch.setitem(os.environ, "BAD", str(value))
        monkeypatch.setattr(builtins, "leadline_bad", value, raising=False)
        found = importlib.util.spec_from_file_location("of_counters", file)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        monkeypatch.setitem(sys.modules, "of_counters", module)
        found.loader.exec_module(module)
        vars(module)["BAD"] = value
        spec: Spec[Any] = module.spec
        return spec

    return made


def refused_or_right(search: Callable[[], Result], expected: object, compared: Callable[[Result], object]) -> str:
    """Check that a resumed search is refused because of the change, or gives the expected answers."""
    try:
        found = search()
    except LeadlineError as error:
        text = str(error)
    else:
        assert compared(found) == expected
        return ""
    assert "\n" not in text
    said = ("changed", "before a change to the spec, its data", "is not deterministic")
    assert any(each in text for each in said), text
    return text


def cases() -> list[tuple[str, str]]:
    return [*itertools.product(READS, PLACES)]


@pytest.mark.parametrize(("read", "place"), cases())
def test_changed_data(read: str, place: str, spec_with: Callable[[str, str, int], Spec[Any]], tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    first = learning.explore(spec_with(read, place, FIRST), SAVED, settings=CompiledSettings(checkpoint=folder))
    assert first.reason == "reached depth 25"
    again = learning.explore(spec_with(read, place, FIRST), SAVED, settings=CompiledSettings(resume=folder))
    assert answers(again) == answers(first), "unchanged data is not refused"
    spec = spec_with(read, place, LATER)
    truth = learning.explore(spec)
    assert truth.verdict is (Verdict.HOLDS if place == "witness" else Verdict.VIOLATED)
    refused_or_right(lambda: learning.explore(spec, settings=CompiledSettings(resume=folder)), answers(truth), answers)
