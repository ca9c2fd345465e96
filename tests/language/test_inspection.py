"""The contents of a spec's modules are inspected without running code, because some values raise when they are used."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, Verdict, action
from leadline.checker.observing.digest import code_digest
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.recording import Precision, Recorder
from leadline.checker.observing.tuple_views import Unread
from leadline.checker.settings import CompiledSettings
from leadline.checker.support.inspection import is_a, stored
from leadline.checker.support.messages import counted
from leadline.reports.loading import load_spec
from tests.specs import learning


@attrs.frozen
class Clock:
    """A state."""

    hour: int = 0


class Untouchable:
    """Raises an error for every attribute, as a proxy of a web framework does outside of a request."""

    def _refuse(self, *_: Any) -> Any:
        raise BaseException("touched")

    __getattribute__ = __eq__ = __hash__ = __iter__ = __len__ = __bool__ = __repr__ = __call__ = _refuse


# within a dict, as pytest touches what a test module holds
UNTOUCHABLE: dict[str, Any] = {
    "any object": Untouchable(),
    "a copied element": Unread(Recorder(Layout(Clock()), [0], precision=Precision.COPIES), 0),
}

OWN = """
from collections.abc import Iterator
from functools import cache, partial
from attrs import frozen
from leadline.checker import Spec, action
from tests.language.test_inspection import UNTOUCHABLE

first, second = UNTOUCHABLE.values()
held = [first, {"key": second}, (second,), partial(print, first)]

@frozen
class Clock:
    hour: int = 0

@cache
def following(hour: int) -> int:
    return hour + 1

@action()
def strike(state: Clock) -> Iterator[Clock]:
    if state.hour < 5:
        yield Clock(following(state.hour))
    if state.hour > 5:
        yield Clock(len([first is second, held, {}.first, {}.second, {}.held]))

spec = Spec(name="clock", initial_states=lambda _: [Clock()], actions=[strike])
"""


def test_a_module_with_such_values_can_be_loaded_digested_searched_and_saved(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    spec = load_spec(str(tmp_path / "own.py"))
    assert code_digest(spec) == code_digest(spec)
    result = learning.explore(spec, settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, 6)


@pytest.mark.parametrize("which", UNTOUCHABLE)
def test_the_real_class_is_what_counts(which: str) -> None:
    value = UNTOUCHABLE[which]
    assert not is_a(value, int, str, types.FunctionType)
    assert is_a(value, type(value))
    assert stored(value, "nothing", 5) == 5


def test_attributes_are_found_as_python_finds_them() -> None:
    cached = functools.cache(counted)
    assert stored(Clock(3), "hour") == 3
    assert stored(Clock, "__module__") == __name__
    assert stored(cached, "__module__") == stored(counted, "__module__") == "leadline.checker.support.messages"
    assert stored(cached, "__wrapped__") is counted
    assert stored(5, "nothing") is None


@action()
def tick(state: Clock) -> Iterator[Clock]:
    yield Clock(state.hour + 1)


def test_the_digest_is_of_the_constraint_too() -> None:
    def until(hour: int) -> Spec[Clock]:
        within = lambda state: state.hour <= hour  # noqa: E731
        return Spec(name="clock", initial_states=lambda _: [Clock()], actions=[tick], within=within)

    assert code_digest(until(1)) == code_digest(until(1)) != code_digest(until(2))
