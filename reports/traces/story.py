"""Stories, which are traces in the form that reports show. All texts are `visible`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.drawing import Event, Message, Row
from leadline.checker.engines.causes import Cause, causes
from leadline.checker.properties import Kind
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.itf import TraceFile
from leadline.reports.traces.rows import Rows, rows_of, rows_of_file
from leadline.reports.traces.spacetime import SpaceTime, losses, space_time

MOST_CAUSES = 20
"""The most steps that are listed as causes of a trace's end if the spec's drawing does not explain it."""


@attrs.frozen
class Frame:
    """One state of a story, and the step that led to the state.

    Attributes:
        label: the action with its parameters. Empty for the initial state.
        sentence: a sentence that describes the step. Empty if the action has no sentence.
        losses: a text about the cells that the step removed. Empty if the step removed no cells.
        rows: the state's rows.
        changed: the cells whose texts differ from the previous frame, as pairs of a row and a column.
        under_way: the messages in flight.
        sent: the messages in flight that the step sent.
        lost: the messages that were lost in the step.
    """

    label: str
    sentence: str
    losses: str
    rows: Rows
    changed: frozenset[tuple[str, str]]
    under_way: tuple[Message, ...] = ()
    sent: frozenset[Message] = frozenset()
    lost: tuple[Message, ...] = ()

    @property
    def words(self) -> str:
        """A text that describes the complete step, with the cells that the step removed."""
        return "; ".join(filter(None, [self.sentence or self.label or "the initial state", self.losses]))


@attrs.frozen
class Story:
    """A trace in the form that reports show.

    Attributes:
        title: the spec with its bounds.
        legend: the meaning of the notation in the rows.
        frames: a frame for each state.
        diagram: the space-time diagram.
        happened: the events that decided the outcome, in order. The last event is the violation or the witness.
        trace: the trace, or None if its spec is not available.
        ending: paragraphs that give the meaning of the trace, the reason why its end is wrong, and the source of the
            rule.
    """

    title: str
    legend: str
    frames: tuple[Frame, ...]
    diagram: SpaceTime
    ending: tuple[str, ...]
    happened: tuple[Event, ...] = ()
    trace: Trace[object] | None = attrs.field(default=None, eq=False, repr=False)

    def turns(self, state: int) -> tuple[Event, ...]:
        """Return the events in a state (counted from 0) that decided the outcome. Each label is returned only once."""
        return tuple(
            {event.label: event for event in reversed(self.happened) if event.state == state and event.label}.values()
        )[::-1]

    def explanations(self, state: int) -> tuple[str, ...]:
        """Return the explanations of a state (counted from 0), except that of the last event, which `ending`
        explains.
        """
        return tuple(event.text for event in self.happened[:-1] if event.state == state)


def story_of(trace: Trace[Any]) -> Story:
    """Return the story of a trace."""
    ending: tuple[str, ...] = ()
    if (about := trace.about) is not None:
        source = [f"source: {about.source}"] if about.source else []
        paragraphs = (ending_of(about.name, about.kind, about.sentence), *trace.complaints, *source)
        ending = tuple(map(visible, paragraphs))
    spec = trace.spec
    rows = [rows_of(spec, state) for state in trace.states]
    steps = [("", "")] + [(visible(repr(instance)), visible(instance.sentence)) for instance in trace.instances]
    diagram = space_time(rows, trace)
    return Story(
        title=_title(spec.name, attrs.asdict(spec.bounds)),
        legend=spec.drawing.legend if spec.drawing is not None else "",
        frames=_frames(steps, diagram, [tuple(spec.messages(state)) for state in trace.states]),
        diagram=diagram,
        ending=ending,
        happened=what_happened(trace),
        trace=trace,
    )


def what_happened(trace: Trace[object]) -> tuple[Event, ...]:
    """Return the events that decided the outcome of a trace. The last event is the violation or the witness.

    The spec's drawing function gives the events. If there is no such function, the events are the steps that wrote a
    value that the property or a later step reads.
    """
    about = trace.about
    if about is None:
        return ()
    end = Event(
        len(trace) - 1,
        trace.complaint or about.sentence,
        *(("shown", True) if about.kind.is_witness else ("violated",)),
    )
    if about.kind.is_witness:
        return (end,)
    return (*(trace.spec.events(tuple(trace.steps)) or _events_of(causes(trace), trace)), end)


def _events_of(found: Sequence[Cause], trace: Trace[object]) -> list[Event]:
    """Return the causes of a trace's end. If there are many, return the last ones and the number of earlier ones."""
    shown = [_event_of(cause, trace) for cause in found[-MOST_CAUSES:]]
    if not (earlier := found[:-MOST_CAUSES]):
        return shown
    more = f"{counted(len(earlier), 'step')} up to this one set what later steps read"
    return [Event(earlier[-1].state, more), *shown]


def _event_of(cause: Cause, trace: Trace[object]) -> Event:
    instance = trace.instances[cause.state - 1]
    steps = [str(state + 1) for state in cause.readers]
    listed = " and ".join(filter(None, [", ".join(steps[:-1]), *steps[-1:]]))
    readers = [f"by step{'s' if len(steps) > 1 else ''} {listed}"] if steps else []
    readers += ["by the property"] if cause.read_by_property else []
    return Event(
        cause.state, f"{instance.sentence or instance}: sets {', '.join(cause.wrote)}, read {' and '.join(readers)}"
    )


def story_of_file(recorded: TraceFile) -> Story:
    """Return the story of a trace file whose spec is not available. The frames show the recorded variables."""
    steps = [("", "")] + [(visible(state.label) if state.action else "?", "") for state in recorded.states[1:]]
    diagram = space_time([rows_of_file(state.values) for state in recorded.states])
    return Story(
        title=_title(recorded.spec or "a trace", recorded.bounds),
        legend="",
        frames=_frames(steps, diagram, [()] * len(steps)),
        diagram=diagram,
        ending=(visible(f"about {recorded.about}: {recorded.sentence}"),) if recorded.about else (),
    )


def _title(spec: str, bounds: Mapping[str, object]) -> str:
    return visible(f"{spec}  {bounds_text(bounds)}".rstrip())


def ending_of(name: str, kind: Kind, sentence: str) -> str:
    """Return a sentence on the result that the end of a trace shows for a property."""
    return f"{name} is shown: {sentence}" if kind.is_witness else f"{name} is violated: it requires that {sentence}"


def _frames(
    steps: Sequence[tuple[str, str]], diagram: SpaceTime, messages: Sequence[tuple[Message, ...]]
) -> tuple[Frame, ...]:
    frames = []
    for number, (label, sentence) in enumerate(steps):
        rows, before = diagram.rows[number], diagram.rows[max(number - 1, 0)]
        changed = frozenset(
            (name, column)
            for name, row in rows.items()
            for column, text in row.columns.items()
            if before.get(name, Row()).columns.get(column) != text
        )
        frames.append(
            Frame(
                label,
                sentence,
                "; ".join(losses(before, rows)),
                rows,
                changed,
                under_way=messages[number],
                sent=frozenset(messages[number]) - {*messages[max(number - 1, 0)]},
                lost=tuple(each.message for each in diagram.deliveries if each.lost and each.ended == number),
            )
        )
    return tuple(frames)
