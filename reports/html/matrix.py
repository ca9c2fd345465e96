"""The HTML page of a verdict matrix."""

from __future__ import annotations

from leadline.reports.html.run import Grid, run_page, with_traces
from leadline.reports.matrix import Tables, summary
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import view_of_result


def tables_page(tables: Tables) -> str:
    """Return the page with the tables, and with every run and its traces."""
    matrix, columns, origin = tables.matrix, tables.columns, Origin.now()
    runs = [
        with_traces(column.result, view_of_result(column.result, origin), f"{column.spec}: {column.configuration.name}")
        for column in columns
    ]
    grids = []
    numbers = {id(column): number for number, column in enumerate(columns)}
    for configuration, own in matrix.by_configuration(columns):
        text = "; ".join(summary(matrix, own)) if matrix.is_complete(own) else "interrupted"
        rows = [
            (column.spec, [(cell, numbers[id(column)], name) for name, cell in column.cells.items()]) for column in own
        ]
        grids.append(Grid(configuration.name, text, [matrix.label(name) for name in own[0].cells], rows))
    return run_page(matrix.title, runs, grids=grids)
