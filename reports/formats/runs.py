"""The formats for the result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from leadline.checker.result import Result
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.lines import json_text
from leadline.reports.runs.json_report import result_object
from leadline.reports.runs.run_view import RunView


@attrs.frozen(eq=False)
class FinishedRun:
    """A finished search, in the form that report formats need.

    Attributes:
        result: the result of the search.
        view: the content of the reports.
        trace_files: the trace files that were written, keyed by the name of the property.
    """

    result: Result
    view: RunView
    trace_files: Mapping[str, list[Path]]


def _page(run: FinishedRun) -> str:
    from leadline.reports.html.run import run_page, title_of, with_traces  # a tenth of the time of a small search

    return run_page(title_of(run.view), [with_traces(run.result, run.view)])


RUN_FORMATS: dict[str, Format[FinishedRun]] = {
    "json": Format(
        FinishedRun,
        lambda run: json_text(result_object(run.view, run.trace_files), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(
        FinishedRun,
        _page,
        "Write an HTML page of the run and its traces.",
    ),
}
"""The formats for the result of a search."""
