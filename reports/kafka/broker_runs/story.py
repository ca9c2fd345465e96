"""Convert a replay to a story, with a column for what was observed on real brokers."""

from __future__ import annotations

import attrs

from leadline.brokers.driver.replay import Replay
from leadline.brokers.driver.step_report import AnyObserved, StepReport
from leadline.brokers.reproduction import Judgement
from leadline.checker.drawing import Row
from leadline.checker.support.escapes import visible
from leadline.reports.document import Document, blocks_of
from leadline.reports.document.html import document_page
from leadline.reports.html import chapter
from leadline.reports.kafka.broker_runs.live import judged_blocks
from leadline.reports.kafka.broker_runs.objects import ReproductionReport
from leadline.reports.origin import Origin
from leadline.reports.traces.rows import Rows
from leadline.reports.traces.story import Frame, Story, story_of

COLUMN = "on brokers"
"""The name of the column that shows the state of the real brokers."""

DEEDS = "real brokers"
"""The name of the row that shows what was done on real brokers in a step, and how they differ from the model."""


def real_story(replay: Replay, violated: str = "") -> Story:
    """Return the story of a replay. It shows the state of the brokers next to the state of the model.

    Parameters:
        violated: the name of the property that the brokers violated, whose causes the story tells. Empty if there is
            none.
    """
    trace = replay.plan.trace
    about = next((each for each in trace.spec.properties if each.name == violated), None)
    story = story_of(attrs.evolve(trace, about=about))
    frames = [story.frames[0]]
    for report, frame in zip(replay.steps, story.frames[1:], strict=False):
        frames.append(_with_reality(report, frame, frames[-1]))
    return attrs.evolve(story, frames=(*frames, *story.frames[len(frames) :]))


def _with_reality(report: StepReport, frame: Frame, before: Frame) -> Frame:
    rows = {name: _row(name, row, report.observed) for name, row in frame.rows.items()}
    told = [*report.did, *report.differences, report.not_made]
    rows[DEEDS] = Row(columns={COLUMN: "; ".join(filter(None, told))})
    return attrs.evolve(frame, rows=rows, changed=frame.changed | _changed(rows, before.rows))


def _row(name: str, row: Row, observed: AnyObserved) -> Row:
    """Add the observed state of a part of the cluster to its row. Return other rows unchanged."""
    seen = observed.columns
    return attrs.evolve(row, columns={**row.columns, COLUMN: seen[name]}) if name in seen else row


def _changed(rows: Rows, before: Rows) -> frozenset[tuple[str, str]]:
    old = {name: row.columns.get(COLUMN) for name, row in before.items()}
    return frozenset((name, COLUMN) for name, row in rows.items() if row.columns.get(COLUMN) not in (old.get(name), ""))


def reproduction_page(report: ReproductionReport) -> str:
    """Return the HTML page of a reproduction: what the terminal shows, and the trace of each replay with a column for
    the real brokers.
    """
    blocks, chapters = list(blocks_of(report.about)), []
    for number, (judged, audit) in enumerate(report.judged, start=1):
        blocks += judged_blocks(judged, audit)
        release = f"Kafka {judged.replay.release.name}"
        violated = report.reproduction.violated if judged.judgement is Judgement.REPRODUCED else ""
        chapters.append(chapter(number, real_story(judged.replay, violated), visible(release)))
    document = Document(f"leadline: {report.reproduction.ticket} on real brokers", tuple(blocks))
    return document_page(document, Origin.now(), chapters)
