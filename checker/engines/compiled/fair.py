"""Finds the states in which a fair behaviour can stay, with the algorithm of `decide.fair_components`."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.lassos import FairStates, Stems
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.engines.learning.arrays import Flags

S = TypeVar("S")

BYTES_A_STATE = 25
"""The maximum number of bytes per state that the check of one property needs, in addition to the graph."""


@attrs.frozen(eq=False)
class _Components:
    """The strongly connected components with at least two states, in a part of the graph.

    Attributes:
        of: for each state, the number of its component, starting from 1, or 0 if it is in none of them.
        fair: for each component, whether a fair behaviour that violates the property can visit all its states again and
            again.
        divided: for each component that is not fair, whether a part of it may be fair.
        starved: for each component, the strong fairness conditions that are enabled in it but never taken.
        some: the fairness conditions that are enabled in each component; see `graph_loops`.
    """

    of: NDArray[np.uint32]
    fair: Flags
    divided: Flags
    starved: NDArray[np.uint64]
    some: NDArray[np.uint64]


@attrs.frozen(eq=False)
class Arena(Generic[S]):
    """A graph in which fair behaviours are looked for.

    Attributes:
        graph: the graph of all states and steps, or of all pairs of a state and an automaton's state.
        open: for each state, whether a behaviour must not stay in it; see `Spec.is_open`.
        loops: for each state, whether it may be in a component with at least two states.
        levels: the index of the first state of each level, followed by the number of states.
    """

    graph: PackedGraph[S]
    open: Flags
    loops: Flags
    levels: NDArray[np.int64]

    def fair(self, begun: Flags, region: Flags, again: Flags, *, quiet: bool) -> tuple[Stems, FairStates] | None:
        """Return the shortest paths to the states in which a violation continues, and the states in which a fair
        behaviour can stay. Return None if it can stay in no state.

        Parameters:
            begun: the states in which a violation can begin.
            region: the states in which it can continue. Open states are left out.
            again: the states of which one must be visited again and again.
            quiet: whether to ignore perturbing steps.
        """
        dropped = self.graph.disturbing if quiet else np.zeros(len(self.graph.disturbing), np.bool_)
        inside, stems = region & ~self.open, None
        while inside.any():
            may_stop = inside & self.graph.settled & again
            inside &= self.loops
            components = self._components(inside, dropped, again)
            fair = components.fair[components.of] | may_stop
            if fair.any():
                if stems is None:
                    stems = Stems.of(self.graph, begun, region, self.levels)
                states = stems.order[fair[stems.order]]
                if len(states):
                    return stems, FairStates(
                        states, may_stop, again, components.of, components.fair, components.some, dropped
                    )
            graph_loops.leave_out(
                *self.graph.rows, components.of, self.graph.bits, components.divided, components.starved, inside
            )
        return None

    def decompose(self, inside: Flags, dropped: Flags) -> tuple[NDArray[np.uint32], int, int]:
        """Find the strongly connected components of a part of the graph; see `graph_loops.strongly_connected`."""
        self.graph.expander.watch.pause()
        self.graph.expander.watch.need(len(self.graph.settled) * BYTES_A_STATE)
        component = np.zeros(len(self.graph.settled), np.uint32)
        several, single = graph_loops.strongly_connected(*self.graph.rows, dropped, inside, component)
        self.graph.expander.watch.pause()
        return component, several, single

    def _components(self, inside: Flags, dropped: Flags, again: Flags) -> _Components:
        graph = self.graph
        of, count, _ = self.decompose(inside, dropped)
        some, each, taken = (np.zeros((count + 1, len(graph.strong)), np.uint64) for _ in range(3))
        sizes, has = np.zeros(count + 1, np.uint32), np.zeros(count + 1, np.bool_)
        graph_loops.describe(*graph.rows, dropped, of, graph.bits, again, some, each, taken, sizes, has)
        neglected = some & ~taken
        possible = has & ~(neglected & each & ~graph.strong).any(axis=1)
        starved = neglected & graph.strong
        divided = starved.any(axis=1)
        return _Components(of, possible & ~divided, possible & divided, starved, some)
