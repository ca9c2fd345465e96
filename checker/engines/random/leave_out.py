"""Shortens a counterexample of a random search by leaving out steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.content import in_order
from leadline.checker.engines.purity import leads_elsewhere
from leadline.checker.trace import Trace, complaint_at_end

S = TypeVar("S")

Keep = Callable[[Trace[S]], None]
"""A function that is called with the shortest counterexample so far, before each attempt to shorten it. It may raise an
exception to stop the shortening."""

Choice = tuple[ActionInstance[Any], int]
"""An action instance, and the index of one of its next states. If the index is too large, it selects the last next
state."""

TRIED = 1_000_000
"""The maximum number of steps that are taken in order to shorten a trace. They take about ten seconds."""


def without_needless_steps(trace: Trace[S], keep: Keep[S], most_tried: int = TRIED) -> Trace[S]:
    """Leave out consecutive steps of a counterexample, first all of them, later half as many at a time, as long as the
    property is still violated (A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002).

    Parameters:
        trace: a counterexample, or a trace to a state that satisfies a witness.
        keep: a function that is called with the shortest counterexample so far, before each attempt to shorten it.
        most_tried: the approximate maximum number of steps to take; see `TRIED`.

    Raises:
        SpecError: if the spec's functions are not pure or raised an exception.
    """
    choices, size, tried = _choices(trace), len(trace.instances), 0
    while size:
        length, end = len(trace), len(choices)
        while end > 0 and tried <= most_tried:
            keep(trace)
            kept = choices[: max(end - size, 0)] + choices[end:]
            tried += len(kept)
            shorter = _violation(trace, kept)
            if shorter is not None and len(shorter) < len(trace):
                trace, choices = shorter, _choices(shorter)
            end = min(end - size, len(choices))
        if len(trace) == length:
            size //= 2
    return trace


def _choices(trace: Trace[S]) -> list[Choice]:
    """Return a `Choice` for each step of a trace: the action instance, and the index of the next state.

    Raises:
        SpecError: if an action is not pure, so that an action instance no longer leads to the recorded state.
    """
    choices = []
    for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
        instance = instance.of_search
        successors = in_order(trace.spec.take(instance, before))
        if after not in successors:
            raise leads_elsewhere(instance)
        choices.append((instance, successors.index(after)))
    return choices


def _violation(trace: Trace[S], choices: Iterable[Choice]) -> Trace[S] | None:
    """Begin at the first state of a counterexample, and take the given steps until the property is violated.

    Parameters:
        choices: the steps to take. An action instance that is not enabled is skipped.

    Returns:
        The trace to the violation, or None if the property is not violated.
    """
    item, spec = trace.about, trace.spec
    assert item is not None
    states, taken = [trace.states[0]], list[ActionInstance[S]]()
    for instance, choice in choices:
        successors = in_order(spec.take(instance, states[-1]))
        if successors:
            states.append(successors[min(choice, len(successors) - 1)])
            taken.append(instance)
            if complaint_at_end(spec, item, states) is not None:
                return Trace(spec, states, taken, item)
            if not spec.is_within(states[-1]):
                return None
    return None
