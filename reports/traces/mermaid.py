"""Write traces as sequence diagrams in the Mermaid language, which GitHub renders in Markdown."""

from __future__ import annotations

import re
import textwrap

from leadline.reports.traces.story import Frame, Story

LINE = 40
"""The maximum number of characters in a line of a note."""

MOST_CHARACTERS = 45_000
"""The maximum number of characters in a diagram that GitHub shows."""


def mermaid(story: Story, most: int = MOST_CHARACTERS) -> str:
    """Return a trace as a Mermaid sequence diagram.

    Each message is drawn in the step in which it arrives. A note describes each step. If the trace is a lasso, a box
    encloses the steps that it repeats.

    Parameters:
        most: the maximum number of characters in the diagram. If a trace needs more, its first steps are left out,
            because the end of a counterexample is more important. A note says how many steps are left out.
    """
    rows = story.diagram.lanes
    head = ["sequenceDiagram", *(f"    participant r{number} as {_text(row)}" for number, row in enumerate(rows))]
    steps = ["\n".join(_step(story, number, frame)) for number, frame in enumerate(story.frames)]
    tail = [f"    Note over {_over(rows, rows)}: {_wrapped('; '.join(story.ending[:2]))}"] if story.ending else []
    kept, room = 0, most - sum(len(line) + 1 for line in head + tail) - 100
    for step in reversed(steps):
        room -= len(step) + 1
        if room < 0:
            break
        kept += 1
    left_out = len(steps) - kept
    said = [f"    Note over {_over(rows, rows)}: {left_out} earlier states are left out"] if left_out else []
    if story.loop is not None and left_out <= story.loop + 1 < len(steps):
        steps.insert(story.loop + 1, "    loop for ever")
        steps.append("    end")
    return "\n".join([*head, *said, *filter(None, steps[left_out:]), *tail]) + "\n"


def _step(story: Story, number: int, frame: Frame) -> list[str]:
    """Return the lines of the diagram for one step: an arrow for each message, and a note that describes the step."""
    if not number:
        return []
    diagram = story.diagram
    place = {row: f"r{index}" for index, row in enumerate(diagram.lanes)}
    over = _over(diagram.lanes, diagram.touched[number] or diagram.lanes)
    lines = []
    for each in diagram.deliveries:
        if each.ended == number:
            line, message = "-x" if each.lost else "->>", each.message
            lines.append(f"    {place[message.source]}{line}{place[message.target]}: {_text(message.text)}")
    labels = "".join(f" [{event.label}]" for event in story.turns(number))
    return [*lines, f"    Note over {over}: {_wrapped(f'{number + 1}. {frame.words}{labels}')}"]


def _over(rows: tuple[str, ...], touched: tuple[str, ...]) -> str:
    """Return the first and the last row that a note covers, in Mermaid's notation."""
    places = sorted(rows.index(row) for row in touched)
    return ",".join(f"r{place}" for place in dict.fromkeys([places[0], places[-1]]))


def _wrapped(text: str) -> str:
    """Wrap text into lines of at most `LINE` characters, because Mermaid does not wrap notes."""
    return "<br/>".join(map(_text, textwrap.wrap(text, LINE)))


def _text(text: str) -> str:
    """Escape text for Mermaid, in which ``;``, ``#``, ``<`` and ``end`` have special meanings."""
    line = " ".join(text.split())
    escaped = re.sub(r"[#;<>&\"`%{}\\]", lambda found: f"#{ord(found[0])};", line)
    return re.sub(r"\b(e)(n)(d)\b", lambda found: f"{found[1]}#{ord(found[2])};{found[3]}", escaped, flags=re.I) or "-"
