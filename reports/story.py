"""Stories: a trace as the frames that a view shows one after another. All texts are `visible`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from checker.bounds import bounds_text
from checker.itf import TraceFile
from checker.properties import Kind
from checker.trace import Trace
from checker.visible import visible
from reports.lanes import Lanes, lanes_of, lanes_of_file, legend_of
from reports.spacetime import SpaceTime, losses, space_time


@attrs.frozen
class Frame:
    """One state, and the step that led to it.

    Attributes:
        label: the action with its parameters; empty for the initial state.
        sentence: the step in words; empty if the action does not say.
        losses: what was lost by it, in words; empty if nothing was.
        lanes: the state's rows.
        changed: the cells that differ from the frame before, as (row, column).
    """

    label: str
    sentence: str
    losses: str
    lanes: Lanes
    changed: frozenset[tuple[str, str]]

    @property
    def words(self) -> str:
        """The whole step in words: what was done, and what was lost by it."""
        return "; ".join(filter(None, [self.sentence or self.label or "the initial state", self.losses]))


@attrs.frozen
class Story:
    """All that a view shows of a trace.

    Attributes:
        title: the spec with its bounds.
        legend: what the notation of the rows means.
        frames: one for each state.
        diagram: where the steps happened, and what was sent.
        ending: one paragraph each: what the trace shows, what is wrong at its end, where the rule is from.
    """

    title: str
    legend: str
    frames: tuple[Frame, ...]
    diagram: SpaceTime
    ending: tuple[str, ...]


def story_of(trace: Trace[Any]) -> Story:
    """The story of a trace."""
    ending: tuple[str, ...] = ()
    if (about := trace.about) is not None:
        source = [f"source: {about.source}"] if about.source else []
        paragraphs = (ending_of(about.name, about.kind, about.sentence), *trace.complaints, *source)
        ending = tuple(map(visible, paragraphs))
    lanes = [lanes_of(state) for state in trace.states]
    diagram = space_time(lanes, trace)
    steps = [("", "")] + [(visible(repr(instance)), visible(instance.sentence)) for instance in trace.instances]
    return Story(
        title=_title(trace.spec.name, attrs.asdict(trace.spec.bounds)),
        legend=legend_of(trace.states[0]),
        frames=_frames(steps, lanes, diagram),
        diagram=diagram,
        ending=ending,
    )


def story_of_file(recorded: TraceFile) -> Story:
    """The story of a recorded trace whose spec is not at hand: the variables as they were written."""
    steps = [("", "")] + [(visible(state.label) if state.action else "?", "") for state in recorded.states[1:]]
    lanes = [lanes_of_file(state.values) for state in recorded.states]
    diagram = space_time(lanes)
    return Story(
        title=_title(recorded.spec or "a trace", recorded.bounds),
        legend="",
        frames=_frames(steps, lanes, diagram),
        diagram=diagram,
        ending=(visible(f"about {recorded.about}: {recorded.sentence}"),) if recorded.about else (),
    )


def _title(spec: str, bounds: Mapping[str, Any]) -> str:
    return visible(f"{spec}  {bounds_text(bounds)}".rstrip())


def ending_of(name: str, kind: Kind, sentence: str) -> str:
    """What the end of a trace shows about a property."""
    return f"{name} is {'shown' if kind.is_witness else 'violated'}: {sentence}"


def _frames(steps: list[tuple[str, str]], states: list[Lanes], diagram: SpaceTime) -> tuple[Frame, ...]:
    frames = []
    before, picture = states[0], diagram.pictures[0]
    for (label, sentence), lanes, drawn in zip(steps, states, diagram.pictures, strict=True):
        changed = frozenset(
            (row, column)
            for row, cells in lanes.items()
            for column, text in cells.items()
            if before.get(row, {}).get(column) != text
        )
        frames.append(Frame(label, sentence, "; ".join(losses(picture, drawn)), lanes, changed))
        before, picture = lanes, drawn
    return tuple(frames)
