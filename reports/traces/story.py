"""Convert traces to stories, the form that reports show. Stories contain no invisible characters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.drawing import Event, Message, Row
from leadline.checker.engines.learning.causal_slice import Cause, causes
from leadline.checker.liveness.recheck import neglected
from leadline.checker.properties import Kind
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.itf import TraceFile
from leadline.reports.lines import stated_bounds
from leadline.reports.traces.rows import Rows, rows_of, rows_of_file, written
from leadline.reports.traces.source import link_to
from leadline.reports.traces.spacetime import SpaceTime, losses, space_time

MOST_CAUSES = 20
"""The maximum number of steps that a story lists as causes of the violation, if the spec does not explain it."""

MOST_SAID = 3
"""The maximum number of sentences of `future` in an event. The ending of a story has all of them."""

MOST_DESCRIBED = 4
"""The maximum number of steps of a loop that are described in one sentence."""

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""Small numbers in words."""


@attrs.frozen
class Frame:
    """A state in a story, with the preceding step.

    Attributes:
        label: the action with its parameters. Empty for the initial state.
        sentence: the sentence that describes the step. Empty if the action has no sentence.
        losses: a phrase about the cells that the step removed. Empty if the step removed no cells.
        changed: the cells whose text differs from the previous frame. Each is a (row, column) pair.
        under_way: the messages in flight.
        sent: the messages in flight that the step sent.
        lost: the messages that were lost in the step.
        along: the values that are computed along the trace, as text, keyed by name.
        link: the address of the action in its file, with the number of its first line. Empty if it is not known.
    """

    label: str
    sentence: str
    losses: str
    rows: Rows
    changed: frozenset[tuple[str, str]]
    under_way: tuple[Message, ...] = ()
    sent: frozenset[Message] = frozenset()
    lost: tuple[Message, ...] = ()
    along: Mapping[str, str] = attrs.field(factory=dict)
    link: str = ""

    @property
    def words(self) -> str:
        """Text that describes the step and the cells that the step removed."""
        return "; ".join(filter(None, [self.sentence or self.label or "the initial state", self.losses]))


@attrs.frozen
class Story:
    """A trace in the form that reports show.

    Attributes:
        title: the name of the spec and its bounds, as text.
        legend: the meaning of the notation in the rows.
        frames: the frames, one for each state.
        happened: the events that decided the outcome, in order. The last event is the violation or the witness.
        trace: the trace, or None if its spec is not available.
        ending: paragraphs that say what the trace shows, why its end violates the property, and which source the
            property comes from.
        loop: the index of the state at which the loop of a lasso starts, or None if the trace is not a lasso.
        reasons: the reasons why the end violates the property. There are none if the property gives no reason.
    """

    title: str
    legend: str
    frames: tuple[Frame, ...]
    diagram: SpaceTime
    ending: tuple[str, ...]
    happened: tuple[Event, ...] = ()
    trace: Trace[object] | None = attrs.field(default=None, eq=False, repr=False)
    loop: int | None = None
    reasons: tuple[str, ...] = ()

    def turns(self, state: int) -> tuple[Event, ...]:
        """Return the events that happened in a state and decided the outcome. Return only one event for each label."""
        return tuple(
            {event.label: event for event in reversed(self.happened) if event.state == state and event.label}.values()
        )[::-1]

    def explanations(self, state: int) -> tuple[str, ...]:
        """Return the text of each event in a state. Leave out the last event of the trace, because `ending` explains
        it.
        """
        return tuple(event.text for event in self.happened[:-1] if event.state == state)


def story_of(trace: Trace[Any]) -> Story:
    """Return the story of a trace."""
    ending, reasons = tuple[str, ...](), tuple[str, ...]()
    if (about := trace.about) is not None:
        articles = " (seeds are articles: invariants/README.md)" if re.search(r"\bseeds? \d{3}", about.source) else ""
        source = [f"source: {about.source}{articles}"] if about.source else []
        reasons = tuple(map(visible, (*trace.complaints, *future(trace))))
        ending = (visible(ending_of(about.name, about.kind, about.sentence)), *reasons, *map(visible, source))
    spec = trace.spec
    rows = [rows_of(spec, state) for state in trace.states]
    steps_taken = list(trace.steps)
    along = [
        {visible(name): visible(written(value)) for name, value in values.items()}
        for values in spec.along(trace.states[0], steps_taken, about)
    ]
    taken = [step.instance for step in steps_taken]
    steps = [("", ""), *((visible(repr(instance)), visible(instance.sentence)) for instance in taken)]
    diagram = space_time(rows, trace)
    frames = _frames(steps, diagram, [tuple(spec.messages(state)) for state in trace.states])
    links = ["", *map(link_to, taken)]
    return Story(
        title=_title(spec.name, attrs.asdict(spec.bounds)),
        legend=spec.drawing.legend if spec.drawing is not None else "",
        frames=tuple(
            attrs.evolve(frame, along=values, link=link)
            for frame, values, link in zip(frames, along, links, strict=True)
        ),
        diagram=diagram,
        ending=ending,
        happened=what_happened(trace),
        trace=trace,
        loop=trace.loop,
        reasons=reasons,
    )


def future(trace: Trace[Any]) -> list[str]:
    """Say in sentences what happens after the last state of a trace that violates a liveness property.

    Returns:
        The sentences. They describe the loop and the enabled actions that are never taken in it, or say that no
        recovery is possible. There are none if the trace does not violate a liveness property.
    """
    about = trace.about
    if about is not None and about.kind is Kind.RECOVERABLE:
        steps = "steps of healing actions alone lead" if about.by_healing else "steps lead"
        return [f"after step {len(trace)}, no {steps} to a state that satisfies {about.name}"]
    if trace.loop is None:
        is_temporal = about is not None and about.kind is Kind.TEMPORAL
        return [f"whatever follows step {len(trace)}, it stays violated"] if is_temporal else []
    left = [str(each) for each in neglected(trace)]
    if not trace.loop_steps:
        why = "fairness does not require that it does" if left else "no action is enabled that changes the state"
        return [f"after step {trace.loop + 1}, nothing happens any more: {why}", *left]
    return [_repeated(trace), *(left or ["no other step is enabled in the loop"])]


def _repeated(trace: Trace[Any]) -> str:
    """Return a sentence that says which steps a lasso repeats. It describes each step if there are only a few."""
    assert trace.loop is not None
    steps = trace.loop_steps
    number = NUMBERS[len(steps)] if len(steps) < len(NUMBERS) else f"{len(steps):,}"
    these = f"these {number} steps repeat" if len(steps) > 1 else "this step repeats"
    described = "; ".join(step.instance.sentence or str(step.instance) for step in steps)
    return f"from step {trace.loop + 2} on, {these} for ever{f': {described}' if len(steps) <= MOST_DESCRIBED else ''}"


def what_happened(trace: Trace[object]) -> tuple[Event, ...]:
    """Return the events that decided the outcome of a trace. The last event is the violation or the witness.

    The spec defines which events these are. Without such a definition, the events are the steps that wrote a value that
    the property or a later step reads.
    """
    about = trace.about
    if about is None:
        return ()
    end = Event(
        len(trace) - 1,
        trace.complaint or ". ".join(future(trace)[:MOST_SAID]) or about.sentence,
        *(("shown", True) if about.kind.is_witness else ("violated",)),
    )
    if about.kind.is_witness:
        return (end,)
    events = [*(trace.spec.events(tuple(trace.steps)) or _events_of(causes(trace), trace))]
    if trace.loop is not None and trace.loop_steps:
        events.append(Event(trace.loop, "the loop begins: this state recurs for ever", "loop"))
    return (*sorted(events, key=lambda event: event.state), end)


def _events_of(found: Sequence[Cause], trace: Trace[object]) -> list[Event]:
    """Return an event for each cause of the violation. If there are too many, the earlier causes share an event."""
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
    wrote = [name for name in cause.wrote if not name.startswith("spent.")]  # only counts what the bounds limit
    sets = ", ".join(wrote or cause.wrote)
    return Event(cause.state, f"{instance.sentence or instance}: sets {sets}, read {' and '.join(readers)}")


def story_of_file(recorded: TraceFile) -> Story:
    """Return the story of a trace file whose spec is not available. The frames show the variables in the file."""
    steps = [("", "")] + [(visible(state.label) if state.action else "?", "") for state in recorded.states[1:]]
    diagram = space_time([rows_of_file(state.values) for state in recorded.states])
    return Story(
        title=_title(recorded.spec or "a trace", recorded.bounds),
        legend="",
        frames=_frames(steps, diagram, [()] * len(steps)),
        diagram=diagram,
        ending=(visible(f"about {recorded.about}: {recorded.sentence}"),) if recorded.about else (),
        loop=recorded.loop,
    )


def _title(spec: str, bounds: Mapping[str, object]) -> str:
    return visible(f"{spec}  {stated_bounds(bounds)}".rstrip())


def ending_of(name: str, kind: Kind, sentence: str) -> str:
    """Return a sentence that says whether the end of a trace shows or violates a property."""
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
