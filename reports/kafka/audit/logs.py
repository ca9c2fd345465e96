"""Draw the leader epochs in the logs of a partition, broker by broker."""

from __future__ import annotations

from leadline.model.disk.log_table import LogCell, LogRow, LogTable
from leadline.reports.document import Drawing
from leadline.reports.html.holdings import GROUPS

LABEL = 230
"""The width of the area left of the first column, for the brokers, in pixels."""

COLUMN = 104
"""The width of a column, in pixels."""

ROW = 74
"""The height of a row, in pixels."""

HEAD = 16
"""The height of the area above the first row, for the offsets, in pixels."""


def drawing_of(logs: LogTable, name: str) -> Drawing:
    """Return the drawing of the logs of the partition with the given name."""
    titles = [logs.title(place) for place in range(len(logs.columns))]
    values = {
        "name": name,
        "columns": [(LABEL + COLUMN * (place + 0.5), title) for place, title in enumerate(titles)],
        "rows": [_row(place, row, titles) for place, row in enumerate(logs.rows)],
        "cell_width": COLUMN,
        "width": LABEL + COLUMN * len(titles) + 90,
        "height": HEAD + ROW * len(logs.rows),
        "left_out": logs.left_out,
    }
    return Drawing("; ".join(_spoken(row, logs) for row in logs.rows), "log_table.html", values)


def _row(place: int, row: LogRow, titles: list[str]) -> dict[str, object]:
    cells = [
        _cell(LABEL + COLUMN * column, cell, titles[column])
        for column, cell in enumerate(row.cells)
        if cell.kind != "end"
    ]
    marks = [
        ("first", LABEL + COLUMN * row.high_watermark_at, 8, 50, 10, f"HW {row.high_watermark}"),
        ("second", LABEL + COLUMN * row.end_at, 14, 58, 62, f"LEO {row.end}"),
    ]
    return {
        "y": HEAD + ROW * place,
        "name": f"broker {row.broker}",
        "badges": ", ".join(row.badges),
        "cells": cells,
        "marks": marks,
    }


def _cell(x: int, cell: LogCell, offsets: str) -> tuple[int, str, str, str, str]:
    colour = "" if cell.epoch is None else f"e{cell.epoch % GROUPS}"
    looks = {"different": f"{colour} differs", "missing": "lacks", "gone": "away"}.get(cell.kind, colour)
    text = {"missing": "missing", "gone": "removed"}.get(cell.kind, f"epoch {cell.epoch}")
    under = "different" if cell.kind == "different" else ""
    return x, looks, text, under, f"offsets {offsets}: {cell.text or cell.kind}"


def _spoken(row: LogRow, logs: LogTable) -> str:
    held = []
    for place, cell in enumerate(row.cells):
        if cell.kind != "end":
            first, last = logs.columns[place]
            epoch = "" if cell.epoch is None else f"of epoch {cell.epoch} "
            held.append(f"offset{'s' if last > first else ''} {logs.title(place)} {epoch}{cell.kind}")
    return f"broker {row.broker}: {', '.join(held) or 'empty'}, HW {row.high_watermark}, LEO {row.end}"
