"""Checks liveness properties on packed states, by the algorithm of `leadline.checker.liveness.decide`.

The steps between the states are generated again after a search, and stored compactly. The fairness conditions are bits
of a word, so that all strongly connected components are judged at once.
"""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.engines.compiled import graph_loops, kernel
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.errors import SpecError
from leadline.checker.liveness.decide import never_true
from leadline.checker.liveness.fairness import condition_of, conditions_of, disturbs, heals
from leadline.checker.liveness.lasso import FairSet, Need, shortest
from leadline.checker.properties import Kind, Property
from leadline.checker.result import LivenessCounts
from leadline.checker.trace import Trace

S = TypeVar("S")

Flags = NDArray[np.bool_]


MOST_TRIED = 20
"""The number of components, and of states of each, in which a loop is tried."""


@attrs.frozen(eq=False)
class _Components:
    """The strongly connected components of a part of the graph. See `graph_loops.summarise` for the arrays."""

    count: int
    of: NDArray[np.uint32]
    enabled: NDArray[np.uint64]
    some: NDArray[np.uint64]
    each: NDArray[np.uint64]
    taken: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    has: Flags


class PackedGraph(Generic[S]):
    """The graph of all states and steps that a search has found. See `graph_loops` for its arrays.

    Parameters:
        expander: contains all states, and generates the steps between them.
        steps: the number of steps between the states.

    Raises:
        StopSearch: the time or the memory is used up.
    """

    def __init__(self, expander: Expander[S], steps: int) -> None:
        self.expander, self.spec = expander, expander.tables.spec
        store, instances = expander.store, self.spec.instances
        self.count, self.initials = store.count, len(self.spec.initials())
        expander.watch.need(steps * 6 + self.count * 60)
        self.starts = np.zeros(self.count + 1, np.int64)
        self.targets = np.empty(steps, np.uint32)
        self.labels = np.empty(steps, store.arrivals.dtype)
        self.conditions = conditions_of(self.spec)
        number = {condition: place for place, condition in enumerate(self.conditions)}
        own = [condition_of(self.spec, instance) for instance in instances]
        self.bits = np.array([0 if each is None else 1 << number[each] for each in own], np.uint64)
        self.strong = np.uint64(sum(1 << place for place, each in enumerate(self.conditions) if each.strong))
        self.disturbing = np.array([disturbs(instance) for instance in instances])
        self.none_dropped = np.zeros(len(instances), np.bool_)
        self._generate()
        self.false, self.true, self.open_states = self._evaluated()

    def _generate(self) -> None:
        """Generate the steps of all states, in blocks."""
        expander, filled, first = self.expander, 0, 0
        wanted = np.zeros(len(expander.tables.step_checks), np.bool_)
        while first < self.count:
            expander.watch.pause()
            last = min(first + expander.tuning.block * expander.workers.count, self.count)
            parts, buffers = expander._generate(first, last, wanted)
            store, part_ends = expander.store, parts.cursors[:, kernel.FILLED].tolist()
            found = np.zeros((len(part_ends), max([1, *part_ends])), np.uint32)
            missing = expander.workers.run(
                graph_loops.find_targets,
                [
                    (
                        end, buffers.found[part], buffers.hashes[part], expander.workers.count, store.states,
                        store.table, found[part],
                    )
                    for part, end in enumerate(part_ends)
                ],
                alone=last - first < expander.tuning.alone,
            )  # fmt: skip
            if any(missing):
                raise SpecError(
                    "a step leads to a state that the search did not find: an action is not a pure function"
                )
            for part, end in enumerate(part_ends):
                parents, after = buffers.parents[part, :end], found[part, :end]
                order = np.argsort(parents, kind="stable")
                order = order[parents[order] != after[order]]
                until = filled + len(order)
                self.targets[filled:until] = after[order]
                self.labels[filled:until] = buffers.trees[part, :end][order]
                begin, finish = parts.ends[part], parts.ends[part + 1]
                self.starts[begin + 1 : finish + 1] = np.bincount(parents[order] - begin, minlength=finish - begin)
                filled = until
            first = last
        np.cumsum(self.starts, out=self.starts)
        self.targets, self.labels = self.targets[:filled], self.labels[:filled]

    def _evaluated(self) -> tuple[dict[Property, Flags], dict[Property, Flags], Flags]:
        """Evaluate the predicates on all states.

        Returns:
            For each liveness property, the states in which its predicate is false. For each left side of a leads-to
            property, the states in which it is true. Also the open states.
        """
        spec, checks = self.spec, self.expander.tables.state_checks
        left = [spec.premise_of(item) for item in spec.liveness]
        asked = [item.kind.is_liveness or item.kind is Kind.CUT or item in left for item in checks]
        shown = self.expander.check(0, list(map(int, asked)), [False] * len(checks))
        columns = {item: np.ascontiguousarray(shown[:, place]) for place, item in enumerate(checks) if asked[place]}
        outside = self.expander.store.outside[: self.count]
        opened = outside.copy() if len(outside) else np.zeros(self.count, np.bool_)
        if spec.opening is not None:
            opened |= ~columns[spec.opening]
        return (
            {item: columns[item] for item in spec.liveness},
            {item: columns[item] for item in left if item is not None},
            opened,
        )

    def counts(self, seconds: float) -> LivenessCounts:
        """Return the counts of the graph for the statistics of a run."""
        found = self._components(np.ones(self.count, np.bool_), False, self.open_states)
        return LivenessCounts(
            found.count, int(found.sizes.max(initial=0)), int(np.count_nonzero(self.open_states)), seconds
        )

    def _components(self, inside: Flags, quiet: bool, again: Flags) -> _Components:
        self.expander.watch.pause()
        dropped = self.disturbing if quiet else self.none_dropped
        component = np.zeros(self.count, np.uint32)
        count = graph_loops.strongly_connected(self.starts, self.targets, self.labels, dropped, inside, component)
        self.expander.watch.pause()
        some, each, taken = (np.zeros(count, np.uint64) for _ in range(3))
        enabled, sizes, has = np.zeros(self.count, np.uint64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
        graph_loops.summarise(
            self.starts, self.targets, self.labels, dropped, inside, component, self.bits, again, enabled, some, each,
            taken, sizes, has,
        )  # fmt: skip
        return _Components(count, component, enabled, some, each, taken, sizes, has)

    def counterexample(self, item: Property) -> Trace[S] | None:
        """Return a counterexample to a liveness property, or None if it holds in the states that are not open.

        Raises:
            SpecError: the left side of a leads-to property is never true.
            StopSearch: the time or the memory is used up.
        """
        self.expander.watch.pause()
        if item.kind is Kind.RECOVERABLE:
            return self._beyond_recovery(item)
        false, everything = self.false[item], np.ones(self.count, np.bool_)
        starts, region = self._obligation(item, false, everything)
        before = np.full(self.count, graph_loops.NOWHERE, np.uint32)
        first = np.flatnonzero(starts)
        before[first] = first
        order = np.empty(self.count, np.uint32)
        order[: len(first)] = first
        reached = graph_loops.spread(self.starts, self.targets, region, order, len(first), before)
        inside = np.zeros(self.count, np.bool_)
        inside[order[:reached]] = True
        inside &= ~self.open_states
        again = false if item.kind is Kind.EVENTUALLY_ALWAYS else everything
        while inside.any():
            found = self._components(inside, item.quiet, again)
            neglected = found.some & ~found.taken
            possible = found.has & ((neglected & found.each & ~self.strong) == 0)
            starved = neglected & self.strong
            fair = possible & (starved == 0)
            if fair.any():
                return self._lasso(item, found, fair, inside, again, before)
            inside &= possible[found.of] & (found.enabled & starved[found.of] == 0)
        return None

    def _obligation(self, item: Property, false: Flags, everything: Flags) -> tuple[Flags, Flags]:
        """Return the states in which a violation can begin, and those in which it goes on."""
        match item.kind:
            case Kind.EVENTUALLY:
                initial = np.zeros(self.count, np.bool_)
                initial[: self.initials] = True
                return false & initial, false
            case Kind.ALWAYS_EVENTUALLY:
                return false, false
            case Kind.EVENTUALLY_ALWAYS:
                return everything, everything
        premise = self.spec.premise_of(item)
        assert premise is not None
        if not self.true[premise].any():
            raise SpecError(never_true(item, premise, self.spec.named_bounds))
        return false & self.true[premise], false

    def _lasso(
        self, item: Property, found: _Components, fair: Flags, inside: Flags, again: Flags, before: NDArray[np.uint32]
    ) -> Trace[S]:
        """Return a short lasso whose loop lies in one of the components that are fair."""
        states = np.flatnonzero(inside & fair[found.of])
        numbers, firsts = np.unique(found.of[states], return_index=True)
        nearest = numbers[np.argsort(firsts, kind="stable")][:MOST_TRIED]
        sets = [self._fair_set(item, found, int(number), states, again) for number in nearest]
        best = shortest(sets, lambda index: len(self._way(before, index)) - 1)
        assert best is not None
        start, loop = best
        stem = self._way(before, start)
        steps = [*itertools.pairwise(stem), *itertools.pairwise(loop)]
        instances = [
            self._instance(*step, quiet=item.quiet and place >= len(stem) - 1) for place, step in enumerate(steps)
        ]
        return Trace(
            self.spec, [self.expander.state(index) for index in (*stem, *loop[1:])], instances, item, loop=len(stem) - 1
        )

    def _fair_set(
        self, item: Property, found: _Components, number: int, states: NDArray[np.int64], again: Flags
    ) -> FairSet:
        members = states[found.of[states] == number]
        component, quiet = _In(found.of, number, members), item.quiet
        needs = [] if item.kind is not Kind.EVENTUALLY_ALWAYS else [Need(_Where(again), ())]
        for place, condition in enumerate(self.conditions):
            bit = np.uint64(1 << place)
            if found.some[number] & bit:
                idle = () if condition.strong else _Where((found.enabled & bit) == 0)
                needs.append(Need(idle, _Taking(self, bit, quiet)))

        def after(index: int) -> list[int]:
            return [
                target
                for target, label in self._steps(index)
                if target in component and not (quiet and self.disturbing[label])
            ]

        return FairSet(members[:MOST_TRIED].tolist(), after, needs)

    def _steps(self, index: int) -> list[tuple[int, int]]:
        row = slice(self.starts[index], self.starts[index + 1])
        return list(zip(self.targets[row].tolist(), self.labels[row].tolist(), strict=True))

    def _instance(self, before: int, after: int, quiet: bool = False) -> ActionInstance[S]:
        """Return an action instance that leads from a state to another, preferably one whose action is fair."""
        labels = [label for target, label in self._steps(before) if target == after]
        labels = [label for label in labels if not (quiet and self.disturbing[label])]
        return self.spec.instances[next((label for label in labels if self.bits[label]), labels[0])]

    def _way(self, before: NDArray[np.uint32], index: int) -> list[int]:
        """Return the states from an initial state to a state: to the beginning of the violation, and from there on."""
        way = [index]
        while before[way[-1]] != way[-1]:
            way.append(int(before[way[-1]]))
        return self._from_initial(way[-1])[:-1] + way[::-1]

    def _from_initial(self, index: int) -> list[int]:
        """Return the states on a shortest path from an initial state."""
        way = [index]
        while way[-1] >= self.initials:  # the initial states are the first ones
            way.append(int(self.expander.store.parents[way[-1]]))
        return way[::-1]

    def _beyond_recovery(self, item: Property) -> Trace[S] | None:
        """Return a shortest trace to a state from which no state that satisfies a property can be reached."""
        dropped = self.none_dropped
        if item.by_healing:
            dropped = np.array([not heals(instance) for instance in self.spec.instances])
        recovered = ~self.false[item] | self.open_states
        graph_loops.add_recovering(self.starts, self.targets, self.labels, dropped, recovered)
        lost = np.flatnonzero(~recovered)
        if not len(lost):
            return None
        way = self._from_initial(int(lost[0]))
        instances = [self._instance(*step) for step in itertools.pairwise(way)]
        return Trace(self.spec, [self.expander.state(index) for index in way], instances, item)


@attrs.frozen(eq=False)
class _Where:
    """The states for which a flag is set."""

    flags: Flags

    def __contains__(self, index: Any) -> bool:
        return bool(self.flags[index])


@attrs.frozen(eq=False)
class _In:
    """The states of a component."""

    of: NDArray[np.uint32]
    number: int
    members: NDArray[np.int64]

    def __contains__(self, index: Any) -> bool:
        place = int(np.searchsorted(self.members, index))
        return place < len(self.members) and bool(self.members[place] == index)


@attrs.frozen(eq=False)
class _Taking:
    """The steps that take a fairness condition."""

    graph: PackedGraph[Any]
    bit: np.uint64
    quiet: bool

    def __contains__(self, step: Any) -> bool:
        before, after = step
        graph = self.graph
        return any(
            target == after and graph.bits[label] & self.bit and not (self.quiet and graph.disturbing[label])
            for target, label in graph._steps(before)
        )
