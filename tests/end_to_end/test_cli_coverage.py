"""Coverage in `explore`, `check` and `fuzz`: premises, `covers` in a suite, and `--coverage`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from leadline.reports.html.run import RunWithTraces, run_page
from leadline.reports.runs.json_report import read_run
from tests.suite.command import STAIRS, call, write

PREMISES = """

@witness("the climber gets to the top")
def on_top(state: Climber) -> bool:
    return state.height == state.top


@invariant("on the first step, the climber is at one", premise=lambda state: state.height == 1)
def at_one(state: Climber) -> bool:
    return state.height != 1 or state.height < 2


def high(state: Climber) -> bool:
    return state.height > 9


@invariant("who is too high is no climber", premise=high)
def too_high(state: Climber) -> bool:
    return not high(state)


with_premises = Spec(
    name="stairs",
    initial_states=initial_states,
    actions=[up, down, fly],
    properties=[on_top, at_one, too_high],
    bounds=Bounds(),
)
"""

CHECK = '[[check]]\nname = "climb"\nspec = "stairs.py:with_premises"\nexpect = "holds"\n'
ALLOWED = 'vacuous = ["too_high"]\n'
NOTHING = "holds vacuously"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with stairs."""
    return write(tmp_path, stairs=STAIRS + PREMISES)


def test_a_property_whose_premise_is_never_true_says_nothing_wherever_it_is_shown(folder: Path) -> None:
    run = call("explore", "stairs.py:with_premises", "--json", "run.json", "--html", "run.html", folder=folder)
    assert run.code == 0
    assert f"too_high  {NOTHING}" in run.out
    assert run.out.count(NOTHING) == 1
    assert NOTHING in (folder / "run.html").read_text(encoding="utf-8")
    found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert [item["premise_true"] for item in found["properties"]] == [None, True, False]
    assert found["coverage"] is None

    (folder / "leadline.toml").write_text(f"{CHECK}{ALLOWED}", encoding="utf-8")
    assert call("check", "--junit", "run.xml", "--markdown", "run.md", folder=folder).code == 0
    (text,) = (
        case[0].text for case in ElementTree.parse(folder / "run.xml").iter("testcase") if "too" in case.attrib["name"]
    )
    assert text == "too_high holds vacuously, as high is never true: who is too high is no climber"
    assert "holds vacuously: too_high" in (folder / "run.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("", 1, "expected holds, but too_high holds vacuously: high is never true"),
        ('vacuous = ["too_high", "at_one"]', 1, "expected at_one to hold vacuously, but it does not"),
        ('vacuous = ["too_high"]', 0, "1 of 1 checks as expected"),
        ('vacuous = ["on_top"]', 2, "vacuous contains 'on_top', but this check has no such property with a premise"),
        ('vacuous = ["higher"]', 2, "vacuous contains 'higher', but this check has no such property with a premise"),
    ],
)
def test_a_check_fails_if_a_property_says_nothing_and_is_not_listed(
    folder: Path, line: str, code: int, said: str
) -> None:
    (folder / "leadline.toml").write_text(f"{CHECK}{line}\n", encoding="utf-8")
    run = call("check", folder=folder)
    assert run.code == code
    assert said in run.out + run.err


def test_a_listed_property_that_is_not_decided_is_said_to_be_incomplete(folder: Path) -> None:
    check = CHECK.replace('"holds"', '"incomplete"') + "max_states = 2\n"
    (folder / "leadline.toml").write_text(f"{check}{ALLOWED}", encoding="utf-8")
    assert "expected too_high to hold vacuously, but it is incomplete" in call("check", folder=folder).out


def test_where_a_limit_came_first_the_premise_is_not_true_yet(folder: Path) -> None:
    run = call("explore", "stairs.py:with_premises", "--max-states", "2", folder=folder)
    assert "too_high  incomplete; premise not true yet" in run.out


def covering(folder: Path, covers: str, *changes: str) -> tuple[int, str]:
    """The exit code and the output of a check with `covers`."""
    text = "".join([CHECK, f"covers = {covers}\n", *changes])
    (folder / "leadline.toml").write_text(text, encoding="utf-8")
    run = call("check", "--junit", "run.xml", folder=folder)
    return run.code, run.out + run.err


def test_a_check_fails_if_it_does_not_cover_what_it_should(folder: Path) -> None:
    (folder / "leadline.toml").write_text(f"{CHECK}covers = true\n", encoding="utf-8")
    assert call("check", "--markdown", "run.md", folder=folder).code == 1
    assert (folder / "run.md").read_text(encoding="utf-8").count("never true") == 1
    code, said = covering(folder, "true")
    assert code == 1
    assert "not covered: action fly is never enabled; the premise of too_high is never true\n" in said
    (failure,) = ElementTree.parse(folder / "run.xml").iter("failure")
    assert "action fly" in failure.attrib["message"]
    assert covering(folder, '["up", "down", "on_top", "at_one"]', ALLOWED)[0] == 0
    assert covering(folder, "false", ALLOWED)[0] == 0


@pytest.mark.parametrize("settings", ['engine = "fuzz"\nexamples = 5\nsteps = 2\n', "max_states = 2\n"])
def test_what_a_sample_did_not_cover_fails_and_is_not_called_incomplete(folder: Path, settings: str) -> None:
    check = CHECK.replace('"holds"', '"incomplete"') + "bounds = { top = 5 }\n" + settings
    (folder / "leadline.toml").write_text(check + 'covers = ["on_top"]\n', encoding="utf-8")
    run = call("check", folder=folder)
    assert run.code == 1
    assert "not covered: witness on_top is not shown\n" in run.out


@pytest.mark.parametrize(
    ("covers", "complaint"),
    [
        (
            '["upp"]',
            "'upp', but this check has no such action, witness or property with a premise: did you mean",
        ),
        ('"up"', "covers must be true, false or an array of strings, not 'up'"),
    ],
)
def test_what_cannot_be_covered_is_refused(folder: Path, covers: str, complaint: str) -> None:
    code, said = covering(folder, covers)
    assert code == 2
    assert complaint in said


def test_coverage_shows_what_was_not_tried(folder: Path) -> None:
    run = call(
        *("explore", "stairs.py:with_premises", "--coverage", "--json", "run.json", "--html", "run.html"), folder=folder
    )
    assert run.code == 0
    assert [line.split() for line in run.lines if line.startswith(("up(", "fly("))] == [
        ["up(foot=left)", "2", "2", "2"],
        ["up(foot=right)", "2", "2", "0"],
        ["fly()", "never", "enabled"],
    ]
    assert "Climber.height  3: 0, 1, 2" in run.lines
    assert [line.split()[0] for line in run.lines if "yield state" in line or "state.height > state.top" in line] == [
        "?",
        "!",
    ]
    page = (folder / "run.html").read_text(encoding="utf-8")
    assert '<span class="line never">' in page
    assert "never enabled: fly()" in page


def test_the_coverage_of_a_saved_run_is_that_of_the_run(folder: Path) -> None:
    call("fuzz", "stairs.py:with_premises", "--coverage", "--examples", "9", "--json", "run.json", folder=folder)
    saved = read_run(json.loads((folder / "run.json").read_text(encoding="utf-8")))
    assert saved.statistics.covered is not None
    assert saved.statistics.covered.instances["fly()"].enabled == 0
    assert saved.statistics.covered.fields["Climber.height"].values == ("0", "1", "2")
    assert saved.statistics.covered.shown == {"on_top": 1, "at_one": 1, "too_high": 0}
    assert '<span class="line never">' in run_page("", [RunWithTraces("", saved, {})])


def test_a_suite_names_the_gaps_of_each_check(folder: Path) -> None:
    (folder / "leadline.toml").write_text(f"{CHECK}{ALLOWED}", encoding="utf-8")
    run = call("check", "--coverage", folder=folder)
    assert run.code == 0
    gaps = [line.strip() for line in run.lines if line.startswith("      ")]
    assert gaps[:2] == ["never enabled: fly()", "premise never true: too_high"]
    assert gaps[2].startswith("1 line never run and 1 branch never taken, in 1 function")


def test_a_gap_that_fails_a_check_is_named_once(folder: Path) -> None:
    (folder / "leadline.toml").write_text(f'{CHECK}{ALLOWED}covers = ["fly"]\n', encoding="utf-8")
    run = call("check", "--coverage", folder=folder)
    gaps = [line.strip() for line in run.lines if line.startswith("      ")]
    assert gaps[:2] == ["not covered: action fly is never enabled", "premise never true: too_high"]


def test_coverage_of_a_part_of_a_search_is_refused(folder: Path) -> None:
    for option in (("--engine", "spark"), ("--resume", "saved")):
        run = call("explore", "stairs.py:with_premises", "--coverage", *option, folder=folder)
        assert run.code == 2
        assert f"--coverage cannot be used with {option[0]}" in run.err
