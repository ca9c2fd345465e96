"""Checks liveness properties on packed states with the algorithm of `leadline.checker.liveness.decide`.

The components of the whole graph are found once. Each component of a part of the graph lies in one of them. Therefore
only states in a component with at least two states can be part of a loop. All other states matter only if a behaviour
may stop in them, because no fairness condition is enabled.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np

from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.fair import BYTES_A_STATE, Arena
from leadline.checker.engines.compiled.lassos import Stems, initial_path, shortest_lasso, trace_of
from leadline.checker.engines.compiled.product import behaviour_of
from leadline.checker.engines.compiled.sampling import check_steps
from leadline.checker.engines.compiled.state_graph import PackedGraph
from leadline.checker.engines.learning.arrays import Flags
from leadline.checker.formulas import Formula, required
from leadline.checker.liveness.automaton import automaton_of
from leadline.checker.liveness.fairness import heals
from leadline.checker.liveness.judged import Judged, conclude
from leadline.checker.liveness.violation import Violation, alternatives, violation_of
from leadline.checker.properties import LIVENESS, Kind, Property
from leadline.checker.result import LivenessCounts
from leadline.checker.trace import Trace

S = TypeVar("S")


class LivenessCheck(Generic[S]):
    """Checks liveness properties after a search has found all states.

    Parameters:
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
        self._evaluate(expander)
        self._graph = PackedGraph.of(expander, steps)
        self.verified = check_steps(self._graph)
        every = np.ones(self._count, np.bool_)
        self._arena = Arena(self._graph, self._open, every, np.array([*levels, self._count], np.int64))
        found, several, self._single = self._arena.decompose(every, np.zeros(len(self._graph.instances), np.bool_))
        sizes = np.bincount(found, minlength=several + 1)[1:]
        self._several, self._largest = several, int(sizes.max(initial=min(self._single, 1)))
        self._arena = attrs.evolve(self._arena, loops=found != 0)
        self._nothing_stays: dict[bool, bool] = {}

    def _evaluate(self, expander: Expander[S]) -> None:
        """Evaluate the predicates of the liveness properties on all states, and store the results as bits."""
        spec, checks = self._spec, expander.tables.state_checks
        premises = [spec.premise_of(item) for item in spec.liveness]
        kinds = (*LIVENESS, Kind.CONDITION, Kind.CUT)
        wanted = [item.kind in kinds or item in premises for item in checks]
        self._watch.need(self._count * (len(checks) + 1))
        shown = expander.check(0, wanted, [False] * len(checks))
        self._shown = {item: np.packbits(shown[:, place]) for place, item in enumerate(checks) if wanted[place]}
        outside = expander.store.outside[: self._count]
        self._open = outside.copy() if len(outside) else np.zeros(self._count, np.bool_)
        if spec.opening is not None:
            self._open |= self._where(spec.opening)

    def _where(self, item: Property) -> Flags:
        """Return the states in which a predicate is true."""
        shown = np.unpackbits(self._shown[item], count=self._count).view(np.bool_)
        return shown if item.kind.is_witness else ~shown

    def counts(self, seconds: float) -> LivenessCounts:
        """Return the counts of components and open states for the statistics of a run."""
        return LivenessCounts(self._several + self._single, self._largest, int(np.count_nonzero(self._open)), seconds)

    def judged(self, item: Property) -> Judged[S] | None:
        """Decide a liveness property. Return None if it is undecided; see `judges_nothing`.

        The loop of a counterexample contains no open state.

        Raises:
            StopSearch: if the time or the memory is used up.
        """
        self._watch.need(self._count * BYTES_A_STATE)
        occurring = functools.partial(self._behaviour_of, item=item)
        return conclude(item, self._counterexample(item), self.judges_nothing, occurring)

    def _counterexample(self, item: Property) -> Trace[S] | None:
        if item.kind is Kind.RECOVERABLE:
            return self._beyond_recovery(item)
        behaviour = self._behaviour_of(~item.formula, item)
        return None if behaviour is None else trace_of(self._graph, item, *behaviour)

    def _behaviour_of(
        self, formula: Formula, item: Property, *, endless: bool = False
    ) -> tuple[list[int], list[int] | None] | None:
        """Return a fair behaviour in which a formula is true; see `decide.behaviour_of`."""
        found = (self._alternative(each, item, endless=endless) for each in alternatives(formula))
        return min(filter(None, found), key=lambda each: (len(each[0]), len(each[1] or ())), default=None)

    def _alternative(
        self, formula: Formula, item: Property, *, endless: bool
    ) -> tuple[list[int], list[int] | None] | None:
        """Return a fair behaviour in which one of the `alternatives` is true; see `decide.behaviour_of`."""
        where = {atom: self._where(self._spec.condition(atom)) for atom in formula.atoms if atom[0] == "now"}
        wanted = violation_of(formula)
        if wanted is not None:
            made = self._violating(wanted, [where[atom] for atom in wanted.atoms], item, endless=endless)
            if made is None or not wanted.before:
                return made  # otherwise, the path need not come through the states before
        return behaviour_of(self._arena, automaton_of(formula), where, quiet=item.quiet, endless=endless)

    def _violating(
        self, wanted: Violation, true: Sequence[Flags], item: Property, *, endless: bool
    ) -> tuple[list[int], list[int] | None] | None:
        """Return a fair behaviour that a path through the states of `Violation.before` can begin, if there are any."""
        every = np.ones(self._count, np.bool_)
        starts, region, again = wanted.where(true, every)
        initials, store = len(self._spec.initials()), self._graph.expander.store
        possible = np.arange(self._count) < initials if wanted.at_first else every
        for states in wanted.where_before(true, every):
            order = Stems.of(self._graph, states & possible, every, self._arena.levels).order
            possible = np.zeros(self._count, np.bool_)
            possible[order] = True
        begun = starts & possible
        if wanted.is_beginning and not endless:
            reached = np.flatnonzero(begun)
            return (initial_path(store, initials, int(reached[0])), None) if len(reached) else None
        found = self._arena.fair(begun, region, again, quiet=item.quiet)
        return None if found is None else shortest_lasso(self._graph, initials, *found)

    def judges_nothing(self, item: Property) -> bool:
        """Return whether a property without a counterexample is undecided; see `decide.judges_nothing`."""
        if not self._open.any():
            return False
        self._watch.need(self._count * BYTES_A_STATE)
        if item.kind is Kind.RECOVERABLE:
            recovered = self._where(item)
            false = ~recovered
            graph_loops.add_recovering(*self._graph.rows, self._not_healing(item), recovered)
            return bool(false.any() and not (recovered & false).any())
        if needed := [*required(item.formula)]:
            return any(self._behaviour_of(formula, item, endless=True) is None for formula in needed)
        everything = np.ones(self._count, np.bool_)
        if item.quiet not in self._nothing_stays:
            stays = self._arena.fair(everything, everything, everything, quiet=item.quiet)
            self._nothing_stays[item.quiet] = stays is None
        return self._nothing_stays[item.quiet]

    def _beyond_recovery(self, item: Property) -> Trace[S] | None:
        """Return a shortest trace to a state from which a property cannot become true. Return None if the property can
        become true from every state.
        """
        spec, recovered = self._spec, self._where(item) | self._open
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
