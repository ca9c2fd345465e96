"""Makes lassos: behaviours that reach a loop by a stem, and then repeat the loop for ever.

A lasso is built in a strongly connected set of states that satisfies every fairness condition, so that some loop in it
does. The loop goes from its first state to the nearest state or step that satisfies a condition, from there to the
nearest one for another condition, and so on, and then back. It is short, but not always as short as possible.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

import attrs

TRIED = 50
"""The number of states of each set with which the loop is tried to begin."""


@attrs.frozen(eq=False)
class Need:
    """What a loop has to do to satisfy a fairness condition, or to violate a property.

    Attributes:
        states: the states of which the loop may visit one.
        steps: the steps of which the loop may take one instead, as pairs of states.
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
        first: states of the set with which a loop may begin, those near an initial state first.
        after: a function that returns the states of the set to which a step leads from a state of the set.
        needs: what a loop has to do.
    """

    first: Sequence[int]
    after: Callable[[int], Iterable[int]]
    needs: Sequence[Need]


def shortest(sets: Iterable[FairSet], length_of_stem: Callable[[int], int]) -> tuple[int, list[int]] | None:
    """Return the shortest of some lassos.

    Parameters:
        sets: the sets of states in which the loops lie.
        length_of_stem: a function that returns the number of steps from an initial state to the first state of a loop.

    Returns:
        The first state of the loop, and the states of the loop: it begins and ends with this state. If nothing happens
        in the loop, it contains only this state. None if there are no sets.
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
    """Yield the states with which a loop is tried to begin: the first, and one in which nothing has to happen."""
    yield from itertools.islice(each.first, TRIED)
    rest = (index for index in each.first if all(index in need.states for need in each.needs))
    yield from itertools.islice(rest, 1)


def loop_from(start: int, each: FairSet) -> list[int]:
    """Return the states of a loop that begins and ends with a state, and that does all that is needed."""
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
    """Return the states after `start` on a shortest path that ends with a step for which `found` is true."""
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
