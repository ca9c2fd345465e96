"""The source of a step: which lines of its action ran, on pages and as a link in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Trace
from leadline.checker.action import Step
from leadline.checker.engines.oracle import explore
from leadline.reports.loading import load_spec
from leadline.reports.traces.source import source_of
from tests.suite.command import STAIRS, call, on_terminal, write

MANY = STAIRS.replace(
    "        yield evolve(state, height=state.height + 1)",
    "        for more in (0, 1, 2):\n"
    "            if more == 2:\n"
    "                yield evolve(state, height=0)\n"
    "            yield evolve(\n"
    "                state, height=state.height + more\n"
    "            )",
)


def the_trace(folder: Path, source: str) -> Trace[object]:
    """The counterexample of stairs with the given source."""
    spec = load_spec(str(write(folder, stairs=source) / "stairs.py")).with_bounds({"top": 3})
    (trace,) = explore(spec).of("third_step_free").traces
    return trace


def test_only_the_lines_that_lead_to_the_state_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace: Trace[Any] = the_trace(tmp_path, MANY)
    first, up = trace.states[0], trace.instances[0]
    source = source_of(Step(first, up, attrs.evolve(first, height=1)))
    assert source is not None
    assert (source.file, MANY.splitlines()[source.line - 1][:11]) == ("stairs.py", '@action("th')
    assert [text.strip() for _, text in source.lines] == [
        "if state.height < state.top:",
        "for more in (0, 1, 2):",
        "if more == 2:",
        "yield evolve(",
        "state, height=state.height + more",
    ], "not the state for 2, although the action yields it later"
    assert [MANY.splitlines()[number - 1] for number, _ in source.lines] == [text for _, text in source.lines]
    whole = source_of(Step(first, up, attrs.evolve(first, height=2)))
    assert whole is not None
    assert "yield evolve(state, height=0)" in [text.strip() for _, text in whole.lines]


def test_lines_are_those_that_were_loaded_although_the_file_has_changed(tmp_path: Path) -> None:
    write(tmp_path, steps=STAIRS)
    source = "from steps import *\n"
    for comment in ("", "# a line that was not there\n"):
        write(tmp_path, steps=comment + STAIRS)
        trace = the_trace(tmp_path, source)
        write(tmp_path, steps=f"# one line\n# and another\n{STAIRS}")
        found = source_of(next(trace.steps))
        assert found is not None
        assert found.lines[-1][1].strip() == "yield evolve(state, height=state.height + 1)"


def test_an_action_without_a_file_has_no_source(tmp_path: Path) -> None:
    space: dict[str, object] = {}
    exec(STAIRS, space)
    spec = space["spec"].with_bounds({"top": 3})  # type: ignore[attr-defined]
    (trace,) = explore(spec).of("third_step_free").traces
    assert source_of(next(trace.steps)) is None


def test_the_page_has_the_lines_and_the_terminal_a_link(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    call("explore", "stairs.py", "-b", "top=3", "-i", "third_step_free", "--html", "out.html", folder=tmp_path)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.count("the lines that ran: stairs.py, line ") == 3
    assert page.count("yield evolve(state, height=state.height + 1)") == 3
    assert "<li class=taken>" in page
    shown = on_terminal("explore", "stairs.py", "-b", "top=3", folder=tmp_path)
    line = next(number for number, text in enumerate(STAIRS.splitlines(), 1) if "{foot} foot" in text)
    assert f"{(tmp_path / 'stairs.py').as_uri()}#{line}" in shown.out
