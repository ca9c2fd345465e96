"""Reorders the steps of a trace, so that they switch less often between parts of the state.

A part is a component of the state, for example one broker. A breadth-first search finds one of many shortest traces,
and independent steps of different brokers often alternate in it. A trace is easier to read if each broker takes many
steps in a row.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Generic, TypeVar

import attrs

from leadline.checker.content import in_order
from leadline.checker.spec import Spec
from leadline.checker.state import changed_parts
from leadline.checker.trace import Trace

S = TypeVar("S")

WIDTH = 100
"""The maximum number of partial reorderings that are kept for each length, because there can be very many."""

MOST_KEPT = 3_000
"""The maximum number that are kept for all lengths together. For a long trace, fewer are kept for each length."""


@attrs.frozen(eq=False)
class _Way(Generic[S]):
    """A partial reordering: the first steps of the new trace. Each step belongs to a part of the state.

    Attributes:
        switches: the number of times that a step belongs to a different part than the step before it.
        steps: the indices of the action instances, in order.
        states: the states, in order, starting with the initial state.
    """

    switches: int
    steps: tuple[int, ...]
    states: tuple[S, ...]

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        """The sort key: the number of switches, followed by the indices of the action instances."""
        return self.switches, self.steps


_Ways = dict[str | None, _Way[S]]
"""The best partial reordering for each part to which the last step can belong. The key is None if there are no
steps."""


def with_fewest_switches(trace: Trace[S]) -> Trace[S]:
    """Reorder the steps of a trace so that they rarely switch between parts. The last state stays the same.

    A part is a component of the state; see `component`. A step belongs to a part that it changes. If a step changes
    several parts, it belongs to the part that results in the fewest switches. The search does not always find the best
    order.

    Parameters:
        trace: the trace. If its property is a property of steps, the last step stays last.

    Returns:
        A trace of the same length. The result does not depend on the engine.
    """
    numbers = {instance: number for number, instance in enumerate(trace.spec.instances)}
    own = [numbers[instance.of_search] for instance in trace.instances]
    reached: dict[tuple[S, tuple[int, ...]], _Ways[S]] = {
        (trace.states[0], tuple(sorted(own))): {None: _Way(0, (), trace.states[:1])}
    }
    width = max(1, min(WIDTH, MOST_KEPT // len(trace)))
    for taken in range(1, len(trace)):
        steps: dict[tuple[S, int], list[S]] = {}
        longer: dict[tuple[S, tuple[int, ...]], _Ways[S]] = {}
        for (state, left), ways in reached.items():
            for number, successor in _next(trace.spec, state, left, steps):
                if taken == len(trace) - 1 and not _ends_alike(trace, state, successor):
                    continue
                at = left.index(number)
                found = longer.setdefault((successor, (*left[:at], *left[at + 1 :])), {})
                for part in changed_parts(state, successor):
                    way = _longer(ways, part, number, successor)
                    if part not in found or way.rank < found[part].rank:
                        found[part] = way
        mine = trace.states[taken], tuple(sorted(own[taken:]))
        if mine not in longer:
            return trace  # the spec reads data that has changed since the trace was found
        best = heapq.nsmallest(width, longer, key=lambda key: _best(longer[key]).rank)
        reached = {key: longer[key] for key in dict.fromkeys([*best, mine])}
    (ways,) = reached.values()
    way = _best(ways)
    return attrs.evolve(trace, states=way.states, instances=[trace.spec.instances[number] for number in way.steps])


def _next(
    spec: Spec[S], state: S, left: tuple[int, ...], known: dict[tuple[S, int], list[S]]
) -> Iterator[tuple[int, S]]:
    """Yield the possible steps from a state with the action instances that are left.

    Parameters:
        state: the state. If `Spec.within` is false for it, there are no steps.
        left: the indices of the action instances that are not yet in the new trace.
        known: the next states found so far, keyed by state and action instance. New next states are added.

    Yields:
        For each step, the index of the action instance and the next state.
    """
    if not spec.is_within(state):
        return
    for number in dict.fromkeys(left):
        if (state, number) not in known:
            known[state, number] = in_order(spec.take(spec.instances[number], state))
        for successor in known[state, number]:
            yield number, successor


def _ends_alike(trace: Trace[S], before: S, after: S) -> bool:
    of_steps = trace.about is not None and trace.about.kind.of_steps
    return after == trace.states[-1] and (not of_steps or before == trace.states[-2])


def _longer(ways: _Ways[S], part: str, number: int, successor: S) -> _Way[S]:
    """Extend each of the given partial reorderings by the same step, and return the best result.

    Parameters:
        number: the index of the step's action instance.
        successor: the state after the step.
    """
    chosen = min(
        (_Way(way.switches + (last not in (None, part)), way.steps, way.states) for last, way in ways.items()),
        key=lambda way: way.rank,
    )
    return _Way(chosen.switches, (*chosen.steps, number), (*chosen.states, successor))


def _best(ways: _Ways[S]) -> _Way[S]:
    return min(ways.values(), key=lambda way: way.rank)
