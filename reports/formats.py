"""The registry of report formats. Each format has the class of its input and the function that writes it.

Each kind of report has a table of formats: traces, runs, suites, audits, the archive of bugs, matrices, differences
between two specs, mutants, and saved results. The commands take their options from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import attrs

from leadline.checker.result import Result
from leadline.checker.trace import Trace
from leadline.checker.traces.divergence import Parting
from leadline.checker.traces.graph import neighbourhood
from leadline.checker.traces.itf import encode_trace
from leadline.reports.audit.findings import AuditReport, audit_findings, audit_markdown
from leadline.reports.audit.json_audit import audit_object
from leadline.reports.audit.page import audit_page
from leadline.reports.bugs import BugsReport, bugs_object
from leadline.reports.ci.findings import suite_findings
from leadline.reports.ci.github import summary, workflow_commands
from leadline.reports.ci.junit import junit
from leadline.reports.ci.markdown import matrix_page, mutants_summary
from leadline.reports.ci.sarif import sarif
from leadline.reports.ci.suite_json import suite_object
from leadline.reports.html import Chapter, page
from leadline.reports.html.diff import diff_page
from leadline.reports.html.matrix import tables_page
from leadline.reports.html.mutants import mutants_page
from leadline.reports.html.run import RunWithTraces, run_page, title_of, with_traces
from leadline.reports.lines import json_text
from leadline.reports.matrix import Tables
from leadline.reports.mutation import Reports, reports_object
from leadline.reports.origin import Origin
from leadline.reports.runs.json_report import result_object, story_object
from leadline.reports.runs.run_view import RunView, view_of_result
from leadline.reports.suite import SuiteRun
from leadline.reports.traces.dot import dot
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.shiviz import shiviz
from leadline.reports.traces.story import Story

T = TypeVar("T")


@attrs.frozen
class Format(Generic[T]):
    """A report format.

    Attributes:
        needs: the class of the values that can be written in it.
        write: returns the text for a value.
        help: a description of the text for the help of a command.
        metavar: the argument of its option: ``FILE``, or ``DIR`` for a file ``index.html`` in a folder; empty if the
            text is written to standard output.
        appends: whether the text is added to the end of the file.
        required: whether its option is required.
    """

    needs: type[T]
    write: Callable[[T], str]
    help: str
    metavar: str = "FILE"
    appends: bool = False
    required: bool = False

    def text(self, *values: object) -> str | None:
        """Return the text for the first value that is an instance of `needs`; None if there is no such value."""
        return next((self.write(value) for value in values if isinstance(value, self.needs)), None)


@attrs.frozen(eq=False)
class FinishedRun:
    """A finished run.

    Attributes:
        result: its result.
        view: the content of its reports.
        trace_files: the trace files that were written, by the name of the property.
    """

    result: Result
    view: RunView
    trace_files: Mapping[str, list[Path]]


@attrs.frozen(eq=False)
class Saved:
    """Saved traces, or a saved result with its traces.

    Attributes:
        title: the title of the page.
        chapters: the traces, if there is no result.
        run: the result; None if there are only traces.
        notes: a line for each trace that is not on the page.
    """

    title: str
    chapters: Sequence[Chapter] = ()
    run: RunWithTraces | None = None
    notes: Sequence[str] = ()


def _saved_page(saved: Saved) -> str:
    if saved.run is None:
        return page(saved.title, saved.chapters, notes=saved.notes)
    return run_page(saved.title, [saved.run], notes=saved.notes)


def _graph_around(trace: Trace[object]) -> str:
    return dot(trace.spec, neighbourhood(trace), trace)


def _suite_page(run: SuiteRun) -> str:
    origin = Origin.now()
    runs = [
        with_traces(each.result, view_of_result(each.result, origin), each.prepared.title, each.failure)
        for each in run.outcomes
    ]
    return run_page(f"leadline: {run.summary}", runs)


def _bugs_page(bugs: BugsReport) -> str:
    origin, shown = Origin.now(), []
    for outcome in bugs.outcomes:
        failure = "" if outcome.as_expected else f"expected {outcome.run.expected}"
        title = f"{outcome.run.bug.ticket}, {outcome.run.spec.name}"
        shown.append(with_traces(outcome.result, view_of_result(outcome.result, origin), title, failure))
    return run_page("leadline: known bugs of Kafka's replication", shown)


JSON_HELP = (
    "Write the result to FILE as a JSON object. If FILE is -, write it to standard output and print nothing else."
)

TRACE_FORMATS: dict[str, Format[Story] | Format[Trace[object]]] = {
    "mermaid": Format(Story, mermaid, "a sequence diagram for Markdown"),
    "dot": Format(Trace, _graph_around, "a graph of the trace and its neighbouring states, for Graphviz"),
    "shiviz": Format(Story, shiviz, "a log with vector clocks, for ShiViz"),
    "itf": Format(Trace, lambda trace: json_text(encode_trace(trace), indent=1), "the Informal Trace Format"),
    "json": Format(
        Story, lambda story: json_text(story_object(story), indent=1), "the same content as text, as a JSON object"
    ),
}
"""Formats of a trace. Formats that need a `Trace` are only available if the spec of the trace can be loaded."""

RUN_FORMATS: dict[str, Format[FinishedRun]] = {
    "json": Format(
        FinishedRun,
        lambda run: json_text(result_object(run.view, run.trace_files), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(
        FinishedRun,
        lambda run: run_page(title_of(run.view), [with_traces(run.result, run.view)]),
        "Write an HTML page of the run and its traces.",
    ),
}
"""Formats of the result of a search."""

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
"""Formats of a run of a suite."""

AUDIT_FORMATS: dict[str, Format[AuditReport]] = {
    "json": Format(
        AuditReport,
        lambda audit: json_text(audit_object(audit.result), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(
        AuditReport,
        lambda audit: audit_page(f"leadline audit {audit.directories}", audit.result, audit.examples),
        "Write the results as an HTML page.",
    ),
    "junit": Format(
        AuditReport,
        lambda audit: junit("audit", audit_findings(audit.result)),
        "Write a JUnit XML report with a test case for each violation.",
    ),
    "sarif": Format(
        AuditReport, lambda audit: sarif(audit_findings(audit.result)), "Write a SARIF report, for code scanning."
    ),
    "markdown": Format(
        AuditReport,
        lambda audit: audit_markdown(audit.result, audit.examples),
        "Append a Markdown summary to FILE, for example $GITHUB_STEP_SUMMARY.",
        appends=True,
    ),
}
"""Formats of an audit."""

BUGS_FORMATS: dict[str, Format[BugsReport]] = {
    "json": Format(
        BugsReport,
        lambda bugs: json_text(bugs_object(bugs.outcomes, bugs.unreached), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(BugsReport, _bugs_page, "Write an HTML page of the runs and traces."),
}
"""Formats of the searches for known bugs."""

MATRIX_FORMATS: dict[str, Format[Tables]] = {
    "markdown": Format(
        Tables,
        lambda tables: "".join(f"{line}\n" for line in matrix_page(tables.matrix, tables.columns, tables.command)),
        "Write the tables to standard output as Markdown.",
        metavar="",
    ),
    "html": Format(Tables, tables_page, "Write an HTML page with the tables, the runs and their traces."),
}
"""Formats of the tables of a matrix."""

DIFF_FORMATS: dict[str, Format[Parting]] = {
    "html": Format(Parting, diff_page, "Write an HTML page with both traces side by side."),
}
"""Formats of the difference between two specs: a behaviour that only one of them has."""

MUTANTS_FORMATS: dict[str, Format[Reports]] = {
    "json": Format(
        Reports,
        lambda reports: json_text(reports_object(reports), indent=1),
        "Write the report to FILE as a JSON object, and update it regularly during the run. If FILE is -, write it to "
        "standard output and print nothing else.",
        "FILE|-",
    ),
    "html": Format(Reports, lambda reports: mutants_page(reports.every[0]), "Write the report as an HTML page."),
    "markdown": Format(
        Reports,
        lambda reports: "".join(f"{line}\n" for report in reports.every for line in mutants_summary(report)),
        "Append the report to FILE as Markdown, for example to $GITHUB_STEP_SUMMARY.",
        appends=True,
    ),
}
"""Formats of the reports on mutants."""

SAVED_FORMATS: dict[str, Format[Saved]] = {
    "html": Format(Saved, _saved_page, "Write the page to this file.", required=True),
}
"""Formats of saved traces and results."""
