"""The report formats of all commands. A format is an option, and a function that writes a result as text.

The functions import the writers when they are called, so that a command loads only the writers that it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import attrs

from leadline.reports.lines import json_text
from leadline.reports.origin import Origin


@attrs.frozen
class Format:
    """A report format.

    Attributes:
        write: a function that converts a result to text.
        help: the help text of the option.
        metavar: the name of the option's value in the help text: ``FILE``, ``FILE|-`` if the report can be written to
            standard output, or ``DIR`` if it is a file ``index.html`` in a folder. Empty if the text is always written
            to standard output.
        appends: true if the text is appended to the file.
        needs_trace: true if the function takes a `Trace`, and not a `Story`. For the formats of a trace.
    """

    write: Callable[[Any], str]
    help: str
    metavar: str = "FILE"
    appends: bool = False
    needs_trace: bool = False


def _of(module: str) -> Any:
    return import_module(f"leadline.reports.{module}")


def _json(object_of: Callable[[Any], object], indent: int = 2, help: str = "Write the result") -> Format:
    text = f"{help} to FILE as a JSON object. If FILE is -, write it to standard output and print nothing else."
    return Format(lambda result: json_text(object_of(result), indent=indent), text, "FILE|-")


def _matrix_page(tables: Any) -> Any:
    made = _of("matrix_overview")
    return made.with_overview(tables.page, made.overview(tables.document))


def _suite_page(run: Any) -> str:
    origin, html = Origin.now(), _of("html.run")
    runs = [
        html.with_traces(
            each.result,
            _of("runs.run_view").view_of_result(each.result, origin, each.diagnosis),
            each.prepared.title,
            each.failure,
        )
        for each in run.outcomes
    ]
    document = _of("suite_document").suite_document(run.outcomes, len(run.checks), html.names(runs))
    page: str = html.run_page(document.title, runs, above=_of("document.html").document_html(document))
    return page


def _run_page(run: Any) -> str:
    html = _of("html.run")
    page: str = html.run_page(html.title_of(run.view), [html.with_traces(run.result, run.view)])
    return page


def _graph_around(trace: Any) -> str:
    from leadline.checker.traces.graph import neighbourhood

    drawn: str = _of("traces.dot").dot(trace.spec, neighbourhood(trace), trace)
    return drawn


def _itf(trace: Any) -> str:
    from leadline.checker.traces.itf import encode_trace

    return json_text(encode_trace(trace), indent=1)


def _lines(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)


FORMATS: dict[str, dict[str, Format]] = {
    "advice": {
        "json": _json(lambda advice: _of("kafka.advice.json_advice").advice_object(advice, Origin.now())),
        "html": Format(
            lambda advice: _of("document.html").document_page(
                _of("kafka.advice.document").advice_document(advice), Origin.now()
            ),
            "Write the advice as an HTML page.",
        ),
    },
    "advice on a group": {
        "json": _json(lambda advice: _of("kafka.advice.groups").group_object(advice, Origin.now())),
        "html": Format(
            lambda advice: _of("document.html").document_page(
                _of("kafka.advice.groups").group_document(advice), Origin.now()
            ),
            "Write the advice as an HTML page.",
        ),
    },
    "audit": {
        "json": _json(lambda audit: _of("kafka.audit.json_audit").audit_object(audit.result)),
        "html": Format(
            lambda audit: _of("kafka.audit.document").audit_page(
                f"leadline audit {audit.directories}", audit.result, audit.examples
            ),
            "Write the results as an HTML page.",
        ),
        "junit": Format(
            lambda audit: _of("ci.junit").junit("audit", _of("kafka.audit.findings").audit_findings(audit.result)),
            "Write a JUnit XML report with a test case for each violation.",
        ),
        "sarif": Format(
            lambda audit: _of("ci.sarif").sarif(_of("kafka.audit.findings").audit_findings(audit.result)),
            "Write a SARIF report, for code scanning.",
        ),
        "markdown": Format(
            lambda audit: _of("document.markdown").markdown(
                _of("kafka.audit.document").audit_document("leadline audit", audit.result, audit.examples)
            ),
            "Append a Markdown summary to FILE, for example $GITHUB_STEP_SUMMARY.",
            appends=True,
        ),
    },
    "bugs": {
        "json": _json(lambda report: _of("kafka.bug_report").bugs_object(report)),
        "html": Format(
            lambda report: _of("kafka.bug_report").bugs_page(report),
            "Write an HTML page with each bug, its searches and a trace.",
        ),
    },
    "conformance": {
        "json": _json(lambda report: _of("kafka.conformance.objects").conformance_object(report, Origin.now())),
        "html": Format(
            lambda report: _of("kafka.conformance.page").conformance_page(report),
            "Write an HTML page with the behaviour of the model, step by step.",
        ),
        "junit": Format(
            lambda report: _of("ci.junit").junit(
                "conformance", _of("kafka.conformance.objects").conformance_findings(report)
            ),
            "Write a JUnit XML report with a test case for the release.",
        ),
    },
    "difference": {
        "json": _json(lambda difference: _of("differences").difference_object(difference)),
        "html": Format(
            lambda difference: _of("html.diff").diff_page(difference),
            "Write an HTML page with both traces side by side.",
        ),
    },
    "hunt": {
        "json": _json(lambda report: _of("hunt.report").hunt_object(report)),
        "html": Format(
            lambda report: _of("hunt.document").hunt_page(report),
            "Write an HTML page with the causes, their traces, and what was searched.",
        ),
    },
    "matrix": {
        "json": _json(lambda tables: tables.content, indent=0),
        "markdown": Format(
            lambda tables: _of("document.markdown").markdown(_matrix_page(tables)),
            "Write the tables to standard output as Markdown.",
            metavar="",
        ),
        "html": Format(
            lambda tables: _of("document.html").document_page(_matrix_page(tables), Origin.now()),
            "Write an HTML page with the tables and the steps that decided each trace.",
        ),
    },
    "mutants": {
        "json": attrs.evolve(
            _json(lambda reports: _of("mutation").reports_object(reports), indent=1),
            help="Write the report to FILE as a JSON object, and update it regularly during the run. If FILE is -, "
            "write it to standard output and print nothing else.",
        ),
        "html": Format(
            lambda reports: _of("document.html").document_page(
                _of("document").joined("Mutants", _of("mutants_document").mutants_documents(reports)),
                reports.every[0].origin,
            ),
            "Write the report as an HTML page.",
        ),
        "markdown": Format(
            lambda reports: "\n".join(
                map(_of("document.markdown").markdown, _of("mutants_document").mutants_documents(reports))
            ),
            "Append the report to FILE as Markdown, for example to $GITHUB_STEP_SUMMARY.",
            appends=True,
        ),
    },
    "reproduction": {
        "json": _json(lambda report: _of("kafka.broker_runs.objects").reproduction_object(report)),
        "html": Format(
            lambda report: _of("kafka.broker_runs.story").reproduction_page(report),
            "Write an HTML page with the traces and what the brokers did.",
        ),
    },
    "run": {
        "json": _json(lambda run: _of("runs.json_report").result_object(run.view, run.trace_files)),
        "html": Format(_run_page, "Write an HTML page of the run and its traces."),
    },
    "replay": {"json": _json(lambda replayed: replayed)},
    "saved": {
        "json": _json(lambda content: content.object, indent=1, help="Write everything that is shown"),
        "html": Format(lambda content: content.page, "Write a page of everything that is shown, instead of text."),
    },
    "specs": {
        "json": _json(
            lambda specs: {"specs": [_of("spec_document").spec_object(spec) for spec in specs]},
            help="Write everything that is known of the specs",
        ),
    },
    "suite": {
        "json": _json(lambda run: _of("ci.suite_json").suite_object(run, Origin.now())),
        "junit": Format(
            lambda run: _of("ci.junit").junit(run.name, _of("ci.findings").suite_findings(run)),
            "Write a JUnit XML report with a test case for each check and property.",
        ),
        "sarif": Format(
            lambda run: _of("ci.sarif").sarif(_of("ci.findings").suite_findings(run)),
            "Write a SARIF report, for code scanning.",
        ),
        "markdown": Format(
            lambda run: _of("ci.github").summary(run.outcomes, len(run.checks)),
            "Append a Markdown summary to FILE, for example $GITHUB_STEP_SUMMARY.",
            appends=True,
        ),
        "answers": Format(
            lambda run: _lines(_of("ci.markdown").answers_page(run)),
            "Write a Markdown page of questions and answers, to standard output if FILE is -: the name of each check "
            "is a question, and its note and its result are the answer.",
            "FILE|-",
        ),
        "html": Format(_suite_page, "Write an HTML page of the run and its traces to DIR/index.html.", "DIR"),
        "github": Format(
            lambda run: "\n".join(_of("ci.github").workflow_commands(run.outcomes)),
            "Print GitHub workflow commands that annotate the code with findings.",
            metavar="",
        ),
    },
    "trace": {
        "mermaid": Format(lambda story: _of("traces.mermaid").mermaid(story), "a sequence diagram for Markdown"),
        "dot": Format(
            _graph_around, "a graph of the trace and its neighbouring states, for Graphviz", needs_trace=True
        ),
        "shiviz": Format(lambda story: _of("traces.shiviz").shiviz(story), "a log with vector clocks, for ShiViz"),
        "itf": Format(_itf, "the Informal Trace Format", needs_trace=True),
        "json": Format(
            lambda story: json_text(_of("runs.json_report").story_object(story), indent=1),
            "the same content as text, as a JSON object",
        ),
    },
}
"""The formats of each kind of result, by the name of their option. Those of a trace are values of ``--format``."""
