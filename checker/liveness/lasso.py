"""Builds lassos. A lasso is a behaviour with a stem, followed by a loop that is repeated forever.

The loop of a lasso lies in a strongly connected set of states that satisfies every fairness condition, so the set
contains a loop that satisfies all of these conditions. The loop goes from its first state to the nearest state or step
that satisfies a condition, then to the nearest one that satisfies another condition, and so on, and then back to its
first state. It is short, but not always as short as possible.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

import attrs

TRIED = 50
"""The maximum number of first states of a loop that are tried in each set, in addition to one where it can stop."""


@attrs.frozen(eq=False)
class Need:
    """A condition that a loop must satisfy: a fairness condition, or a condition for the violation of a property.

    The loop satisfies the condition if it visits one of `states` or takes one of `steps`.

    Attributes:
        steps: the steps, each given as a pair (state before the step, state after the step).
    """

    states: Container[int]
    steps: Container[tuple[int, int]]

    def met_by(self, before: int, after: int) -> bool:
        """Return whether a step of a loop satisfies the condition."""
        return after in self.states or (before, after) in self.steps


@attrs.frozen(eq=False)
class FairSet:
    """A strongly connected set of states in which some loop satisfies every fairness condition.

    Attributes:
        first: the states where a loop may begin, sorted by their distance from the initial states.
        after: a function that takes a state of the set, and returns the next states that are also in the set.
        needs: the conditions that a loop must satisfy.
    """

    first: Sequence[int]
    after: Callable[[int], Iterable[int]]
    needs: Sequence[Need]


def shortest(sets: Iterable[FairSet], length_of_stem: Callable[[int], int]) -> tuple[int, list[int]] | None:
    """Return the shortest lasso that is found in the given sets of states.

    Parameters:
        sets: the sets of states. The loop of the lasso lies in one of them.
        length_of_stem: a function that takes the first state of a loop, and returns the number of steps to it from an
            initial state.

    Returns:
        The first state of the loop, and the list of the loop's states. The list begins and ends with the first state.
        If the loop has no steps, the list contains only this state. The result is None if there are no sets.
    """
    best: tuple[int, list[int]] | None = None
    least = -1
    for each in sets:
        for start in _starts(each):
            stem = length_of_stem(start)
            if best is not None and stem >= least:
                continue  # whatever its loop
            loop = loop_from(start, each)
            if best is None or stem + len(loop) - 1 < least:
                best, least = (start, loop), stem + len(loop) - 1
    return best


def _starts(each: FairSet) -> Iterator[int]:
    """Yield the states at which to begin loops: the first `TRIED` states, and one state that satisfies all conditions
    without a step, if there is one.
    """
    yield from itertools.islice(each.first, TRIED)
    rest = (index for index in each.first if all(index in need.states for need in each.needs))
    yield from itertools.islice(rest, 1)


def loop_from(start: int, each: FairSet) -> list[int]:
    """Return the states of a loop that begins and ends at the given state, and satisfies all conditions."""
    loop = [start]
    missing = [need for need in each.needs if start not in need.states]
    while missing:
        way = _nearest(loop[-1], each.after, functools.partial(_meets, tuple(missing)))
        for before, after in itertools.pairwise([loop[-1], *way]):
            missing = [need for need in missing if not need.met_by(before, after)]
        loop += way
    if loop[-1] != start:
        loop += _nearest(loop[-1], each.after, lambda _, after: after == start)
    return loop


def _meets(needs: Iterable[Need], before: int, after: int) -> bool:
    return any(need.met_by(before, after) for need in needs)


def _nearest(start: int, successors: Callable[[int], Iterable[int]], found: Callable[[int, int], bool]) -> list[int]:
    """Find a shortest path from `start` to a step for which `found` is true. Return the states after `start`."""
    came_from: dict[int, int] = {start: start}
    level = [start]
    while level:
        following = []
        for before in level:
            for after in successors(before):
                if found(before, after):
                    path = [after]
                    while before != start:
                        path.append(before)
                        before = came_from[before]
                    return path[::-1]
                if after not in came_from:
                    came_from[after] = before
                    following.append(after)
        level = following
    raise AssertionError("the states are not strongly connected")
