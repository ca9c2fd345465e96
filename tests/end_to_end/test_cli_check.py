"""`leadline check`: finding, reading and running suites, and comparing the results with the expected ones."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import leadline.reports.cli.check
from leadline.checker.support.escapes import visible
from leadline.invariants.catalog import CATALOG
from leadline.reports.suite import ANSWERS, SHIPPED, read_entries, read_suite, titles
from tests.suite.command import STAIRS, Run, call, interrupted, on_terminal, run_leadline, write
from tests.suite.samples import EVERY

HOLDS = '[[check]]\nspec = "stairs.py:spec"\nexpect = "holds"\n'
AT_THREE = '[[check]]\nspec = "stairs.py:spec"\nbounds = { top = 3 }\n'
VIOLATED = f'{AT_THREE}expect = "violated"\nviolates = "third_step_free"\n'
INCOMPLETE = '[[check]]\nspec = "stairs.py:spec"\nmax_states = 2\nexpect = "incomplete"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the stairs."""
    return write(tmp_path, stairs=STAIRS)


def run_suite(folder: Path, text: str, name: str = "suite.toml") -> Run:
    """Write a suite into a folder, and check it."""
    (folder / name).write_text(text, encoding="utf-8")
    return call("check", name, folder=folder)


def shown_traces(run: Run) -> int:
    """How many traces a run showed."""
    return run.out.count("the initial state")


# The shipped suite


QUICK = {
    *("rpc: acks=1 loses data by design", "0.11: retention ignores followers", "2.0.0: retention waits for followers"),
    *("0.11: a transaction hangs", "KRaft 3.5.1: brokers and log agree at rest"),
    *("quorum of 3.0: a log is cut at a start", "quorum of 3.7: an unreadable file"),
}
"""Checks that take a tenth of the time of others of their kind."""


def one_of_each_kind(checks: list[dict[str, Any]]) -> list[int]:
    """The places of a check with each verdict, engine and family: a quick one, or else the first."""
    kinds: dict[tuple[Any, ...], int] = {}
    assert {each["name"] for each in checks} >= QUICK
    for place in sorted(range(len(checks)), key=lambda place: checks[place]["name"] not in QUICK):
        each = checks[place]
        kinds.setdefault((each["expect"], each.get("engine"), each["spec"].partition("/")[0]), place)
    return sorted(kinds.values())


def test_the_shipped_suite_runs_on_a_terminal_and_all_is_as_expected(tmp_path: Path) -> None:
    """One check of each kind; with ``EVERY=1``, all of them. Continuous integration runs all with `make check`."""
    first, *blocks = SHIPPED.read_text(encoding="utf-8").split("[[check]]")
    checks = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["check"]
    chosen = [(checks[at], blocks[at]) for at in (range(len(checks)) if EVERY else one_of_each_kind(checks))]
    (tmp_path / "leadline.toml").write_text("[[check]]".join([first, *(block for _, block in chosen)]), "utf-8")
    run = on_terminal("check", folder=tmp_path, PYTHON_CPU_COUNT="1")
    assert run.code == 0, run.out
    assert run.width <= 80
    assert [line.split("  ")[0] for line in run.lines if line.startswith("ok ")] == ["ok"] * len(chosen)
    for check, _ in chosen:
        (line,) = (line for line in run.lines if line.startswith(f"ok    {check['name']} "))
        assert f" {check['expect']}, " in line
        if "trace_length" in check:
            assert f"trace of {check['trace_length']} " in line
        if "distinct_states" in check:
            assert f"{check['distinct_states']:,} states " in line
    assert f"{len(chosen)} of {len(chosen)} checks as expected" in run.lines
    assert shown_traces(run) == 0


def test_the_names_of_the_shipped_checks_leave_room_for_their_results() -> None:
    checks = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["check"]
    assert max(len(check["name"]) for check in checks) <= 44


def test_the_shipped_suite_checks_every_protocol_with_both_verdicts_and_both_engines() -> None:
    checks = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["check"]
    assert {check["spec"] for check in checks} == set(CATALOG)
    assert {check["expect"] for check in checks} == {"holds", "violated"}
    assert {check.get("engine", "explore") for check in checks} == {"explore", "fuzz"}


WORSE = {
    ("KIP-101 fixes that for 2 brokers, 1 change", "hw-truncation"): "expected holds, but weak_isr is violated",
    ("KIP-101 fails if the leader changes twice", "hw-truncation"): "expected a trace of 12 states, but it has 10",
    ("KIP-279 fixes that, with two brokers", "kip-101"): "expected holds, but weak_isr, strong_isr is violated",
    ("KIP-320 holds, with two brokers", "kip-279"): "expected holds, but epochs_monotonic_in_log is violated",
    ("KIP-320 holds, with three brokers", "kip-101"): "expected holds, but ",
}


@pytest.mark.parametrize(("name", "worse"), list(WORSE) if EVERY else list(WORSE)[:2])
def test_the_shipped_suite_ends_in_1_when_a_protocol_is_swapped_for_a_worse_one(
    tmp_path: Path, name: str, worse: str
) -> None:
    blocks = SHIPPED.read_text(encoding="utf-8").split("[[check]]")[1:]
    (block,) = (block for block in blocks if f'name = "{name}"' in block)
    swapped, count = re.subn('spec = "atomic/[^"]*"', f'spec = "atomic/{worse}"', block)
    assert count == 1
    run = run_suite(tmp_path, f"[[check]]{swapped}")
    assert (run.code, run.err) == (1, "")
    assert run.lines[0].startswith(f"FAIL  {name}  violated, trace of ")
    assert run.lines[1].startswith(f"      {WORSE[name, worse]}")
    assert run.lines[-2] == "0 of 1 checks as expected"


# Which suite


def test_leadline_toml_comes_before_pyproject_toml(folder: Path) -> None:
    (folder / "leadline.toml").write_text(HOLDS, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[[tool.leadline.check]]\n", encoding="utf-8")
    run = run_leadline("check", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert re.fullmatch(r"ok    stairs\.py:spec  holds, 3 states  \d\.\d s", run.lines[0])
    assert run.lines[1:] == ["1 of 1 checks as expected", ""]


def test_a_suite_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    (folder / "leadline.toml").write_text(HOLDS, encoding="utf-8-sig")
    run = run_leadline("check", folder=folder)
    assert (run.code, run.err) == (0, "")


def test_pyproject_toml_is_used_where_it_has_a_table_for_leadline(folder: Path) -> None:
    text = f'[project]\nname = "x"\n{VIOLATED.replace("[[check]]", "[[tool.leadline.check]]")}'
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    run = call("check", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert run.lines[0].startswith("ok    stairs.py:spec  violated, trace of 4  ")
    assert call("check", "pyproject.toml", folder=folder).code == 0


@pytest.mark.parametrize(
    "project", [None, "", '[project]\nname = "x"\n', "[tool.ruff]\nline-length = 120\n", "tool = 3\n"]
)
def test_without_a_suite_in_the_folder_nothing_is_run(folder: Path, project: str | None) -> None:
    (folder / "shipped.toml").write_text(HOLDS, encoding="utf-8")
    if project is not None:
        (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    with mock.patch.object(leadline.reports.cli.check, "SHIPPED", folder / "shipped.toml"):
        run, shipped = call("check", folder=folder), call("check", "--shipped", folder=folder)
        both = call("check", "shipped.toml", "--shipped", folder=folder)
    assert (run.code, run.out) == (2, "")
    assert run.complaint == (
        "there is no leadline.toml in this folder, and no [tool.leadline] in a pyproject.toml: pass the file of a "
        "suite, or --shipped to run the shipped suite"
    )
    assert (shipped.code, shipped.err) == (0, "")
    assert shipped.lines[0].startswith("ok    stairs.py:spec  holds")
    assert (both.code, both.complaint) == (2, "--shipped cannot be used with FILE: pass only one of them")


def test_a_named_file_is_run_and_its_paths_are_relative_to_its_folder(folder: Path, tmp_path: Path) -> None:
    suites = folder / "suites"
    suites.mkdir()
    write(suites, ladder=STAIRS.replace('name="stairs"', 'name="ladder"'))
    (folder / "leadline.toml").write_text("[[check]]\n", encoding="utf-8")  # not the one that is named
    (suites / "mine.toml").write_text(HOLDS.replace("stairs.py", "ladder.py"), encoding="utf-8")
    run = call("check", "suites/mine.toml", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert run.lines[0].startswith("ok    ladder.py:spec  holds")


# Which checks


def named(name: str, text: str) -> str:
    """A check with a name."""
    return text.replace("[[check]]", f"[[check]]\nname = {name!r}")


def test_checks_are_run_by_name_in_the_order_of_the_suite(folder: Path) -> None:
    broken = '[[check]]\nname = "not loaded"\nspec = "missing.py"\nexpect = "holds"\n'
    text = named("it holds", HOLDS) + broken + HOLDS + named("it fails", VIOLATED) + HOLDS
    (folder / "leadline.toml").write_text(text, encoding="utf-8")
    run = call("check", "it fails", "it holds", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert [re.split("  +", line)[1] for line in run.lines[:2]] == ["it holds", "it fails"]
    assert run.lines[2:] == ["2 of 2 checks as expected", ""]
    by_spec = call("check", "leadline.toml", "stairs.py:spec (2)", folder=folder)
    assert (by_spec.code, len(by_spec.lines)) == (0, 3)
    assert call("check", "not loaded", folder=folder).complaint.endswith("there is no file missing.py")


def test_an_unknown_name_of_a_check_is_refused_with_the_most_similar_one(folder: Path) -> None:
    (folder / "leadline.toml").write_text(named("it holds", HOLDS), encoding="utf-8")
    refused = call("check", "it hold", folder=folder)
    assert refused.complaint == "leadline.toml has no check 'it hold': did you mean 'it holds'?"
    assert call("check", "--shipped", "KIP-101 fails", folder=folder).complaint.startswith(f"{SHIPPED} has no check")


@pytest.mark.parametrize("name", ["it's -f", "-f", "a b", "hidden\u202e", "answers", "x.toml", "stairs.py"])
def test_a_failed_check_shows_the_command_that_repeats_it(folder: Path, name: str) -> None:
    text = named("first", HOLDS) + f"{HOLDS}distinct_states = 4\n" + f"{named(name, HOLDS)}distinct_states = 4\n"
    text = text.replace(repr(name), json.dumps(name))
    run = run_suite(folder, text, "my suite.toml")
    assert run.code == 1
    commands = [line.removeprefix("      to repeat it: ") for line in run.lines if "to repeat it: " in line]
    for command, other in zip(commands, ["stairs.py:spec", name], strict=True):
        again = call(*shlex.split(command)[1:], folder=folder)
        assert (again.code, again.err) == (1, "")
        assert again.lines[0].startswith(f"FAIL  {visible(other)}  holds, 3 states")
        assert f"      to repeat it: {command}" in again.lines
        assert "0 of 1 checks as expected" in again.lines


def test_a_failed_check_of_the_shipped_suite_is_repeated_with_its_option() -> None:
    first = read_suite(SHIPPED)[0]
    assert shlex.split(first.check_command) == ["leadline", "check", "--shipped", first.title]
    question = read_suite(ANSWERS, [titles(read_entries(ANSWERS))[1]])[0]
    assert shlex.split(question.check_command) == ["leadline", "check", "answers", question.title]


# What is expected, and what is found


def test_each_verdict_can_be_expected(folder: Path) -> None:
    run = run_suite(folder, HOLDS + VIOLATED + INCOMPLETE)
    assert (run.code, run.err) == (0, "")
    assert [re.split("  +", line)[1:3] for line in run.lines if line.startswith("ok ")] == [
        ["stairs.py:spec", "holds, 3 states"],
        ["stairs.py:spec (2)", "violated, trace of 4"],
        ["stairs.py:spec (3)", "incomplete, 2 states"],
    ]
    assert run.lines[-2] == "3 of 3 checks as expected"


def test_a_check_as_expected_takes_one_line(folder: Path) -> None:
    run = run_suite(folder, HOLDS + VIOLATED + VIOLATED)
    assert run.code == 0
    assert [line.split()[0] for line in run.lines if line] == ["ok", "ok", "ok", "3"]


def test_each_violation_that_was_not_expected_shows_its_trace(folder: Path) -> None:
    surprise = '[[check]]\nspec = "stairs.py"\nbounds = { top = 4 }\nexpect = "holds"\n'
    run = run_suite(folder, VIOLATED + surprise + surprise)
    assert (run.code, shown_traces(run)) == (1, 2)
    assert "stairs.py:spec  top=4" in run.lines
    assert "third_step_free is violated: it requires that nobody is on the third step" in run.lines
    assert "1 of 3 checks as expected" in run.lines


UNMET = {
    "violated, not held": (f'{AT_THREE}expect = "holds"\n', 1, "expected holds, but third_step_free is violated"),
    "held, not violated": (VIOLATED.replace("top = 3", "top = 2"), 1, "expected violated, but it holds"),
    "a shorter trace": (f"{VIOLATED}trace_length = 5\n", 1, "expected a trace of 5 states, but it has 4"),
    "a longer trace": (f"{VIOLATED}trace_length = 3\n", 1, "expected a trace of 3 states, but it has 4"),
    "another count": (f"{HOLDS}distinct_states = 1234\n", 1, "expected 1,234 distinct states, but there are 3"),
    "another count in an incomplete run": (
        f"{INCOMPLETE}distinct_states = 9\n",
        1,
        "expected 9 distinct states, but there are 2",
    ),
    "held, not incomplete": (INCOMPLETE.replace("max_states = 2", ""), 1, "expected incomplete, but it holds"),
    "limited, not held": (f"{HOLDS}max_states = 2\n", 3, "expected holds, but it is incomplete: reached 2 states"),
    "limited, not violated": (f"{VIOLATED}depth = 2\n", 3, "expected violated, but it is incomplete: reached depth 2"),
    "out of time": (f"{HOLDS}max_seconds = 1e-9\n", 3, "expected holds, but it is incomplete: reached 1e-09 seconds"),
    "another property": (
        f'{VIOLATED.replace("third_step_free", "on_stairs")}properties = ["on_stairs", "third_step_free"]\n',
        1,
        "expected on_stairs to be violated, but third_step_free is violated first, and the search stopped there",
    ),
    "not found by fuzzing": (
        f'{VIOLATED.replace("top = 3", "top = 2")}engine = "fuzz"\nexamples = 5\n',
        3,
        "expected violated, but it is incomplete: 5 random behaviours of at most 50 steps are only a sample",
    ),
}


@pytest.mark.parametrize("what", UNMET)
def test_an_expectation_that_is_not_met_says_what_was_found(folder: Path, what: str) -> None:
    suite, code, found = UNMET[what]
    run = run_suite(folder, suite)
    assert (run.code, run.err) == (code, "")
    assert run.lines[0].startswith("FAIL  stairs.py:spec  ")
    assert found in run.lines[1]
    assert "0 of 1 checks as expected" in run.lines


def test_a_failure_weighs_more_than_an_incomplete_check(folder: Path) -> None:
    limited, failing = f"{HOLDS}max_states = 2\n", f"{HOLDS}distinct_states = 4\n"
    assert run_suite(folder, limited + HOLDS).code == 3
    assert run_suite(folder, limited + failing).code == 1
    assert run_suite(folder, failing + limited).code == 1


def test_a_met_expectation_may_name_trace_length_and_distinct_states(folder: Path) -> None:
    run = run_suite(folder, f"{VIOLATED}trace_length = 4\ndistinct_states = 4\n{HOLDS}distinct_states = 3\n")
    assert run.code == 0


def test_fuzz_checks_find_what_they_expect_or_expect_to_find_nothing(folder: Path) -> None:
    fuzz = 'engine = "fuzz"\nexamples = 20\nsteps = 10\nseed = 5\n'
    nothing = HOLDS.replace('"holds"', '"incomplete"') + fuzz
    run = run_suite(folder, f"{VIOLATED}{fuzz}trace_length = 4\n{nothing}")
    assert (run.code, run.err) == (0, "")
    results = [line for line in run.lines if line.startswith("ok ")]
    assert "violated, trace of 4" in results[0]
    assert "incomplete, 3 states" in results[1]


def test_only_the_chosen_properties_are_checked(folder: Path) -> None:
    chosen = f'{AT_THREE}expect = "holds"\nproperties = ["on_stairs", "top_reached"]\n'
    assert run_suite(folder, chosen).code == 0


def test_names_are_shown_and_aligned(folder: Path) -> None:
    run = run_suite(folder, HOLDS + HOLDS.replace("expect", 'name = "a longer name than that"\nexpect'))
    assert run.lines[0].startswith("ok    stairs.py:spec           holds, 3 states")
    assert run.lines[1].startswith("ok    a longer name than that  holds, 3 states")


def test_control_c_ends_in_3_and_says_what_was_not_run(folder: Path) -> None:
    bounds = "brokers = 3, log_size = 3, records = 3, max_epoch = 3"
    long = f'[[check]]\nspec = "atomic/kip-320"\nbounds = {{ {bounds} }}\nexpect = "holds"\n'
    (folder / "leadline.toml").write_text(HOLDS + long + HOLDS, encoding="utf-8")
    run = interrupted("check", folder=folder, when=r"kip-320[\s\S]*?[1-9][\d,]+ distinct")
    assert run.code == 3
    assert "Traceback" not in run.err
    lines = run.out.splitlines()
    assert lines[0].startswith("ok ")
    assert re.match("FAIL  atomic/kip-320 +incomplete, ", lines[1])
    assert lines[2].startswith("      expected holds, but it ")
    assert lines[2].endswith(" interrupted")
    assert lines[3] == "      to repeat it: leadline check leadline.toml atomic/kip-320"
    assert lines[4:] == ["1 of 3 checks as expected, 1 not run"]


# Mistakes in a suite

MISTAKES = {
    "not TOML": ("[[check]", " is not valid TOML: "),
    "empty": ("", " has no checks: write one or more [[check]] tables"),
    "no checks": ("check = []", " has no checks: write one or more [[check]] tables"),
    "checks that are none": ("check = 3", " has no checks: write one or more [[check]] tables"),
    "a check that is none": ("check = [3]", ", check 1: a check must be a table, not 3"),
    "an unknown table": (f"[[cheque]]\n{HOLDS}", ": unknown key 'cheque': a suite can contain only [[check]] tables"),
    "an unknown key": (f"{HOLDS}bound = 3", ", check 1 (stairs.py:spec): unknown key 'bound': did you mean 'bounds'"),
    "a key misspelt": (HOLDS.replace("expect", "expects"), ": unknown key 'expects': did you mean 'expect'"),
    "no spec": ('[[check]]\nexpect = "holds"', ", check 1: spec is missing"),
    "no expectation": ('[[check]]\nspec = "stairs.py"', ", check 1 (stairs.py): expect is missing"),
    "an unknown verdict": (
        HOLDS.replace("holds", "hold"),
        ": expect must be one of holds, violated, incomplete, not 'hold'",
    ),
    "an unknown engine": (f'{HOLDS}engine = "tlc"', ": engine must be one of explore, fuzz, not 'tlc'"),
    "a name of the wrong type": (f"{HOLDS}name = 3", ": name must be a string, not 3"),
    "a spec of the wrong type": ('[[check]]\nspec = 3\nexpect = "holds"', ": spec must be a string, not 3"),
    "a number of the wrong type": (f'{HOLDS}depth = "3"', ": depth must be an integer, not '3'"),
    "a boolean for a number": (f"{HOLDS}depth = true", ": depth must be an integer, not True"),
    "no number": (f"{HOLDS}max_seconds = nan", ": max_seconds must be a number, not nan"),
    "properties of the wrong type": (
        f'{HOLDS}properties = "on_stairs"',
        ": properties must be an array of strings, not ",
    ),
    "bounds of the wrong type": (
        f"{HOLDS}bounds = 3",
        ": bounds must be a table of integers, booleans and strings, not 3",
    ),
    "a bound of the wrong type": (f"{HOLDS}bounds = {{ top = 2.5 }}", ": bounds must be a table of integers, booleans"),
    "an unknown bound": (f"{HOLDS}bounds = {{ tops = 3 }}", ": unknown bound 'tops': did you mean 'top'?"),
    "a bound out of range": (
        f"{HOLDS}bounds = {{ top = 10 }}",
        ": bound top=10 is out of range: it must be an integer from 0 to 9",
    ),
    "a bound that is no number": (
        f'{HOLDS}bounds = {{ top = "high" }}',
        ": bound top=high is out of range: it must be an integer",
    ),
    "an unknown spec": (
        HOLDS.replace("stairs.py:spec", "atomic/kip-10"),
        ": unknown spec 'atomic/kip-10': did you mean",
    ),
    "a file that is not there": (HOLDS.replace("stairs", "ladder"), "(ladder.py:spec): there is no file "),
    "an unknown spec in a file": (
        HOLDS.replace(":spec", ":specs"),
        ": stairs.py has no spec 'specs': did you mean 'spec'?",
    ),
    "an unknown property": (
        f'{HOLDS}properties = ["on_stair"]',
        ": stairs.py:spec has no property 'on_stair': did you mean 'on_stairs'",
    ),
    "an unknown violated property": (
        VIOLATED.replace("third_step", "3rd_step"),
        " has no property '3rd_step_free': did you",
    ),
    "a violation of nothing": (
        '[[check]]\nspec = "stairs.py"\nexpect = "violated"',
        ': expect = "violated" and violates = "PROPERTY" must be given together',
    ),
    "what holds and is violated": (
        f'{HOLDS}violates = "on_stairs"',
        ': expect = "violated" and violates = "PROPERTY" must be given together',
    ),
    "a violation of what is not checked": (
        f'{VIOLATED}properties = ["on_stairs"]',
        ": violates = 'third_step_free' does not name a property of this check",
    ),
    "a proof by fuzzing": (f'{HOLDS}engine = "fuzz"', ': expect = "holds" requires engine = "explore", '),
    "an impossible limit": (
        f"{HOLDS}max_states = 0",
        ": limit max_states=0 is out of range: it must be an integer greater than 0",
    ),
    "an impossible setting": (
        f'{VIOLATED}engine = "fuzz"\nexamples = 0',
        ": examples = 0 is out of range: it must be greater than 0",
    ),
    "an impossible length": (
        f"{VIOLATED}trace_length = 0",
        ": trace_length = 0 is out of range: it must be greater than 0",
    ),
    "a limit for fuzz": (
        f'{VIOLATED}engine = "fuzz"\ndepth = 3',
        ': depth requires engine = "explore", but this check has engine = "fuzz"',
    ),
    "a count of a random search": (
        f'{INCOMPLETE.replace("max_states = 2", "")}engine = "fuzz"\ndistinct_states = 3',
        ': distinct_states requires engine = "explore": a random search does not visit every state, ',
    ),
    "a setting for explore": (
        f"{HOLDS}seed = 3",
        ': seed requires engine = "fuzz", but this check has engine = "explore"',
    ),
    "a length of no trace": (f"{HOLDS}trace_length = 3", ': trace_length requires violates = "PROPERTY"'),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_in_a_suite_is_one_line_and_exit_code_2(folder: Path, what: str) -> None:
    text, reason = MISTAKES[what]
    complaint = run_suite(folder, text).complaint
    assert complaint.startswith("suite.toml")
    assert reason in complaint


def test_a_mistake_is_told_with_the_checks_name_before_any_check_is_run(folder: Path) -> None:
    later = '[[check]]\nname = "the later one"\nspec = "stairs.py"\nbounds = { tip = 1 }\nexpect = "holds"\n'
    (folder / "leadline.toml").write_text(HOLDS + VIOLATED + later, encoding="utf-8")
    complaint = run_leadline("check", folder=folder).complaint
    assert complaint == "leadline.toml, check 3 (the later one): unknown bound 'tip': did you mean 'top'?"


def test_a_mistake_in_a_pyproject_toml_names_the_table_it_has_there(folder: Path) -> None:
    reason = run_suite(folder, "[tool.leadline]\n", name="pyproject.toml").complaint
    assert reason == "pyproject.toml has no checks: write one or more [[tool.leadline.check]] tables"
    reason = run_suite(folder, "[[tool.leadline.checks]]\n", name="pyproject.toml").complaint
    assert reason == "pyproject.toml: unknown key 'checks': a suite can contain only [[tool.leadline.check]] tables"


def test_a_suite_that_cannot_be_read_ends_in_2(folder: Path) -> None:
    assert call("check", "absent.toml", folder=folder).complaint == "cannot read absent.toml: No such file or directory"
    assert call("check", ".", folder=folder).complaint == "cannot read .: Is a directory"
    (folder / "binary.toml").write_bytes(b"\xff\xfe")
    assert call("check", "binary.toml", folder=folder).complaint.startswith("binary.toml is not valid TOML: ")


def test_a_spec_that_fails_while_it_runs_ends_in_2_and_names_the_check(folder: Path) -> None:
    write(folder, broken=STAIRS.replace("    if state.height > 0:", "    if state.height > 1 / 0:"))
    broken = HOLDS.replace("stairs.py", "broken.py").replace("expect", 'name = "a bad one"\nexpect')
    run = run_suite(folder, HOLDS + broken)
    assert run.code == 2
    assert run.out.startswith("ok    stairs.py:spec  holds")
    assert re.fullmatch(
        r"leadline: a bad one: action down\(\) raised ZeroDivisionError: division by zero \(broken\.py, line \d+\)\n",
        run.err,
    )


# --verify


RANDOM = '[[check]]\nspec = "stairs.py:spec"\nexpect = "incomplete"\nengine = "fuzz"\nexamples = 50\n'


def test_a_check_names_the_share_of_learned_results_to_verify(folder: Path) -> None:
    (folder / "suite.toml").write_text(f'{RANDOM}verify = "100%"\n{RANDOM}verify = "0%"\n', encoding="utf-8")
    every, none = read_suite(folder / "suite.toml")
    shares = [(every, None), (none, None), (none, 1.0), (every, 0.0)]
    checked = [check.run(verify=verify).result.statistics.verified for check, verify in shares]
    assert all(found is not None for found in checked)
    assert [found.checked > 0 for found in checked if found is not None] == [True, False, True, False]
    assert every.command.endswith(" --verify 100%")


def test_the_whole_suite_can_be_verified(folder: Path) -> None:
    (folder / "suite.toml").write_text(RANDOM, encoding="utf-8")
    with mock.patch("leadline.reports.suite.PreparedCheck.run", side_effect=KeyboardInterrupt) as run:
        call("check", "suite.toml", "--verify", "12.5%", folder=folder)
    assert run.call_args.args[-1] == 0.125
    assert call("check", "suite.toml", "--verify", "100%", folder=folder).code == 0


@pytest.mark.parametrize("share", ["5", "101%", "-1%", "", "five"])
def test_a_share_that_is_not_one_is_refused(share: str, folder: Path) -> None:
    run = run_suite(folder, f'{HOLDS}verify = "{share}"\n')
    assert run.code == 2
    assert run.complaint.endswith(f"'{share}' is not a valid share: write a percentage from 0% to 100%, such as 5%")
    assert call("check", "suite.toml", "--verify", share, folder=folder).code == 2
