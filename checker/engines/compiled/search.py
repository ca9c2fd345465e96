"""A breadth-first search over packed states, with the same verdicts, counts and trace lengths as the oracle."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.coverage import CoverageCounts, instance_coverage
from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.compiled import graph_loops, kernel, results
from leadline.checker.engines.compiled.buffers import STEPS_A_STATE
from leadline.checker.engines.compiled.checkpoint import Saved
from leadline.checker.engines.compiled.disk_store import DiskStore
from leadline.checker.engines.compiled.expander import Expander, no_room
from leadline.checker.engines.compiled.moving import Moved
from leadline.checker.engines.compiled.orbits import SymmetricExpander
from leadline.checker.engines.compiled.paths import Paths, steps_into
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.compiled.problem import Problem
from leadline.checker.engines.compiled.resumption import SpecChanged
from leadline.checker.engines.compiled.sampling import StoredStates
from leadline.checker.engines.compiled.snapshot import Snapshot
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.evidence import property_results, states_shown, still_evaluated
from leadline.checker.engines.learning.comparison import refuse_contradicted
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.learn_or_call import Trial
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import CHANGES, NO_ADJUSTMENTS, Adjustments, Crowded
from leadline.checker.engines.learning.tables import Numbers, TransitionTables
from leadline.checker.engines.learning.warm_up import compiled_ahead
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.progress import is_due
from leadline.checker.engines.run import attempt, conclude
from leadline.checker.engines.symmetric import Unfolded
from leadline.checker.errors import LeadlineError
from leadline.checker.liveness.judged import Judged
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.properties import Kind, Property
from leadline.checker.result import (
    FIRST_VIOLATION,
    Limits,
    LivenessCounts,
    Result,
    Statistics,
    Stop,
    StopKind,
    Verified,
)
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted

if TYPE_CHECKING:
    from leadline.checker.traces.graph import Arrivals

S = TypeVar("S")

SEARCHED_AGAIN = 100_000
"""The number of expanded states above which a search no longer begins a new attempt in order to split a part."""

_log = logging.getLogger("leadline")


class HandOver(Exception):
    """Raised when the next level is so large that a different engine must expand it; see `Problem.large`."""


class CompiledSearch(Generic[S]):
    """One attempt at a search. Use `explore` to run a search, which can take several attempts.

    Parameters:
        problem: the spec to search, with the limits and the resources.
        adjustments: what earlier attempts have found out about the spec.
        saved: the saved search that is continued, or None for a new search. Its states are expanded and checked again,
            so that the result holds even if the spec reads data that has changed since they were saved.
        moved: what the search has found so far in another form or attempt, or None.
        tries: whether to stop the search if direct calls on objects cost less.
        before: what another search has learned, which is continued, or None; see `TransitionTables`.

    Attributes:
        expander: expands blocks of states. It contains the states and the transition tables.
    """

    def __init__(
        self,
        problem: Problem[S],
        adjustments: Adjustments = NO_ADJUSTMENTS,
        saved: Saved | None = None,
        moved: Moved[S] | None = None,
        *,
        tries: bool = False,
        before: TransitionTables[S] | None = None,
    ) -> None:
        self._problem, self._adjustments, self._saved = problem, adjustments, saved
        self.spec, self.limits, self.workers = problem.spec, problem.limits, problem.workers
        self.budget, self.checkpoint, self.tuning = problem.budget, problem.checkpoint, problem.tuning
        self._initials = problem.spec.initials()
        self._note = self._unsaved = ""
        self._exhausted = False
        self._liveness: dict[Property, Judged[S]] = {}
        self._liveness_counts: LivenessCounts | None = None
        self._states_verified = self._graph_verified = 0
        self._activity = ""
        self._is_cut_short = False  # if true, no checkpoint can be saved
        most = self.limits.max_states if problem.symmetry is None else None
        first: Sequence[S] = self._initials[:most] if saved is None else []
        if moved is not None:
            first = moved.states
        numbers, packing_of = None, (Store if problem.disk is None else DiskStore).packing_of
        if saved is not None:
            store = self._store(saved.packing, 0)
            numbers = self._restored(saved, store)
        tables = TransitionTables(
            self.spec, first, adjustments, numbers, purity=problem.purity, tuning=self.tuning,
            symmetry=problem.symmetry, before=before,
        )  # fmt: skip
        if problem.symmetry is not None:
            self._initials = [tables.layout.state(row) for row in tables.rows]
            tables.rows = tables.rows[: self.limits.max_states]
        self._made = self._judged = 0
        self._shown = np.zeros(len(tables.state_checks), np.int64)
        self.at = Position.at_start(tables)
        if saved is None:
            packing = packing_of(tables.layout)
            store = self._store(packing, len(tables.rows))
            store.add(packing.pack_all(tables.rows))
        else:
            if problem.disk is not None:
                store.repack(packing_of(tables.layout))
            self.at.seconds = saved.snapshot.progression.seconds
        expander = Expander if problem.symmetry is None else SymmetricExpander
        self.expander = expander(tables, store, Watch(self.budget, self.workers, self._report))
        if moved is not None:
            self._continue(moved)
        self._trial = Trial(self.at.next, len(self.at.levels)) if tries else None
        self._saved_at = self._reported_at = time.monotonic()

    def _store(self, packing: Packing, first: int) -> Store:
        """Return an empty store with room for at least `first` states."""
        instances, constrained = len(self.spec.instances), self.spec.constraint is not None
        if self._problem.disk is not None:
            return DiskStore(self._problem.disk, packing, instances, self.workers, constrained)
        return Store(packing, instances, self.budget.memory.for_states, self.workers, first, constrained)

    def _restored(self, saved: Saved, store: Store) -> Numbers:
        """Read the states of a saved search into an empty store. Return their values."""
        count = saved.snapshot.count
        reason = self.budget.out_of_memory(store.bytes_for(count))
        if reason is None and count > store.room:
            reason = no_room(store, self.budget)
        if reason is not None:
            raise LeadlineError(
                f"{saved.checkpoint.place} contains {count:,} states, which do not fit in memory: {reason}"
            )
        store.allocate(count)
        return saved.restore(self.spec, store)

    def _continue(self, moved: Moved[S]) -> None:
        """Continue where another form or attempt of the search was. The store contains its states."""
        store, tables, count = self.expander.store, self.expander.tables, len(moved.states)
        store.parents[:count], store.arrivals[:count] = moved.parents, moved.arrivals
        store.outside[:count] = moved.outside[: len(store.outside)]
        store.counters, self._shown, self._made = moved.counters.copy(), moved.shown.copy(), moved.made
        self._judged = count
        steps = [
            [(before, tree, tables.layout.row(after)) for before, tree, after in seen] for seen in moved.steps_seen
        ]
        self.at = moved.at.copied(steps)
        begun = tables.effort.begun
        begun[:] = [self.at.next] * len(begun)
        begun[tables.instances : tables.first_step] = [count] * len(tables.state_checks)
        self.expander.learner.note_values()  # the rows of the steps may contain new values

    def moved(self) -> Moved[S]:
        """Return what the search has found so far. Call it between two blocks, or after an exception."""
        store, tables, count = self.expander.store, self.expander.tables, self.expander.store.count
        state: Callable[[Sequence[int]], S] = tables.layout.state
        return Moved(
            states=[self.expander.state(index) for index in range(count)],
            parents=store.parents[:count].astype(np.uint32),
            arrivals=store.arrivals[:count].astype(np.uint32),
            outside=store.outside[:count].copy() if len(store.outside) else np.zeros(count, np.bool_),
            counters=store.counters.copy(),
            at=self.at.copied([]),
            steps_seen=[[(before, tree, state(row)) for before, tree, row in seen] for seen in self.at.steps_seen],
            shown=self._shown.copy(),
            made=self._made + sum(tables.effort.learned) + sum(tables.effort.called),
        )

    def _save_if_possible(self) -> None:
        """Write a checkpoint if checkpoints are enabled. If this fails, log a warning and continue."""
        self._saved_at = time.monotonic()
        try:
            self.save()
            self._unsaved = ""
        except LeadlineError as error:
            if not self._note:
                self._note = f"a checkpoint was not saved: {error}"
                _log.warning("a checkpoint was not saved, but the search continues: %s", error)
            self._unsaved = f"the last checkpoint was not saved: {error}"

    def save(self) -> None:
        """Write a checkpoint if checkpoints are enabled.

        Raises:
            LeadlineError: if the checkpoint cannot be written.
        """
        if self.checkpoint is None:
            return
        store, tables = self.expander.store, self.expander.tables
        at = attrs.evolve(self.at, seconds=self.at.seconds + self.budget.seconds)
        with interrupts_wait():
            self.checkpoint.save(
                Snapshot(self._adjustments, len(self._initials), store.counters, at), tables.numbers, store
            )

    def run(self) -> Result:
        """Search until no states are left to expand, a level with a violation is complete, or a limit is reached.

        Raises:
            HandOver: if the next level must be expanded by a different engine.
            SpecError: if an action or a property raised an exception or is not a pure function.
            ShapeChanged, NotRecorded, Crowded: if the search must start again; see `Adjustments`.
        """
        return self.ended(attempt(self.budget, self._search, self._out_of_memory))

    def ended(self, stop: Stop | None) -> Result:
        """Return the result of a search that ends now.

        Parameters:
            stop: the reason why it ends, or None if no states are left to expand.
        """
        stop = attempt(self.budget, self._check_states, self._out_of_memory) or stop
        self._exhausted = stop is None
        if self._exhausted:
            stop = attempt(self.budget, self._check_stored, self._out_of_memory)
            self._exhausted = stop is None
        if self._exhausted and self.spec.liveness:
            stop = attempt(self.budget, self._check_liveness, self._out_of_memory)
        stop = attempt(self.budget, self.expander.tables.caller.purity.check_again) or stop
        stop = conclude(self.budget, stop)
        if self._saved is not None:
            self._note = "the search was stopped before all saved states had been checked again"
        elif not self._is_cut_short and not self.budget.swallowed:
            self._save_if_possible()
        return self._result(stop)

    def _check_stored(self) -> None:
        """Make a sample of the stored states again after all states have been found."""
        self.expander.store.settle()
        if self._problem.symmetry is not None:
            return  # a step to a representative leads to another state of its orbit
        self._states_verified = StoredStates(self.expander).check()

    def _check_liveness(self) -> Stop | None:
        """Check the liveness properties after all states have been found."""
        from leadline.checker.engines.compiled.liveness import LivenessCheck
        from leadline.checker.liveness.decide import undecided

        began, self._activity = time.monotonic(), "checking liveness"
        try:
            check = LivenessCheck(self.expander, self.at.levels, int(self.at.counts[:, 0].sum()))
            open_ones = []
            self._graph_verified = check.verified
            for item in self.spec.liveness:
                judged = check.judged(item)
                if judged is None:
                    open_ones.append(item)
                else:
                    self._liveness[item] = judged
                self._liveness_counts = check.counts(time.monotonic() - began)
            return undecided(open_ones)
        finally:
            self._activity = ""

    def _out_of_memory(self) -> Stop:
        """Free memory after a failed allocation, disable checkpoints, and return the reason to stop the search."""
        self._is_cut_short = True
        self.expander.free()
        return self.budget.memory_failed()

    def _result(self, stop: Stop | None) -> Result:
        at, tables = self.at, self.expander.tables
        paths = Paths(self.spec, self.expander.state, self._level_of, self._steps_into)
        seen = results.sightings(tables, at.seen, at.steps_seen, at.dead, paths.target)
        arrivals: Arrivals[S] = paths.arrivals()
        if isinstance(self.expander, SymmetricExpander):
            seen, arrivals = self.expander.concrete(seen), Unfolded(self.expander.symmetry, arrivals)
        properties = property_results(self.spec, seen, arrivals, self.limits, self._exhausted, self._liveness)
        refuse_contradicted(tables, (trace for item in properties for trace in item.traces))
        statistics = self.statistics()
        if self.limits.coverage:
            statistics.covered = self._covered(stop)
        if self._problem.progress is not None:
            self._problem.progress(statistics)
        return Result(
            spec=self.spec,
            engine="compiled",
            stop=stop,
            statistics=statistics,
            note=self._unsaved or self._note or (self.checkpoint.claim.note if self.checkpoint is not None else ""),
            properties=properties,
        )

    def _covered(self, stop: Stop | None) -> CoverageCounts | None:
        """Return the coverage of the search, or None if there was not enough time or memory to compute it.

        Parameters:
            stop: the reason why the search stopped, or None. If a limit was reached, the search is not restarted to
                compute the coverage.
        """
        at, expander = self.at, self.expander
        shown = dict(zip(expander.tables.state_checks, self._shown.tolist(), strict=True))
        try:
            expanded = int(expander.store.counters[kernel.EXPANDED])
            enabled = results.enabled_counts(expander, expanded)
            drawn = results.drawn_counts(expander, len(self._initials), expanded, at.counts[:, 0].tolist())
            fields = results.field_coverage(expander, expander.store.count)
        except (StopSearch, KeyboardInterrupt, MemoryError):
            self._note = self._note or "coverage was not counted: it was stopped"
            return None
        except CHANGES:
            if stop in (None, FIRST_VIOLATION):
                raise
            self._note = self._note or "coverage was not counted: the search was stopped"
            return None
        generated, distinct = at.counts.T.tolist()
        whole = [dict(zip(self.spec.instances, each, strict=True)) for each in (enabled.tolist(), generated, distinct)]
        return CoverageCounts(
            instances=instance_coverage(self.spec, *(all_of | of for all_of, of in zip(whole, drawn, strict=True))),
            shown=states_shown(self.spec, shown),
            fields=fields,
        )

    def _search(self) -> Stop | None:
        at, expander = self.at, self.expander
        self._check_states()
        if self._saved is not None:
            self._repeat(self._saved)
        elif expander.store.count == len(self._initials):
            self.save()  # fails now instead of later if values cannot be saved
        if expander.store.count < len(self._initials) or self._too_many(expander.store.count):
            raise self._cut_short()
        while True:
            if at.next == at.level_end and not self._begin_level():
                return None
            if at.next == at.levels[-1]:
                if stop := self.limits.stop_after(self._violated(), expander.within(0, expander.store.count)):
                    return stop
                if not expander.within(at.next, at.level_end):
                    return None  # no state of the level satisfies `Spec.within`
                if self.limits.depth is not None and len(at.levels) >= self.limits.depth:
                    return Stop(StopKind.DEPTH, f"reached depth {self.limits.depth}")
                compared = expander.learner.comparison
                for index in np.linspace(at.next, at.level_end - 1, compared.level_states, dtype=int):
                    compared.state(expander.row(index))
            if expander.layout.crowded and at.next < SEARCHED_AGAIN:
                raise Crowded(frozenset(expander.layout.crowded))
            expander.watch.pause()
            if self._trial is not None:
                self._trial.check(at.next, self.statistics)
            if at.next == at.levels[-1] and self._is_large(at.level_end - at.next):
                raise HandOver
            if self.checkpoint is not None and time.monotonic() - self._saved_at > self.checkpoint.every:
                self._save_if_possible()
            self._expand(min(at.next + self._block(), at.level_end))

    def _begin_level(self) -> bool:
        """Go on to the next level. Return False if it has no states."""
        at, count = self.at, self.expander.store.count
        if at.level_end == count:
            return False
        at.levels.append(at.next)
        at.level_end = count
        return True

    def _repeat(self, saved: Saved) -> None:
        """Expand and check all states of a saved search again, in the order of the search, and compare the results.

        The saved states are already in the store, so that only the learned results, the predicates, and the calls that
        are not learned are repeated. The result is then the same as that of a search without a checkpoint: nothing that
        it depends on was taken from an earlier run, except states that have now been found again by the same steps.

        Raises:
            SpecChanged: if an action does not lead to the same states, or a property does not have the same results.
        """
        at, before, store = self.at, saved.snapshot.progression, self.expander.store
        while at.next < before.next:
            if at.next == at.level_end and not self._begin_level():
                break
            self.expander.watch.pause()
            self._expand(min(at.next + self._block(), at.level_end, before.next))
        results.refuse_changed(self.expander.tables, saved, at, store)
        self._saved, store.loaded = None, 0

    def _block(self) -> int:
        """Return the number of states to expand next. States with many steps are expanded in smaller blocks."""
        most, expanded = self.tuning.block * self.workers.count, int(self.expander.store.counters[kernel.EXPANDED])
        steps = int(self.at.counts[:, 0].sum())
        if self._trial is not None:
            most = min(most, self._trial.room(self.at.next))
        fitting = STEPS_A_STATE * most * expanded // max(steps, 1)
        return min(most, max(self.tuning.alone, min(expanded, fitting)))  # the first states show the number of steps

    def _is_large(self, states: int) -> bool:
        return self._problem.large is not None and states >= self._problem.large

    def _too_many(self, states: int) -> bool:
        return self.limits.max_states is not None and states > self.limits.max_states

    def _report(self) -> None:
        if self._problem.progress is not None and is_due(time.monotonic() - self._reported_at):
            self._problem.progress(attrs.evolve(self.statistics(), free=self.budget.memory.scarcest.free))
            self._reported_at = time.monotonic()

    def _expand(self, last: int) -> None:
        """Expand all states before index `last` that have not been expanded yet."""
        at, expander, traces = self.at, self.expander, self.limits.traces
        checks = expander.tables.step_checks
        later = [item.kind is Kind.STEP_CONDITION for item in checks]
        missing = [0 if is_later else traces - len(seen) for is_later, seen in zip(later, at.steps_seen, strict=True)]
        found = expander.find(at.next, last, missing)
        is_repeated, first, end = self._saved is not None, expander.store.count, expander.store.found_from(last)
        if is_repeated and (tree := expander.other_action(found, last)) is not None:
            raise SpecChanged(
                f"action {self.spec.instances[tree]} does not lead to the same states as in the saved search"
            )
        cut_short = not is_repeated and self._too_many(expander.store.count + sum(found.new))
        if cut_short:
            self._save_if_possible()  # after this block, no checkpoint can be saved
        with interrupts_wait():
            result = expander.keep(found, traces - len(at.dead), self.limits.max_states if cut_short else None)
            if is_repeated:
                expander.store.counters[kernel.STATES] = end
                arrivals = expander.store.arrivals[first:end]
                at.counts[:, 1] += np.bincount(arrivals, minlength=len(at.counts))
            at.counts += result.counts
            at.dead += result.dead
            for steps, more in zip(at.steps_seen, result.steps_seen, strict=True):
                steps += more
            at.next = last
        self._check_states()
        if cut_short:
            raise self._cut_short()

    def _check_states(self) -> None:
        """Evaluate the predicates on all states that have not been checked yet."""
        at, store = self.at, self.expander.store
        # for the constraint, `Spec.within`, no states are collected, so that it is evaluated on every state
        checks, coverage = self.expander.tables.state_checks, self.limits.coverage
        later = [item.kind.is_liveness or item.kind in (Kind.CUT, Kind.CONDITION) for item in checks]
        missing = [
            0 if is_later else self.limits.traces - len(seen) for is_later, seen in zip(later, at.seen, strict=True)
        ]
        pairs = zip(later, still_evaluated(checks, missing), strict=True)
        wanted = [not is_later and (coverage or is_evaluated) for is_later, is_evaluated in pairs]
        if not any(wanted):
            at.checked = store.count
        first = at.checked
        if first == store.count:
            return
        # what a predicate reads is known only from calls that were recorded in these tables
        is_after = first >= len(self._initials) and store.parents[first] >= self._judged
        inherit = [not seen and is_after for seen in at.seen]
        shown = self.expander.check(first, wanted, inherit)
        with interrupts_wait():
            if self.spec.constraint is not None:
                self._note_outside(first, shown[:, -1])
                shown[:, -1] = False
            for seen, column, count in zip(at.seen, shown.T, missing, strict=True):
                seen += (first + np.flatnonzero(column)[:count]).tolist()
            if self.limits.coverage:
                self._shown += shown[self.expander.indices_within(first, first + len(shown)) - first].sum(axis=0)
            at.checked = store.count

    def _note_outside(self, first: int, outside: NDArray[np.bool_]) -> None:
        """Record which of the states from index `first` onwards violate `Spec.within`, and subtract them from the
        counts.
        """
        at, store = self.at, self.expander.store
        store.outside[first : store.count] = outside
        if first >= len(self._initials):
            np.subtract.at(at.counts[:, 1], store.arrivals[first : store.count][outside], 1)
        at.outside += [0] * (len(at.levels) + 1 - len(at.outside))
        at.outside[len(at.levels)] += int(outside.sum())

    def _cut_short(self) -> StopSearch:
        """Return the exception that stops a search when the maximum number of states is reached."""
        self._is_cut_short = True
        return StopSearch(Stop(StopKind.STATES, f"reached {counted(self.limits.max_states or 0, 'state')}"))

    def _violated(self) -> list[str]:
        return results.violated(self.expander.tables, self.at.seen, self.at.steps_seen, bool(self.at.dead))

    def statistics(self) -> Statistics:
        """Return the current statistics."""
        at, expander = self.at, self.expander
        counters, count, tables = expander.store.counters.tolist(), expander.store.count, expander.tables
        steps = int(at.counts[:, 0].sum())
        # the first state of each level, and of the states that were found beyond the last level
        begins = [*at.levels, at.level_end if at.levels else 0, count]
        levels = [end - begin for begin, end in itertools.pairwise(begins)]
        levels = [size - outside for size, outside in itertools.zip_longest(levels, at.outside, fillvalue=0)]
        distinct, expanded = expander.within(0, count), expander.within(0, counters[kernel.EXPANDED])
        learning = tables.learning(expanded, count, steps)
        learning = attrs.evolve(learning, called=learning.called + self._made)
        checked, drawn, made = expander.learner.verification.counts.tolist()
        return Statistics(
            distinct=distinct,
            outside=count - distinct,
            generated=steps + min(len(self._initials), count),
            depth=sum(1 for size in levels[: len(at.levels)] if size),
            queue=distinct - expanded,
            expanded=expanded,
            successors=steps - counters[kernel.DEGREE],
            out_degree_min=max(counters[kernel.FEWEST], 0),
            out_degree_max=max(counters[kernel.MOST], 0),
            deadlocks=counters[kernel.DEADLOCKS],
            seconds=at.seconds + self.budget.seconds,
            actions=results.action_counts(self.spec, at.counts),
            level_done=(at.next - at.levels[-1]) / max(at.level_end - at.levels[-1], 1) if at.levels else 0.0,
            memory=expander.store.bytes_used + learning.memory,
            spilled=expander.store.bytes_in_files,
            calls=tables.calls,
            learning=learning,
            compared=tables.compared,
            whole_reads=tables.whole_reads(),
            verified=Verified(checked, drawn, made, self._states_verified, self._graph_verified),
            levels=tuple(size for size in levels if size > 0),
            liveness=self._liveness_counts,
            orbits=expander.orbits(at.checked) if isinstance(expander, SymmetricExpander) else None,
            activity=self._activity,
        )

    def _level_of(self, index: int) -> int:
        return int(np.searchsorted([*self.at.levels, self.at.level_end], index, side="right"))

    def _steps_into(self, places: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return the steps that lead from the previous level to the given states of a level.

        If the user requested only one trace, or if a limit stops this method, return only the step by which each state
        was found.
        """
        at, store, level = self.at, self.expander.store, self._level_of(places[0])
        if self.limits.traces > 1 and self._problem.symmetry is None:
            first, last = [*at.levels, at.level_end][level - 2 : level]
            last = min(last, int(store.counters[kernel.EXPANDED]))
            try:
                found = steps_into(self.expander, lambda: store.states[list(places)], first, last)
                return [(before, tree, places[target]) for before, tree, target in found]
            except (StopSearch, KeyboardInterrupt):  # can take long in a resumed search, which has to learn again
                pass
        return [(int(store.parents[index]), int(store.arrivals[index]), index) for index in places]


def compile_ahead(spec: Spec[S]) -> None:
    """Compile all loops that the search of a spec needs, or load them, before time limits apply."""
    compiled_ahead(_search_once, kernel.expand)
    if spec.liveness:
        compiled_ahead(_check_once, graph_loops.strongly_connected)


def _search_once(spec: Spec[S]) -> None:
    """Search a small spec in this thread, so that Numba compiles every loop of the engine."""
    limits, workers = Limits(traces=2, keep_going=True), Workers(1)
    try:
        search = CompiledSearch(Problem(spec=spec, limits=limits, budget=Budget(limits), workers=workers))
        search._search()  # a result would import networkx, which takes a tenth of a second
        search._steps_into([search.at.levels[1]])
        search.expander.leaves(np.zeros(1, np.int64), 0, 1)  # used only for calls that are not learned
    finally:
        workers.close()
        make_ordinary()


def _check_once(spec: Spec[S]) -> None:
    """Check liveness properties of a small spec in this thread, so that Numba compiles all loops for liveness."""
    limits, workers, spec = Limits(), Workers(1), spec.with_properties([item.name for item in spec.optional])
    try:
        search = CompiledSearch(Problem(spec=spec, limits=limits, budget=Budget(limits), workers=workers))
        search._search()
        search._check_liveness()
    finally:
        workers.close()
        make_ordinary()
