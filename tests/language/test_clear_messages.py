"""Messages that once confused authors of specs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import frozen

from leadline.checker import Spec, SpecError, Statistics, action, bound
from leadline.checker.engines import oracle
from leadline.checker.result import Costliest, Learning, Widest
from leadline.reports.loading import load_spec
from leadline.reports.runs.phrases import statistics_lines
from leadline.reports.terminal.run import heading


@frozen
class Strict:
    n: int = bound(1, "a number")

    def __attrs_post_init__(self) -> None:
        if self.n > 2:
            raise ValueError("too many")


@frozen
class State:
    x: int = 0


@action()
def stay(state: State) -> Iterator[State]:
    yield state


def spec_with(**changes: Any) -> Spec[Any]:
    given: dict[str, Any] = {"name": "s", "initial_states": lambda _: [State()], "actions": [stay]}
    return Spec(**{**given, **changes})


def test_a_domain_that_reads_the_state_says_how() -> None:
    @action(x=lambda s: [s.x])
    def step(state: State, x: int) -> Iterator[State]:
        yield State(x)

    with pytest.raises(SpecError, match=r"it is called with the bounds: name its parameter state to draw the values"):
        _ = spec_with(actions=[step]).instances


HEAD = """
from attrs import evolve, frozen
from leadline.checker import Spec, action, invariant, leads_to, temporal

@frozen
class State:
    x: int = 0

@action()
def up(state):
    yield from (evolve(state, x=state.x + 1) for _ in range(1) if state.x < 3)

def spec_with(**changes):
    return Spec(**{**dict(name="it", initial_states=lambda _: [State()], actions=[up]), **changes})
"""

MISTAKES = {
    "spec = spec_with(invariants=[])": "Spec(...) takes no 'invariants': did you mean 'properties'?",
    "spec = spec_with(propertys=[])": "Spec(...) takes no 'propertys': did you mean 'properties'?",
    "@leads_to('it goes up')\ndef high(state):\n    return True": "leads_to takes a sentence and the left side, as in",
    "@leads_to('it goes up', up)\ndef high(state):\n    return True": "leads_to takes a sentence and the left side, as",
    "class B:\n    n = 1\nspec = spec_with(bounds=B())": "must be an instance of a frozen attrs class, not <B object>",
    "@frozen\nclass B:\n    n: int = 1\nspec = spec_with(bounds=B)": "not <class 'B'>: write B()",
    "@invariant('each')\ndef each(state):\n    return (x < 0 for x in range(2))\nspec = spec_with(properties=[each])": (
        "invariant each must yield a str that describes what is wrong, not False: return it, or write all(...) or any"
    ),
    "@temporal('t')\ndef t():\n    return True\nspec = spec_with(properties=[t])": "must return a formula, not True (",
    "@action()\ndef to(state):\n    yield {'x': 1}\nspec = spec_with(actions=[to])": "yield a State, not {'x': 1} (",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_of_beginners(text: str, tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text(f"{HEAD}\n{text}\n")
    with pytest.raises(SpecError) as refused:
        oracle.explore(load_spec(str(path)))
    assert MISTAKES[text] in str(refused.value)
    assert "_leadline" not in str(refused.value)


def test_a_bounds_class_that_raises_is_named() -> None:
    with pytest.raises(
        SpecError, match=r"^bounds n=3 are not allowed: Strict raised ValueError: too many \(test_clear"
    ):
        spec_with(bounds=Strict()).with_bounds({"n": 3})


def test_initial_states_that_are_called_wrongly_do_not_name_a_file_of_leadline() -> None:
    def wrong(bounds: object) -> list[State]:
        return State(1, 2)  # type: ignore[call-arg, return-value]

    with pytest.raises(SpecError, match=r"initial_states raised TypeError: .*\(test_clear_messages.py, line \d+\)$"):
        spec_with(initial_states=wrong).initials()


def test_eq_false_is_not_always_a_constant() -> None:
    @frozen
    class Odd:
        seen: tuple[int, ...] = attrs.field(default=(), eq=False)

    with pytest.raises(
        SpecError, match=r"Odd.seen has eq=False: remove eq=False, or use constant\(\) if the field has"
    ):
        spec_with(initial_states=lambda _: [Odd()]).initials()


def test_a_mandatory_field_after_a_default_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from attrs import frozen\n@frozen\nclass S:\n    a: int = 0\n    b: int\n")
    with pytest.raises(
        SpecError, match="field b has no default, but a field before it has one: give it a default"
    ) as e:
        load_spec(str(path))
    assert "Attribute(" not in str(e.value)


def test_the_heading_says_that_there_are_no_bounds() -> None:
    assert heading(spec_with(), "compiled", {}).text.plain.startswith("s  no bounds  ")


def test_a_slow_search_names_the_function_and_not_an_innocent_part() -> None:
    def lines(values: int) -> str:
        learning = Learning(
            {"up": 10},
            {"all_right": 90_000},
            called=0,
            by_oracle=100_000,
            memory=0,
            widest=Widest("S.x", values, "int"),
            costliest=Costliest("all_right", 90_000, 7.25),
        )
        return "\n".join(statistics_lines(Statistics(distinct=50_000, calls=644, memory=2**20, learning=learning)))

    assert "all_right took most: 90,000 calls and 7.2 s." in lines(7)
    assert "S.x is read as a whole" not in lines(7)
    assert "S.x is read as a whole and has 5,000 values" in lines(5_000)
    assert "0 bytes for" not in lines(7)
