"""The formats for the results of searches for known bugs."""

from __future__ import annotations

from leadline.reports.bugs import BugsReport, bugs_object
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.html.run import run_page, with_traces
from leadline.reports.lines import json_text
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import view_of_result


def _bugs_page(bugs: BugsReport) -> str:
    origin, shown = Origin.now(), []
    for outcome in bugs.outcomes:
        failure = "" if outcome.as_expected else f"expected {outcome.run.expected}"
        title = f"{outcome.run.bug.ticket}, {outcome.run.spec.name}"
        shown.append(with_traces(outcome.result, view_of_result(outcome.result, origin), title, failure))
    return run_page("leadline: known bugs of Kafka's replication", shown)


BUGS_FORMATS: dict[str, Format[BugsReport]] = {
    "json": Format(
        BugsReport,
        lambda bugs: json_text(bugs_object(bugs.outcomes, bugs.unreached), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(BugsReport, _bugs_page, "Write an HTML page of the runs and traces."),
}
"""The formats for the results of searches for known bugs."""
