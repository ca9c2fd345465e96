"""What a step changed, cell by cell."""

from __future__ import annotations

import attrs

from reports.lanes import Lanes


@attrs.frozen
class Change:
    """One cell before and after a step; empty where there is none."""

    row: str
    column: str
    before: str
    after: str


def changes(before: Lanes, after: Lanes) -> tuple[Change, ...]:
    """The cells that differ between two states, in the order of their rows."""
    rows = dict.fromkeys([*before, *after])
    return tuple(
        Change(row, column, was, now)
        for row in rows
        for column in dict.fromkeys([*before.get(row, {}), *after.get(row, {})])
        if (was := before.get(row, {}).get(column, "")) != (now := after.get(row, {}).get(column, ""))
    )
