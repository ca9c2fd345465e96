"""The formats for the results of checking recordings against specs."""

from __future__ import annotations

from leadline.reports.ci.junit import junit
from leadline.reports.conformance.objects import conformance_findings, conformance_object
from leadline.reports.conformance.page import conformance_page
from leadline.reports.conformance.report import ConformanceReport
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.lines import json_text
from leadline.reports.origin import Origin

CONFORMANCE_FORMATS: dict[str, Format[ConformanceReport]] = {
    "json": Format(
        ConformanceReport,
        lambda report: json_text(conformance_object(report, Origin.now()), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(
        ConformanceReport, conformance_page, "Write an HTML page with the behaviour of the model, step by step."
    ),
    "junit": Format(
        ConformanceReport,
        lambda report: junit("conformance", conformance_findings(report)),
        "Write a JUnit XML report with a test case for the release.",
    ),
}
"""The formats for the conformance of recordings."""
