"""The formats for verdict matrices, which are tables of verdicts on several specs."""

from __future__ import annotations

from leadline.reports.document.html import document_page
from leadline.reports.document.markdown import markdown
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.origin import Origin
from leadline.reports.stored_tables import Tables

MATRIX_FORMATS: dict[str, Format[Tables]] = {
    "json": Format(Tables, lambda tables: tables.text, JSON_HELP, "FILE|-"),
    "markdown": Format(
        Tables,
        lambda tables: markdown(tables.document),
        "Write the tables to standard output as Markdown.",
        metavar="",
    ),
    "html": Format(
        Tables,
        lambda tables: document_page(tables.document, Origin.now()),
        "Write an HTML page with the tables and the steps that decided each trace.",
    ),
}
"""The formats for verdict matrices, which are tables of verdicts on several specs."""
