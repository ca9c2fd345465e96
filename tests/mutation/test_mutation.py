"""`make mutants`: its changes, its report on weak tests, and that the mutants it explains exist."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from leadline.reports.mutation import read_explained
from tests.mutation import mutation

TOY = '''
LIMIT = 3

def allowed(level: int, of: int = 1) -> bool:
    """Whether 1 more is allowed."""
    if level < 0:
        return False
    return level + of <= LIMIT
'''

TEST = """
from toy import allowed

def test_allowed():
    assert allowed(2)
    assert not allowed(-1)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a function, and a test that does not look at its limits."""
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TEST)
    monkeypatch.setattr(mutation, "PROJECT", tmp_path)
    return tmp_path


def test_functions_are_changed_and_nothing_else(toy: Path) -> None:
    """Defaults, docstrings, annotations and constants of the module are not changed."""
    assert {mutant.name.removeprefix("toy.py allowed: ") for mutant in mutation.mutants_of("toy.py")} == {
        "level < 0 => False",
        "level < 0 => not level < 0",
        "level < 0 => level <= 0",
        "0 => 1",
        "0 => -1",
        "False => True",
        "level + of <= LIMIT => level + of < LIMIT",
        "level + of => level - of",
        "level + of => level",
    }


def test_a_name_does_not_change_when_lines_move(toy: Path) -> None:
    before = [mutant.name for mutant in mutation.mutants_of("toy.py")]
    (toy / "toy.py").write_text("# ┃\n" + TOY)
    assert [mutant.name for mutant in mutation.mutants_of("toy.py")] == before


def test_what_no_test_notices_survives(toy: Path) -> None:
    mutants = [
        mutant
        for mutant in mutation.mutants_of("toy.py")
        if "LIMIT" in mutant.change.new or "<= 0" in mutant.change.new
    ]
    judged = {
        each.mutant.change.new: (each.verdict, each.test) for each in mutation.outcomes(mutants, ["test_toy.py"], 1)
    }
    assert judged == {
        "level + of < LIMIT": ("killed", "test_toy.py::test_allowed"),
        "level <= 0": ("survived", ""),
    }
    assert (toy / "toy.py").read_text() == TOY, "only a copy is changed"


def test_tests_have_to_pass_without_a_mutant(toy: Path) -> None:
    (toy / "test_toy.py").write_text("from toy import nothing")
    with pytest.raises(mutation.Refused, match="fail without a mutant"):
        list(mutation.outcomes(mutation.mutants_of("toy.py"), ["test_toy.py"], 1))


def test_what_is_excused_is_a_mutant_that_there_is() -> None:
    settings = tomllib.loads(mutation.SETTINGS.read_text())
    names = {
        mutant.name
        for group in settings["groups"]
        for path in mutation.files_in(group["files"])
        for mutant in mutation.mutants_of(path)
    }
    assert [mutant for mutant in read_explained(mutation.EXPLAINED) if mutant not in names] == []
