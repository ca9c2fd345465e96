"""Write the HTML page of a recording: the behaviour of the model that explains the recording, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.brokers.conformance.check import MOST_STEPS, Checked
from leadline.checker.action import Action, ActionInstance
from leadline.checker.conformance import Answer, Rejection, Taken
from leadline.checker.drawing import Event
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.model.kafka.state import Partition
from leadline.reports.conformance.report import ConformanceReport
from leadline.reports.conformance.text import explained, lines, what_went_wrong
from leadline.reports.html import chapter, page
from leadline.reports.loading import load_spec
from leadline.reports.origin import Origin
from leadline.reports.traces.story import Story, story_of


def _no_steps(state: Partition) -> Iterator[Partition]:
    """Yield no next states, because the steps of a recording come from observations and not from a search."""
    yield from ()


def conformance_page(report: ConformanceReport) -> str:
    """Return the HTML page of a report. It shows a trace for the recording's own release, or for each spec if the model
    does not have this release.
    """
    shown = [report.own] if report.own is not None else list(report.checked)
    chapters = []
    for number, checked in enumerate(shown, start=1):
        story = _story(checked)
        if story is not None:
            chapters.append(chapter(number, story, visible(_heading(report, checked))))
    notes = [visible(line) for line in _notes(report) if line.strip()]
    return page(f"leadline: {report.path.name}, {report.name}", chapters, notes=notes, origin=Origin.now())


def _heading(report: ConformanceReport, checked: Checked) -> str:
    if _is_rejected_alone(report):
        return "the steps before, with the states of the model, and last the step in question"
    return " ".join(next(explained(report, checked)).split())


def _is_rejected_alone(report: ConformanceReport) -> bool:
    return report.own is not None and report.own.conformance.rejection is not None and len(report.checked) == 1


def _notes(report: ConformanceReport) -> Iterator[str]:
    """Yield the lines above the traces. If a single spec rejects the recording, they say what went wrong, because the
    trace shows only the steps before that.
    """
    rejection = None if report.own is None else report.own.conformance.rejection
    if report.own is None or rejection is None or not _is_rejected_alone(report):
        yield from lines(report)
        return
    yield next(lines(report))
    yield next(explained(report, report.own))
    heading = ""
    for line in what_went_wrong(report, report.own, rejection):
        if line.endswith(":"):  # a page has no indented lines
            heading = f"{line} "
        else:
            yield heading + line.strip().removeprefix("- ")
            heading = ""


def _story(checked: Checked) -> Story | None:
    """Return the steps that explain the recording, up to the first observation that no possible state explains."""
    result = checked.conformance
    steps: Sequence[Taken[Partition]] = result.behaviour
    if result.rejection is not None and result.rejection.candidates:
        steps = result.rejection.candidates[0].path
    steps = steps[-MOST_STEPS:]
    if not steps:
        return None
    if result.rejection is not None:
        observation, last = result.rejection.observation, steps[-1].after
        steps = [*steps, Taken(observation.label, observation, "", last, last)]
    instances = tuple(_instance(step) for step in steps)
    states = (steps[0].before, *(step.after for step in steps))
    trace: Trace[Any] = Trace(load_spec(checked.column.name), states, instances)
    story = story_of(trace)
    first = attrs.evolve(story.frames[0], sentence="the state before these steps")  # earlier steps are left out
    story = attrs.evolve(story, title=visible(checked.column.name), frames=(first, *story.frames[1:]), trace=None)
    return story if result.rejection is None else _ending(story, checked, result.rejection)


def _ending(story: Story, checked: Checked, rejection: Rejection[Partition]) -> Story:
    """Return a story that ends with the reasons why its last step is not possible, or was not explained."""
    label, ending = "not possible", f"the last step is not possible in {checked.column.name}"
    if checked.conformance.answer is Answer.UNDECIDED:
        label, ending = "not explained", f"no state of {checked.column.name} that was found explains the last step"
    return attrs.evolve(
        story,
        happened=(Event(len(story.frames) - 1, rejection.observation.label, label),),
        ending=(visible(ending),),
        reasons=tuple(visible(candidate.why) for candidate in rejection.candidates),
    )


def _instance(step: Taken[Partition]) -> ActionInstance[Partition]:
    """Convert a step to an instance of an action that has no parameters. The action's sentence describes the
    observation.
    """
    name = "not seen" if step.observation is None else "seen"
    sentence = step.label.replace("{", "{{").replace("}", "}}")
    return ActionInstance(Action(name, _no_steps, {}, sentence), ())
