"""Breadth-first search over packed states. Verdicts, counts and trace lengths are the oracle's."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from checker.action import ActionInstance
from checker.budget import Budget, LimitReached
from checker.compiled import kernel
from checker.compiled.answers import Answers
from checker.compiled.buffers import Buffers
from checker.compiled.calling import Outlook
from checker.compiled.calls import Call, Caller, Changes, NotRecorded
from checker.compiled.checkpoint import Checkpoint, Saved
from checker.compiled.comparison import ALL_OF, Comparison
from checker.compiled.forest import TablesFull, with_room
from checker.compiled.guards import Guards
from checker.compiled.interrupts import interrupts_wait
from checker.compiled.layout import Layout, NewKind, ShapeChanged
from checker.compiled.packing import Packing
from checker.compiled.parts import BlockParts
from checker.compiled.recording import make_ordinary
from checker.compiled.sightings import action_counts, sightings, violated
from checker.compiled.store import MOST_STATES, NotASearch, Store
from checker.compiled.tables import Tables
from checker.compiled.warming import compiled_ahead
from checker.compiled.workers import Workers, usable_cores
from checker.errors import Damaged, LeadlineError
from checker.evidence import Sighting, nothing_searched, property_results
from checker.names import counted
from checker.progress import Progress
from checker.properties import Property
from checker.purity import Purity
from checker.result import FIRST_VIOLATION, Limits, Result, Statistics
from checker.spec import Spec

S = TypeVar("S")

BLOCK = 32_768
"""States that each worker expands between two looks at the clock."""

PARTS = 4
"""Parts of a block for each worker, of several: who is through with one, or was held up less, takes the next."""

ALONE = 2_000
"""Fewer states are not worth waking a second thread for."""

MOST_STATES_SEARCHED_AGAIN = 100_000
"""With more states expanded, a search does not begin anew to take parts of the state apart."""

OUTDATED = 1.05
"""By how much more has to be known for the guards to be made anew."""

CALLS_A_LOOK = 64
"""Calls learned between two looks at the memory that their trees take."""

PROGRESS_SECONDS = 0.1
"""Between two calls of the progress function."""

CHECKPOINT_SECONDS = 30.0
"""Seconds between two checkpoints, by default."""

_log = logging.getLogger("leadline")


class StopSearch(Exception):
    """A limit was reached; the text says which."""


class CutShort(StopSearch):
    """The search ended in the middle of a state's steps, or a call was lost: it cannot go on from here."""


class Crowded(Exception):
    """Parts of the state that take many values could be taken apart.

    Attributes:
        patterns: which; see `Layout`.
    """

    def __init__(self, patterns: frozenset[str]) -> None:
        self.patterns = patterns
        super().__init__(patterns)


@attrs.frozen
class Adjustments:
    """What a search has found out about its spec too late, so that it has to begin anew.

    Attributes:
        whole: paths of components to keep whole, because their shape changes.
        apart: see `Layout`.
        given_states: the trees of actions and predicates whose reads cannot be recorded.
        read_when_copied: slots that count as read when they are copied.
    """

    whole: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    given_states: frozenset[int] = frozenset()
    read_when_copied: frozenset[int] = frozenset()

    def after(self, change: ShapeChanged | Crowded | NotRecorded | NewKind) -> Adjustments:
        """With what has been found out now."""
        match change:
            case ShapeChanged():  # slots are numbered anew
                whole = self.whole | {change.path}
                return attrs.evolve(self, whole=whole, read_when_copied=frozenset())
            case Crowded():
                return attrs.evolve(self, apart=self.apart | change.patterns, read_when_copied=frozenset())
            case NotRecorded():
                return attrs.evolve(self, given_states=self.given_states | {change.tree})
            case NewKind():
                return attrs.evolve(self, read_when_copied=self.read_when_copied | {change.slot})


@attrs.define
class Progression:
    """How far a search is, besides its states: with them, all that it takes to go on.

    Attributes:
        next: the first state that was not expanded.
        checked: the first state on which the state predicates were not evaluated.
        level_end: where the level that is being expanded ends.
        levels: where each level begins, as far as they were begun.
        counts: shape (action instances, 2): steps generated, and new states among them.
        seen: for each state predicate, the states that were seen to show it.
        steps_seen: for each step predicate, the steps: the state before, the action instance, the slot
            numbers of the state after.
        dead: the first states without a next state.
        outside: for each level, its states outside of `Spec.within`.
        seconds: wall-clock seconds of earlier runs.
    """

    counts: NDArray[np.int64]
    seen: list[list[int]]
    steps_seen: list[list[tuple[int, int, list[int]]]]
    dead: NDArray[np.int64]
    next: int = 0
    checked: int = 0
    level_end: int = 0
    levels: list[int] = attrs.field(factory=list)
    outside: list[int] = attrs.field(factory=list)
    seconds: float = 0.0


class CompiledSearch(Generic[S]):
    """One search. `explore` is the function to call.

    Parameters:
        spec: what to search.
        limits: what may stop the search early.
        progress: called every so often with the counts so far.
        workers: the threads that share the work.
        adjustments: what earlier attempts at this search have found out.
        budget: the time and memory that all of them may take.
        checkpoint: where the search is saved from time to time.
        saved: how far an earlier run was, to go on from there.
        purity: of the earlier attempts at this search.
        outlook: whether the search should be given up; None: it never is.
    """

    def __init__(
        self,
        spec: Spec[S],
        limits: Limits,
        progress: Progress | None,
        workers: Workers,
        adjustments: Adjustments,
        budget: Budget,
        checkpoint: Checkpoint | None = None,
        saved: Saved | None = None,
        purity: Purity[S] | None = None,
        outlook: Outlook | None = None,
    ) -> None:
        self.spec, self.limits, self.progress, self.workers = spec, limits, progress, workers
        self.outlook, self._began = outlook, time.monotonic()
        self.budget, self.checkpoint = budget, checkpoint
        self._adjustments, self._resumed = adjustments, saved is not None
        self._initials = spec.initials()
        self._layout = Layout(self._initials[0], adjustments.whole, adjustments.apart, adjustments.read_when_copied)
        rows: list[list[int]] = []
        if saved is None:
            rows = [self._layout.row(state) for state in self._initials[: limits.max_states]]
        else:
            self._layout.add_members(saved.members)
            for domain, values in zip(self._layout.domains, saved.values, strict=True):
                for value in values:
                    domain.number(value)
        self._tables = Tables(Caller(spec, self._layout, adjustments.given_states, purity))
        self._comparison = Comparison(self._tables)
        self._at = Progression(
            counts=np.zeros((len(spec.instances), 2), np.int64),
            seen=[[] for _ in self._tables.state_checks],
            steps_seen=[[] for _ in self._tables.step_checks],
            dead=np.zeros(limits.traces, np.int64),
        )
        self._targets: set[int] = set()
        self._note = self._unsaved = ""
        self._buffers: Buffers | None = None
        self._guards: Guards | None = None
        packing = Packing(self._sizes() if saved is None else saved.sizes)
        if saved is not None:
            self._tables.slots_read = saved.slots_read
        self._tables.pack(packing)
        self._store = Store(
            packing, len(spec.instances), budget.memory.for_states, workers, len(rows), spec.constraint is not None
        )
        if saved is None:
            self._store.add(map(packing.pack, rows))
        else:
            self._restore(saved)
        self._saved_at = self._told_at = time.monotonic()

    def _restore(self, saved: Saved) -> None:
        store = self._store
        assert self.checkpoint is not None
        self._at, store.counters, store.packings = saved.progression, saved.counters, saved.packings
        no_room = self.budget.memory.exceeded(store.bytes_used + store.bytes_to_grow(0))
        if no_room or store.count > store.room:
            reason = no_room or self._out_of_memory()
            raise LeadlineError(f"{self.checkpoint.folder} holds {store.count:,} states, too many: {reason}")
        self.checkpoint.read(saved, store.count, store.states, store.parents, store.arrivals)
        store.outside[: store.count] = np.unpackbits(saved.outside, count=len(store.outside[: store.count]))
        try:
            store.check(len(self._initials), self._sizes(), len(self.spec.instances))
            store.rebuild()
        except NotASearch as error:
            raise Damaged(f"{self.checkpoint.folder} is damaged: {error}") from error

    def _save_if_possible(self) -> None:
        """Write a checkpoint, if one is asked for. If that fails, the search must not be lost with it."""
        self._saved_at = time.monotonic()
        try:
            self.save()
            self._unsaved = ""
        except LeadlineError as error:
            if not self._note:
                self._note = f"a checkpoint was not saved: {error}"
                _log.warning("a checkpoint was not saved, but the search goes on: %s", error)
            self._unsaved = f"the last checkpoint was not saved: {error}"

    def save(self) -> None:
        """Write a checkpoint, if one is asked for. Raises LeadlineError: it cannot be written."""
        if self.checkpoint is None:
            return
        store = self._store
        saved = Saved(
            adjustments=self._adjustments,
            values=[domain.values for domain in self._layout.domains],
            members=self._layout.members,
            slots_read=self._tables.slots_read,
            sizes=store.packing.sizes,
            packings=store.packings,
            counters=store.counters,
            outside=np.packbits(store.outside[: store.count]),
            progression=attrs.evolve(self._at, seconds=self._at.seconds + self.budget.seconds),
        )
        with interrupts_wait():
            self.checkpoint.save(saved, store.count, store.states, store.parents, store.arrivals)

    def run(self) -> Result:
        """Search until the space is exhausted, a violation's level is complete, or a limit is reached."""
        reason: str | None
        cut_short = False
        try:
            reason = self._search()
        except StopSearch as stop:
            reason, cut_short = str(stop), isinstance(stop, CutShort)
        except KeyboardInterrupt as stop:
            reason = self.budget.caught(stop)
        except MemoryError:  # in the middle of anything, so it cannot go on from here
            reason, cut_short = self._out_of_memory(), True
            self._buffers = None
        try:
            self._check_states()
        except StopSearch as stop:
            reason = str(stop)
        except KeyboardInterrupt as stop:
            reason = self.budget.caught(stop)
        except MemoryError:
            reason, cut_short = self._out_of_memory(), True
        try:
            self._tables.caller.purity.check_again()
        except KeyboardInterrupt as stop:
            reason = self.budget.caught(stop)
        except MemoryError:
            reason = self._out_of_memory()
        self.budget.relax()
        if self.budget.swallowed:
            reason, cut_short = self.budget.swallowed, True
        if not cut_short:
            self._save_if_possible()
        seen = self._sightings()
        statistics = self._statistics()
        if self.progress is not None:
            self.progress(statistics)
        return Result(
            spec=self.spec,
            engine="compiled",
            exhausted=reason is None,
            reason=reason,
            statistics=statistics,
            note=self._unsaved or self._note or (self.checkpoint.note if self.checkpoint is not None else ""),
            properties=property_results(self.spec, seen, self._arrivals_to_targets(), self.limits, reason is None),
        )

    def _search(self) -> str | None:
        at, store = self._at, self._store
        self._check_states()
        if store.count < len(self._initials) or store.count > (self.limits.max_states or store.count):
            raise CutShort(self._most_states())
        if not self._resumed:
            self.save()  # so that states that cannot be pickled are refused at once
        while True:
            if at.next == at.level_end:
                if at.level_end == store.count:
                    return None
                at.levels.append(at.next)
                at.level_end = store.count
            if at.next == at.levels[-1]:
                if self._violated() and not self.limits.keep_going:
                    return FIRST_VIOLATION
                if not self._within(at.next, at.level_end):
                    return None  # all are outside
                if self.limits.depth is not None and len(at.levels) >= self.limits.depth:
                    return f"reached depth {self.limits.depth}"
                for index in np.linspace(at.next, at.level_end - 1, ALL_OF, dtype=int):
                    self._comparison.state(self._row(index))
            if self._layout.crowded and at.next < MOST_STATES_SEARCHED_AGAIN:
                raise Crowded(frozenset(self._layout.crowded))
            self._stop_if_out_of_time()
            if self.outlook is not None:
                self.outlook.check(time.monotonic() - self._began, self._statistics)
            if self.checkpoint is not None and time.monotonic() - self._saved_at > self.checkpoint.every:
                self._save_if_possible()
            block = BLOCK * self.workers.count
            if not at.next:  # soon, it is known how fast the search is
                block = min(block, ALONE)
            self._expand(min(at.next + block, at.level_end))
            self._tell()

    def _within(self, first: int, last: int) -> int:
        """How many of the states from the first up to the last are not outside of `Spec.within`."""
        return last - first - int(np.count_nonzero(self._store.outside[first:last]))

    def _tell(self) -> None:
        """Call the progress function, if it was not called just now."""
        if self.progress is not None and time.monotonic() - self._told_at > PROGRESS_SECONDS:
            self.progress(self._statistics())
            self._told_at = time.monotonic()

    def _expand(self, last: int) -> None:
        """Expand the states up to the last."""
        store, first, count = self._store, self._at.next, self._store.count
        self._comparison.paths(store.states, store.packing, first, last)
        parts, buffers = self._generate(first, last)
        coming = int(parts.cursors[:, kernel.FILLED].sum())
        self._make_room(coming)
        entered = np.zeros((self.workers.count, len(parts.cursors)), np.int64)
        self.workers.run(
            kernel.insert,
            [
                (
                    region, count, buffers.regions, buffers.routes, buffers.found.reshape(-1, store.packing.words),
                    buffers.hashes, buffers.places, entered, store.states, store.table,
                )
                for region in range(self.workers.count)
            ],
            alone=coming < ALONE,
        )  # fmt: skip
        new = entered.sum(axis=0).tolist()
        cut_short = self.limits.max_states is not None and count + sum(new) > self.limits.max_states
        if cut_short:
            self._save_if_possible()  # the last time that it is
        with interrupts_wait():
            self._append(parts, buffers, new, cut_short)
            self._at.next = last
        self._check_states()
        if cut_short:
            raise CutShort(self._most_states())

    def _generate(self, first: int, last: int) -> tuple[BlockParts, Buffers]:
        """The next states of a block."""
        while True:
            found = self._generated(first, last)
            if found is not None:
                return found

    def _generated(self, first: int, last: int) -> tuple[BlockParts, Buffers] | None:
        """The same; None if states are packed another way by now, and those in the buffers are not."""
        tables, store = self._tables, self._store
        parts, packing, looked_at = self._parts(first, last), store.packing, tables.calls
        buffers, guards = self._buffers_for(parts), self._guards_now(last - first)
        wanted = np.array([len(seen) < self.limits.traces for seen in self._at.steps_seen], np.bool_)
        nothing = Answers([], packing)
        answers = [nothing] * len(parts.cursors)
        while True:
            parts.fit(len(packing.sizes))
            full = self.workers.run(
                kernel.expand,
                [
                    (
                        *parts.of(part), store.states, *answers[part].arrays, parts.ends[part], buffers.found[part],
                        buffers.hashes[part], buffers.parents[part], buffers.trees[part],
                        buffers.shown[part], buffers.begins[part], buffers.routes[part], buffers.regions[part],
                        wanted, guards.always, guards.pairs, guards.table, tables.first_step,
                        tables.reads[len(tables.state_checks) :], tables.forest.pool,
                        tables.leaf_start, tables.leaf_count, tables.keep, tables.put,
                        store.outside, packing.word, packing.shift, packing.mask,
                    )
                    for part in parts.busy
                ],
                alone=parts.left.sum() < ALONE,
            )  # fmt: skip
            too_many = self._learn(parts, first)
            answers = [nothing] * len(parts.cursors)
            for part in too_many if store.packing is packing else ():
                found = self._steps_from(parts.that_wait(part))
                if store.packing is packing:
                    answers[part] = Answers(found, packing)
            if store.packing is not packing:
                return None
            if any(full):
                self._stop_if_out_of_memory(2 * buffers.nbytes)
                buffers.grow()
            if not parts.busy:
                self._judge_steps(parts, buffers)
                return parts, buffers
            self._stop_if_out_of_time()
            if tables.calls - looked_at >= CALLS_A_LOOK:
                self._stop_if_out_of_memory(0)
                looked_at = tables.calls
            self._tell()

    def _parts(self, first: int, last: int) -> BlockParts:
        """The parts in which the states from the first to the last are looked at."""
        alone = self.workers.count == 1 or last - first < ALONE
        count = 1 if alone else min(self.workers.count * PARTS, last - first)  # so that none is empty
        return BlockParts(first, last, count, self._layout.slots)

    def _guards_now(self, states: int) -> Guards:
        """The guards for a block of so many states: made anew if much was learned, and the block is large."""
        tables, packing = self._tables, self._store.packing
        guards = self._guards
        if (
            guards is None
            or guards.packing is not packing
            or (states >= ALONE and guards.calls * OUTDATED < tables.calls)
        ):
            with interrupts_wait():
                guards = self._guards = Guards(tables, packing)
        return guards

    def _buffers_for(self, parts: BlockParts) -> Buffers:
        """Buffers for the parts of a block; they are used again and again."""
        count, words, step_checks = len(parts.cursors), self._store.packing.words, len(self._tables.step_checks)
        states = int(np.diff(parts.ends).max())
        buffers = self._buffers
        if buffers is None or buffers.found.shape[::2] != (count, words) or buffers.begins.shape[1] < states:
            buffers = self._buffers = Buffers(count, states, words, step_checks, self.workers.count)
        return buffers

    def _append(self, parts: BlockParts, buffers: Buffers, new: list[int], cut_short: bool) -> None:
        """Count the steps of a block and keep its new states.

        Parameters:
            new: how many new states each part has.
            cut_short: whether there are more than the limit on states allows.
        """
        at, store, count, traces = self._at, self._store, len(new), self.limits.traces
        counters = np.zeros((count, kernel.COUNTERS), np.int64)
        counts = np.zeros((count, *at.counts.shape), np.int64)
        dead = np.zeros((count, traces), np.int64)
        seen = np.zeros((count, len(at.steps_seen)), np.int64)
        seen_at = np.zeros((*seen.shape, traces), np.int64)
        work = [
            (
                part, store.count + sum(new[:part]), parts.ends[part], parts.ends[part + 1],
                parts.cursors[:, kernel.FILLED], buffers.begins, buffers.found, buffers.parents, buffers.trees,
                buffers.places, buffers.shown, (self.limits.max_states or 0) if cut_short else -1,
                store.states, store.parents, store.arrivals, store.table, counters, counts, dead, seen, seen_at,
                store.outside,
            )
            for part in range(count)
        ]  # fmt: skip
        if cut_short:
            next(part for part in work if kernel.append(*part))  # those behind it are not looked at
        else:
            self.workers.run(kernel.append, work, alone=sum(new) < ALONE)
        at.counts += counts.sum(axis=0)
        for part in range(count):
            already = int(store.counters[kernel.DEADLOCKS])
            missing = dead[part, : min(counters[part, kernel.DEADLOCKS], max(traces - already, 0))]
            at.dead[already : already + len(missing)] = missing
            store.add_counters(counters[part])
            for number, steps in enumerate(at.steps_seen):
                for place in seen_at[part, number, : min(seen[part, number], traces - len(steps))]:
                    parent, tree = buffers.parents[part, place], buffers.trees[part, place]
                    steps.append((int(parent), int(tree), store.packing.unpack(buffers.found[part, place])))

    def _check_states(self) -> None:
        """Evaluate the state predicates on the states on which they were not."""
        tables, store, first = self._tables, self._store, self._at.checked
        missing = [self.limits.traces - len(seen) for seen in self._at.seen]  # what is outside is not kept there
        if not any(missing):
            self._at.checked = store.count
        if self._at.checked == store.count:
            return
        parts = self._parts(first, store.count)
        wanted = np.array(missing, np.bool_)
        inherit = np.array([not seen and first >= len(self._initials) for seen in self._at.seen], np.bool_)
        shown = np.zeros((store.count - first, len(missing)), np.bool_)
        while parts.busy:
            parts.fit(len(store.packing.sizes))
            self.workers.run(
                kernel.check,
                [
                    (
                        *parts.of(part), store.states, first, store.parents, inherit, tables.reads,
                        wanted, shown, tables.instances, tables.forest.pool,
                        store.packing.word, store.packing.shift, store.packing.mask,
                    )
                    for part in parts.busy
                ],
                alone=parts.left.sum() < ALONE,
            )  # fmt: skip
            for part in self._learn(parts, first):
                self._judge(parts, part, first, wanted, shown)
        with interrupts_wait():
            if self.spec.constraint is not None:
                self._note_outside(first, shown[:, -1])
                shown[:, -1] = False
            for seen, column, count in zip(self._at.seen, shown.T, missing, strict=True):
                seen += (first + np.flatnonzero(column)[:count]).tolist()
            self._at.checked = store.count

    def _note_outside(self, first: int, outside: NDArray[np.bool_]) -> None:
        """Note which of the states from the first on are outside of `Spec.within`."""
        at, store = self._at, self._store
        store.outside[first : store.count] = outside
        if first >= len(self._initials):
            np.subtract.at(at.counts[:, 1], store.arrivals[first : store.count][outside], 1)
        at.outside += [0] * (len(at.levels) + 1 - len(at.outside))
        at.outside[len(at.levels)] += int(outside.sum())

    def _learn(self, parts: BlockParts, states: int) -> list[int]:
        """Make the calls that are missing and worth it, and learn from them.

        Parameters:
            parts: the parts that ask for them.
            states: how many states the search has had so far.

        Returns:
            The parts that ask for more. Their states wait for answers of their own.
        """
        effort = self._tables.effort
        asked = parts.jobs(self._tables.first_step)
        jobs = [job for job, wanted in asked if effort.is_worthwhile(job[0], wanted, states)]
        try:
            for tree, call in self.workers.helpers(self._tables.caller).make(jobs):
                self._learn_from(tree, call)
        except TablesFull:
            raise StopSearch("learned more than the compiled engine's tables can hold") from None
        if len(jobs) == len(asked):
            parts.cursors[:, kernel.PATIENT] = False
            return []
        parts.cursors[:, kernel.PATIENT] = True
        return [part for part in parts.busy if len(parts.that_wait(part))]

    def _leaves(self, indices: NDArray[np.int64], first_tree: int, trees: int) -> NDArray[np.int32]:
        """For some states, the code of the leaf that each of some trees leads to; 0 if the path is not known."""
        packing, codes = self._store.packing, np.zeros((len(indices), trees), np.int32)
        pool = self._tables.forest.pool
        kernel.leaves(indices, self._store.states, first_tree, pool, packing.word, packing.shift, packing.mask, codes)
        return codes

    def _steps_from(self, indices: NDArray[np.int64]) -> list[list[tuple[int, list[Changes]]]]:
        """The steps from some states of those action instances whose paths are not known there."""
        tables, found = self._tables, []
        for index, codes in zip(indices, self._leaves(indices, 0, tables.instances), strict=True):
            row = self._row(index)
            of_state = []
            for tree in np.flatnonzero(codes == 0).tolist():
                of_state.append((tree, tables.caller.steps(tree, row)))
                tables.note_called(tree)
            found.append(of_state)
        self._note_values()
        return found

    def _note_values(self) -> None:
        """See that there are bits for the values and the members of collections that were met."""
        packing = self._store.packing
        if self._tables.note_members():
            packing.add(self._sizes())
            self._guards = None
        if not packing.fits(self._sizes()):
            self._widen()

    def _judge(
        self, parts: BlockParts, part: int, first: int, wanted: NDArray[np.bool_], shown: NDArray[np.bool_]
    ) -> None:
        """Evaluate the state predicates on the states of a part that wait, by calls where paths are not known.

        Parameters:
            first, wanted, shown: see `kernel.check`.
        """
        tables, indices = self._tables, parts.that_wait(part)
        codes = self._leaves(indices, tables.instances, len(wanted))
        for index, of_state in zip(indices.tolist(), codes, strict=True):
            shown[index - first] |= of_state == kernel.SHOWN  # as some were learned since the loop asked for them
            row = self._row(index)
            for predicate in np.flatnonzero((of_state == 0) & wanted).tolist():
                shown[index - first, predicate] = tables.caller.shows(tables.instances + predicate, row)
                tables.note_called(tables.instances + predicate)
        parts.cursors[part, kernel.WAITING] = 0

    def _judge_steps(self, parts: BlockParts, buffers: Buffers) -> None:
        """Call the step predicates on the steps of a block of which they are not known."""
        tables, packing = self._tables, self._store.packing
        for part, filled in enumerate(parts.cursors[:, kernel.FILLED]):
            shown = buffers.shown[part, :filled]
            before: tuple[int, list[int]] = (-1, [])
            for place, predicate in np.argwhere(shown == kernel.NOT_KNOWN).tolist():
                parent = int(buffers.parents[part, place])
                if before[0] != parent:
                    before = parent, self._row(parent)
                tree = tables.first_step + predicate
                shown[place, predicate] = tables.caller.shows(
                    tree, before[1], packing.unpack(buffers.found[part, place])
                )
                tables.note_called(tree)

    def _learn_from(self, tree: int, call: Call) -> None:
        tables, packing = self._tables, self._store.packing
        leaf = tables.leaf_of(call)
        if tables.note_members():
            packing.add(self._sizes())
            self._guards = None
        if not tables.all_packed or len(packing.sizes) < self._layout.slots:
            if packing.fits(self._sizes()):
                tables.pack(packing)
            else:
                self._widen()
        tables.learn(tree, call, leaf)  # last: a path must not lead to an outcome that is not packed

    def _widen(self) -> None:
        """A slot has more values than bits: pack everything again, with bits for all of them."""
        packing = Packing(self._sizes(), spare=len(self._layout.members) and 16 + len(self._layout.members) // 2)
        self._stop_if_out_of_memory(8 * packing.words * self._store.count)
        with interrupts_wait():
            self._store.repack(packing)
            self._tables.pack(packing)

    def _make_room(self, coming: int) -> None:
        """Make room for so many more states, if there is memory for them."""
        self._stop_if_out_of_memory(self._store.bytes_to_grow(coming))
        if self._store.count + coming > self._store.room:
            raise StopSearch(self._out_of_memory())
        with interrupts_wait():
            self._store.grow(coming)

    def _stop_if_out_of_memory(self, more: int) -> None:
        reason = self.budget.memory.exceeded(more)
        if reason and self.workers.processes:
            self.workers.end_helpers(for_good=True)  # which the search can do without
            reason = self.budget.memory.exceeded(more)
        if reason:
            raise StopSearch(reason)

    def _most_states(self) -> str:
        return f"reached {counted(self.limits.max_states or 0, 'state')}"

    def _out_of_memory(self) -> str:
        if self._store.room >= MOST_STATES:
            return f"reached {MOST_STATES:,} states, the most that one search can have"
        return self.budget.memory.scarcest.reached

    def _stop_if_out_of_time(self) -> None:
        if self.budget.swallowed:
            raise CutShort(self.budget.swallowed)
        if reason := self.budget.out_of_time():
            raise StopSearch(reason)

    def _violated(self) -> bool:
        dead = bool(self._store.counters[kernel.DEADLOCKS])
        return violated(self._tables, self._at.seen, self._at.steps_seen, dead)

    def _sizes(self) -> list[int]:
        return [len(domain.values) for domain in self._layout.domains]

    def _row(self, index: int) -> list[int]:
        return self._store.packing.unpack(self._store.states[index])

    def _state(self, index: int) -> S:
        state: S = self._layout.state(self._row(index))
        return state

    def _statistics(self) -> Statistics:
        at, counters, count = self._at, self._store.counters.tolist(), self._store.count
        steps = int(at.counts[:, 0].sum())
        begins = [*at.levels, at.level_end if at.levels else 0, count]  # of each level, and of what is beyond the last
        levels = [end - begin for begin, end in itertools.pairwise(begins)]
        levels = [size - outside for size, outside in itertools.zip_longest(levels, at.outside, fillvalue=0)]
        distinct, expanded = self._within(0, count), self._within(0, counters[kernel.EXPANDED])
        learning = self._tables.learning(expanded, count, steps)
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
            actions=action_counts(self.spec, at.counts),
            level_done=(at.next - at.levels[-1]) / max(at.level_end - at.levels[-1], 1) if at.levels else 0.0,
            memory=self._store.bytes_used + learning.memory,
            calls=self._tables.calls,
            learning=learning,
            compared=self._tables.compared,
            levels=tuple(size for size in levels if size > 0),
        )

    def _sightings(self) -> dict[Property, list[Sighting[S]]]:
        dead = self._at.dead[: self._store.counters[kernel.DEADLOCKS]].tolist()
        return sightings(self._tables, self._at.seen, self._at.steps_seen, dead, self._target)

    def _target(self, index: int) -> S:
        """A state that a trace is to lead to."""
        self._targets.add(int(index))
        return self._state(index)

    def _arrivals_to_targets(self) -> dict[S, list[tuple[S, ActionInstance[S]]]]:
        """The last steps of shortest paths to the targets, and to the states on these paths."""
        arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {}
        levels = list(itertools.pairwise([*self._at.levels, self._at.level_end, self._store.count]))
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

        Where one trace is wanted, the step by which the search found a state is enough; and where no more can be had.
        """
        store = self._store
        if self.limits.traces > 1:
            try:
                last = min(last, int(store.counters[kernel.EXPANDED]))
                found = self._steps_to(lambda: store.states[level], first, last)
                return [(before, tree, level[target]) for before, tree, target in found]
            except (StopSearch, KeyboardInterrupt):  # after `--resume`, all has to be learned anew
                pass
        return [(int(store.parents[index]), int(store.arrivals[index]), index) for index in level]

    def _steps_to(self, targets: Callable[[], NDArray[np.uint64]], first: int, last: int) -> list[tuple[int, int, int]]:
        """The steps into some states, by their places there, from the states from the first to the last.

        Parameters:
            targets: gives the states, packed as all are at the time.
            first, last: the states before.
        """
        store, tables = self._store, self._tables
        parts, steps = BlockParts(first, last, 1, self._layout.slots), np.zeros((64, 3), np.int64)
        table, more = np.empty(4 * len(targets()), np.uint64), []
        while parts.busy:
            parts.fit(len(store.packing.sizes))
            packed = targets()
            self.workers.run(kernel.rebuild, [(0, 1, 0, len(packed), packed, table)])
            (full,) = self.workers.run(
                kernel.steps_into,
                [
                    (
                        *parts.of(0), store.states, packed, table, steps, tables.instances, tables.forest.pool,
                        tables.leaf_start, tables.leaf_count, tables.keep, tables.put,
                        store.outside, store.packing.word, store.packing.shift, store.packing.mask,
                    )
                ],
            )  # fmt: skip
            for part in self._learn(parts, last):  # an earlier run knew it, it was forgotten, or it was not learned
                more += self._steps_of(parts.that_wait(part).tolist(), packed)
                parts.cursors[part, kernel.WAITING] = 0
            steps = with_room(steps, len(steps) + tables.most_outcomes if full else 0)
        found = [(before, tree, target) for before, tree, target in steps[: parts.cursors[0, kernel.FILLED]].tolist()]
        return sorted(found + more)

    def _steps_of(self, indices: list[int], targets: NDArray[np.uint64]) -> list[tuple[int, int, int]]:
        """The same, by calling the action instances whose paths are not known.

        Parameters:
            indices: the states before.
            targets: the states, packed as all are.
        """
        wanted = {target.tobytes(): number for number, target in enumerate(targets)}
        tables, found = self._tables, []
        for index in indices:
            row = self._row(index)
            if self._within(index, index + 1) == 0:
                continue
            for tree in range(tables.instances):
                steps = tables.steps(tree, row)
                for step in tables.caller.steps(tree, row) if steps is None else steps:
                    after = self._store.packing.pack(tables.caller.row_after(row, step)).tobytes()
                    if after in wanted:
                        found.append((index, tree, wanted[after]))
        return found


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    workers: int | None = None,
    checkpoint: Path | None = None,
    resume: Path | str | None = None,
    checkpoint_every: float = CHECKPOINT_SECONDS,
    outlook: Outlook | None = None,
    spent: float = 0.0,
) -> Result:
    """Search a spec's states breadth-first, with learned transition tables.

    Parameters:
        spec: what to search.
        limits: what may stop the search early; by default the first violation, and most of the free memory.
        progress: called every so often with the counts so far.
        workers: how many threads share the work; by default, one for each core.
        checkpoint: a new folder, in which the search is saved from time to time and at its end.
        resume: such a folder of an earlier run, to go on from there, and to save to.
        checkpoint_every: seconds between two checkpoints.
        outlook: whether the search should be given up; by default, it never is.
        spent: seconds that it took before this call.

    Returns:
        The result: but for the time and the memory it takes, what `checker.oracle.explore` returns.

    Raises:
        GivenUp: learning turned out slower than calling.
        SpecError: the spec misbehaved.
        LeadlineError: the folder cannot be written, is used by another process, is of another search, or is damaged.
    """
    compiled_ahead(_search_once)
    limits, threads = limits or Limits(), Workers(workers or usable_cores())
    budget = Budget(limits, lambda: threads.processes)
    budget.started -= spent
    folder, saved = None, None
    purity = Purity(spec)
    try:
        with budget.enforced():
            if resume is not None:
                folder = Checkpoint(Path(resume), checkpoint_every)
                saved = folder.load(spec, limits)
            elif checkpoint is not None:
                folder = Checkpoint(checkpoint, checkpoint_every)
                folder.begin(spec, limits)
            adjustments = saved.adjustments if saved is not None else Adjustments()
            while True:
                try:
                    search = CompiledSearch(
                        spec, limits, progress, threads, adjustments, budget, folder, saved, purity, outlook
                    )
                    result = search.run()
                    break
                except (ShapeChanged, Crowded, NotRecorded, NewKind) as change:
                    purity.check_again()
                    adjustments = adjustments.after(change)
                saved = None
                if folder is not None:
                    folder.start_over()
    except LimitReached as stop:  # before there was anything to report
        result = nothing_searched(spec, "compiled", str(stop))
    finally:
        threads.close()
        make_ordinary()
        if folder is not None:
            folder.close()
    return attrs.evolve(result, settings={} if workers is None else {"workers": workers})


def _search_once(spec: Spec[S]) -> None:
    """Search a small spec in this thread."""
    limits, threads = Limits(traces=2, keep_going=True), Workers(1)
    try:
        search = CompiledSearch(spec, limits, None, threads, Adjustments(), Budget(limits), None, None, Purity(spec))
        search.run()
        search._leaves(np.zeros(1, np.int64), 0, 1)  # which is called only where calls are not worth learning
    finally:
        threads.close()
        make_ordinary()
