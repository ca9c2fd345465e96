"""A saved counterexample is replayed before the next search, and counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker.engines.oracle import explore
from leadline.checker.errors import LeadlineError
from leadline.reports.cli.saved_first import replayed_first, with_saved
from leadline.reports.loading import load_spec
from tests.suite.command import STAIRS, call, write

SAVED = "traces/stairs.py-spec-top3-third_step_free.itf.json"
AGAIN = ("stairs.py", "-b", "top=3", "--trace-out", "traces")


@pytest.fixture
def climb(tmp_path: Path) -> Path:
    """A folder with the stairs and a saved counterexample."""
    first = call("explore", *AGAIN, folder=write(tmp_path, stairs=STAIRS))
    assert (first.code, "still" in first.out) == (1, False)
    return tmp_path


def test_the_next_search_says_first_that_it_still_is_one(climb: Path) -> None:
    run = call("explore", *AGAIN, folder=climb)
    assert run.out.splitlines()[0] == f"{SAVED} still violates third_step_free, in 4 states"
    as_json = call("explore", *AGAIN, "--json", "-", folder=climb)
    assert as_json.json["verdict"] == "violated"
    assert "still violates" in as_json.err


def test_it_counts_where_a_limit_ends_the_search_before(climb: Path) -> None:
    for words in (("explore", *AGAIN, "--depth", "2"), ("fuzz", *AGAIN, "--steps", "1")):
        run = call(*words, folder=climb)
        assert run.code == 1
        assert "4/4" in run.out
    alone = call("explore", "stairs.py", "-b", "top=3", "--depth", "2", folder=climb)
    assert alone.code == 3, "without the saved counterexample, the search is incomplete"


@pytest.mark.parametrize(
    ("old", "new", "why", "code"),
    [
        ("state.height == 3", "state.height == 12", "the last state no longer violates third_step_free", 0),
        ("state.height + 1", "state.height + 2", "leads to a different state", 1),
        ("bounds=Bounds(),", "bounds=Bounds(), within=lambda state: state.height < 2,", "state 3 is not within", 0),
    ],
)
def test_what_is_mended_is_told_and_does_not_count(climb: Path, old: str, new: str, why: str, code: int) -> None:
    write(climb, stairs=STAIRS.replace(old, new))
    run = call("explore", *AGAIN, "-i", "third_step_free", folder=climb)
    line = run.out.splitlines()[0]
    assert line.startswith(f"{SAVED} is no longer a counterexample to third_step_free: ")
    assert why in line
    assert run.code == code


def test_counterexamples_of_other_specs_bounds_and_properties_are_left_alone(climb: Path) -> None:
    (climb / "traces" / "torn.itf.json").write_text("{", encoding="utf-8")
    for words in (("stairs.py", "-b", "top=4"), ("stairs.py", "-b", "top=3", "-i", "on_stairs"), ("atomic/kip-101",)):
        run = call("explore", *words, "--trace-out", "traces", folder=climb)
        assert "longer" not in run.out.splitlines()[0]
        assert "still" not in run.out.splitlines()[0]


def test_a_search_that_contradicts_it_is_an_error(climb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(climb)
    spec = load_spec("stairs.py").with_bounds({"top": 3})
    saved = replayed_first(spec, Path("traces"), err=False)
    assert [*saved] == ["third_step_free"]
    wrong = explore(spec.with_bounds({"top": 2}))
    with pytest.raises(
        LeadlineError, match="third_step_free holds, but a saved counterexample of 4 states was replayed"
    ):
        with_saved(wrong, saved)
    found = explore(spec)
    assert with_saved(found, saved).properties == found.properties, "what the search found itself is kept"
