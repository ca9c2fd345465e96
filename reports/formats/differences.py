"""The formats for the difference between two specs: a behaviour that only one of them has."""

from __future__ import annotations

from leadline.checker.traces.divergence import Parting
from leadline.reports.formats import Format
from leadline.reports.html.diff import diff_page

DIFF_FORMATS: dict[str, Format[Parting]] = {
    "html": Format(Parting, diff_page, "Write an HTML page with both traces side by side."),
}
"""Formats of the difference between two specs: a behaviour that only one of them has."""
