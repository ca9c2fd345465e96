"""Values that people look at along a trace: those of a drawing, and expressions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from leadline.checker import Spec
from leadline.checker.drawing import Along, Drawing
from leadline.checker.engines.oracle import explore
from leadline.checker.errors import SpecError
from leadline.reports.loading import load_spec
from leadline.reports.traces.looks import Look, looked_at
from leadline.reports.traces.story import story_of
from tests.suite.command import STAIRS, call, write

TRACE = "stairs.py-spec-top3-third_step_free.itf.json"


@pytest.fixture
def climb(tmp_path: Path) -> Path:
    """A folder with the stairs, a trace of three steps up, and the result of the search."""
    found = call(
        "explore",
        "stairs.py",
        "-b",
        "top=3",
        "--trace-out",
        ".",
        "--json",
        "r.json",
        folder=write(tmp_path, stairs=STAIRS),
    )
    assert found.code == 1
    return tmp_path


def values(folder: Path, *looks: str) -> list[dict[str, str]]:
    """The values that `leadline show` writes for each state of the trace."""
    words = [word for look in looks for word in ("--look", look)]
    shown = call("show", TRACE, "--spec", "stairs.py", *words, "--json", "-", folder=folder)
    assert shown.code == 0, shown.err
    return [state["along"] for state in json.loads(shown.out)["traces"][0]["states"]]


def test_expressions_read_the_state_the_step_and_the_names_of_the_file(climb: Path) -> None:
    heights = values(climb, "height * 2", "state.top - height", "up.name", "[foot for foot in range(height)]")
    assert heights[0] == {
        "height * 2": "0",
        "state.top - height": "3",
        "up.name": "up",
        "[foot for foot in range(height)]": "[]",
    }
    assert [each["height * 2"] for each in heights] == ["0", "2", "4", "6"]
    assert [each["(foot for foot in range(height))"] for each in values(climb, "(foot for foot in range(height))")] == [
        "[]",
        "[0]",
        "[0, 1]",
        "[0, 1, 2]",
    ]
    of_steps = values(climb, "before.height", "step.action", "step.arguments['foot']", "height - before.height")
    assert set(of_steps[0].values()) == {"-"}
    assert [each["before.height"] for each in of_steps[1:]] == ["0", "1", "2"]
    assert {each["step.action"] for each in of_steps[1:]} == {"up"}
    assert {each["height - before.height"] for each in of_steps[1:]} == {"1"}


def test_an_expression_that_raises_an_exception_loses_nothing(climb: Path) -> None:
    assert [each["6 // height"] for each in values(climb, "6 // height")] == [
        "ZeroDivisionError: integer division or modulo by zero",
        "6",
        "3",
        "2",
    ]


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ("hight", "--look 'hight': there is no 'hight': did you mean 'height'?"),
        ("[x for y in range(3)]", "--look '[x for y in range(3)]': there is no 'x'"),
        ("height +", "--look 'height +' is not a Python expression: invalid syntax"),
        ("height = 3", "--look 'height = 3' is not a Python expression: invalid syntax"),
    ],
)
def test_a_wrong_expression_is_refused_before_the_search(climb: Path, look: str, message: str) -> None:
    for words in (["show", TRACE, "--spec", "stairs.py"], ["explore", "stairs.py"], ["fuzz", "stairs.py"]):
        refused = call(*words, "--look", look, folder=climb)
        assert (refused.code, refused.out) == (2, "")
        assert message in refused.err
        assert len(refused.err.splitlines()) == 1


def test_looking_into_a_trace_without_its_spec_is_refused(climb: Path) -> None:
    shown = call("show", TRACE, "--look", "height", folder=climb)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.endswith(f"type: leadline show {TRACE} --look height --spec stairs.py:spec\n")
    graph = call("show", "stairs.py", "--look", "height", folder=climb)
    assert graph.code == 2
    assert "--look is for saved traces and results" in graph.err


def test_a_new_trace_and_a_saved_result_show_the_same_values(climb: Path) -> None:
    new = call("explore", "stairs.py", "-b", "top=3", "--look", "height ** 2", "--html", "new.html", folder=climb)
    saved = call("show", "r.json", "--spec", "stairs.py", "--look", "height ** 2", folder=climb)
    for shown in (new, saved):
        lines = [line.strip() for line in shown.out.splitlines() if "height ** 2" in line]
        assert lines == ["height ** 2: 0", "height ** 2: 1*", "height ** 2: 4*", "height ** 2: 9*"]
    page = (climb / "new.html").read_text(encoding="utf-8")
    assert page.count('<th scope="row">height ** 2</th>') == 8, "of the counterexample and of the witness"
    assert "<td class=changed>9</td>" in page


def test_a_drawing_computes_values_along_the_trace(climb: Path) -> None:
    spec = load_spec(str(climb / "stairs.py")).with_bounds({"top": 3})
    ups = Along[object](lambda state: 0, lambda count, step: count + (step.action == "up"))
    drawn = attrs.evolve(spec, drawing=Drawing(along={"ups": ups}))
    (trace,) = next(item.traces for item in explore(drawn).properties if item.traces)
    story = story_of(looked_at(trace, [Look.of("height")]))
    assert [frame.along for frame in story.frames] == [{"ups": str(n), "height": str(n)} for n in range(4)]
    assert [list(frame.rows) for frame in story.frames] == [["state"]] * 4, "components are drawn as without a drawing"


def test_functions_along_a_trace_are_checked(climb: Path) -> None:
    with pytest.raises(SpecError, match="the update of ups along traces must take two parameters, value and step"):
        Drawing(along={"ups": Along(lambda state: 0, lambda count: count)})  # type: ignore[arg-type, misc]
    spec: Spec[object] = load_spec(str(climb / "stairs.py"))
    broken = Along[object](lambda state: 0, lambda count, step: count + step.weight)  # type: ignore[attr-defined]
    drawn = attrs.evolve(spec, drawing=Drawing(along={"ups": broken}))
    (trace,) = next(item.traces for item in explore(drawn).properties if item.traces)
    with pytest.raises(SpecError, match="ups along the trace raised AttributeError"):
        story_of(trace)
