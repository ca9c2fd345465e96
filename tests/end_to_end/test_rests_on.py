"""A *holds* rests on witnesses: what an ordinary spec, a suite and a matrix say if a situation is not reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker import SpecError
from leadline.checker.engines import ENGINES
from leadline.checker.result import Limits, StopKind, Verdict
from leadline.reports.loading import load_spec
from tests.suite.command import call

LOCK = """\
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, witness


@frozen
class Bounds:
    crashes: int = bound(0, "crashes of the holder", at_least=0, at_most=3)


@frozen
class State:
    most: int = constant()
    holder: int | None = None
    crashes: int = 0


@action("process {process} takes the lock", process=range(2))
def take(state: State, process: int) -> Iterator[State]:
    if state.holder is None:
        yield evolve(state, holder=process)


@action("the holder crashes")
def crash(state: State) -> Iterator[State]:
    if state.holder is not None and state.crashes < state.most:
        yield evolve(state, holder=None, crashes=state.crashes + 1)


@invariant("the lock is never held by an unknown process")
def known_holder(state: State) -> bool:
    return state.holder in (None, 0, 1)


@witness("the lock is taken again after a crash")
def taken_again(state: State) -> bool:
    return state.holder is not None and state.crashes > 0


spec = Spec(
    name="lock",
    initial_states=lambda bounds: [State(bounds.crashes)],
    actions=[take, crash],
    properties=[known_holder],
    optional=[taken_again],
    bounds=Bounds(),
)
"""

CHECK = """\
[[check]]
spec = "lock.py"
witness = ["taken_again"]
bounds = { crashes = CRASHES }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lock.py").write_text(LOCK, encoding="utf-8")
    return tmp_path


def checked(folder: Path, crashes: int, expect: str) -> tuple[int, str]:
    text = f'{CHECK.replace("CRASHES", str(crashes))}expect = "{expect}"\n'
    (folder / "leadline.toml").write_text(text, encoding="utf-8")
    run = call("check", folder=folder)
    return run.code, " ".join(run.out.split())


def test_a_check_whose_situation_was_not_reached_is_incomplete(folder: Path) -> None:
    assert checked(folder, 1, "holds")[0] == 0
    code, said = checked(folder, 0, "holds")
    assert code == 3
    assert "nothing is decided, since taken_again was not reached within these bounds" in said


def test_a_check_that_is_expected_to_be_incomplete_has_to_reach_its_situation_too(folder: Path) -> None:
    code, said = checked(folder, 0, "incomplete")
    assert (code, "expected incomplete, but it did not reach taken_again" in said) == (1, True)
    fuzz = 'incomplete"\nengine = "fuzz'
    assert checked(folder, 1, fuzz)[0] == 0
    code, said = checked(folder, 0, fuzz)
    assert (code, "expected incomplete, but it did not reach taken_again" in said) == (1, True)


def test_the_witness_of_a_check_has_to_exist_and_is_not_for_a_violation(folder: Path) -> None:
    (folder / "leadline.toml").write_text(CHECK.replace("CRASHES", "0").replace("taken_again", "taken"), "utf-8")
    (folder / "leadline.toml").write_text((folder / "leadline.toml").read_text("utf-8") + 'expect = "holds"\n', "utf-8")
    run = call("check", folder=folder)
    assert (run.code, "has no property 'taken': did you mean 'taken_again'?" in run.err) == (2, True)
    code, _ = checked(folder, 0, 'violated"\nviolates = "known_holder')
    assert code == 2


def test_explore_names_the_witness_on_which_the_result_rests(folder: Path) -> None:
    run = call("explore", "lock.py", "--witness", "taken_again", folder=folder)
    assert (run.code, "incomplete: nothing is decided, since taken_again was not reached" in run.out) == (3, True)
    run = call(
        "explore", "lock.py", "-b", "crashes=1", "--witness", "taken_again", "--html", "page.html", folder=folder
    )
    assert run.code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "taken_again" in page
    assert "the lock is taken again after a crash" in page


@pytest.mark.parametrize("engine", ["compiled", "oracle"])
def test_engines_agree_on_what_was_not_reached(folder: Path, engine: str) -> None:
    spec = load_spec("lock.py", folder).resting_on(["taken_again"])
    result = ENGINES[engine](spec)
    assert (result.verdict, result.unreached(spec.rests_on)) == (Verdict.INCOMPLETE, ["taken_again"])
    assert {item.verdict for item in result.properties} == {Verdict.INCOMPLETE}
    assert result.stop is not None
    assert result.stop.kind is StopKind.OPEN
    reached = ENGINES[engine](spec.with_bounds({"crashes": 1}))
    assert (reached.verdict, reached.unreached(spec.rests_on)) == (Verdict.HOLDS, [])
    limited = ENGINES[engine](spec.with_bounds({"crashes": 1}), Limits(depth=1))
    assert (limited.verdict, limited.unreached(spec.rests_on)) == (Verdict.INCOMPLETE, []), "the limit says why"


def test_a_spec_rests_only_on_its_own_witnesses(folder: Path) -> None:
    spec = load_spec("lock.py", folder)
    with pytest.raises(SpecError, match="has no property 'known'"):
        spec.resting_on(["known"])
    with pytest.raises(SpecError, match="has no witness 'known_holder'"):
        spec.resting_on(["known_holder"])
    assert spec.resting_on(["taken_again"]).with_properties(["known_holder"]).rests_on == ()


MATRIX = """\
specs = ["lock.py"]
properties = ["known_holder"]
[witness]
known_holder = ["taken_again"]
[[configurations]]
name = "no crash"
[[configurations]]
name = "one crash"
bounds = { crashes = 1 }
"""


def test_a_cell_of_a_matrix_says_that_nothing_is_decided(folder: Path) -> None:
    (folder / "matrix.toml").write_text(MATRIX, encoding="utf-8")
    run = call("matrix", "matrix.toml", "--markdown", folder=folder)
    assert run.code == 0
    assert "| `known_holder` | not decided (3) |" in run.out
    assert "| `known_holder` | holds (6) |" in run.out
    assert "known_holder: the lock is taken again after a crash" in run.out.replace("*", "")
    (folder / "matrix.toml").write_text(MATRIX + 'witness = ["taken_twice"]\n', encoding="utf-8")
    assert call("matrix", "matrix.toml", folder=folder).code == 2


def test_a_configuration_of_a_matrix_has_a_witness_of_its_own(folder: Path) -> None:
    without = MATRIX.replace('[witness]\nknown_holder = ["taken_again"]\n', "")
    (folder / "matrix.toml").write_text(without + 'witness = ["taken_again"]\n', encoding="utf-8")
    run = call("matrix", "matrix.toml", "--markdown", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert "| `known_holder` | holds (3) |" in run.out
    assert "| `known_holder` | holds (6) |" in run.out
    assert "one crash: the lock is taken again after a crash" in run.out.replace("*", "")
