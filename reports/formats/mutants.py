"""The formats for reports on mutants, which are copies of a spec with one mistake each."""

from __future__ import annotations

from leadline.reports.ci.markdown import mutants_summary
from leadline.reports.formats import Format
from leadline.reports.html.mutants import mutants_page
from leadline.reports.lines import json_text
from leadline.reports.mutation import Reports, reports_object

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
"""The formats for reports on mutants, which are copies of a spec with one mistake each."""
