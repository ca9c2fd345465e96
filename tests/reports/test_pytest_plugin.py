"""The pytest plugin: each check of a leadline.toml is a test."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import jsonschema
import pytest

from leadline.reports.ci.suite_json import SCHEMA
from tests.suite.command import STAIRS, call

SUITE = """
[[check]]
spec = "stairs.py"
expect = "holds"

[[check]]
name = "a surprise"
spec = "stairs.py"
bounds = { top = 3 }
expect = "holds"
marks = ["nightly"]

[[check]]
name = "cut short"
spec = "stairs.py"
max_states = 2
expect = "holds"

[[check]]
name = "a surprise"
spec = "stairs.py"
bounds = { top = 3 }
engine = "fuzz"
examples = 5
expect = "incomplete"
"""

OWN = """
from leadline.reports.testing import assert_holds


def test_stairs() -> None:
    assert_holds("stairs.py", top=3)
"""


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import what checks need, before `pytester` notes which modules there are: it lets go of all others."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "stairs.py").write_text(STAIRS, encoding="utf-8")
    (folder / "leadline.toml").write_text(SUITE, encoding="utf-8")
    assert call("check", "--html", "page", folder=folder).code == 1


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makefile(".py", stairs=STAIRS)
    pytester.makefile(".toml", leadline=SUITE)
    pytester.makeini("[pytest]\nmarkers = nightly\naddopts = --strict-markers\n")
    return pytester


def test_each_check_is_a_test(project: pytest.Pytester) -> None:
    run = project.inline_run("leadline.toml")
    passed, skipped, failed = run.listoutcomes()
    assert ([report.nodeid for report in passed], skipped) == (["leadline.toml::stairs.py"], [])
    assert [report.nodeid for report in failed] == [
        "leadline.toml::a surprise",
        "leadline.toml::cut short",
        "leadline.toml::a surprise (2)",
    ]
    shown = failed[0].longreprtext
    assert shown.startswith("expected holds, but third_step_free is violated\n")
    assert " 4/4  the climber sets its left foot one step higher  [violated]\n" in shown
    assert shown.count("stairs.py:spec  top=3") == 1
    assert "stairs.py -b top=3 -i on_stairs -i third_step_free -i top_reached\n" in shown
    assert failed[1].longreprtext.startswith("expected holds, but it is incomplete: reached 2 states\n")
    assert not any("reports/" in report.longreprtext for report in failed), "no line of leadline's own code is shown"


def test_the_page_and_trace_of_a_failure_are_saved(project: pytest.Pytester) -> None:
    run = project.inline_run("leadline.toml", "-k", "surprise and not (2)", "--leadline-out", "out", "--junitxml=r.xml")
    (failed,) = run.listoutcomes()[2]
    saved = dict(failed.user_properties)
    assert "third_step_free is violated" in (project.path / str(saved["leadline_page"])).read_text(encoding="utf-8")
    (replay,) = re.findall("replay: +leadline (.*)", failed.longreprtext)
    assert "third_step_free" in call(*shlex.split(replay), folder=project.path).out
    assert 'name="leadline_page"' in (project.path / "r.xml").read_text(encoding="utf-8")


def test_without_a_folder_files_are_in_the_cache_of_pytest(project: pytest.Pytester) -> None:
    for options, places in (((), [".pytest_cache/d/leadline"]), (("-p", "no:cacheprovider"), [])):
        run = project.inline_run("leadline.toml", "-k", "surprise and not (2)", *options)
        (failed,) = run.listoutcomes()[2]
        assert [place for place in places if f"page:          {place}/" not in failed.longreprtext] == []
        assert bool(failed.user_properties) is bool(places)


def test_checks_are_chosen_by_their_marks(project: pytest.Pytester) -> None:
    for mark, count in (("leadline", 4), ("nightly", 1), ("not leadline", 0)):
        run = project.inline_run("leadline.toml", "--collect-only", "-m", mark)
        assert len([call for call in run.getcalls("pytest_itemcollected") if call.item]) == 4
        deselected = sum(len(call.items) for call in run.getcalls("pytest_deselected"))
        assert 4 - deselected == count, mark


def test_a_failure_says_what_decides_it(project: pytest.Pytester) -> None:
    suite = '[[check]]\nspec = "atomic/hw-truncation"\nproperties = ["strong_isr"]\nexpect = "holds"\n'
    project.makefile(".toml", leadline=suite)
    decides = "strong_isr holds with truncates_to=end_of_own_last_epoch, the rule of atomic/kip-101"
    for seconds in (300, 0):
        (failed,) = project.inline_run("leadline.toml", f"--leadline-diagnose={seconds}").listoutcomes()[2]
        assert (decides in failed.longreprtext.splitlines()) == (seconds > 0)


def test_an_invalid_suite_is_an_error_of_one_line(project: pytest.Pytester) -> None:
    project.makefile(".toml", leadline=SUITE.replace('"holds"', '"hold"', 1))
    result = project.runpytest_inprocess("leadline.toml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.re_match_lines([r".*leadline.toml, check 1 \(stairs.py\): .*'hold'.*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_suite_runs_on_workers_of_xdist(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("leadline.toml", "-n", "2", "-p", "xdist", "-k", "not (2)")  # two are enough
    result.assert_outcomes(passed=1, failed=2)


def test_an_assertion_about_a_spec_shows_the_test_and_not_the_function(project: pytest.Pytester) -> None:
    project.makepyfile(test_own=OWN)
    (failed,) = project.inline_run("test_own.py").listoutcomes()[2]
    assert "third_step_free is violated" in failed.longreprtext
    assert "Search a spec's whole space" not in failed.longreprtext


def test_nothing_of_leadline_is_imported_without_a_suite() -> None:
    """The plugin is loaded by every pytest of an environment."""
    program = (
        "import sys, leadline.reports.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('leadline', 'attr', 'numba', 'click')))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['leadline', 'leadline.reports', 'leadline.reports.pytest_plugin']"


def test_the_json_object_of_a_suite_follows_its_schema(project: pytest.Pytester) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    run = call("check", "--json", "-", folder=project.path)
    content = json.loads(run.out)
    jsonschema.validate(content, schema)
    assert run.code == content["exit_code"] == 1
    assert [check["status"] for check in content["checks"]] == ["passed", "failed", "incomplete", "failed"]
    assert content["checks"][1]["command"].startswith("leadline explore stairs.py -b top=3")
    del content["checks"][0]["result"]["distinct_states"]
    with pytest.raises(jsonschema.ValidationError, match="distinct_states"):
        jsonschema.validate(content, schema)


def test_checks_that_were_not_run_are_in_the_json_object(project: pytest.Pytester) -> None:
    broken = STAIRS.replace("if state.height", "if state.hight")
    (project.path / "broken.py").write_text(broken, encoding="utf-8")
    project.makefile(".toml", leadline='[[check]]\nspec = "broken.py"\nexpect = "holds"\n' + SUITE)
    run = call("check", "--json", "r.json", folder=project.path)
    content = json.loads((project.path / "r.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert (run.code, content["exit_code"]) == (2, 3)
    assert {check["status"] for check in content["checks"]} == {"not run"}
