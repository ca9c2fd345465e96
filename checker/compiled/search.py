"""Breadth-first search over packed states. Verdicts, counts and trace lengths are the oracle's."""

from __future__ import annotations

import itertools
import time
from typing import Generic, TypeVar

import numpy as np

from checker.action import ActionInstance
from checker.compiled import kernel
from checker.compiled.forest import with_room
from checker.compiled.layout import Layout, ShapeChanged
from checker.compiled.packing import Packing
from checker.compiled.tables import SeesViews, Tables
from checker.evidence import Sighting, property_results
from checker.progress import Progress
from checker.properties import Property
from checker.result import ActionCount, Limits, Result, Statistics
from checker.spec import Spec

S = TypeVar("S")

BLOCK = 20_000
"""States expanded between two looks at the clock."""


class _StopSearch(Exception):
    """A limit was reached; the text says which."""


class CompiledSearch(Generic[S]):
    """One search. `explore` is the function to call.

    Parameters:
        spec: what to search.
        limits: what may stop the search early.
        progress: called every so often with the counts so far.
        whole: paths of components to keep whole, because their shape changes.
        given_states: the trees of actions and predicates that views will not do for.
    """

    def __init__(
        self,
        spec: Spec[S],
        limits: Limits,
        progress: Progress | None,
        whole: frozenset[str],
        given_states: frozenset[int],
    ) -> None:
        self.spec, self.limits, self.progress = spec, limits, progress
        self._initials = spec.initials()
        self._layout = Layout(self._initials[0], whole)
        self._tables = Tables(spec, self._layout, self._initials[0], given_states)
        self._started = time.monotonic()
        self._counts = np.zeros((len(spec.instances), 2), np.int64)
        self._cursor = np.zeros(10, np.int64)
        self._checked = np.zeros(2, np.int64)
        self._levels = [0]
        self._depth = 0
        self._targets: set[int] = set()
        wanted, state_checks, step_checks = limits.traces, self._tables.state_checks, self._tables.step_checks
        self._seen = np.zeros(len(state_checks), np.int64)
        self._seen_at = np.zeros((len(state_checks), wanted), np.int64)
        self._step_seen = np.zeros(len(step_checks), np.int64)
        self._step_seen_at = np.zeros((len(step_checks), wanted, 3), np.int64)
        self._dead = np.zeros(wanted, np.int64)
        self._verdicts = np.zeros((1, len(step_checks)), np.int32)
        self._start()

    def _start(self) -> None:
        rows = [self._layout.row(state) for state in self._initials[: self.limits.max_states]]
        self._packing = Packing(self._sizes())
        self._tables.pack(self._packing, 0)
        self._states = np.zeros((1024, self._packing.words), np.uint64)
        self._states = with_room(self._states, 2 * len(rows))
        self._parents = np.zeros(len(self._states), np.uint32)
        self._arrivals = np.zeros(len(self._states), np.uint16 if len(self.spec.instances) < 2**16 else np.uint32)
        self._table = np.zeros(2 * len(self._states), np.uint32)
        for index, row in enumerate(rows):
            self._states[index] = self._packing.pack(row)
        kernel.insert_all(self._states, 0, len(rows), self._table)
        self._cursor[kernel.STATES] = len(rows)

    @property
    def _count(self) -> int:
        return int(self._cursor[kernel.STATES])

    def run(self) -> Result:
        """Search until the space is exhausted, a violation's level is complete, or a limit is reached."""
        reason: str | None
        try:
            reason = self._search()
        except _StopSearch as stop:
            reason = str(stop)
        except KeyboardInterrupt:
            reason = "interrupted"
        self._check_states(self._count)
        sightings = self._sightings()
        statistics = self._statistics()
        if self.progress is not None:
            self.progress(statistics)
        return Result(
            spec=self.spec,
            engine="compiled",
            exhausted=reason is None,
            reason=reason,
            statistics=statistics,
            properties=property_results(self.spec, sightings, self._arrivals_to_targets(), self.limits, reason is None),
        )

    def _search(self) -> str | None:
        if self._count < len(self._initials):
            raise _StopSearch(f"reached {self.limits.max_states:,} states")
        while (first := self._levels[-1]) < (last := self._count):
            self._depth += 1
            self._check_states(last)
            if not self.limits.keep_going and self._violated():
                return "stopped at the first violation"
            if self._depth == self.limits.depth:
                return f"reached depth {self.limits.depth}"
            self._levels.append(last)
            while first < last:
                first = min(first + BLOCK, last)
                self._expand(first)
        return None

    def _expand(self, last: int) -> None:
        tables, forest = self._tables, self._tables.forest
        while True:
            if self.limits.max_seconds is not None and time.monotonic() - self._started > self.limits.max_seconds:
                raise _StopSearch(f"reached {self.limits.max_seconds:g} seconds")
            status = kernel.expand(
                self._cursor, last, self.limits.max_states or -1,
                self._states, self._parents, self._arrivals, self._table, self._counts,
                forest.roots[tables.actions], forest.roots[tables.steps], self._verdicts,
                self._step_seen, self._step_seen_at, self._dead,
                forest.node_slot, forest.node_base, forest.node_room, forest.edges,
                tables.leaf_start, tables.leaf_count, tables.keep, tables.put,
                self._packing.word, self._packing.shift, self._packing.mask,
            )  # fmt: skip
            if status == kernel.LEARN_ACTION:
                self._learn_action()
            elif status == kernel.LEARN_STEP:
                self._learn_step()
            elif status == kernel.FULL:
                self._grow()
            elif status == kernel.LIMIT:
                raise _StopSearch(f"reached {self.limits.max_states:,} states")
            else:
                break
        if self.progress is not None:
            self.progress(self._statistics())

    def _check_states(self, last: int) -> None:
        tables, forest, packing = self._tables, self._tables.forest, self._packing
        while kernel.check(
            self._checked, last, self._states, forest.roots[tables.states], self._seen, self._seen_at,
            forest.node_slot, forest.node_base, forest.node_room, forest.edges,
            packing.word, packing.shift, packing.mask,
        ):  # fmt: skip
            index, number = map(int, self._checked)
            tree = tables.states.start + number
            tables.learn_predicate(tree, tables.state_checks[number], self._row(index))

    def _learn_action(self) -> None:
        known = len(self._tables.outcomes)
        self._tables.learn_action(int(self._cursor[kernel.TREE]), self._row(int(self._cursor[kernel.INDEX])))
        if self._packing.fits(self._sizes()):
            self._tables.pack(self._packing, known)
        else:
            self._widen()
        self._verdicts = with_room(self._verdicts, self._tables.most_outcomes)

    def _learn_step(self) -> None:
        tables, outcome, number = self._tables, self._cursor[kernel.OUTCOME], int(self._cursor[kernel.PREDICATE])
        before = self._states[self._cursor[kernel.INDEX]]
        after = (before & tables.keep[outcome]) | tables.put[outcome]
        tree = tables.steps.start + number
        rows = self._packing.unpack(before), self._packing.unpack(after)
        tables.learn_predicate(tree, tables.step_checks[number], *rows)

    def _widen(self) -> None:
        """A slot has more values than bits: pack everything again, with bits for all of them."""
        packing = Packing(self._sizes())
        states = np.zeros((len(self._states), packing.words), np.uint64)
        states[: self._count] = self._packing.repack(self._states[: self._count], packing)
        self._packing, self._states = packing, states
        self._tables.pack(packing, 0)
        self._table[:] = 0
        kernel.insert_all(self._states, 0, self._count, self._table)

    def _grow(self) -> None:
        """Make room for more states, and keep the table at most two thirds full."""
        self._states = with_room(self._states, 2 * len(self._states))
        self._parents = with_room(self._parents, len(self._states))
        self._arrivals = with_room(self._arrivals, len(self._states))
        if len(self._states) > len(self._table) // 3 * 2:
            self._table = np.zeros(2 * len(self._table), np.uint32)
            kernel.insert_all(self._states, 0, self._count, self._table)

    def _violated(self) -> bool:
        seen = zip(
            (*self._tables.state_checks, *self._tables.step_checks), (*self._seen, *self._step_seen), strict=True
        )
        deadlock = self.spec.check_deadlock and self._cursor[kernel.DEADLOCKS] > 0
        return bool(deadlock) or any(count and not item.kind.is_witness for item, count in seen)

    def _sizes(self) -> list[int]:
        return [len(domain.values) for domain in self._layout.domains]

    def _row(self, index: int) -> list[int]:
        return self._packing.unpack(self._states[index])

    def _state(self, index: int) -> S:
        state: S = self._layout.state(self._row(index))
        return state

    def _statistics(self) -> Statistics:
        cursor, actions = self._cursor, {action.name: ActionCount() for action in self.spec.actions}
        for instance, (generated, distinct) in zip(self.spec.instances, self._counts.tolist(), strict=True):
            actions[instance.action.name].generated += generated
            actions[instance.action.name].distinct += distinct
        steps = int(self._counts[:, 0].sum())
        return Statistics(
            distinct=self._count,
            generated=steps + min(len(self._initials), self._count),
            depth=self._depth,
            queue=self._count - int(cursor[kernel.EXPANDED]),
            expanded=int(cursor[kernel.EXPANDED]),
            successors=steps - int(cursor[kernel.DEGREE]),
            out_degree_min=int(cursor[kernel.FEWEST]),
            out_degree_max=int(cursor[kernel.MOST]),
            deadlocks=int(cursor[kernel.DEADLOCKS]),
            seconds=time.monotonic() - self._started,
            actions=actions,
        )

    def _sightings(self) -> dict[Property, list[Sighting[S]]]:
        sightings: dict[Property, list[Sighting[S]]] = {item: [] for item in self.spec.checks}
        for number, item in enumerate(self._tables.state_checks):
            places = self._seen_at[number, : self._seen[number]]
            sightings[item] = [Sighting(self._target(index)) for index in places]
        for number, item in enumerate(self._tables.step_checks):
            for index, tree, outcome in self._step_seen_at[number, : self._step_seen[number]]:
                after = (self._states[index] & self._tables.keep[outcome]) | self._tables.put[outcome]
                successor: S = self._layout.state(self._packing.unpack(after))
                sightings[item].append(Sighting(self._target(index), (self.spec.instances[tree], successor)))
        if self.spec.check_deadlock:
            dead = self._dead[: self._cursor[kernel.DEADLOCKS]]
            sightings[self.spec.checks[-1]] = [Sighting(self._target(index)) for index in dead]
        return sightings

    def _target(self, index: int) -> S:
        """A state that a trace is to lead to."""
        self._targets.add(int(index))
        return self._state(index)

    def _arrivals_to_targets(self) -> dict[S, list[tuple[S, ActionInstance[S]]]]:
        """The last steps of shortest paths to the targets, and to the states on these paths."""
        arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {}
        levels = list(itertools.pairwise([*self._levels, self._count]))
        for number, (first, last) in reversed(list(enumerate(levels))):
            level = sorted(index for index in self._targets if first <= index < last)
            arrivals.update((self._state(index), []) for index in level)
            if number and level:
                for before, tree, index in self._steps_into(level, *levels[number - 1]):
                    self._targets.add(before)
                    arrivals[self._state(index)].append((self._state(before), self.spec.instances[tree]))
        return arrivals

    def _steps_into(self, level: list[int], first: int, last: int) -> list[tuple[int, int, int]]:
        """The steps into some states of a level from the level before it, from the first to the last.

        Where one trace is wanted, the step by which the search found a state is enough.
        """
        if self.limits.traces == 1:
            return [(int(self._parents[index]), int(self._arrivals[index]), index) for index in level]
        tables, forest, packing = self._tables, self._tables.forest, self._packing
        marked = np.zeros(self._count, np.bool_)
        marked[level] = True
        found = np.zeros((64, 3), np.int64)
        while True:
            count = kernel.steps_into(
                first, min(last, int(self._cursor[kernel.INDEX])), self._states, self._table, marked, found,
                forest.roots[tables.actions],
                forest.node_slot, forest.node_base, forest.node_room, forest.edges,
                tables.leaf_start, tables.leaf_count, tables.keep, tables.put,
                packing.word, packing.shift, packing.mask,
            )  # fmt: skip
            if count <= len(found):
                return [(int(before), int(tree), int(index)) for before, tree, index in found[:count]]
            found = with_room(found, count)


def explore(spec: Spec[S], limits: Limits | None = None, progress: Progress | None = None) -> Result:
    """Search a spec's states breadth-first, with learned transition tables.

    Parameters:
        spec: what to search.
        limits: what may stop the search early; by default the first violation only.
        progress: called every so often with the counts so far.

    Returns:
        The result: but for the time it takes, what `checker.oracle.explore` returns.

    Raises:
        SpecError: the spec misbehaved.
    """
    whole: frozenset[str] = frozenset()
    given_states: frozenset[int] = frozenset()
    while True:
        try:
            return CompiledSearch(spec, limits or Limits(), progress, whole, given_states).run()
        except ShapeChanged as change:
            whole |= {change.path}
        except SeesViews as change:
            given_states |= {change.tree}
