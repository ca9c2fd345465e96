"""Random walks through the learned tables: behaviours at compiled speed, every property checked on the way.

Walkers make some steps each, then all meet: what they have shown and counted is collected, and they go on. So what a
walker does depends on the seed and on what all had done by the last meeting, not on the number of threads.

Guidance chooses where walks begin and which of the possible steps they take, and nothing else. Every property that is
sought is evaluated in each state and on each step walked, and a counterexample is taken again by calls of the spec. So
counters that states share by their hashes can make a search longer, but not its answer wrong.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from checker.action import ActionInstance
from checker.content import content
from checker.covered import CoverageCounts
from checker.engines.budget import LOOK_SECONDS, StopSearch
from checker.engines.compiled import walk_arrays as arrays
from checker.engines.compiled import walk_kernel as kernel
from checker.engines.compiled.adjustments import CHANGES, Adjustments, Crowded
from checker.engines.compiled.contents import Contents
from checker.engines.compiled.guards import Guards
from checker.engines.compiled.interrupts import interrupts_wait
from checker.engines.compiled.kernel import NOT_SHOWN, SHOWN
from checker.engines.compiled.learn.calls import Call, Caller, Changes, Job, Row
from checker.engines.compiled.learn.comparison import Comparison
from checker.engines.compiled.learn.domains import NewKind
from checker.engines.compiled.learn.forest import TABLES_FULL, TablesFull, with_room
from checker.engines.compiled.learn.layout import Layout
from checker.engines.compiled.learn.learned import Tables
from checker.engines.compiled.learn.nodes import ShapeChanged
from checker.engines.compiled.packing import Packing
from checker.engines.compiled.sample import StateSample
from checker.engines.compiled.starts import Starts
from checker.engines.compiled.walk_coverage import WalkCoverage
from checker.engines.compiled.watch import Watch
from checker.engines.purity import Purity, leads_elsewhere
from checker.properties import DEADLOCK, Property
from checker.result import ActionCount, Statistics, WalkCounts
from checker.spec import Spec
from checker.trace import Trace

S = TypeVar("S")

WALKERS = 512
"""Walkers, for short walks."""

PLACES = 2**22
"""Steps of all walkers together that are remembered: for long walks, there are fewer walkers."""

ROUND = 64
"""The most steps of each walker between two meetings."""

FIRST, SHARE = 32, 8
"""Steps that all walkers make together before the first meeting; later, one step for every eight made so far. So walks
are guided from the start, and a flaw that is found soon ends the search soon: measured in `starts`."""

FEWEST = 8
"""Walkers that move at first, and steps of each between two meetings until all walkers move."""

ROAMING, RETURNS = 64, 192
"""Of 256 steps, those chosen among all; of 256 walks, those that begin within an earlier one; measured in `starts`."""

VISITS = 2**21
"""Counters of how often states were visited; states share them by their hashes."""

ALONE = 64
"""Fewer walkers are not worth waking a second thread for."""

COMPARED = 32
"""Walkers at whose states learned paths are compared with calls, after each time that something was learned."""


class Walks(Generic[S]):
    """Random walks of one spec.

    Parameters:
        spec: what to walk.
        walks: how many walks there are to be.
        steps: the most steps of each.
        seed: the same seed gives the same walks.
        watch: checks the time and memory that all of it may take, and has the threads that share the work.
        purity: checks some of the states.
        uniform: whether every step is chosen alike, without guidance.
        coverage: whether `covered` is wanted.

    Attributes:
        traces: for each property that was shown violated (a witness: satisfied), the walk that showed it.
        sampled: the distinct states, as far as they are known.
        taken, enabled: for each action instance, how often it was taken, and from how many states it was possible.
        ends: for each reason and number of steps, how many walks ended so; see `walk_arrays.DEAD_END`.
        steps, begun: steps taken, and walks begun.
    """

    def __init__(
        self, spec: Spec[S], walks: int, steps: int, seed: int, watch: Watch, purity: Purity[S],
        *, uniform: bool = False, coverage: bool = False,
    ) -> None:  # fmt: skip
        self.spec, self.workers, self.watch, self._purity = spec, watch.workers, watch, purity
        self._walks, self._length = walks, steps
        self._adjustments = Adjustments()
        self._initials = sorted(spec.initials(), key=self._content)
        self._covers, self._room = coverage, 256
        self._answers: dict[int, list[tuple[int, list[Changes] | bool]]] = {}
        self._learn_anew()
        self.begin(seed, uniform=uniform)

    def begin(self, seed: int, *, uniform: bool) -> None:
        """Forget all walks, and begin them with another seed.

        What was learned of the spec is kept: it saves time, and makes no difference to the walks.

        Parameters:
            seed, uniform: see `Walks`.
        """
        instances, steps = len(self.spec.instances), self._length
        self.traces: dict[Property, Trace[S]] = {}
        self.sampled = StateSample()
        self.taken, self.enabled = np.zeros(instances, np.int64), np.zeros(instances, np.int64)
        self.ends = np.zeros((arrays.REASONS, steps + 1), np.int64)
        self.steps = self.begun = 0
        count = max(1, min(WALKERS, self._walks, PLACES // (steps + 1)))
        self._numbers = np.zeros(arrays.NUMBERS, np.int64)
        seed = (seed + 2**63) % 2**64 - 2**63
        self._numbers[[arrays.SEED, arrays.WALKS, arrays.LENGTH]] = seed, self._walks, steps
        self._numbers[[arrays.ROAMING, arrays.RETURNS, arrays.STRIDE]] = ROAMING, RETURNS, count
        self._visits = np.zeros(0 if uniform else VISITS, np.uint32)
        self._answers.clear()
        self._coverage = WalkCoverage(self.spec) if self._covers else None
        self._widen_initials()
        self._walkers = arrays.new_walkers(count, self._layout.slots, len(self._checks) + 1, self._words, steps)
        sizes = [last - first for first, last in self._parts(count)]
        slots = self._layout.slots if self._covers else 0
        self._samples = [arrays.new_sample(size * ROUND, instances, steps, slots) for size in sizes]
        self._starts = Starts.none(self._layout.slots, steps)

    # What is known.

    def _learn_anew(self) -> None:
        """Make tables in which nothing is known, with what was found out about the spec so far."""
        spec, adjustments = self.spec, self._adjustments
        given = adjustments.whole, adjustments.apart, adjustments.read_when_copied
        self._layout = Layout(spec.initials()[0], *given)
        rows = [self._layout.row(state) for state in self._initials]
        self._tables = Tables(Caller(spec, self._layout, adjustments.given_states, self._purity))
        self._comparison = Comparison(self._tables)
        self._checks = (*self._tables.state_checks, *self._tables.step_checks)
        self._words = len(self._checks) // 64 + 1
        self._pack()
        self._contents.calibrate(self._initials[0])
        self._initial_rows = np.zeros((len(rows), self._layout.slots), np.int64)
        for place, row in enumerate(rows):
            self._initial_rows[place, : len(row)] = row
        self._outcomes_known = 0
        self._begins = np.zeros(16, np.int64)
        self._slots, self._values = np.zeros(16, np.int32), np.zeros(16, np.int32)
        self._reads = np.zeros((0, 0), np.uint64)
        self._answers.clear()

    def _pack(self) -> None:
        """Make room for twice the values that each slot has."""
        self._packing = Packing([2 * size for size in self._layout.sizes()], spare=64)
        self._tables.pack(self._packing)
        self._contents = Contents(self._layout, self._packing)
        self._guards: Guards | None = None

    def _note_values(self) -> None:
        """See that there is room for the values and the members of collections that were met."""
        sizes = self._layout.sizes()
        if self._tables.note_members():
            self._packing.add(sizes)
            self._guards = None
        if self._packing.fits(sizes):
            self._tables.pack(self._packing)
        else:
            offset = self._contents.offset
            self._pack()
            self._contents.offset = offset

    def _learned(self) -> arrays.Learned:
        """All that the loop has to know."""
        tables = self._tables
        self._contents.update()
        if self._guards is None or self._guards.are_outdated:
            self._guards = Guards(tables, self._packing)
        for steps in itertools.islice(tables.outcomes, self._outcomes_known, None):
            self._add_outcome(steps)
        answers = self._outcomes_known
        for steps in self._answered():
            self._add_outcome(steps)
        self._outcomes_known = answers  # those of answers are written over
        return arrays.Learned(
            tables.forest.pool, tables.leaf_start, tables.leaf_count, self._begins, self._slots, self._values,
            self._guards.always, self._guards.pairs, self._guards.table, self._tables.read_by_slot(self._words),
            self._contents.base, self._contents.table,
        )  # fmt: skip

    def _add_outcome(self, changes: Changes) -> None:
        first = int(self._begins[self._outcomes_known])
        last = first + len(changes)
        self._begins = with_room(self._begins, self._outcomes_known + 2)
        self._slots, self._values = with_room(self._slots, last), with_room(self._values, last)
        self._slots[first:last], self._values[first:last] = list(changes), list(changes.values())
        self._outcomes_known += 1
        self._begins[self._outcomes_known] = last

    def _answered(self) -> Iterable[Changes]:
        """The steps in all answers, by walker."""
        for _, answers in sorted(self._answers.items()):
            for _, given in answers:
                if not isinstance(given, bool):
                    yield from given

    def _answers_now(self) -> arrays.Answers:
        """The answers, for the loop; see `_learned`, which has their outcomes behind all others."""
        begins = np.zeros(len(self._walkers.walk) + 1, np.int64)
        trees, start, count = [], [], []
        outcome = len(self._tables.outcomes)
        for walker, answers in sorted(self._answers.items()):
            begins[walker + 1] = len(answers)
            for tree, given in answers:
                trees.append(tree)
                if isinstance(given, bool):
                    start.append(SHOWN if given else NOT_SHOWN)
                    count.append(-1)
                else:
                    start.append(outcome)
                    count.append(len(given))
                    outcome += len(given)
        return arrays.Answers(
            np.cumsum(begins), np.array(trees, np.int64), np.array(start, np.int64), np.array(count, np.int64)
        )

    # The walkers.

    def _parts(self, count: int) -> list[tuple[int, int]]:
        """The walkers of each thread's turn: the first, and where they end."""
        parts = min(count, 1 if self.workers.count == 1 else 4 * self.workers.count)
        return list(itertools.pairwise(count * part // parts for part in range(parts + 1)))

    def _plan(self) -> arrays.Plan:
        numbers, caller = self._numbers, self._tables.caller
        sought = [item not in self.traces for item in self._checks]
        numbers[arrays.FIRST_CHECK], numbers[arrays.FIRST_STEP] = caller.instances, caller.first_step
        numbers[arrays.CHECKS] = len(self._checks)
        numbers[arrays.CONSTRAINED] = self.spec.constraint is not None
        numbers[arrays.DEADLOCKS] = self.spec.check_deadlock and DEADLOCK not in self.traces
        bits = np.zeros(self._words, np.uint64)
        for predicate in itertools.compress(range(len(sought)), sought):
            bits[predicate // 64] |= np.uint64(1 << predicate % 64)
        return arrays.Plan(
            numbers,
            self._initial_rows,
            self._contents.of(self._initial_rows),
            bits,
            self._visits,
            np.array([self.sampled.limit], np.uint64),
            *self._starts[:4],
        )

    def _widen(self) -> None:
        """Give walkers the slots that are new, in which all have 0."""
        more = self._layout.slots - self._walkers.values.shape[1]
        if more > 0:
            self._widen_initials()
            wider = {name: np.pad(getattr(self._walkers, name), ((0, 0), (0, more))) for name in arrays.ROWS}
            kept = np.pad(self._walkers.kept, ((0, 0), (0, 0), (0, more)))
            self._walkers = self._walkers._replace(**wider, kept=kept)
            self._starts = self._starts.widened(more)
            if self._coverage is not None:
                self._samples = [
                    sample._replace(rows=np.pad(sample.rows, ((0, 0), (0, more)))) for sample in self._samples
                ]

    def _widen_initials(self) -> None:
        """Give the initial states all slots, as a walk that begins there must leave nothing of the one before."""
        more = self._layout.slots - self._initial_rows.shape[1]
        self._initial_rows = np.pad(self._initial_rows, ((0, 0), (0, more)))

    def _translate(self, before: Layout) -> None:
        """After the layout has changed: write the walkers' states in the new one, and look at all again."""
        walkers = self._walkers
        under_way = np.flatnonzero(walkers.phase < arrays.ENDED)
        kept = walkers.kept.reshape(-1, walkers.kept.shape[2])
        of_kept = np.flatnonzero(np.arange(arrays.KEEPS) < walkers.found[:, None])
        wanted = [
            (walkers.values, under_way),
            (walkers.rare, np.flatnonzero(walkers.rare_visits >= 0)),
            (kept, of_kept),
            (self._starts.rows, np.arange(len(self._starts.rows))),
        ]
        found = [[self._layout.row(before.state(old[place].tolist())) for place in some] for old, some in wanted]
        self._note_values()
        self._widen_initials()
        slots = self._layout.slots
        values, rare, kept, starts = (np.zeros((len(old), slots), np.int64) for old, _ in wanted)
        for array, (_, places), rows in zip((values, rare, kept, starts), wanted, found, strict=True):
            for place, row in zip(places, rows, strict=True):
                array[place, : len(row)] = row
        self._walkers = walkers = walkers._replace(
            values=values, after=np.zeros_like(values), rare=rare, kept=kept.reshape(*walkers.kept.shape[:2], slots)
        )
        self._starts = self._starts._replace(rows=starts)
        if self._coverage is not None:
            self._samples = [
                sample._replace(rows=np.zeros((len(sample.rows), slots), np.int64)) for sample in self._samples
            ]
        walkers.phase[under_way] = arrays.ARRIVED
        walkers.touched[:] = ~np.uint64(0)
        walkers.calm[:] = 0
        walkers.parked[:] = walkers.fresh[:] = False

    # The walks.

    def round(self) -> bool:
        """Have each walker make some steps, and collect what they have shown; whether there are more to make.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError: before they were made.
            SpecError: the spec misbehaved.
        """
        steps = max(FIRST, self.steps // SHARE)
        moving = np.flatnonzero(self._walkers.phase != arrays.FINISHED)[: max(FEWEST, steps // FEWEST)]
        self._walkers.left[moving] = min(-(-steps // max(len(moving), 1)), ROUND)
        while True:
            try:
                self._make_round()
                break
            except CHANGES as change:
                self._look_at_sample()
                self._purity.check_again()
                while True:
                    before, self._adjustments = self._layout, self._adjustments.after(change)
                    try:
                        self._learn_anew()
                        self._translate(before)
                        break
                    except (ShapeChanged, NewKind) as again:
                        change = again
                        self._layout = before
        self.collect()
        self._look_at_sample()
        return bool((self._walkers.phase != arrays.FINISHED).any())

    def _make_round(self) -> None:
        looked = time.monotonic()
        while True:
            walkers = self._walkers
            busy = (walkers.left > 0) & (walkers.phase != arrays.FINISHED)
            if not busy.any():
                return
            for walker in list(self._answers):
                if not walkers.fresh[walker]:
                    del self._answers[walker]
            learned = self._learned()
            given = self._plan(), learned, self._answers_now(), walkers
            room = len(learned.always), self._words, self._room
            full = self.workers.run(
                kernel.walk,
                [
                    (first, last, *given, sample, arrays.new_scratch(*room))
                    for (first, last), sample in zip(self._parts(len(walkers.walk)), self._samples, strict=True)
                    if busy[first:last].any()
                ],
                alone=int(busy.sum()) < ALONE,
            )
            self._room = max(self._room, *(2 * most for most in full))
            if walkers.parked.any():
                self._learn(np.flatnonzero(walkers.parked))
                if self._layout.crowded:
                    raise Crowded(frozenset(self._layout.crowded))
            self.watch.pause()
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                self.watch.need(0)

    def _learn(self, parked: NDArray[np.int64]) -> None:
        """Make the calls that walkers wait for: those that are worth it are learned from, the others answered."""
        tables, walkers = self._tables, self._walkers
        wanting: list[tuple[int, int, tuple[int, int]]] = []
        wanted: Counter[tuple[int, int]] = Counter()
        for walker in parked.tolist():
            for tree, node, number in walkers.wants[walker, : walkers.wanted[walker]].tolist():
                wanting.append((walker, tree, (node, number)))
                wanted[node, number] += 1
        jobs: dict[tuple[int, int], Job] = {}
        answered: list[tuple[int, int]] = []
        rows: dict[int, tuple[list[int], list[int]]] = {}
        for walker, asked_as, end in wanting:
            tree = asked_as % arrays.IDLE
            if not tables.effort.is_worthwhile(tree, wanted[end], self.steps + 1):
                answered.append((walker, asked_as))
            elif end not in jobs:
                jobs[end] = tree, self._rows(rows, walker, asked_as)
        try:
            for job, call in self.workers.helpers(tables.caller).make(list(jobs.values())):
                self._learn_from(*job, call)
        except TablesFull:
            raise StopSearch(TABLES_FULL) from None
        for walker, asked_as in answered:
            self._answer(walker, asked_as, self._rows(rows, walker, asked_as))
        self._note_values()
        self._widen()
        if jobs:
            self._compare()
        walkers.parked[:] = False

    def _rows(self, rows: dict[int, tuple[list[int], list[int]]], walker: int, asked_as: int) -> tuple[list[int], ...]:
        """The states that a walker wants to know something of."""
        if walker not in rows:
            rows[walker] = self._walkers.values[walker].tolist(), self._walkers.after[walker].tolist()
        before, after = rows[walker]
        if asked_as % arrays.IDLE < self._tables.first_step:
            return (before,)
        return before, (before if asked_as >= arrays.IDLE else after)

    def _learn_from(self, tree: int, rows: tuple[Row, ...], call: Call) -> None:
        tables = self._tables
        leaf = tables.leaf_of(call)
        self._note_values()
        tables.learn(tree, rows, call, leaf)

    def _answer(self, walker: int, asked_as: int, rows: tuple[Sequence[int], ...]) -> None:
        """Call what a walker wants to know, for this once."""
        tables, tree = self._tables, asked_as % arrays.IDLE
        given: list[Changes] | bool
        given = tables.caller.steps(tree, rows[0]) if tree < tables.instances else tables.caller.shows(tree, *rows)
        tables.note_called(tree)
        if not self._walkers.fresh[walker]:
            self._answers[walker] = []
            self._walkers.fresh[walker] = True
        self._answers[walker].append((asked_as, given))

    def _compare(self) -> None:
        """Compare what was learned with calls, at the states of some walkers."""
        walkers = self._walkers
        some = np.unique(np.linspace(0, len(walkers.walk) - 1, COMPARED, dtype=np.int64))
        some = some[walkers.phase[some] < arrays.ENDED]
        if len(some):
            packed = np.array([self._packing.pack(walkers.values[walker].tolist()) for walker in some])
            self._comparison.paths(packed, self._packing, 0, len(packed))

    # What was found.

    def _note_sample(self) -> None:
        """Keep the states that were noted for the sample until they are looked at."""
        if self._coverage is not None:
            for sample in self._samples:
                filled = sample.counters[arrays.FILLED]
                self._coverage.add(sample.hashes[:filled], sample.rows[:filled], self.sampled.limit)

    def _look_at_sample(self) -> None:
        """Look at the states that were noted for the sample, while their layout is the present one."""
        if self._coverage is not None:
            self._note_sample()
            self._coverage.look(self._layout, self.watch)

    def collect(self) -> None:
        """Count what the walkers have done since they last met, and keep what they have shown."""
        with interrupts_wait():
            self._note_sample()
            for sample in self._samples:
                filled, met = sample.counters[arrays.FILLED], sample.counters[arrays.MET]
                self.sampled.add(*(array[:filled] for array in sample[1:5]))
                if len(self._visits):
                    kernel.visit(self._visits, sample.met[:met])
                self.steps += int(sample.counters[arrays.STEPS])
                self.begun += int(sample.counters[arrays.BEGUN])
                self.taken += sample.taken
                self.enabled += sample.enabled
                self.ends += sample.ends
                for array in (sample.counters, sample.taken, sample.enabled, sample.ends):
                    array[...] = 0
        walkers = self._walkers
        if len(self._visits):
            with interrupts_wait():
                self._starts = self._starts.with_kept(walkers, self._visits, PLACES)
                walkers.found[:] = 0
        for column, item in enumerate((*self._checks, DEADLOCK)):
            shown = np.flatnonzero(walkers.seen[:, column] >= 0)
            if item in self.traces or not len(shown):
                continue
            first = shown[np.lexsort((walkers.walk[shown], walkers.seen[shown, column]))[0]]
            self.traces[item] = self._trace(int(first), column, item)
        walkers.seen[:] = -1

    def _trace(self, walker: int, column: int, item: Property) -> Trace[S]:
        """The walk that showed a property, taken again by calls.

        Raises:
            SpecError: it leads elsewhere by now.
        """
        walkers = self._walkers
        steps, idle = int(walkers.seen[walker, column]), int(walkers.idle[walker, column])
        taken = steps - (idle >= 0)
        hashes, trees = walkers.path[walker].tolist(), walkers.trees[walker].tolist()
        state = next(state for state in self._initials if self._content(state) == hashes[0])
        states, instances = [state], []
        for step in range(taken):
            instance: ActionInstance[S] = self.spec.instances[trees[step]]
            successors = [
                after for after in self.spec.take(instance, state) if self._content(after) == hashes[step + 1]
            ]
            if not successors:
                raise leads_elsewhere(instance)
            state = successors[0]
            states.append(state)
            instances.append(instance)
        if idle >= 0:
            states.append(state)
            instances.append(self.spec.instances[idle])
        return Trace(self.spec, states, instances, item)

    def _content(self, state: S) -> int:
        return content(type(state).__name__, state)

    @property
    def covered(self) -> CoverageCounts | None:
        """What was tried; None if that is not wanted."""
        if self._coverage is None:
            return None
        new = self.sampled.led_to(len(self.spec.instances))
        return self._coverage.covered(self.sampled, self.enabled, self.taken, new)

    @property
    def statistics(self) -> Statistics:
        """The counts so far."""
        sampled, spec, tables = self.sampled, self.spec, self._tables
        names = [instance.action.name for instance in spec.instances]
        actions = {action.name: ActionCount() for action in spec.actions}
        enabled = dict.fromkeys(actions, 0)
        new = sampled.led_to(len(names)).tolist()
        for name, taken, of_sample, states in zip(names, self.taken.tolist(), new, self.enabled.tolist(), strict=True):
            actions[name].generated += taken
            actions[name].distinct += sampled.scaled(of_sample)
            enabled[name] += states
        under_way = self._walkers.step[self._walkers.phase < arrays.ENDED]
        ended = np.flatnonzero(self.ends.any(axis=0))
        lengths = self.ends.sum(axis=0)[: ended.max() + 1].tolist() if len(ended) else []
        degrees = sampled.degrees
        return Statistics(
            distinct=sampled.distinct,
            outside=0,
            generated=self.steps + self.begun,
            depth=max(int(under_way.max(initial=0)), len(lengths) - 1, 0) + (self.begun > 0),
            queue=None,
            expanded=sampled.distinct,
            successors=sampled.scaled(int(degrees.sum())),
            out_degree_min=int(degrees.min(initial=2**62)) if len(degrees) else 0,
            out_degree_max=int(degrees.max(initial=0)),
            deadlocks=sampled.scaled(int(np.count_nonzero(degrees == 0))),
            seconds=self.watch.budget.seconds,
            actions=actions,
            memory=tables.nbytes + sum(array.nbytes for array in (*self._walkers, self._visits)),
            calls=tables.calls,
            compared=tables.compared,
            walked=WalkCounts(
                behaviours=self.begun,
                steps=self.steps,
                is_exact=sampled.is_exact,
                lengths=tuple(lengths),
                depths=tuple(map(sampled.scaled, np.bincount(sampled.depths).tolist())),
                dead_ends=int(self.ends[arrays.DEAD_END].sum()),
                outside=int(self.ends[arrays.OUTSIDE].sum()),
                enabled=enabled,
            ),
        )
