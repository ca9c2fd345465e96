"""The formats for verdict matrices, which are tables of verdicts on several specs."""

from __future__ import annotations

from leadline.reports.ci.markdown import matrix_page
from leadline.reports.formats import Format
from leadline.reports.html.matrix import tables_page
from leadline.reports.matrix import Tables

MATRIX_FORMATS: dict[str, Format[Tables]] = {
    "markdown": Format(
        Tables,
        lambda tables: "".join(f"{line}\n" for line in matrix_page(tables.matrix, tables.columns, tables.command)),
        "Write the tables to standard output as Markdown.",
        metavar="",
    ),
    "html": Format(Tables, tables_page, "Write an HTML page with the tables, the runs and their traces."),
}
"""The formats for verdict matrices, which are tables of verdicts on several specs."""
