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
from leadline.reports.document import Document, blocks_of
from leadline.reports.document.html import document_page
from leadline.reports.html import chapter
from leadline.reports.kafka.conformance.text import summary
from leadline.reports.kafka.conformance.whole import WholeReport
from leadline.reports.loading import load_spec
from leadline.reports.origin import Origin
from leadline.reports.traces.story import Story, story_of


def _no_steps(state: Partition) -> Iterator[Partition]:
    """Yield no next states, because the steps of a recording come from observations and not from a search."""
    yield from ()


def conformance_page(report: WholeReport) -> str:
    """Return the HTML page of a report: what the terminal shows, and for the partition a trace for the recording's own
    release, or for each spec if the model does not have this release.
    """
    partition = report.partition
    shown = () if partition is None else partition.checked if partition.own is None else (partition.own,)
    chapters = []
    for number, checked in enumerate(shown, start=1):
        story = _story(checked)
        if story is not None:
            chapters.append(chapter(number, story, visible(_note(checked))))
    names = ", ".join(each.name for each in report.parts)
    document = Document(f"leadline: {report.path.name}, {names}", blocks_of(report.lines()))
    return document_page(document, Origin.now(), chapters)


def _note(checked: Checked) -> str:
    if checked.conformance.rejection is not None:
        return "the steps before, with the states of the model, and last the step in question"
    return f"{checked.column.name}: {summary(checked)}"


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
