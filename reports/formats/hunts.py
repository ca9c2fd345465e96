"""The formats for the results of hunts."""

from __future__ import annotations

from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.html.hunt import hunt_page
from leadline.reports.hunt.report import HuntReport, hunt_object
from leadline.reports.lines import json_text

HUNT_FORMATS: dict[str, Format[HuntReport]] = {
    "json": Format(HuntReport, lambda report: json_text(hunt_object(report), indent=2), JSON_HELP, "FILE|-"),
    "html": Format(HuntReport, hunt_page, "Write an HTML page with the causes, their traces, and what was searched."),
}
"""The formats for the results of hunts."""
