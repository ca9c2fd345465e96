"""Reordering: finding the order of a trace's steps with the fewest switches between parts of the state.

A breadth-first search finds the first of many shortest traces, in which independent steps alternate. A trace is easier
to read if each broker takes as many steps in a row as possible.
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
"""The maximum number of states that are kept after each number of steps, because there are too many orders."""


@attrs.frozen(eq=False)
class _Way(Generic[S]):
    """A partial reordering whose last step belongs to a given part.

    Attributes:
        switches: the number of switches between parts.
        steps: the numbers of the action instances, in order.
        states: the states, from the initial state on.
    """

    switches: int
    steps: tuple[int, ...]
    states: tuple[S, ...]

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        """The sort key: the number of switches, then the order in which a search finds the steps."""
        return self.switches, self.steps


_Ways = dict[str | None, _Way[S]]
"""The best partial reordering for each part that the last step can belong to. The key is None before the first step."""


def with_fewest_switches(trace: Trace[S]) -> Trace[S]:
    """Reorder the steps of a trace so that there are few switches between parts and the last state stays the same.

    A step belongs to a part that it changes, which is a component of the state, for example one broker. If it changes
    several parts, it belongs to the one that results in fewer switches. See `component` for how parts are defined.

    Parameters:
        trace: a behaviour. If it is about a property of steps, its last step remains the last.

    Returns:
        A trace of the same length. Among equally good orders, the first in the spec's order of actions is chosen, so
        that the result does not depend on the engine that found the trace.
    """
    numbers = {instance: number for number, instance in enumerate(trace.spec.instances)}
    own = [numbers[instance] for instance in trace.instances]
    reached: dict[tuple[S, tuple[int, ...]], _Ways[S]] = {
        (trace.states[0], tuple(sorted(own))): {None: _Way(0, (), trace.states[:1])}
    }
    for taken in range(1, len(trace)):
        longer: dict[tuple[S, tuple[int, ...]], _Ways[S]] = {}
        for (state, left), ways in reached.items():
            for number, successor in _next(trace.spec, state, left):
                if taken == len(trace) - 1 and not _ends_alike(trace, state, successor):
                    continue
                at = left.index(number)
                found = longer.setdefault((successor, (*left[:at], *left[at + 1 :])), {})
                for part in changed_parts(state, successor):
                    way = _longer(ways, part, number, successor)
                    if part not in found or way.rank < found[part].rank:
                        found[part] = way
        mine = trace.states[taken], tuple(sorted(own[taken:]))
        best = heapq.nsmallest(WIDTH, longer, key=lambda key: _best(longer[key]).rank)
        reached = {key: longer[key] for key in dict.fromkeys([*best, mine])}
    (ways,) = reached.values()
    way = _best(ways)
    return attrs.evolve(trace, states=way.states, instances=[trace.spec.instances[number] for number in way.steps])


def _next(spec: Spec[S], state: S, left: tuple[int, ...]) -> Iterator[tuple[int, S]]:
    """Yield the steps of the distinct remaining action instances; none if the state is outside of `Spec.within`."""
    if not spec.is_within(state):
        return
    for number in dict.fromkeys(left):
        for successor in in_order(spec.take(spec.instances[number], state)):
            yield number, successor


def _ends_alike(trace: Trace[S], before: S, after: S) -> bool:
    of_steps = trace.about is not None and trace.about.kind.of_steps
    return after == trace.states[-1] and (not of_steps or before == trace.states[-2])


def _longer(ways: _Ways[S], part: str, number: int, successor: S) -> _Way[S]:
    """The best partial reordering whose last step belongs to `part` and leads to `successor`."""
    chosen = min(
        (_Way(way.switches + (last not in (None, part)), way.steps, way.states) for last, way in ways.items()),
        key=lambda way: way.rank,
    )
    return _Way(chosen.switches, (*chosen.steps, number), (*chosen.states, successor))


def _best(ways: _Ways[S]) -> _Way[S]:
    return min(ways.values(), key=lambda way: way.rank)
