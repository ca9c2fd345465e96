"""The formats for reproductions of known bugs on real brokers."""

from __future__ import annotations

from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.lines import json_text
from leadline.reports.reality.objects import ReproductionReport, reproduction_object
from leadline.reports.reality.story import reproduction_page

REPRODUCTION_FORMATS: dict[str, Format[ReproductionReport]] = {
    "json": Format(
        ReproductionReport, lambda report: json_text(reproduction_object(report), indent=2), JSON_HELP, "FILE|-"
    ),
    "html": Format(
        ReproductionReport, reproduction_page, "Write an HTML page with the traces and what the brokers did."
    ),
}
"""The formats for reproductions of known bugs on real brokers."""
