"""The engines against the twin, on a few random specs of each kind. ``python -m tests.reference`` compares many."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Kind, Spec, action, eventually, invariant
from tests.reference.__main__ import check, texts, ways
from tests.reference.grammar import KINDS
from tests.reference.search import Search
from tests.reference.values import Places, Refused, key

SEEDS = range(2)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_say_what_the_twin_says(kind: str) -> None:
    seen = set()
    for seed in SEEDS:
        for number, text in enumerate(texts(kind, seed)):
            verdict, found = check(text, ways(seed + number), keep_going=seed % 3 != 2)
            assert not found, (text.name, found)
            seen.add(verdict)
    assert {"holds", "violated"} <= seen


@pytest.mark.spark
def test_spark_says_what_the_twin_says(java: None) -> None:
    """In a process of its own: a process has one session, and its workers keep the modules of earlier tests."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.reference", "1", "--spark", "--kind", "drawn", "--kind", "initials"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [line.split() for line in ended.stdout.splitlines() if line.startswith(("drawn ", "initials "))]
    assert rows == [["drawn", "1", "1", "0", "0", "0"], ["initials", "1", "1", "0", "0", "0"]]


def test_values_are_told_apart_by_type_and_content() -> None:
    @attrs.frozen
    class Part:
        shown: int
        hidden: int = attrs.field(eq=False, repr=False)

    same = [((1, "x"), (1, "x")), (frozenset((0, 8)), frozenset((8, 0))), (Part(1, 2), Part(1, 2))]
    other = [(1, True), (0.0, -0.0), ((1, 2), (True, 2)), (Part(1, 2), Part(1, 3)), (frozenset({1}), frozenset({1.0}))]
    assert all(key(one) == key(two) for one, two in same)
    assert all(one == two and key(one) != key(two) for one, two in other)
    for one, two in other:
        places = Places()
        places.add("here", one)
        places.add("there", two)
        with pytest.raises(Refused):
            places.add("here", two)


@attrs.frozen
class Lamp:
    on: bool = False
    broken: bool = False


def _lamp(fair: str) -> Spec[Lamp]:
    @action(fair=fair)
    def toggle(state: Lamp) -> Iterator[Lamp]:
        if not state.broken:
            yield attrs.evolve(state, on=not state.on)

    @action()
    def break_down(state: Lamp) -> Iterator[Lamp]:
        yield attrs.evolve(state, broken=True)

    @eventually("it is on, or broken")
    def on(state: Any) -> bool:
        return bool(state.on or state.broken)

    @invariant("it is never on and broken")
    def safe(state: Any) -> bool:
        return not (state.on and state.broken)

    return Spec(
        name="lamp", initial_states=lambda bounds: [Lamp()], actions=[toggle, break_down], properties=[on, safe]
    )


def test_the_twin_by_hand() -> None:
    fair, unfair = (Search(_lamp(fair)).answer() for fair in ("weak", ""))
    assert fair.verdicts == {"on": "holds", "safe": "violated"}
    assert unfair.verdicts == {"on": "violated", "safe": "violated"}
    assert fair.lengths["safe"] == 3
    assert fair.counts["distinct"], fair.counts["generated"] == (4, 7)
    assert fair.instances == [("break_down()", 4, 4, 2), ("toggle()", 2, 2, 1)]
    assert {item.kind for item in _lamp("").properties} == {Kind.EVENTUALLY, Kind.INVARIANT}
