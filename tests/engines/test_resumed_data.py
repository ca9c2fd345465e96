"""Data that a spec reads at call time may change before a search is resumed: the resumed search is refused, or right.

The digest of the code does not show such a change, and the changed results matter in few of the saved states.
"""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from leadline.checker import LeadlineError, Limits, Spec, Verdict
from leadline.checker.engines.compiled import search_identity
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.engines.spark.session import Session
from leadline.checker.result import Result
from leadline.checker.settings import CompiledSettings, SparkSettings, SparkTuning
from tests.specs import learning
from tests.specs.agreement import answers, spark_answers
from tests.suite.samples import sampled

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
def spec_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spec[Any]]:
    """A function that returns the spec of a file after its data has been given a value."""

    def made(read: str, place: str, value: int, name: str = "of_counters") -> Spec[Any]:
        file = tmp_path / f"{name}.py"
        parts = {"guard": "False", "domain": "[]", "kind": "invariant('it is not bad')", "arguments": "state"} | PLACES[
            place
        ]
        file.write_text(SOURCE.format(read=READS[read], **parts))
        file.with_suffix(".txt").write_text(str(value))
        monkeypatch.setitem(os.environ, "BAD", str(value))
        monkeypatch.setattr(builtins, "leadline_bad", value, raising=False)
        found = importlib.util.spec_from_file_location(name, file)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        monkeypatch.setitem(sys.modules, name, module)
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
def test_changed_data(read: str, place: str, spec_with: Callable[..., Spec[Any]], tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    first = learning.explore(spec_with(read, place, FIRST), SAVED, settings=CompiledSettings(checkpoint=folder))
    assert first.reason == "reached depth 25"
    again = learning.explore(spec_with(read, place, FIRST), SAVED, settings=CompiledSettings(resume=folder))
    assert answers(again) == answers(first), "unchanged data is not refused"
    spec = spec_with(read, place, LATER)
    truth = learning.explore(spec)
    assert truth.verdict is (Verdict.HOLDS if place == "witness" else Verdict.VIOLATED)
    refused_or_right(lambda: learning.explore(spec, settings=CompiledSettings(resume=folder)), answers(truth), answers)


SIZES = SparkTuning(large=6, small=8)


@pytest.mark.parametrize("by", ["spark", "compiled"])
@pytest.mark.parametrize(("read", "place"), sampled([*itertools.product(["open", "cached file"], PLACES)], 4))
@pytest.mark.usefixtures("all_cores")
def test_changed_data_on_spark(
    by: str, read: str, place: str, spec_with: Callable[..., Spec[Any]], spark: Session, tmp_path: Path
) -> None:
    """Spark's workers keep modules, so each spec has a module of its own, and the code counts as the same."""
    work = str(tmp_path / "work")
    saving = SparkSettings(work_dir=work, shards=2, keep_files=True, tuning=SIZES)
    resuming = SparkSettings(resume=work, keep_files=True, tuning=SIZES)

    def spec(value: int) -> Spec[Any]:
        return spec_with(read, place, value, f"of_counters_{uuid.uuid4().hex}")

    def resumed(spec: Spec[Any], limits: Limits | None = None) -> Result:
        if by == "compiled":
            return learning.explore(spec, limits, settings=CompiledSettings(resume=work))
        return distributed.explore(spec, limits, session=spark, settings=resuming)

    with mock.patch.object(search_identity, "code_digest", return_value="same"):
        first = distributed.explore(spec(FIRST), SAVED, session=spark, settings=saving)
        assert first.reason == "reached depth 25"
        assert (tmp_path / "work" / "search.json").exists()
        assert spark_answers(resumed(spec(FIRST), SAVED)) == spark_answers(first), "unchanged data is not refused"
        later = spec(LATER)
        truth = learning.explore(later)
        assert truth.verdict is (Verdict.HOLDS if place == "witness" else Verdict.VIOLATED)
        refused_or_right(lambda: resumed(later), spark_answers(truth), spark_answers)
