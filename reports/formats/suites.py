"""The formats for the results of a check suite."""

from __future__ import annotations

from leadline.reports.ci.findings import suite_findings
from leadline.reports.ci.github import summary, workflow_commands
from leadline.reports.ci.junit import junit
from leadline.reports.ci.markdown import answers_page
from leadline.reports.ci.sarif import sarif
from leadline.reports.ci.suite_json import suite_object
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.html.run import run_page, with_traces
from leadline.reports.lines import json_text
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.suite import SuiteRun


def _suite_page(run: SuiteRun) -> str:
    origin = Origin.now()
    runs = [
        with_traces(each.result, view_of_result(each.result, origin, each.diagnosis), each.prepared.title, each.failure)
        for each in run.outcomes
    ]
    return run_page(f"leadline: {run.summary}", runs)


SUITE_FORMATS: dict[str, Format[SuiteRun]] = {
    "json": Format(
        SuiteRun,
        lambda run: json_text(suite_object(run, Origin.now()), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "junit": Format(
        SuiteRun,
        lambda run: junit(run.name, suite_findings(run)),
        "Write a JUnit XML report with a test case for each check and property.",
    ),
    "sarif": Format(SuiteRun, lambda run: sarif(suite_findings(run)), "Write a SARIF report, for code scanning."),
    "markdown": Format(
        SuiteRun,
        lambda run: summary(run.outcomes, len(run.checks)),
        "Append a Markdown summary to FILE, for example $GITHUB_STEP_SUMMARY.",
        appends=True,
    ),
    "answers": Format(
        SuiteRun,
        lambda run: "".join(f"{line}\n" for line in answers_page(run)),
        "Write a Markdown page of questions and answers, to standard output if FILE is -: the name of each check is a "
        "question, and its note and its result are the answer.",
        "FILE|-",
    ),
    "html": Format(
        SuiteRun, _suite_page, "Write an HTML page of the run and its traces to DIR/index.html.", metavar="DIR"
    ),
    "github": Format(
        SuiteRun,
        lambda run: "\n".join(workflow_commands(run.outcomes)),
        "Print GitHub workflow commands that annotate the code with findings.",
        metavar="",
    ),
}
"""The formats for the results of a suite of checks."""
