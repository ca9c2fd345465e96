"""List the steps that are enabled in a state of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from leadline.checker.properties import Kind
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.reports.html.changes import changes
from leadline.reports.traces.rows import rows_of

MOST_CHANGES = 4
"""The maximum number of changed cells that the page names for a step."""

Link = Callable[[int, int], str]
"""A function that takes the index of a state and the index of a step in `Spec.successors`, and returns an address."""


@attrs.frozen
class Choice:
    """A step that is enabled in a state.

    Attributes:
        words: the sentence that describes the step.
        label: the action with its parameters.
        outcome: a description of the cells that the step changes.
        violated: the names of the properties that the step violates.
        taken: true if the step is the next step of the trace.
        link: the address of the page that shows the state after the step. Empty if there is no server.
    """

    words: str
    label: str
    outcome: str
    violated: tuple[str, ...]
    taken: bool
    link: str = ""


def choices(trace: Trace[object], number: int, link: Link | None = None) -> tuple[Choice, ...]:
    """Return the steps that are enabled in a state of a trace, in the spec's order.

    Parameters:
        number: the index of the state.
        link: a function that returns the address of the page that shows the state after a step, or None if there is no
            server.

    Raises:
        SpecError: if an action, a property or the drawing function of the spec raises an error.
    """
    spec, state = trace.spec, trace.states[number]
    before = rows_of(spec, state)
    taken = (trace.instances[number], trace.states[number + 1]) if number < len(trace.instances) else None
    found = []
    for place, (instance, after) in enumerate(spec.successors(state)):
        different = changes(before, rows_of(spec, after))
        outcome = [f"{each.row}: {each.column} {each.before or '-'} → {each.after or '-'}" for each in different]
        more = [f"and {len(outcome) - MOST_CHANGES} more"] if len(outcome) > MOST_CHANGES else []
        found.append(
            Choice(
                words=visible(instance.sentence or repr(instance)),
                label=visible(repr(instance)),
                outcome="; ".join([*outcome[:MOST_CHANGES], *more]) or "no visible change",
                violated=tuple(violated(spec, state, after)),
                taken=(instance, after) == taken,
                link=link(number, place) if link is not None else "",
            )
        )
    return tuple(found)


def violated(spec: Spec[object], before: object, after: object) -> Iterator[str]:
    """Yield the names of the invariants and step invariants that a step violates."""
    for item in spec.checks_of(Kind.INVARIANT, Kind.STEP_INVARIANT):
        states = (before, after) if item.kind.of_steps else (after,)
        if spec.complaint(item, *states) is not None:
            yield item.name
