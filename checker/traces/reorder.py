"""Shorter stories: the order of a trace's steps that goes from one part of the state to another the least.

A breadth-first search finds the first of many shortest traces, in which steps that have nothing to do with each
other take turns. A reader has an easier time if each broker does in one go all that it can.
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
"""The most states after each number of steps that are followed: of steps in any order there are too many."""


@attrs.frozen(eq=False)
class _Way(Generic[S]):
    """A way to a state, its last step counted as one of a certain part: the switches, and which steps it took."""

    switches: int
    steps: tuple[int, ...]
    states: tuple[S, ...]

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        """Of two ways the better one is less: fewer switches, else the one that a search finds first."""
        return self.switches, self.steps


_Ways = dict[str | None, _Way[S]]
"""The best way to a state for each part that its last step may be counted for; None before the first step."""


def with_fewest_switches(trace: Trace[S]) -> Trace[S]:
    """The same steps in the order that switches least from part to part, to the same end.

    A step belongs to a part that it changes: a component of the state, such as one broker; if it changes
    several, to whichever makes fewer switches. Which parts there are, the spec's state says (`component`).

    Parameters:
        trace: a behaviour. If it is about a property of steps, its last step stays the last.

    Returns:
        A trace as long as the given one. Of several orders that are as good, it has the first in the spec's order
        of actions: what engine found the trace makes no difference.
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
    """The steps from a state by the action instances that are left, each once; none from outside of `Spec.within`."""
    if not spec.is_within(state):
        return
    for number in dict.fromkeys(left):
        for successor in in_order(spec.take(spec.instances[number], state)):
            yield number, successor


def _ends_alike(trace: Trace[S], before: S, after: S) -> bool:
    of_steps = trace.about is not None and trace.about.kind.of_steps
    return after == trace.states[-1] and (not of_steps or before == trace.states[-2])


def _longer(ways: _Ways[S], part: str, number: int, successor: S) -> _Way[S]:
    """The best way to a successor by a step of a part."""
    chosen = min(
        (_Way(way.switches + (last not in (None, part)), way.steps, way.states) for last, way in ways.items()),
        key=lambda way: way.rank,
    )
    return _Way(chosen.switches, (*chosen.steps, number), (*chosen.states, successor))


def _best(ways: _Ways[S]) -> _Way[S]:
    return min(ways.values(), key=lambda way: way.rank)
