"""What `leadline check` writes for CI systems, read by others and by their own rules."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import attrs
import jsonschema
import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml

from leadline.checker import Limits, Verdict, invariant
from leadline.checker.engines import ENGINES
from leadline.checker.result import PropertyResult
from leadline.invariants import durability
from leadline.reports.ci.findings import Finding, SourceLocation, findings, location_of
from leadline.reports.ci.github import summary, workflow_commands
from leadline.reports.ci.junit import junit
from leadline.reports.ci.sarif import sarif
from leadline.reports.ci.suite_json import SCHEMA as CHECK_SCHEMA
from leadline.reports.suite import Outcome, read_suite
from tests.browser.chromium import chromium, needs_chromium
from tests.documents.blocks import every_block
from tests.reports.schema_files import SCHEMAS
from tests.suite.command import COMMAND, STAIRS, Run, call, write

SUITE = """
[[check]]
name = "holds: 100% sure, <it> \\u0007 | does"
spec = "stairs.py"
expect = "holds"
[[check]]
name = "expected"
spec = "stairs.py"
bounds = { top = 3 }
expect = "violated"
violates = "third_step_free"
[[check]]
name = "a surprise"
spec = "stairs.py"
bounds = { top = 3 }
expect = "holds"
[[check]]
name = "cut short"
spec = "stairs.py"
max_states = 2
expect = "holds"
[[check]]
name = "too good"
spec = "stairs.py"
expect = "violated"
violates = "third_step_free"
[[check]]
name = "miscounted"
spec = "stairs.py"
expect = "holds"
distinct_states = 4
[[check]]
name = "meant to be cut short"
spec = "stairs.py"
max_states = 2
expect = "incomplete"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite in which everything happens that may."""
    made = write(tmp_path_factory.mktemp("suite"), stairs=STAIRS)
    (made / "leadline.toml").write_text(SUITE, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """The suite's run, with everything written."""
    return call(
        "check", "--junit", "j.xml", "--sarif", "s.sarif", "--markdown", "m.md", "--html", "site", "--github",
        folder=folder,
    )  # fmt: skip


def test_writing_changes_neither_the_exit_code_nor_what_is_shown(folder: Path, run: Run) -> None:
    assert (run.code, run.err) == (1, "")
    plain = call("check", folder=folder)
    assert plain.code == 1
    without = [line for line in run.lines if not line.startswith("::")]
    assert [re.sub(r"\d\.\d s", "", line) for line in without] == [re.sub(r"\d\.\d s", "", it) for it in plain.lines]


# JUnit

needs_schemas = pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the schemas are not here: make test gets them")


@needs_schemas
def test_junit_is_as_the_schema_of_jenkins_has_it(folder: Path, run: Run) -> None:
    schema = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")
    root = ElementTree.parse(folder / "j.xml").getroot()
    assert list(schema.iter_errors(root)) == []
    root[0][0].set("status", "passed")  # the test can fail
    assert len(list(schema.iter_errors(root))) == 1


def test_junit_has_a_case_for_each_check_and_property_and_incomplete_is_an_error(folder: Path, run: Run) -> None:
    report = JUnitXml.fromfile(str(folder / "j.xml"))
    (suite,) = report
    cases = {(case.classname, case.name): [type(it) for it in case.result] for case in suite}
    holds = "holds: 100% sure, <it> \\x07 | does"
    properties = ("on_stairs", "third_step_free", "top_reached")
    assert cases == {
        (holds, "as expected"): [],
        **{(holds, name): [] for name in properties},
        ("expected", "as expected"): [],
        ("expected", "third_step_free"): [],
        ("a surprise", "on_stairs"): [Error],
        ("a surprise", "third_step_free"): [Failure],
        ("a surprise", "top_reached"): [],
        ("cut short", "on_stairs"): [Error],
        ("cut short", "third_step_free"): [Error],
        ("cut short", "top_reached"): [Error],
        ("too good", "third_step_free"): [Failure],
        ("miscounted", "as expected"): [Failure],
        **{("miscounted", name): [] for name in properties},
        ("meant to be cut short", "as expected"): [],
    }
    assert (report.tests, report.failures, report.errors) == (len(cases), 3, 4)
    assert not report.skipped


def test_the_failure_of_a_case_is_the_trace_as_the_terminal_shows_it(folder: Path, run: Run) -> None:
    (suite,) = JUnitXml.fromfile(str(folder / "j.xml"))
    (failure,) = (it for case in suite if case.classname == "a surprise" for it in case.result if type(it) is Failure)
    again = "To repeat it: leadline check leadline.toml 'a surprise'"
    assert failure.message == f"third_step_free is violated: the climber is on step 3. {again}"
    shown = "\n".join(run.lines)
    assert "4/4  the climber sets its left foot one step higher" in failure.text
    trace, _, last = failure.text.strip().rpartition("\n")
    assert last == again
    assert trace.strip() in shown


# SARIF


def test_sarif_points_at_the_functions_of_the_properties(folder: Path, run: Run) -> None:
    log = json.loads((folder / "s.sarif").read_text(encoding="utf-8"))
    (found,) = log["runs"]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    lines = (folder / "stairs.py").read_text(encoding="utf-8").split("\n")
    for result in found["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "stairs.py"
        at = place["region"]["startLine"] - 1
        assert f"def {result['ruleId']}(" in lines[at] + lines[at + 1]
    failed = [(result["ruleId"], result["kind"], result["level"]) for result in found["results"]]
    assert failed.count(("third_step_free", "fail", "error")) == 2
    assert {(kind, level) for _, kind, level in failed} == {("fail", "error"), ("open", "none")}
    (flow,) = (
        result["codeFlows"][0] for result in found["results"] if "a surprise: third" in result["message"]["text"]
    )
    steps = [step["location"]["message"]["text"] for step in flow["threadFlows"][0]["locations"]]
    assert steps == ["the initial state", *["the climber sets its left foot one step higher"] * 3]
    (taken,) = {
        step["location"]["physicalLocation"]["region"]["startLine"] for step in flow["threadFlows"][0]["locations"][1:]
    }
    assert lines[taken - 1].startswith("@action(")  # the step's own action, and not the property
    (said,) = found["invocations"][0]["toolExecutionNotifications"]
    again = "To repeat it: leadline check leadline.toml miscounted"
    assert said["message"]["text"] == f"miscounted: expected 4 distinct states, but there are 3. {again}"


@needs_schemas
def test_sarif_is_as_its_schema_has_it(folder: Path, run: Run) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.4.json").read_text(encoding="utf-8"))
    log = json.loads((folder / "s.sarif").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert list(validator.iter_errors(log)) == []
    log["runs"][0]["results"][0]["level"] = "bad"  # the test can fail
    assert len(list(validator.iter_errors(log))) == 1


def test_nothing_is_reported_of_what_is_as_expected(folder: Path) -> None:
    (folder / "good.toml").write_text("[[check]]".join(SUITE.split("[[check]]")[:3]), encoding="utf-8")
    done = call("check", "good.toml", "--sarif", "good.sarif", "--github", folder=folder)
    assert done.code == 0
    assert "::" not in done.out
    (found,) = json.loads((folder / "good.sarif").read_text(encoding="utf-8"))["runs"]
    assert found["results"] == []
    assert found["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_a_shipped_property_is_placed_where_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, line = inspect.getsourcelines(durability.weak_isr.function)
    assert location_of(durability.weak_isr) == SourceLocation("leadline/invariants/durability.py", line)


def test_a_shipped_property_is_placed_at_the_check_of_the_suite_that_violates_it(tmp_path: Path) -> None:
    checks = [f'# a suite\n[[check]]\nspec = "atomic/{name}"\n' for name in ("kip-320", "hw-truncation")]
    checks = [f'{check}properties = ["strong_isr"]\nexpect = "holds"\n' for check in checks]
    (tmp_path / "leadline.toml").write_text("\n".join(checks), encoding="utf-8")
    done = call("check", "--sarif", "found.sarif", "--github", folder=tmp_path)
    assert done.code == 1
    assert [line.partition(",title")[0] for line in done.lines if line.startswith("::")] == [
        "::error file=leadline.toml,line=8"
    ]
    (result,) = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    where = result["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("leadline.toml", 8)


def test_a_property_that_is_no_function_has_no_place_and_is_a_notification(folder: Path) -> None:
    class Odd:
        __name__ = "odd"

        def __call__(self, state: Any) -> bool:
            return False

    odd = invariant("it is odd")(Odd())
    finding = Finding("a check", odd.name, "failed", "odd is violated", odd)
    (found,) = json.loads(sarif([finding]))["runs"]
    assert found["results"] == []
    (said,) = found["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"] == "a check: odd is violated"


def test_what_is_incomplete_is_no_successful_run_in_sarif(folder: Path) -> None:
    (found,) = json.loads(sarif(findings(outcomes(folder)[3])))["runs"]
    assert {result["kind"] for result in found["results"]} == {"open"}
    assert not found["invocations"][0]["executionSuccessful"]


def test_a_place_in_sarif_is_a_uri(tmp_path: Path) -> None:
    write(tmp_path, **{"my stairs #1": STAIRS})
    (tmp_path / "leadline.toml").write_text(
        '[[check]]\nspec = "my stairs #1.py"\nbounds = { top = 3 }\nexpect = "holds"\n', encoding="utf-8"
    )
    (finding, *_) = (it for outcome in outcomes(tmp_path) for it in findings(outcome) if it.status == "failed")
    (result,) = json.loads(sarif([finding]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("my%20stairs%20%231.py")


# GitHub


def test_annotations_are_escaped_and_name_what_failed_first(run: Run) -> None:
    commands = [line for line in run.lines if line.startswith("::")]
    read = [re.fullmatch(r"::error (.*?)::(.*)", line) for line in commands]
    told = [(dict(p.split("=") for p in found[1].split(",")), unquote(found[2])) for found in read if found]
    assert [
        (unquote(given["title"]), *text.split(". To repeat it: leadline check leadline.toml ")) for given, text in told
    ] == [
        ("a surprise: third_step_free", "third_step_free is violated: the climber is on step 3", "'a surprise'"),
        (
            "too good: third_step_free",
            "expected to be violated, but third_step_free holds: nobody is on the third step",
            "'too good'",
        ),
        ("miscounted: as expected", "expected 4 distinct states, but there are 3", "miscounted"),
        ("cut short: on_stairs", "on_stairs is incomplete: reached 2 states", "'cut short'"),
    ]
    assert [given.get("file") for given, _ in told] == ["stairs.py", "stairs.py", None, "stairs.py"]


def outcomes(folder: Path, suite: str = "leadline.toml") -> list[Outcome]:
    """The outcomes of a suite, from an engine that begins at once."""
    return [
        Outcome(it, ENGINES["oracle"](it.spec, Limits(max_states=it.check.max_states)))
        for it in read_suite(folder / suite)
    ]


def test_what_would_end_an_annotation_is_escaped(folder: Path) -> None:
    @invariant("a, b: 100%\r\nc")
    def odd(state: Any) -> bool:
        return False

    outcome = outcomes(folder)[2]
    prepared = attrs.evolve(outcome.prepared, title="x: 5%, y")
    result = attrs.evolve(outcome.result, properties=(PropertyResult(odd, Verdict.VIOLATED),))
    (command,) = workflow_commands([Outcome(prepared, result)])
    assert ",title=x%3A 5%25%2C y%3A odd::odd is violated: a, b: 100%25\\r\\nc. To repeat it: " in command
    assert command.endswith(" 'x: 5%25, y'")


def test_checks_of_one_name_have_an_annotation_each(folder: Path) -> None:
    cut_short = outcomes(folder)[3]
    assert len(list(workflow_commands([cut_short, cut_short]))) == 2


# Findings


@pytest.mark.parametrize(
    ("keys", "status", "message"),
    [
        (
            'max_states = 2\nexpect = "incomplete"\ndistinct_states = 9',
            "failed",
            "expected 9 distinct states, but there are 2",
        ),
        (
            'bounds = { top = 3 }\nexpect = "violated"\nviolates = "third_step_free"\ntrace_length = 9\n'
            'properties = ["on_stairs", "third_step_free"]',
            "failed",
            "expected a trace of 9 states, but it has 4",
        ),
    ],
)
def test_a_count_that_is_not_as_expected_is_said_though_properties_were_left_open(
    folder: Path, keys: str, status: str, message: str
) -> None:
    (folder / "counts.toml").write_text(f'[[check]]\nspec = "stairs.py"\n{keys}\n', encoding="utf-8")
    (whole, *others) = [finding for outcome in outcomes(folder, "counts.toml") for finding in findings(outcome)]
    assert (whole.name, whole.status, whole.message) == ("as expected", status, message)
    assert {finding.status for finding in others} <= {"passed"}


# Markdown


@needs_chromium
def test_the_summary_is_a_table_and_a_diagram_of_what_was_not_expected(folder: Path, run: Run) -> None:
    text = (folder / "m.md").read_text(encoding="utf-8")
    assert text.startswith("# leadline: 3 of 7 checks as expected\n")
    rows = [line for line in text.split("\n") if "| **FAIL** |" in line or "| ok |" in line]
    assert len(rows) == 7
    assert all(row.count("|") == 8 for row in rows)
    assert [row.partition(":")[0] for row in rows if "&#60;it&#62;" in row] == ["| holds"]
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert diagram.startswith("sequenceDiagram\n")


def test_a_summary_is_added_to_what_is_there_and_keeps_to_its_size(folder: Path) -> None:
    (folder / "added.md").write_text("before\n", encoding="utf-8")
    call("check", "--markdown", "added.md", folder=folder)
    assert (folder / "added.md").read_text(encoding="utf-8").startswith("before\n# leadline: 3 of 7")
    short = summary(outcomes(folder), planned=7, most=1_700)
    assert len(short.encode("utf-8")) <= 1_700
    assert "mermaid" not in short
    assert short.endswith("1 more traces are left out here for want of room.\n")


def test_what_a_misbehaving_spec_breaks_off_is_reported_as_not_run(tmp_path: Path) -> None:
    """Otherwise a CI system would read the reports of an earlier run that succeeded."""
    write(tmp_path, stairs=STAIRS, broken=STAIRS.replace("state.height < state.top", "1 // (1 - state.height)"))
    check = '[[check]]\nspec = "{}.py"\nexpect = "holds"\n'
    options = ("--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md", "--html", "page")
    for suite, code in ((("stairs", "stairs"), 0), (("stairs", "broken", "stairs"), 2)):
        (tmp_path / "leadline.toml").write_text("".join(map(check.format, suite)), encoding="utf-8")
        assert (run := call("check", *options, folder=tmp_path)).code == code
    assert run.err.startswith("leadline: broken.py: action up(foot=left) raised ZeroDivisionError")
    cases = [case for suite in JUnitXml.fromfile(str(tmp_path / "j.xml")) for case in suite]
    not_run = [case for case in cases if case.result and isinstance(case.result[0], Error)]
    assert [(case.name, case.result[0].message) for case in not_run] == [
        ("as expected", f"it was not run to its end. To repeat it: leadline check leadline.toml {name}")
        for name in ("broken.py", "'stairs.py (2)'")
    ]
    invocation = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))["runs"][0]["invocations"][0]
    assert not invocation["executionSuccessful"]
    assert "# leadline: 1 of 3 checks as expected, 2 not run\n" in (tmp_path / "m.md").read_text(encoding="utf-8")
    assert "1 of 3 checks as expected, 2 not run" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


# The page of a run


@needs_chromium
def test_the_page_of_a_run_has_every_check_its_verdicts_and_its_traces(folder: Path, run: Run) -> None:
    complaints: list[str] = []
    for browser in chromium():
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((folder / "site" / "index.html").as_uri())
        assert page.locator("h1").inner_text() == "leadline: 3 of 7 checks as expected"
        assert page.locator("[aria-label='checks that are not as expected'] tbody tr").count() == 4
        assert page.locator("article:visible .note").inner_text() == (
            "check 3: a surprise: expected holds, but third_step_free is violated"
        )
        page.get_by_text("3 checks as expected", exact=True).click()
        page.get_by_role("link", name="meant to be cut short").first.click()
        details = page.locator("details#check-7")
        assert details.evaluate("it => it.open")
        assert "not enabled yet" in details.inner_text()
        assert "2 distinct states" in details.inner_text()
        page.locator("details.run").evaluate_all("all => all.forEach(it => { it.open = true; })")
        assert "never enabled" in page.locator("details#check-6").inner_text()
        plot = page.locator("details#check-2 .plot")
        assert plot.get_attribute("aria-label") == "distinct states at each depth: 1, 1, 1, 1"
        assert plot.locator("svg").count() == 1
        assert plot.locator("svg path[style*='#4a90d9']").count() == 1  # the outline of all bars
        page.locator("details#check-3").get_by_role("link", name="4 states").first.click()
        assert page.locator("section:visible .broken").inner_text().startswith("third_step_free is violated")
        assert complaints == []


@needs_chromium
def test_a_link_to_a_run_opens_it_though_the_page_has_no_trace(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    check = '[[check]]\nspec = "stairs.py"\nproperties = ["on_stairs"]\nexpect = "holds"\n'
    (tmp_path / "leadline.toml").write_text(2 * check, encoding="utf-8")
    assert call("check", "--html", "site", folder=tmp_path).code == 0
    for browser in chromium():
        page = browser.new_page()
        page.goto((tmp_path / "site" / "index.html").as_uri())
        page.get_by_role("link", name="stairs.py").nth(1).click()
        assert page.locator("details").evaluate_all("all => all.map(it => it.open)") == [False, True]


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--markdown", "--html"])
def test_what_cannot_be_written_is_refused_before_anything_is_run(folder: Path, option: str) -> None:
    (folder / "taken").write_text("", encoding="utf-8")
    complaint = call("check", option, "taken/x", folder=folder).complaint
    assert complaint == "cannot write taken/x: Not a directory"


def test_junit_of_nothing_is_a_suite_without_cases() -> None:
    assert JUnitXml.fromstring(junit("empty", []).encode("utf-8")).tests == 0


# The workflow in reports/README.md


def test_the_command_of_the_workflow_runs_as_it_is_there(folder: Path) -> None:
    (workflow,) = (block.text for block in every_block("yaml"))
    ((first, second),) = re.findall(r"run: >-\n +(leadline check .*)\n +(.*)\n", workflow)
    environment = {
        **os.environ,
        "GITHUB_STEP_SUMMARY": "step.md",
        "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-ec", f"{first} {second}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "::error file=stairs.py" in done.stdout
    for written in ("step.md", "leadline.xml", "leadline.sarif", "leadline-page/index.html"):
        assert (folder / written).stat().st_size > 0
        assert written == "step.md" or written.split("/")[0] in workflow.split("steps:")[1]


# What decides an unexpected violation

UNEXPECTED = """
[[check]]
spec = "atomic/hw-truncation"
properties = ["strong_isr"]
expect = "holds"
[[check]]
spec = "atomic/hw-truncation"
expect = "violated"
violates = "strong_isr"
"""

DECIDES = "strong_isr holds with truncates_to=end_of_own_last_epoch, the rule of atomic/kip-101"


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with the reports of an unexpected and of an expected violation, and the run."""
    made = tmp_path_factory.mktemp("diagnosed")
    (made / "leadline.toml").write_text(UNEXPECTED, encoding="utf-8")
    options = ["--junit", "j.xml", "--sarif", "s.sarif", "--markdown", "m.md", "--json", "c.json", "--html", "site"]
    return made, call("check", *options, "--github", "--diagnose", "300", folder=made)


def test_only_an_unexpected_violation_is_diagnosed(diagnosed: tuple[Path, Run]) -> None:
    made, run = diagnosed
    assert run.code == 1, run.err
    assert sum(DECIDES in line for line in run.lines if not line.startswith("::")) == 1
    content = json.loads((made / "c.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, json.loads(CHECK_SCHEMA.read_text(encoding="utf-8")))
    first, second = (check["result"]["diagnosis"] for check in content["checks"])
    assert [change["name"] for change in first["changes"] if change["answer"] == "prevents"] == [
        "truncates_to=end_of_own_last_epoch",
        "follows=in_same_epoch",
    ]
    assert second is None
    first["changes"][0]["answer"] = "perhaps"  # the test can fail
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, json.loads(CHECK_SCHEMA.read_text(encoding="utf-8")))


def test_each_format_says_what_decides(diagnosed: tuple[Path, Run]) -> None:
    made, run = diagnosed
    assert [DECIDES in line for line in run.lines if line.startswith("::error")] == [True]
    (suite,) = JUnitXml.fromfile(str(made / "j.xml"))
    (failure,) = (it for case in suite for it in case.result if type(it) is Failure)
    assert DECIDES in failure.message
    assert DECIDES in failure.text.splitlines()
    assert DECIDES.replace("`", "&#96;") in (made / "m.md").read_text(encoding="utf-8")
    assert DECIDES in (made / "site" / "index.html").read_text(encoding="utf-8")
    (result,) = json.loads((made / "s.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert DECIDES in result["message"]["text"]
    assert result["properties"]["diagnosis"]["changes"][0]["about"] == "atomic/kip-101"


@needs_schemas
def test_with_a_diagnosis_sarif_and_junit_are_as_their_schemas_have_them(diagnosed: tuple[Path, Run]) -> None:
    made, _ = diagnosed
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.4.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((made / "s.sarif").read_text(encoding="utf-8")), schema)
    root = ElementTree.parse(made / "j.xml").getroot()
    assert list(xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").iter_errors(root)) == []


def test_a_diagnosis_of_a_suite_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(UNEXPECTED, encoding="utf-8")
    run = call("check", "--diagnose", "0", folder=tmp_path)
    assert (run.code, DECIDES in run.out) == (1, False)
