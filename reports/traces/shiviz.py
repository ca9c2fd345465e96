"""Write traces as logs with vector clocks, which the tool ShiViz (bestchai.bitbucket.io/shiviz) draws."""

from __future__ import annotations

import json
import re

from leadline.reports.traces.rows import REST
from leadline.reports.traces.spacetime import SpaceTime
from leadline.reports.traces.story import Story

PATTERN = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
"""The regular expression with which ShiViz parses the log. ShiViz suggests it by default."""

Clock = dict[str, int]


def shiviz(story: Story) -> str:
    """Return a trace as a ShiViz log.

    For each event, the log contains the host, the vector clock and a description. Each row of the trace is a host.

    An event comes after the earlier events of its row, and after the events that sent the messages it receives. If a
    step happens in several rows without messages between them, the event of the acting row comes first. If the step
    only reads a row, the event of this row need not come after it.
    """
    diagram = story.diagram
    clocks: dict[str, Clock] = {lane: {} for lane in diagram.lanes}
    sent: dict[tuple[str, int], Clock] = {}
    lines = []
    for number, frame in enumerate(story.frames):
        touched = _acting_first(diagram, number)
        for row in touched:
            ended = [each for each in diagram.deliveries if each.arrives and each.ended == number]
            arriving = [each for each in ended if each.message.target == row]
            senders = [(each.message.source, each.sent) for each in arriving]
            known = [sent[sender] for sender in senders if sender in sent]
            is_read = any(each.at_once and each.message.source == row for each in ended)
            if not arriving and not is_read and row != touched[0]:
                known.append(sent[touched[0], number])
            clock = _merged([clocks[row], *known])
            clock[_host(row)] = clock.get(_host(row), 0) + 1
            clocks[row] = sent[row, number] = clock
            ordered = json.dumps(dict(sorted(clock.items())))
            lines += [f"{_host(row)} {ordered}", f"{number + 1}. {frame.words}"]
    return "\n".join(lines) + "\n"


def _acting_first(diagram: SpaceTime, number: int) -> tuple[str, ...]:
    """Return the rows in which a step happened. The acting row comes first.

    The acting row is a row that receives an earlier message. If there is no such row, it is a row that the step
    changes. The row for values that belong to no component comes last.
    """
    touched = diagram.touched[number]
    arriving = [each for each in diagram.deliveries if each.arrives and each.ended == number]
    if any(each.at_once for each in arriving):
        return touched  # senders first
    receivers = [each.message.target for each in arriving]
    before, after = diagram.rows[max(number - 1, 0)], diagram.rows[number]
    changed = [row for row in touched if before.get(row) != after.get(row) and row != REST]
    return tuple(dict.fromkeys([*receivers, *changed, *touched]))


def _merged(clocks: list[Clock]) -> Clock:
    merged: Clock = {}
    for clock in clocks:
        for host, count in clock.items():
            merged[host] = max(count, merged.get(host, 0))
    return merged


def _host(row: str) -> str:
    return re.sub(r"\s+", "-", row)
