"""The formats for the difference between two specs, which consists of behaviours that only one of them has."""

from __future__ import annotations

from leadline.reports.differences import Difference
from leadline.reports.formats import Format
from leadline.reports.html.diff import diff_page

DIFF_FORMATS: dict[str, Format[Difference]] = {
    "html": Format(Difference, diff_page, "Write an HTML page with both traces side by side."),
}
"""The formats for the difference between two specs: behaviours that only one of them has."""
