"""The formats for the results of searches for known bugs."""

from __future__ import annotations

from leadline.reports.bug_report import BugsReport, bugs_object
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.html.bugs import bugs_page
from leadline.reports.lines import json_text

BUGS_FORMATS: dict[str, Format[BugsReport]] = {
    "json": Format(BugsReport, lambda report: json_text(bugs_object(report), indent=2), JSON_HELP, "FILE|-"),
    "html": Format(BugsReport, bugs_page, "Write an HTML page with each bug, its searches and a trace."),
}
"""The formats for the results of searches for known bugs."""
