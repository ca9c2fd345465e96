"""Random search by the learned tables: walks, and states expanded in random order, with every property checked.

Walkers make some steps each, then all meet: what they have shown and counted is collected, and they go on. So what a
walker does depends on the seed and on what all had done by the last meeting, not on the number of threads.

Most walkers expand states: they look at all next states of one state of the frontier, which the new ones join. The
others walk, from an initial state or one of the frontier, and look at all next states on their way.

The frontier decides only where walks begin and which states are expanded. Every property that is sought is
evaluated in each state and on each step looked at, and a counterexample is taken again by calls of the spec. So
collisions of hashes can make a search longer, but not its answer wrong.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
from checker.engines.compiled.frontier import NUMBERS, Arrivals, Frontier
from checker.engines.compiled.guards import Guards
from checker.engines.compiled.interrupts import interrupts_wait
from checker.engines.compiled.kernel import NOT_SHOWN, SHOWN
from checker.engines.compiled.learn.calls import Call, Caller, Changes, Job
from checker.engines.compiled.learn.comparison import Comparison
from checker.engines.compiled.learn.domains import NewKind
from checker.engines.compiled.learn.forest import TABLES_FULL, TablesFull, with_room
from checker.engines.compiled.learn.layout import Layout
from checker.engines.compiled.learn.learned import Tables
from checker.engines.compiled.learn.nodes import ShapeChanged
from checker.engines.compiled.packing import Packing
from checker.engines.compiled.sample import StateSample
from checker.engines.compiled.walk_coverage import WalkCoverage
from checker.engines.compiled.watch import Watch
from checker.engines.purity import Purity, leads_elsewhere
from checker.properties import DEADLOCK, Property
from checker.result import ActionCount, Statistics, WalkCounts
from checker.spec import Spec
from checker.trace import Trace

S = TypeVar("S")
T = TypeVar("T")

WALKERS = 512
"""Walkers, for short walks."""

PLACES = 2**22
"""Steps of all walkers together that are remembered: for long walks, there are fewer walkers."""

ROUND = 64
"""The most steps of each walker between two meetings."""

FIRST, SHARE = 8, 16
"""Steps that all walkers make together before the first meeting; later, one step for every 16 made so far. So a flaw
that is found soon ends the search soon."""

FEWEST = 2
"""Walkers that move at first, and steps of all of them for each further one that moves."""

EXPANDERS, EXPANSIONS = 4096, 192
"""Walkers that expand states at the same time; and of 256 steps, those that expand a state."""

FROM_FRONTIER, STARTS = 192, 1024
"""Of 256 walks, those that begin in the frontier, and the states of it at which they may begin."""

ALONE = 64
"""Fewer walkers are not worth waking a second thread for."""

COMPARED = 32
"""Walkers at whose states learned paths are compared with calls, after each time that something was learned."""


class Walks(Generic[S]):
    """A random search of one spec.

    Parameters:
        spec: what to walk.
        walks: how many walks there are to be.
        steps: the most steps of each.
        seed: the same seed gives the same walks.
        watch: checks the time and memory that all of it may take, and has the threads that share the work.
        purity: checks some of the states.
        uniform: whether to walk from initial states only, and to look only at the steps taken.
        coverage: whether `covered` is wanted.

    Attributes:
        traces: for each property that was shown violated (a witness: satisfied), the walk that showed it.
        sampled: the distinct states, as far as they are known.
        taken, enabled: for each action instance, how often it was taken, and from how many states it was possible.
        ends: for each reason and number of steps, how many walks ended so; see `walk_arrays.DEAD_END`.
        steps, begun, expanded: steps taken and states expanded; walks begun; and states expanded.
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
        self._answers: dict[int, dict[tuple[int, int], list[Changes] | bool]] = {}
        self._learn_anew()
        self.begin(seed, uniform=uniform)

    def begin(self, seed: int, *, uniform: bool) -> None:
        """Forget all walks, and begin them with another seed.

        What was learned of the spec is kept: it saves time, and makes no difference to the walks, unless states are
        given up for want of room.

        Parameters:
            seed, uniform: see `Walks`.
        """
        instances, steps = len(self.spec.instances), self._length
        self.traces: dict[Property, Trace[S]] = {}
        self.sampled = StateSample()
        self.taken, self.enabled = np.zeros(instances, np.int64), np.zeros(instances, np.int64)
        self.ends = np.zeros((arrays.REASONS, steps + 1), np.int64)
        self.steps = self.begun = self.expanded = self._looked = self._deepest = 0
        count = max(1, min(WALKERS, self._walks, PLACES // (steps + 1)))
        self._numbers = np.zeros(arrays.NUMBERS, np.int64)
        seed = (seed + 2**63) % 2**64 - 2**63
        self._numbers[[arrays.SEED, arrays.WALKS, arrays.LENGTH]] = seed, self._walks, steps
        self._numbers[[arrays.LOOKS, arrays.FROM_FRONTIER, arrays.WALKING]] = not uniform, FROM_FRONTIER, count
        self._answers.clear()
        self._coverage = WalkCoverage(self.spec) if self._covers else None
        self._widen_initials()
        expanders = 0 if uniform else EXPANDERS
        slots = self._layout.slots
        self._walkers = arrays.new_walkers(count, expanders, slots, len(self._checks) + 1, self._words, steps)
        self._walkers.phase[count:] = arrays.FINISHED
        self._walkers.walk[:] = np.arange(count + expanders) - count
        sizes = [ROUND * (min(last, count) - min(first, count)) + last - first for first, last in self._parts()]
        noted = slots if self._covers else 0
        self._samples = [arrays.new_sample(size, instances, steps, noted) for size in sizes]
        self._frontier, self._expanding = Frontier(seed, slots), np.zeros(0, np.int64)
        self._starts = self._frontier.starts(0, steps)
        self._found: list[Arrivals] = []
        if not uniform:
            none = np.full(len(self._initial_rows), -1)
            hashes = self._contents.of(self._initial_rows)
            rows = self._initial_rows.astype(np.int32)
            self._found.append(Arrivals(rows, hashes, none, none.astype(np.int32)))

    # What is known.

    def _learn_anew(self) -> None:
        """Make tables in which nothing is known, with what was found out about the spec so far."""
        spec, adjustments = self.spec, self._adjustments
        given = adjustments.whole, adjustments.apart, adjustments.read_when_copied
        self._layout = Layout(spec.initials()[0], *given)
        rows = [self._layout.row(state) for state in self._initials]
        measures = spec.distance is not None
        self._tables = Tables(Caller(spec, self._layout, adjustments.given_states, self._purity, measures=measures))
        self._comparison = Comparison(self._tables)
        self._checks = (*self._tables.state_checks, *self._tables.step_checks)
        self._words = len(self._checks) // 64 + 1
        self._of_states = self._bits(range(self._tables.first_step - self._tables.instances))
        self._pack()
        self._contents.calibrate(self._initials[0])
        self._initial_rows = _padded(rows, self._layout.slots)
        self._outcomes_known = 0
        self._begins = np.zeros(16, np.int64)
        self._slots, self._values = np.zeros(16, np.int32), np.zeros(16, np.int32)
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
            for _, given in sorted(answers.items()):
                if not isinstance(given, bool):
                    yield from given

    def _answers_now(self) -> arrays.Answers:
        """The answers, for the loop; see `_learned`, which has their outcomes behind all others."""
        begins = np.zeros(len(self._walkers.walk) + 1, np.int64)
        about, start, count = list[tuple[int, int]](), [], []
        outcome = len(self._tables.outcomes)
        for walker, answers in sorted(self._answers.items()):
            begins[walker + 1] = len(answers)
            for asked, given in sorted(answers.items()):
                about.append(asked)
                if isinstance(given, bool):
                    start.append(SHOWN if given else NOT_SHOWN)
                    count.append(-1)
                else:
                    start.append(outcome)
                    count.append(len(given))
                    outcome += len(given)
        return arrays.Answers(
            np.cumsum(begins),
            np.array([tree for tree, _ in about], np.int64),
            np.array([content for _, content in about], np.uint64),
            np.array(start, np.int64),
            np.array(count, np.int64),
        )

    # The walkers.

    def _parts(self) -> list[tuple[int, int]]:
        """The walkers of each thread's turn: the first, and where they end."""
        count = len(self._walkers.walk)
        parts = min(count, 1 if self.workers.count == 1 else 4 * self.workers.count)
        return list(itertools.pairwise(count * part // parts for part in range(parts + 1)))

    def _plan(self) -> arrays.Plan:
        numbers, caller = self._numbers, self._tables.caller
        sought = [item not in self.traces for item in self._checks]
        numbers[arrays.FIRST_CHECK], numbers[arrays.FIRST_STEP] = caller.instances, caller.first_step
        numbers[arrays.CHECKS] = len(self._checks)
        numbers[arrays.CONSTRAINED] = self.spec.constraint is not None
        numbers[arrays.DEADLOCKS] = self.spec.check_deadlock and DEADLOCK not in self.traces
        return arrays.Plan(
            numbers,
            self._initial_rows,
            self._contents.of(self._initial_rows),
            self._bits(itertools.compress(range(len(sought)), sought)),
            self._of_states,
            np.array([self.sampled.limit], np.uint64),
            *self._starts,
        )

    def _bits(self, predicates: Iterable[int]) -> NDArray[np.uint64]:
        """Bits of some predicates."""
        bits = np.zeros(self._words, np.uint64)
        for predicate in predicates:
            bits[predicate // 64] |= np.uint64(1 << predicate % 64)
        return bits

    def _widen(self) -> None:
        """Give walkers the slots that are new, in which all have 0.

        Raises:
            Crowded: there would be too many.
        """
        if self._layout.crowded:
            raise Crowded(frozenset(self._layout.crowded))
        more = self._layout.slots - self._walkers.values.shape[1]
        if more > 0:
            self._widen_initials()
            wider = {name: np.pad(getattr(self._walkers, name), ((0, 0), (0, more))) for name in arrays.ROWS}
            self._walkers = self._walkers._replace(**wider)
            self._frontier.widen(self._layout.slots)
            self._found = [found._replace(rows=np.pad(found.rows, ((0, 0), (0, more)))) for found in self._found]
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
        walkers, frontier = self._walkers, self._frontier
        under_way = np.flatnonzero(walkers.phase < arrays.ENDED)
        old = [walkers.values[under_way], frontier.rows, self._starts.rows, *(found.rows for found in self._found)]
        new = [[self._layout.row(before.state(row)) for row in rows.tolist()] for rows in old]
        self._note_values()
        self._widen_initials()
        slots = self._layout.slots
        translated = [_padded(rows, slots) for rows in new]
        values = np.zeros((len(walkers.walk), slots), np.int64)
        values[under_way], of_frontier, starts, *found = translated
        frontier.rows = of_frontier.astype(np.int32)
        self._starts = self._starts._replace(rows=starts)
        self._found = [
            entries._replace(rows=rows.astype(np.int32)) for entries, rows in zip(self._found, found, strict=True)
        ]
        self._walkers = walkers = walkers._replace(values=values, after=np.zeros_like(values))
        if self._coverage is not None:
            self._samples = [
                sample._replace(rows=np.zeros((len(sample.rows), slots), np.int64)) for sample in self._samples
            ]
        walkers.phase[under_way] = arrays.ARRIVED
        walkers.parked[:] = walkers.fresh[:] = False

    # The walks.

    def round(self) -> bool:
        """Have walkers take steps and expand states, and collect what they have shown; whether any walk is left.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError: before they were made.
            SpecError: the spec misbehaved.
        """
        self._join()  # before the first round, initial states
        steps = max(FIRST, self.steps // SHARE)
        walking, walkers = int(self._numbers[arrays.WALKING]), self._walkers
        if len(walkers.walk) > walking:
            steps -= steps * EXPANSIONS // 256
        moving = np.flatnonzero(walkers.phase[:walking] != arrays.FINISHED)[: max(FEWEST, steps // FEWEST)]
        walkers.left[moving] = min(max(steps // max(len(moving), 1), 1), ROUND)
        walked = self.steps - self.expanded + int(walkers.left[moving].sum())
        to_expand = max(0, min(walked * EXPANSIONS // (256 - EXPANSIONS) - self.expanded, len(self._frontier)))
        while True:
            self._expand(min(to_expand, self._expanders_at_once()))
            self._move()
            self._join()
            to_expand -= len(self._expanding)
            if to_expand <= 0 or not len(self._expanding):
                break
        self._starts = self._frontier.starts(min(STARTS, PLACES // (self._length + 1)), self._length)
        return bool((self._walkers.phase[:walking] != arrays.FINISHED).any())

    def _expanders_at_once(self) -> int:
        """How many walkers may expand states at once, so that there is room for the next states."""
        per_state = self._looked // max(self.steps, 1) + 1
        room = NUMBERS // (self._layout.slots * per_state)
        return max(1, min(len(self._walkers.walk) - int(self._numbers[arrays.WALKING]), room))

    def _expand(self, most: int) -> None:
        """Have walkers expand the next states of the frontier."""
        taken, walkers = self._frontier.take(most), self._walkers
        self._expanding, self._deepest = taken.nodes, max(self._deepest, int(taken.steps.max(initial=0)))
        first = int(self._numbers[arrays.WALKING])
        some = slice(first, first + len(taken.nodes))
        walkers.values[some], walkers.hashes[some] = taken.rows, taken.hashes
        walkers.step[some], walkers.by[some] = taken.steps, taken.trees
        # initial states are to be checked yet; the others were when they were found
        walkers.phase[some] = np.where(taken.steps > 0, arrays.AT_REST, arrays.ARRIVED)
        walkers.calm[some] = self._of_states
        walkers.fresh[some] = False
        walkers.left[some] = 1

    def _note_found(self, scratches: Iterable[arrays.Scratch]) -> None:
        """Keep the next states of expanded ones until all walkers meet."""
        first = int(self._numbers[arrays.WALKING])
        for scratch in scratches:
            if filled := int(scratch.filled[0]):
                own = scratch.rows, scratch.found, scratch.by, scratch.of
                rows, hashes, trees, of = (array[:filled] for array in own)
                self._found.append(Arrivals(rows, hashes, self._expanding[of - first], trees))

    def _join(self) -> None:
        """Add the states that were found to the frontier.

        Raises: see `round`.
        """
        if not self._found:
            return
        self._found = [self._frontier.new_among(Arrivals.joined(self._found))]
        distances = None if self.spec.distance is None else self._adjusting(self._distances)
        self._frontier.add(self._found.pop(), distances)

    def _distances(self) -> NDArray[np.float64]:
        """The distance of each state that was found. Where it is not known, it is called, and learned if worth it."""
        tables, tree, (found,) = self._tables, self._tables.caller.distance, self._found
        codes = np.zeros(len(found.rows), np.int32)
        kernel.leaves(found.rows, tree, tables.forest.pool, codes)
        distances = np.array([*tables.distances, 0.0])[-codes - 1]
        for place in np.flatnonzero(codes == 0).tolist():
            self.watch.pause()
            row = found.rows[place].tolist()
            leaf = tables.forest.leaf(tree, row)
            if leaf is not None:
                distances[place] = tables.distances[leaf]
            elif tables.effort.is_worthwhile(tree, 1, self.steps + self._looked + 1):
                call = tables.caller.make(tree, (row,))
                self._learn_all([((tree, (row,)), call)])
                distances[place] = call.gave
            else:
                tables.note_called(tree)
                distances[place] = tables.caller.distance_of(row)
        self._note_values()
        self._widen()
        return distances

    def _move(self) -> None:
        """Move walkers as far as they are to go, and collect what they have shown.

        Raises: see `round`.
        """
        self._adjusting(self._make_round)
        self.collect()
        self._look_at_sample()

    def _adjusting(self, do: Callable[[], T]) -> T:
        """Do something, again if the spec turns out to be other than it was taken for.

        Raises: see `round`.
        """
        while True:
            try:
                return do()
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
            room = len(learned.always), self._words, self._room, self._layout.slots
            parts = [
                (first, last, *given, sample, arrays.new_scratch(*room))
                for (first, last), sample in zip(self._parts(), self._samples, strict=True)
                if busy[first:last].any()
            ]
            full = self.workers.run(kernel.walk, parts, alone=int(busy.sum()) < ALONE)
            self._note_found(part[-1] for part in parts)
            self._room = max(self._room, *(2 * most for most in full))
            if walkers.parked.any():
                self._learn(np.flatnonzero(walkers.parked))
            self.watch.pause()
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                self.watch.need(0)

    def _learn(self, parked: NDArray[np.int64]) -> None:
        """Make the calls that walkers wait for: those that are worth it are learned from, the others answered."""
        tables, walkers = self._tables, self._walkers
        wanting: list[tuple[int, int, int, int, tuple[int, int]]] = []
        wanted: Counter[tuple[int, int]] = Counter()
        for walker in parked.tolist():
            for tree, node, number, outcome, about in walkers.wants[walker, : walkers.wanted[walker]].tolist():
                wanting.append((walker, tree, outcome, about % 2**64, (node, number)))
                wanted[node, number] += 1
        jobs: dict[tuple[int, int], Job] = {}
        answered: list[tuple[int, tuple[int, int], tuple[list[int], ...]]] = []
        rows: dict[int, list[int]] = {}
        for walker, tree, outcome, about, end in wanting:
            if end in jobs:
                continue
            if walker not in rows:
                rows[walker] = walkers.values[walker].tolist()
            asked_of = self._rows(rows[walker], tree, outcome)
            if tables.effort.is_worthwhile(tree, wanted[end], self.steps + self._looked + 1):
                jobs[end] = tree, asked_of
            else:
                answered.append((walker, (tree, about), asked_of))
        self._learn_all(self.workers.helpers(tables.caller).make(list(jobs.values())))
        for walker, asked, asked_of in answered:
            self._answer(walker, asked, asked_of)
        self._note_values()
        self._widen()
        if jobs:
            self._compare()
        walkers.parked[:] = False

    def _rows(self, before: list[int], tree: int, outcome: int) -> tuple[list[int], ...]:
        """The states that a walker wants to know something of.

        Parameters:
            before: the walker's.
            tree: of what it wants to know.
            outcome: of the step that leads to the state that it wants to know it of; -1 if that is its own.
        """
        after = before
        if outcome >= 0:
            after = before.copy()
            for change in range(self._begins[outcome], self._begins[outcome + 1]):
                after[self._slots[change]] = int(self._values[change])
        if tree < self._tables.instances:
            return (before,)
        return (after,) if tree < self._tables.first_step else (before, after)

    def _learn_all(self, calls: Iterable[tuple[Job, Call]]) -> None:
        """Learn from calls.

        Raises:
            StopSearch: the tables are full.
        """
        tables = self._tables
        try:
            for (tree, rows), call in calls:
                leaf = tables.leaf_of(call)
                self._note_values()
                tables.learn(tree, rows, call, leaf)
        except TablesFull:
            raise StopSearch(TABLES_FULL) from None

    def _answer(self, walker: int, asked: tuple[int, int], rows: tuple[Sequence[int], ...]) -> None:
        """Call what a walker wants to know, for this once.

        Parameters:
            asked: the tree, and the hash of the state that this is about or that the step leads to.
            rows: see `_rows`.
        """
        tables, tree = self._tables, asked[0]
        given: list[Changes] | bool
        given = tables.caller.steps(tree, rows[0]) if tree < tables.instances else tables.caller.shows(tree, *rows)
        tables.note_called(tree)
        if not self._walkers.fresh[walker]:
            self._answers[walker] = {}
            self._walkers.fresh[walker] = True
        self._answers[walker][asked] = given

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
                filled = sample.counters[arrays.FILLED]
                self.sampled.add(*(array[:filled] for array in sample[1:5]))
                self.steps += int(sample.counters[arrays.STEPS] + sample.counters[arrays.EXPANDED])
                self.expanded += int(sample.counters[arrays.EXPANDED])
                self._looked += int(sample.counters[arrays.LOOKED])
                self.begun += int(sample.counters[arrays.BEGUN])
                self.taken += sample.taken
                self.enabled += sample.enabled
                self.ends += sample.ends
                for array in (sample.counters, sample.taken, sample.enabled, sample.ends):
                    array[...] = 0
        walkers = self._walkers
        for column, item in enumerate((*self._checks, DEADLOCK)):
            shown = np.flatnonzero(walkers.seen[:, column] >= 0)
            if item in self.traces or not len(shown):
                continue
            first = shown[np.lexsort((walkers.walk[shown], walkers.seen[shown, column]))[0]]
            self.traces[item] = self._trace(int(first), column, item)
        walkers.seen[:] = -1

    def _trace(self, walker: int, column: int, item: Property) -> Trace[S]:
        """The path that showed a property, taken again by calls.

        Raises:
            SpecError: it leads elsewhere by now.
        """
        walkers = self._walkers
        steps, last = int(walkers.seen[walker, column]), int(walkers.last_tree[walker, column])
        taken = steps - (last >= 0)
        walking = int(self._numbers[arrays.WALKING])
        if walker < walking:
            trees, hashes = walkers.trees[walker, :taken].tolist(), walkers.path[walker, : taken + 1].tolist()
        else:
            trees, hashes = self._frontier.path(self._expanding[walker - walking])
        if last >= 0:
            trees.append(last)
            hashes.append(int(walkers.last_hash[walker, column]))
        state = next(state for state in self._initials if self._content(state) == hashes[0])
        states, instances = [state], []
        for step in range(steps):
            instance: ActionInstance[S] = self.spec.instances[trees[step]]
            successors = [
                after for after in self.spec.take(instance, state) if self._content(after) == hashes[step + 1]
            ]
            if not successors:
                raise leads_elsewhere(instance)
            state = successors[0]
            states.append(state)
            instances.append(instance)
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
            depth=max(int(under_way.max(initial=0)), len(lengths) - 1, self._deepest) + (self.begun > 0),
            queue=None,
            expanded=sampled.distinct,
            successors=sampled.scaled(int(degrees.sum())),
            out_degree_min=int(degrees.min(initial=2**62)) if len(degrees) else 0,
            out_degree_max=int(degrees.max(initial=0)),
            deadlocks=sampled.scaled(int(np.count_nonzero(degrees == 0))),
            seconds=self.watch.budget.seconds,
            actions=actions,
            memory=tables.nbytes + self._frontier.nbytes + sum(array.nbytes for array in self._walkers),
            calls=tables.calls,
            compared=tables.compared,
            walked=WalkCounts(
                behaviours=self.begun,
                steps=self.steps - self.expanded,
                expanded=self.expanded,
                waiting=len(self._frontier) + self._frontier.given_up,
                is_exact=sampled.is_exact,
                lengths=tuple(lengths),
                depths=tuple(map(sampled.scaled, np.bincount(sampled.depths).tolist())),
                dead_ends=int(self.ends[arrays.DEAD_END].sum()),
                outside=int(self.ends[arrays.OUTSIDE].sum()),
                enabled=enabled,
            ),
        )


def _padded(rows: Sequence[Sequence[int]], slots: int) -> NDArray[np.int64]:
    """Rows as an array, with 0 in the slots that they lack as these are new."""
    array = np.zeros((len(rows), slots), np.int64)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array
