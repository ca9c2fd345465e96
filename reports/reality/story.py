"""A replay as a story, whose rows have a column for what was seen on real brokers."""

from __future__ import annotations

import attrs

from leadline.brokers.driver.driver import StepReport
from leadline.brokers.driver.replay import Replay
from leadline.brokers.driver.sight import Sight
from leadline.checker.drawing import Row
from leadline.checker.support.escapes import visible
from leadline.reports.html import chapter, page
from leadline.reports.origin import Origin
from leadline.reports.reality.live import evidence
from leadline.reports.reality.objects import ReproductionReport
from leadline.reports.traces.rows import Rows
from leadline.reports.traces.story import Frame, Story, story_of

COLUMN = "on brokers"
"""The column with what was seen on real brokers."""

DEEDS = "real brokers"
"""The row with what was done and seen in a step."""


def real_story(replay: Replay) -> Story:
    """Return the story of the steps that were replayed, with what the brokers did beside what the model says."""
    story = story_of(replay.plan.trace)
    frames = [story.frames[0]]
    for report, frame in zip(replay.steps, story.frames[1:], strict=False):
        frames.append(_with_reality(report, frame, frames[-1]))
    return attrs.evolve(story, frames=(*frames, *story.frames[len(frames) :]))


def _with_reality(report: StepReport, frame: Frame, before: Frame) -> Frame:
    rows = {name: _row(name, row, report.sight) for name, row in frame.rows.items()}
    told = [*report.did, *report.differences, report.not_made]
    rows[DEEDS] = Row(columns={COLUMN: "; ".join(filter(None, told))})
    return attrs.evolve(frame, rows=rows, changed=frame.changed | _changed(rows, before.rows))


def _row(name: str, row: Row, sight: Sight) -> Row:
    """Return a row with what was seen of its broker, or of the controller."""
    seen = {f"broker {broker}": str(replica) for broker, replica in enumerate(sight.replicas)}
    seen["controller"] = str(sight.quorum)
    return attrs.evolve(row, columns={**row.columns, COLUMN: seen[name]}) if name in seen else row


def _changed(rows: Rows, before: Rows) -> frozenset[tuple[str, str]]:
    old = {name: row.columns.get(COLUMN) for name, row in before.items()}
    return frozenset((name, COLUMN) for name, row in rows.items() if row.columns.get(COLUMN) not in (old.get(name), ""))


def reproduction_page(report: ReproductionReport) -> str:
    """Return the HTML page of a reproduction: the trace of each replay, with a column for the brokers."""
    chapters, notes = [], []
    for number, (judged, audit) in enumerate(report.judged, start=1):
        release = judged.replay.release.name
        note = f"{judged.judgement.value} on Kafka {release}: {judged.reason}"
        chapters.append(chapter(number, real_story(judged.replay), visible(note)))
        lines = [*evidence(judged.replay), audit]
        notes += [visible(f"Kafka {release}: {line}") for line in lines if line]
    title = f"leadline: {report.reproduction.ticket} on real brokers"
    return page(title, chapters, notes=notes, origin=Origin.now())
