"""Builds lassos (counterexamples that end in a loop) from the graph of packed states; see
`leadline.checker.liveness.lasso`.

The searches for paths are compiled, because a component can contain most of the states.
"""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.learning.arrays import Flags
from leadline.checker.properties import Property
from leadline.checker.trace import Trace

S = TypeVar("S")

TRIED = 20
"""The maximum number of components in which loops are tried, and of first states of a loop that are tried in each."""

MOST_VISITED = 20_000_000
"""The number of states after which no further loops are tried, if one has been found."""


@attrs.frozen(eq=False)
class Stems:
    """The shortest paths on which the violation of a property begins and continues.

    Attributes:
        order: the states that such a path reaches, sorted by the number of steps from an initial state.
        before: for each state, its predecessor on the path; see `graph_loops.spread`.
    """

    order: NDArray[np.uint32]
    before: NDArray[np.uint32]

    @classmethod
    def of(cls, graph: PackedGraph[S], begun: Flags, region: Flags, levels: NDArray[np.int64]) -> Stems:
        """Find the shortest paths.

        Parameters:
            graph: the graph of all states and steps.
            begun: for each state, whether the violation can begin in it.
            region: for each state, whether the violation can continue in it.
            levels: the first state of each level, followed by the number of states.
        """
        starts, targets, _ = graph.rows
        before = np.full(len(region), graph_loops.NOWHERE, np.uint32)
        order = np.empty(len(region), np.uint32)
        count = graph_loops.spread(starts, targets, begun, region, levels, order, before)
        return cls(order[:count], before)

    def path(self, store: Store, initials: int, index: int) -> list[int]:
        """Return the states on a shortest path from an initial state to the given state."""
        way = [index]
        while self.before[way[-1]] != way[-1]:
            way.append(int(self.before[way[-1]]))
        return initial_path(store, initials, way[-1])[:-1] + way[::-1]


def initial_path(store: Store, initials: int, index: int) -> list[int]:
    """Return the states on a shortest path from an initial state to the given state.

    Parameters:
        initials: the number of initial states. They are the first states in the store.
        index: the last state of the path.
    """
    way = [index]
    while way[-1] >= initials:
        way.append(int(store.parents[way[-1]]))
    return way[::-1]


@attrs.frozen(eq=False)
class FairStates:
    """The states that the loop of a counterexample can visit.

    Attributes:
        order: the states, sorted by the length of the stem that leads to them.
        may_stop: for each state, whether the behaviour may stop in it.
        again: for each state, whether the violation happens in it. The loop must visit such a state.
        component: for each state, the number of its component, or 0.
        is_fair: for each component, whether a loop in it can satisfy all conditions.
        some: for each component, the fairness conditions that are enabled in it; see `graph_loops`.
        dropped: for each action instance, whether the loop must not take it.
    """

    order: NDArray[np.uint32]
    may_stop: Flags
    again: Flags
    component: NDArray[np.uint32]
    is_fair: Flags
    some: NDArray[np.uint64]
    dropped: Flags

    def starts(self) -> list[int]:
        """Return the states in which to begin loops: the first states in each of the nearest components, and the first
        state in which the behaviour may stop.
        """
        chosen: list[int] = self.order[self.may_stop[self.order]][:1].tolist()
        looping = self.order[self.is_fair[self.component[self.order]]]
        numbers, places = np.unique(self.component[looping], return_index=True)
        for number in numbers[np.argsort(places, kind="stable")][:TRIED]:
            chosen += looping[self.component[looping] == number][:TRIED].tolist()
        return chosen


def shortest_lasso(graph: PackedGraph[S], initials: int, stems: Stems, fair: FairStates) -> tuple[list[int], list[int]]:
    """Return a short lasso.

    Parameters:
        graph: the graph of all states and steps.
        initials: the number of initial states.
        stems: the shortest paths on which the violation begins and continues.
        fair: the states that the loop can visit.

    Returns:
        The states of the stem, and those of the loop, which begins and ends with the last state of the stem.
    """
    ways = [stems.path(graph.expander.store, initials, start) for start in fair.starts()]
    loops, best = _Loops(graph, fair), None
    for way in sorted(ways, key=len):
        if best is not None and (len(way) >= sum(map(len, best)) - 1 or loops.visited > MOST_VISITED):
            break
        graph.expander.watch.pause()
        loop = [way[-1]] if fair.may_stop[way[-1]] else loops.of(way[-1])
        if best is None or len(way) + len(loop) < sum(map(len, best)):
            best = way, loop
    assert best is not None
    return best


def trace_of(graph: PackedGraph[S], item: Property, stem: list[int], loop: list[int] | None) -> Trace[S]:
    """Return a lasso as a trace, or a trace without a loop.

    Parameters:
        graph: the graph of all states and steps.
        stem, loop: see `shortest_lasso`. If `loop` is None, the trace ends with the stem.
    """
    expander, repeated = graph.expander, loop or stem[-1:]
    instances = [graph.instance(*step) for step in itertools.pairwise(stem)]
    instances += [graph.instance(*step, quiet=item.quiet) for step in itertools.pairwise(repeated)]
    states = [expander.state(index) for index in (*stem, *repeated[1:])]
    return Trace(expander.tables.spec, states, instances, item, loop=len(stem) - 1 if loop else None)


class _Loops(Generic[S]):
    """Finds loops that satisfy all fairness conditions.

    Attributes:
        visited: the number of states visited so far.
    """

    def __init__(self, graph: PackedGraph[S], fair: FairStates) -> None:
        self._graph, self._fair, self.visited = graph, fair, 0
        self._before = np.full(len(fair.component), graph_loops.NOWHERE, np.uint32)
        self._order = np.empty(len(fair.component), np.uint32)

    def of(self, start: int) -> list[int]:
        """Return the states of a loop from a state to itself; see `leadline.checker.liveness.lasso.loop_from`."""
        fair, loop = self._fair, [start]
        missing = fair.some[fair.component[start]] & ~self._idle(start)
        visit = not fair.again[start]
        while visit or missing.any():
            way = self._way(loop[-1], missing, visit)
            for before, after in itertools.pairwise([loop[-1], *way]):
                missing = missing & ~self._idle(after) & ~self._taken(before, after)
                visit = visit and not fair.again[after]
            loop += way
        is_closed = loop[-1] == start and len(loop) > 1
        return loop if is_closed else loop + self._way(loop[-1], missing, visit, start)

    def _idle(self, index: int) -> NDArray[np.uint64]:
        """Return the weak conditions that are not enabled in a state."""
        idle = ~self._graph.strong
        for _, label in self._graph.steps(index):
            idle &= ~self._graph.bits[label]
        return idle

    def _taken(self, before: int, after: int) -> NDArray[np.uint64]:
        """Return the conditions that a step satisfies."""
        taken = np.zeros_like(self._graph.strong)
        for target, label in self._graph.steps(before):
            if target == after and not self._fair.dropped[label]:
                taken |= self._graph.bits[label]
        return taken

    def _way(self, start: int, missing: NDArray[np.uint64], visit: bool, goal: int = -1) -> list[int]:
        """Return the states after `start` on the shortest path to the step that `graph_loops.nearest` finds."""
        fair, graph, order = self._fair, self._graph, self._order
        before, last, visited = graph_loops.nearest(
            *graph.rows, fair.dropped, fair.component, graph.bits, ~graph.strong, fair.again, start, missing, visit,
            goal, self._before, order,
        )  # fmt: skip
        assert last >= 0, "the states are not strongly connected"
        way = [last]
        while before != start:
            way.append(before)
            before = int(self._before[before])
        self._before[order[:visited]] = graph_loops.NOWHERE
        self.visited += visited
        return way[::-1]
