"""ShiViz: a trace as a log with vector clocks, which bestchai.bitbucket.io/shiviz draws."""

from __future__ import annotations

import json
import re

from reports.story import Story

PATTERN = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
"""How ShiViz is told to read the log; it is what it suggests itself."""

Clock = dict[str, int]


def shiviz(story: Story) -> str:
    """A story as a ShiViz log: for each event its host and vector clock, and a line that says what happened.

    An event knows of the events before it in its row, and of those that sent what arrives in it. Where a step
    happens in several rows, and nothing was sent between them, the first row comes before the others; a row that is
    only read in a step, which sends what arrives in it, knows nothing of the others by that.
    """
    clocks: dict[str, Clock] = {row: {} for row in story.diagram.rows}
    sent: dict[tuple[str, int], Clock] = {}
    lines = []
    for number, frame in enumerate(story.frames):
        touched = story.diagram.touched[number]
        for row in touched:
            arriving = [a for a in story.diagram.arrows if a.arrives and a.ended == number and a.target == row]
            known = [sent[arrow.source, arrow.sent] for arrow in arriving if (arrow.source, arrow.sent) in sent]
            is_read = any(a.arrives and a.sent == a.ended == number and a.source == row for a in story.diagram.arrows)
            if not arriving and not is_read and row != touched[0]:
                known.append(sent[touched[0], number])
            clock = _merged([clocks[row], *known])
            clock[_host(row)] = clock.get(_host(row), 0) + 1
            clocks[row] = sent[row, number] = clock
            ordered = json.dumps(dict(sorted(clock.items())))
            lines += [f"{_host(row)} {ordered}", f"{number + 1}. {frame.words}"]
    return "\n".join(lines) + "\n"


def _merged(clocks: list[Clock]) -> Clock:
    merged: Clock = {}
    for clock in clocks:
        for host, count in clock.items():
            merged[host] = max(count, merged.get(host, 0))
    return merged


def _host(row: str) -> str:
    return re.sub(r"\s+", "-", row)
