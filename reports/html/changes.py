"""Find the cells that a step of a trace changed."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.drawing import Row
from leadline.reports.traces.rows import Rows


@attrs.frozen
class Change:
    """A cell that a step changed.

    Attributes:
        before: the text before the step. Empty if the cell did not exist.
        after: the text after the step. Empty if the cell no longer exists.
    """

    row: str
    column: str
    before: str
    after: str


def changes(before: Rows, after: Rows) -> tuple[Change, ...]:
    """Return the cells that differ between two states, in the order of the rows."""
    return tuple(
        Change(name, column, was, now)
        for name in dict.fromkeys([*before, *after])
        for column, was, now in _columns(before.get(name, Row()), after.get(name, Row()))
        if was != now
    )


def _columns(before: Row, after: Row) -> Iterator[tuple[str, str, str]]:
    for column in dict.fromkeys([*before.columns, *after.columns]):
        yield column, before.columns.get(column, ""), after.columns.get(column, "")
