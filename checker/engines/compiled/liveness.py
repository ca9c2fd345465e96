"""Checks liveness properties on packed states with the algorithm of `leadline.checker.liveness.decide`.

The components of the whole graph are found once. Each component of a part of the graph lies in one of them. Therefore
only states in a component with at least two states can be part of a loop. All other states matter only if a behaviour
may stop in them, because no fairness condition is enabled.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.lassos import FairStates, Stems, initial_path, shortest_lasso
from leadline.checker.engines.compiled.sampling import check_steps
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.engines.learning.arrays import Flags
from leadline.checker.liveness.fairness import heals
from leadline.checker.properties import Kind, Property
from leadline.checker.result import LivenessCounts
from leadline.checker.trace import Trace

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


class LivenessCheck(Generic[S]):
    """Checks liveness properties after a search has found all states.

    Parameters:
        expander: contains all states.
        levels: the index of the first state of each level.
        steps: the number of steps that the search has found.

    Attributes:
        verified: the number of states whose steps in the graph were compared with calls; see `check_steps`.

    Raises:
        StopSearch: if the time or the memory is used up.
        SpecError: if an action or a property raised an exception or is not a pure function.
        ShapeChanged, NotRecorded: if the search must start again; see `Adjustments`.
    """

    def __init__(self, expander: Expander[S], levels: Sequence[int], steps: int) -> None:
        self._spec, self._watch, self._count = expander.tables.spec, expander.watch, expander.store.count
        self._levels = np.array([*levels, self._count], np.int64)
        self._evaluate(expander)
        self._graph = PackedGraph.of(expander, steps)
        self.verified = check_steps(self._graph)
        self._none = np.zeros(len(self._graph.instances), np.bool_)
        self._loops, self._single = np.ones(self._count, np.bool_), 0
        found, several, self._single = self._decompose(self._loops, self._none)
        sizes = np.bincount(found, minlength=several + 1)[1:]
        self._several, self._largest = several, int(sizes.max(initial=min(self._single, 1)))
        self._loops = found != 0
        self._nothing_stays: dict[bool, bool] = {}

    def _evaluate(self, expander: Expander[S]) -> None:
        """Evaluate the predicates of the liveness properties on all states, and store the results as bits."""
        spec, checks = self._spec, expander.tables.state_checks
        premises = [spec.premise_of(item) for item in spec.liveness]
        wanted = [item.kind.is_liveness or item.kind is Kind.CUT or item in premises for item in checks]
        self._watch.need(self._count * (len(checks) + 1))
        shown = expander.check(0, wanted, [False] * len(checks))
        self._shown = {item: np.packbits(shown[:, place]) for place, item in enumerate(checks) if wanted[place]}
        outside = expander.store.outside[: self._count]
        self._open = outside.copy() if len(outside) else np.zeros(self._count, np.bool_)
        if spec.opening is not None:
            self._open |= ~self._where(spec.opening)

    def _where(self, item: Property) -> Flags:
        """Return the states in which a property is false, or a premise is true."""
        return np.unpackbits(self._shown[item], count=self._count).view(np.bool_)

    def counts(self, seconds: float) -> LivenessCounts:
        """Return the counts of components and open states for the statistics of a run."""
        return LivenessCounts(self._several + self._single, self._largest, int(np.count_nonzero(self._open)), seconds)

    def counterexample(self, item: Property) -> Trace[S] | None:
        """Return a counterexample to a liveness property, or None if the property is true. The loop of the
        counterexample contains no open state.

        Raises:
            StopSearch: if the time or the memory is used up.
        """
        self._watch.need(self._count * BYTES_A_STATE)
        if item.kind is Kind.RECOVERABLE:
            return self._beyond_recovery(item)
        begun, region = self._obligation(item)
        again = self._where(item) if item.kind is Kind.EVENTUALLY_ALWAYS else np.ones(self._count, np.bool_)
        found = self._fair(begun, region, again, quiet=item.quiet)
        return None if found is None else shortest_lasso(self._graph, item, *found)

    def judges_nothing(self, item: Property) -> bool:
        """Return whether a property without a counterexample is undecided; see `decide.judges_nothing`."""
        if not self._open.any():
            return False
        self._watch.need(self._count * BYTES_A_STATE)
        if item.kind is Kind.RECOVERABLE:
            false = self._where(item)
            recovered = ~false
            graph_loops.add_recovering(*self._graph.rows, self._not_healing(item), recovered)
            return bool(false.any() and not (recovered & false).any())
        everything = np.ones(self._count, np.bool_)
        if item.kind is Kind.LEADS_TO:
            return self._fair(self._left(item), everything, everything, quiet=item.quiet) is None
        if item.quiet not in self._nothing_stays:
            self._nothing_stays[item.quiet] = self._fair(everything, everything, everything, quiet=item.quiet) is None
        return self._nothing_stays[item.quiet]

    def _fair(self, begun: Flags, region: Flags, again: Flags, *, quiet: bool) -> tuple[Stems, FairStates] | None:
        """Return the shortest paths to the states in which a violation continues, and the states in which a fair
        behaviour can stay. Return None if there are no such states.

        Parameters:
            begun: the states in which a violation can begin.
            region: the states in which it can continue. Open states are left out.
            again: the states of which one must be visited again and again.
            quiet: whether to ignore perturbing steps.
        """
        dropped = self._graph.disturbing if quiet else self._none
        inside, stems = region & ~self._open, None
        while inside.any():
            may_stop = inside & self._graph.settled & again
            inside &= self._loops
            components = self._components(inside, dropped, again)
            fair = components.fair[components.of] | may_stop
            if fair.any():
                if stems is None:
                    stems = Stems.of(self._graph, begun, region, self._levels)
                states = stems.order[fair[stems.order]]
                if len(states):
                    return stems, FairStates(
                        states, may_stop, again, components.of, components.fair, components.some, dropped
                    )
            graph_loops.leave_out(
                *self._graph.rows, components.of, self._graph.bits, components.divided, components.starved, inside
            )
        return None

    def _obligation(self, item: Property) -> tuple[Flags, Flags]:
        """Return the states in which a violation can begin, and the states in which it can continue."""
        if item.kind is Kind.EVENTUALLY_ALWAYS:
            return np.ones(self._count, np.bool_), np.ones(self._count, np.bool_)
        false = self._where(item)
        match item.kind:
            case Kind.EVENTUALLY:
                initial = false.copy()
                initial[len(self._spec.initials()) :] = False
                return initial, false
            case Kind.ALWAYS_EVENTUALLY:
                return false, false
        return false & self._left(item), false

    def _left(self, item: Property) -> Flags:
        """Return the states in which the left side of a leads-to property is true."""
        premise = self._spec.premise_of(item)
        assert premise is not None
        return self._where(premise)

    def _decompose(self, inside: Flags, dropped: Flags) -> tuple[NDArray[np.uint32], int, int]:
        """Find the strongly connected components of a part of the graph; see `graph_loops.strongly_connected`."""
        self._watch.pause()
        self._watch.need(self._count * BYTES_A_STATE)
        component = np.zeros(self._count, np.uint32)
        several, single = graph_loops.strongly_connected(*self._graph.rows, dropped, inside, component)
        self._watch.pause()
        return component, several, single

    def _components(self, inside: Flags, dropped: Flags, again: Flags) -> _Components:
        graph = self._graph
        of, count, _ = self._decompose(inside, dropped)
        some, each, taken = (np.zeros((count + 1, len(graph.strong)), np.uint64) for _ in range(3))
        sizes, has = np.zeros(count + 1, np.uint32), np.zeros(count + 1, np.bool_)
        graph_loops.describe(*graph.rows, dropped, of, graph.bits, again, some, each, taken, sizes, has)
        neglected = some & ~taken
        possible = has & ~(neglected & each & ~graph.strong).any(axis=1)
        starved = neglected & graph.strong
        divided = starved.any(axis=1)
        return _Components(of, possible & ~divided, possible & divided, starved, some)

    def _beyond_recovery(self, item: Property) -> Trace[S] | None:
        """Return a shortest trace to a state from which a property cannot become true. Return None if the property can
        become true from every state.
        """
        spec, recovered = self._spec, ~self._where(item) | self._open
        graph_loops.add_recovering(*self._graph.rows, self._not_healing(item), recovered)
        lost = np.flatnonzero(~recovered)
        if not len(lost):
            return None
        expander = self._graph.expander
        way = initial_path(expander.store, len(spec.initials()), int(lost[0]))
        instances = [self._graph.instance(*step) for step in itertools.pairwise(way)]
        return Trace(spec, [expander.state(index) for index in way], instances, item)

    def _not_healing(self, item: Property) -> Flags:
        """Return, for each action instance, whether a recoverable property ignores its steps."""
        return np.array([item.by_healing and not heals(instance) for instance in self._graph.instances])
