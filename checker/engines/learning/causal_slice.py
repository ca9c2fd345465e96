"""Finds the steps of a trace that affect its last state, by comparing the values that each step reads and writes.

This is a backward dynamic slice (Korel and Laski, "Dynamic program slicing", 1988). A step affects a later step if it
writes a value that the later step reads. The reads are recorded as in the compiled engine. The recorded reads include
every value that affects the result, and possibly others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.properties import Kind
from leadline.checker.trace import Trace

if TYPE_CHECKING:
    from leadline.checker.engines.learning.calls import Caller

S = TypeVar("S")
T = TypeVar("T")


@attrs.frozen
class Cause:
    """A trace step that affects a later step or the result of the trace's property.

    Attributes:
        state: the index of the state to which the step led, counted from 0.
        wrote: the paths of the values that the step wrote and that were read later, for example ``replicas[1].log``.
        readers: the later steps that read one of these values before another step wrote it again. Each step is given as
            the index of the state to which it led.
        read_by_property: whether the property read one of these values in the last state or step.
    """

    state: int
    wrote: tuple[str, ...]
    readers: tuple[int, ...]
    read_by_property: bool


def causes(trace: Trace[S]) -> list[Cause]:
    """Return, in order, the steps of a trace that affect the property's result in the last state or step.

    Parameters:
        trace: a trace that ends with the violation of a property or with an example of a witness.

    Returns:
        The causes. The list is empty if the trace does not belong to a property, if it ends in a deadlock, if the
        property is a liveness property, or if the spec's reads cannot be recorded.

    Raises:
        LeadlineError: if an action or the property raised an exception.
    """
    about = trace.about
    if about is None or about.kind is Kind.DEADLOCK or about.kind.is_liveness or len(trace) < 2:
        return []
    try:
        return _without_laziness(lambda: _slice(trace))
    except LeadlineError:
        raise
    except Exception:  # causes are optional: the reads of some states and some code cannot be recorded
        return []


def _without_laziness(call: Callable[[], T]) -> T:
    """Call the given function, which records reads, and return its result. Then undo the changes that the recording
    made to the spec's classes.
    """
    from leadline.checker.observing.lazy import make_ordinary

    try:
        return call()
    finally:
        make_ordinary()


def _slice(trace: Trace[S]) -> list[Cause]:
    spec, about = trace.spec, trace.about
    assert about is not None
    caller, rows = _caller(trace)
    paths = [domain.path.partition(".")[2] for domain in caller.layout.domains]
    slots, last = len(paths), len(rows) - 1
    reads, writes = [set[int]()], [set[int]()]
    for number, instance in enumerate(trace.instances):
        call = caller.make(spec.instances.index(instance.of_search), (rows[number],))
        reads.append(set(call.reads))
        writes.append({slot for slot in range(slots) if rows[number][slot] != rows[number + 1][slot]})
    checks = (*caller.state_checks, *caller.step_checks)
    ends = tuple(rows[-2:] if about.kind.of_steps else rows[-1:])
    at_end = caller.make(caller.instances + checks.index(about), ends).reads
    # maps each slot to the later steps that read it before it is written again; `last + 1` means the property
    readers: dict[int, set[int]] = {}
    for slot in at_end:
        readers.setdefault(slot % slots, set()).add(last + 1)
    found = []
    for number in range(last, 0, -1):
        read_later = {slot: readers.pop(slot) for slot in writes[number] & readers.keys()}
        if not read_later:
            continue
        by = set[int]().union(*read_later.values())
        found.append(
            Cause(
                state=number,
                wrote=tuple(paths[slot] for slot in sorted(read_later)),
                readers=tuple(sorted(by - {last + 1})),
                read_by_property=last + 1 in by,
            )
        )
        for slot in reads[number]:
            readers.setdefault(slot, set()).add(number)
    return found[::-1]


def _caller(trace: Trace[S]) -> tuple[Caller[S], list[Sequence[int]]]:
    """Return two objects: a caller that records reads, and a list of the trace's states. Each state is given as one
    value index per slot.

    A component whose shape changes during the trace gets a single slot.
    """
    from leadline.checker.engines.learning.restart import CHANGES, Adjustments
    from leadline.checker.engines.learning.tables import TransitionTables

    adjustments = Adjustments()
    while True:
        try:
            tables = TransitionTables(trace.spec, trace.states, adjustments)
            return tables.caller, [*tables.rows]
        except CHANGES as change:
            adjustments = adjustments.after(change)
