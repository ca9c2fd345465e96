"""Type checkers accept the specs that the documents show, and find wrong ones, at the field that is wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents.blocks import PROJECT, every_block

PYRIGHT = PROJECT / "tests" / "browser" / "node" / "node_modules" / "pyright" / "index.js"

RIGHT = ("counter.py", "lock.py", "vote.py", "printer.py", "courier.py")
"""The specs with type hints in the documents."""

WRONG = """
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, invariant


@frozen
class State:
    counter: int = 0


@frozen
class Other:
    text: str = ""


@action("the counter grows")
def grow(state: State) -> Iterator[State]:
    yield evolve(state, counter=state.counter + 1)


@action("the text grows")
def write(state: Other) -> Iterator[Other]:
    yield evolve(state, text=state.text + "x")


@invariant("the counter is small")
def small(state: State) -> bool:
    return state.counter < 3


def initial_states(_: object) -> list[State]:
    return [State()]


def is_empty(state: Other) -> bool:
    return not state.text


Spec[State](
    name=3,
    initial_states=[State()],
    actions=[small],
    properties=[grow],
    check_deadlock="yes",
    final=is_empty,
    within=grow,
    distance="far",
    optional=[grow],
    rests_on=[small],
    fairness={"grow": 3},
)
Spec[State](
    name="not lists",
    initial_states=initial_states,
    actions=grow,
    properties=small,
    optional=small,
    rests_on=3,
)
Spec[State](name="one", initial_states=initial_states, actions=[grow, write])
Spec[State](name="two", initial_states=initial_states, actions=[grow], propertys=[small])
Spec[State](name="three", initial_states=initial_states, properties=[small])
Spec(name="four", initial_states=initial_states, actions=[grow, write])
Spec(name="right", initial_states=initial_states, actions=[grow], properties=[small])
Spec(name="right", initial_states=initial_states, actions=(grow,), properties=(small,), optional=[])
"""
"""Each line of an argument, and each of the four wrong specs of one line, has a mistake. The last two are right."""

Lines = list[tuple[str, int]]


def by_mypy(folder: Path) -> Lines:
    """The errors that mypy finds in a folder when it is strict."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--no-error-summary", "."]
    cache = ["--cache-dir", str(PROJECT / ".mypy_cache" / "of_specs")]
    run = subprocess.run([*command, *cache], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert run.stderr == ""
    return [(file, int(line)) for file, line in re.findall(r"^(\w+\.py):(\d+): error", run.stdout, re.MULTILINE)]


def by_pyright(folder: Path) -> Lines:
    """The errors that pyright finds in a folder when it is strict."""
    node = shutil.which("node")
    if node is None or not PYRIGHT.is_file():
        pytest.skip("pyright is not here: make test gets it if there is npm")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    command = [node, str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "-p", "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    found = [each for each in json.loads(run.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    return [(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found]


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_specs_have_types_and_mistakes_are_found_at_the_field(tmp_path: Path, check: Callable[[Path], Lines]) -> None:
    shown = {block.file: block.text for block in every_block("python")}
    for name in RIGHT:
        (tmp_path / name).write_text(shown[name], encoding="utf-8")
        assert "type: ignore" not in shown[name]
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    lines = WRONG.splitlines()
    expected = {
        number for number, line in enumerate(lines, start=1) if re.match(r"    (?!name=\"|initial_states=i)\w+=", line)
    }
    expected |= {
        number for number, line in enumerate(lines, start=1) if re.match(r"Spec.*name=\"(one|two|three|four)", line)
    }
    assert len(expected) == 11 + 4 + 4
    found = check(tmp_path)
    assert {name for name, _ in found} == {"wrong.py"}
    assert {line for _, line in found} == expected
