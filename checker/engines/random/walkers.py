"""Random search with recorded results: it takes random walks and expands states in random order.

A walker is a position in the state space. The search moves it from state to state. Most walkers expand states: each is
placed on a state of the frontier and checks all next states of this state. Next states that were not found before are
added to the frontier. The other walkers take random walks from an initial state or from a state of the frontier, and
check all next states of each state that they visit.

The search proceeds in rounds. In each round, the threads move the walkers independently of each other. At the end of
the round, the search collects the counts of all walkers, the violations that they found, and the states and steps that
satisfy a witness. Therefore a walker's moves depend on the seed and on the results of earlier rounds, but not on the
number of threads.

On each visited state and each step, the search evaluates every invariant that is not yet violated and every witness
that is not yet satisfied. It confirms each counterexample by calling the spec's functions. The frontier determines only
where walks begin and which states are expanded. Therefore hash collisions can make a search longer, but cannot make its
result wrong.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.content import content
from leadline.checker.coverage import CoverageCounts
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.comparison import refuse_contradicted
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.restart import CHANGES, Adjustments, Crowded
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.purity import Purity, leads_elsewhere
from leadline.checker.engines.random import arrays as arrays
from leadline.checker.engines.random import kernel as kernel
from leadline.checker.engines.random.coverage import WalkCoverage
from leadline.checker.engines.random.distinct_estimate import StateSample
from leadline.checker.engines.random.frontier import NUMBERS, Arrivals, Frontier
from leadline.checker.engines.random.walker_tables import WalkerTables, padded
from leadline.checker.observing.domains import NewKind
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.properties import DEADLOCK, Property
from leadline.checker.result import ActionCount, Statistics, WalkCounts
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")
T = TypeVar("T")

WALKERS = 512
"""The maximum number of walkers that take random walks if other walkers expand states."""

PLACES = 2**22
"""The maximum number of steps that all current walks together store in memory. If walks are long, there are fewer
walkers."""

ROUND = 64
"""The maximum number of steps of each walker in a round."""

FIRST, SHARE = 8, 16
"""If n steps have been taken so far, the next round takes n / `SHARE` steps, but at least `FIRST`. The first rounds are
short, so that a violation that is found early stops the search early."""

FEWEST, STEPS_EACH = 2, 2
"""A round with n steps of random walks moves n / `STEPS_EACH` walkers, but at least `FEWEST`."""

EXPANDERS, EXPANSIONS = 4096, 192
"""`EXPANDERS` is the maximum number of states that are expanded at the same time. Of every 256 steps, `EXPANSIONS`
expand a state."""

FROM_FRONTIER, STARTS = 192, 1024
"""Of every 256 walks, `FROM_FRONTIER` begin at a state of the frontier, which is chosen from `STARTS` states."""

ALONE = 64
"""If fewer walkers than this number move, the loop runs in one thread, because waking other threads would take
longer."""

COMPARED = 32
"""The number of walkers whose states are used to compare learned results with calls, each time that results are
learned."""


class Walks(Generic[S]):
    """A random search of one spec.

    Parameters:
        spec: the spec.
        walks: the number of random walks.
        steps: the maximum number of steps in a walk.
        seed: the seed. Searches with the same seed take the same walks.
        watch: the object that checks the limits, and holds the threads and processes of the search.
        purity: the object that checks that the spec's functions are pure. It calls them again on some of the states.
        uniform: whether all walkers take random walks from initial states and check only the steps that they take. If
            so, no states are expanded.
        coverage: whether to collect the coverage.
        tuning: internal sizes and limits.

    Attributes:
        spec: the spec.
        watch: the object that checks the limits.
        workers: the threads and processes of the search.
        traces: a trace for each invariant that is violated and for each witness that is satisfied.
        sampled: a sample of the distinct states.
        taken: for each action instance, the number of times that it was taken.
        enabled: for each action instance, the number of visited states in which it was enabled.
        ends: the number of walks that ended, by reason (see `arrays.DEAD_END`) and number of steps.
        steps: the number of steps taken, plus the number of states expanded.
        begun: the number of walks that have begun.
        expanded: the number of states expanded.
    """

    def __init__(
        self, spec: Spec[S], walks: int, steps: int, seed: int, watch: Watch, purity: Purity[S],
        *, uniform: bool = False, coverage: bool = False, tuning: Tuning = DEFAULT,
    ) -> None:  # fmt: skip
        self.spec, self.workers, self.watch, self._purity = spec, watch.workers, watch, purity
        self._walks, self._length = walks, steps
        self._adjustments = Adjustments()
        self._initials = sorted(spec.initials(), key=self._content)
        self._covers, self._room, self._tuning = coverage, 256, tuning
        self._tables = self._new_tables()
        self.begin(seed, uniform=uniform)

    def begin(self, seed: int, *, uniform: bool) -> None:
        """Discard all results and begin a new search with a different seed.

        The recorded results of calls are kept to save time. They do not change which walks the search takes, unless the
        frontier is full and drops states.

        Parameters:
            seed, uniform: see `Walks`.
        """
        instances, steps = len(self.spec.instances), self._length
        self.traces: dict[Property, Trace[S]] = {}
        self.sampled = StateSample(self._tuning)
        self.taken, self.enabled = np.zeros(instances, np.int64), np.zeros(instances, np.int64)
        self.ends = np.zeros((arrays.REASONS, steps + 1), np.int64)
        self.steps = self.begun = self.expanded = self._looked = self._deepest = 0
        count = max(1, min(WALKERS, self._walks, PLACES // (steps + 1)))
        self._numbers = np.zeros(arrays.NUMBERS, np.int64)
        seed = (seed + 2**63) % 2**64 - 2**63
        self._numbers[[arrays.SEED, arrays.WALKS, arrays.LENGTH]] = seed, self._walks, steps
        self._numbers[[arrays.LOOKS, arrays.FROM_FRONTIER, arrays.WALKING]] = not uniform, FROM_FRONTIER, count
        self._coverage = WalkCoverage(self.spec, self._tuning) if self._covers else None
        self._tables.widen()
        expanders = 0 if uniform else EXPANDERS
        slots = self._tables.layout.slots
        checks, words = len(self._tables.checks), self._tables.words
        self._walkers = arrays.new_walkers(count, expanders, slots, checks + 1, words, steps)
        self._walkers.phase[count:] = arrays.FINISHED
        self._walkers.walk[:] = np.arange(count + expanders) - count
        sizes = [ROUND * (min(last, count) - min(first, count)) + last - first for first, last in self._parts()]
        noted = slots if self._covers else 0
        self._samples = [arrays.new_sample(size, instances, steps, noted) for size in sizes]
        self._frontier, self._expanding = Frontier(seed, slots, self._tuning), np.zeros(0, np.int64)
        self._starts = self._frontier.starts(0, steps)
        self._found: list[Arrivals] = []
        if not uniform:
            rows = self._tables.initial_rows
            none = np.full(len(rows), -1)
            hashes = self._tables.hashes.of(rows)
            self._found.append(Arrivals(rows.astype(np.int32), hashes, none, none.astype(np.int32)))

    def _new_tables(self) -> WalkerTables[S]:
        """Return new tables. If the adjustments do not fit the spec, change the adjustments and try again."""
        while True:
            try:
                return WalkerTables(
                    self.spec, self._initials, self._adjustments, self.watch, self._purity, self._tuning
                )
            except CHANGES as change:
                self._adjustments = self._adjustments.after(change)

    # The walkers.

    def _parts(self) -> list[tuple[int, int]]:
        """Divide the walkers among parallel calls to the loop. Return the range of walkers for each call; the end of a
        range is excluded.
        """
        count = len(self._walkers.walk)
        parts = min(count, 1 if self.workers.count == 1 else 4 * self.workers.count)
        return list(itertools.pairwise(count * part // parts for part in range(parts + 1)))

    def _plan(self) -> arrays.Plan:
        numbers, tables, caller = self._numbers, self._tables, self._tables.tables.caller
        sought = [item not in self.traces for item in tables.checks]
        numbers[arrays.FIRST_CHECK], numbers[arrays.FIRST_STEP] = caller.instances, caller.first_step
        numbers[arrays.CHECKS] = len(tables.checks)
        numbers[arrays.CONSTRAINED] = self.spec.constraint is not None
        numbers[arrays.DEADLOCKS] = self.spec.check_deadlock and DEADLOCK not in self.traces
        return arrays.Plan(
            numbers,
            tables.initial_rows,
            tables.hashes.of(tables.initial_rows),
            tables.bits(itertools.compress(range(len(sought)), sought)),
            tables.of_states,
            np.array([self.sampled.limit], np.uint64),
            *self._starts,
        )

    def _widen(self) -> None:
        """Add a column of zeros to all rows of states for each new slot.

        Raises:
            Crowded: if some slots have too many values and should be split.
        """
        layout = self._tables.layout
        if layout.crowded:
            raise Crowded(frozenset(layout.crowded))
        slots = layout.slots
        if slots > self._walkers.values.shape[1]:
            self._tables.widen()
            wider = {name: arrays.widened(getattr(self._walkers, name), slots) for name in arrays.ROWS}
            self._walkers = self._walkers._replace(**wider)
            self._frontier.widen(slots)
            self._found = [found._replace(rows=arrays.widened(found.rows, slots)) for found in self._found]
            self._starts = self._starts._replace(rows=arrays.widened(self._starts.rows, slots))
            if self._coverage is not None:
                self._samples = [sample._replace(rows=arrays.widened(sample.rows, slots)) for sample in self._samples]

    def _translate(self, before: Layout) -> None:
        """Convert all states of the search to the current layout, and reset the walkers so that they check their states
        again.

        Parameters:
            before: the layout from which to convert the states.
        """
        walkers, frontier = self._walkers, self._frontier
        under_way = np.flatnonzero(walkers.phase < arrays.ENDED)
        old: list[NDArray[np.int32] | NDArray[np.int64]] = [walkers.values[under_way], frontier.rows, self._starts.rows]
        old += [found.rows for found in self._found]
        layout = self._tables.layout
        new = [[layout.row(before.state(row)) for row in rows.tolist()] for rows in old]
        self._tables.learner.note_values()
        self._tables.widen()
        slots = layout.slots
        translated = [padded(rows, slots) for rows in new]
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

    # Rounds.

    def round(self) -> bool:
        """Run one round: move walkers, expand states, and collect the violations and counts.

        Returns:
            True if some walks have not ended yet.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError: if the search was stopped before the end of the round.
            SpecError: if an action or a property raised an exception or is not a pure function.
        """
        self._join()  # in the first round, this adds the initial states
        steps = max(FIRST, self.steps // SHARE)
        walking, walkers = int(self._numbers[arrays.WALKING]), self._walkers
        if len(walkers.walk) > walking:
            steps -= steps * EXPANSIONS // 256
        moving = np.flatnonzero(walkers.phase[:walking] != arrays.FINISHED)[: max(FEWEST, steps // STEPS_EACH)]
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
        """Return the maximum number of states that can be expanded at the same time without exceeding the memory for
        next states.
        """
        per_state = self._looked // max(self.steps, 1) + 1
        room = NUMBERS // (self._tables.layout.slots * per_state)
        return max(1, min(len(self._walkers.walk) - int(self._numbers[arrays.WALKING]), room))

    def _expand(self, most: int) -> None:
        """Remove states from the frontier, and place a walker on each of them.

        Parameters:
            most: the maximum number of states.
        """
        taken, walkers = self._frontier.take(most), self._walkers
        self._expanding, self._deepest = taken.nodes, max(self._deepest, int(taken.steps.max(initial=0)))
        first = int(self._numbers[arrays.WALKING])
        some = slice(first, first + len(taken.nodes))
        walkers.values[some], walkers.hashes[some] = taken.rows, taken.hashes
        walkers.step[some], walkers.by[some] = taken.steps, taken.trees
        # initial states must still be checked; other states were checked when they were found
        walkers.phase[some] = np.where(taken.steps > 0, arrays.AT_REST, arrays.ARRIVED)
        walkers.calm[some] = self._tables.of_states
        walkers.fresh[some] = False
        walkers.left[some] = 1

    def _note_found(self, scratches: Iterable[arrays.Scratch]) -> None:
        """Store the next states of the expanded states until `_join` adds them to the frontier.

        Parameters:
            scratches: for each call to the loop, its working memory, which contains these next states.
        """
        first = int(self._numbers[arrays.WALKING])
        for scratch in scratches:
            if filled := int(scratch.filled[0]):
                parents = self._expanding[scratch.of[:filled] - first]
                rows, hashes, trees = scratch.rows[:filled], scratch.found[:filled], scratch.by[:filled]
                self._found.append(Arrivals(rows, hashes, parents, trees))

    def _join(self) -> None:
        """Add the next states of expanded states to the frontier, except states that were found before.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError, SpecError: see `round`.
        """
        if not self._found:
            return
        # the states stay in `_found` for now, so that they are converted if computing distances changes the layout
        self._found = [self._frontier.new_among(Arrivals.joined(self._found))]
        distances = None if self.spec.distance is None else self._adjusting(self._distances)
        self._frontier.add(self._found.pop(), distances)

    def _distances(self) -> NDArray[np.float64]:
        (found,) = self._found
        distances = self._tables.distances(found.rows)
        self._widen()
        return distances

    def _move(self) -> None:
        """Move the walkers until each has taken its steps for this round, and collect the violations and counts.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError, SpecError: see `round`.
        """
        self._adjusting(self._make_round)
        self.collect()
        self._look_at_sample()

    def _adjusting(self, do: Callable[[], T]) -> T:
        """Call a function and return its result. If the function raises one of `CHANGES`, change the adjustments and
        call it again.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError, SpecError: see `round`.
        """
        while True:
            try:
                return do()
            except CHANGES as change:
                self._look_at_sample()
                self._purity.check_again()
                while True:
                    before, self._adjustments = self._tables, self._adjustments.after(change)
                    try:
                        self._tables = self._new_tables()
                        self._translate(before.layout)
                        break
                    except (ShapeChanged, NewKind) as again:
                        self._tables, change = before, again

    def _make_round(self) -> None:
        looked = time.monotonic()
        while True:
            walkers = self._walkers
            busy = (walkers.left > 0) & (walkers.phase != arrays.FINISHED)
            if not busy.any():
                return
            tables = self._tables
            # if `Tuning.verify` is set, walkers take one step at a time, so that each state can be verified
            later = np.maximum(walkers.left - 1, 0) if self._tuning.verify else np.zeros_like(walkers.left)
            walkers.left[:] -= later
            chosen = tables.to_verify(np.flatnonzero(busy & (walkers.phase < arrays.ENDED)))
            left_from = walkers.values[chosen]
            tables.drop_answers(walkers.fresh)
            learned = tables.learned()
            given = self._plan(), learned, tables.answers(len(walkers.walk)), walkers
            room = len(learned.always), tables.words, self._room, tables.layout.slots
            parts = [
                (first, last, *given, sample, arrays.new_scratch(*room))
                for (first, last), sample in zip(self._parts(), self._samples, strict=True)
                if busy[first:last].any()
            ]
            try:
                full = self.workers.run(kernel.walk, parts, alone=int(busy.sum()) < ALONE)
            finally:
                walkers.left[:] += later * (walkers.phase < arrays.ENDED)
            self._note_found(part[-1] for part in parts)
            try:
                self._tables.verify(left_from[~walkers.parked[chosen]])
            except NotRecorded:
                walkers.seen[:] = -1  # all evidence of this round is uncertain
                raise
            self._room = max(self._room, *(2 * most for most in full))
            if walkers.parked.any():
                self._learn()
            self.watch.pause()
            if time.monotonic() - looked > self._tuning.watch_seconds:
                looked = time.monotonic()
                self.watch.need(0)

    def _learn(self) -> None:
        """Make the calls whose results the walkers need, and compare some of the recorded results with new calls."""
        has_learned = self._tables.learn(self._walkers, self.steps + self._looked + 1)
        self._widen()
        walkers = self._walkers
        if has_learned:
            some = np.unique(np.linspace(0, len(walkers.walk) - 1, COMPARED, dtype=np.int64))
            some = some[walkers.phase[some] < arrays.ENDED]
            self._tables.compare(walkers.values[some].tolist())
        walkers.parked[:] = False

    # Results.

    def _note_sample(self) -> None:
        """Store the sampled states of this round until their coverage is counted."""
        if self._coverage is not None:
            for sample in self._samples:
                filled = sample.counters[arrays.FILLED]
                self._coverage.add(sample.hashes[:filled], sample.rows[:filled], self.sampled.limit)

    def _look_at_sample(self) -> None:
        """Add the sampled states of this round to the coverage. This must be done before the layout changes."""
        if self._coverage is not None:
            self._note_sample()
            self._coverage.look(self._tables.layout, self.watch)

    def collect(self) -> None:
        """Collect the violations and satisfied witnesses that the walkers have found since the last call, and the
        walkers' counts.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError, SpecError: see `round`.
        """
        self._adjusting(self._collect)

    def _collect(self) -> None:
        with interrupts_wait():
            self._note_sample()
            for sample in self._samples:
                filled = sample.counters[arrays.FILLED]
                columns = sample.depths, sample.by, sample.degrees
                self.sampled.add(sample.hashes[:filled], *(column[:filled] for column in columns))
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
        for column, item in enumerate((*self._tables.checks, DEADLOCK)):
            shown = np.flatnonzero(walkers.seen[:, column] >= 0)
            if item is DEADLOCK and self.spec.final is not None:
                shown = np.array([walker for walker in shown.tolist() if not self._is_final(walker)], np.int64)
            if item in self.traces or not len(shown):
                continue
            first = shown[np.lexsort((walkers.walk[shown], walkers.seen[shown, column]))[0]]
            trace = self._trace(int(first), column, item)
            try:
                refuse_contradicted(self._tables.tables, [trace])
            except NotRecorded:
                walkers.seen[:] = -1  # all evidence of this round is uncertain
                raise
            self.traces[item] = trace
        walkers.seen[:] = -1

    def _is_final(self, walker: int) -> bool:
        """Return whether the state in which a walker stopped is final; see `Spec.final`."""
        return self.spec.is_final(self._tables.layout.state(self._walkers.values[walker].tolist()))

    def _trace(self, walker: int, column: int, item: Property) -> Trace[S]:
        """Call the spec's functions to reconstruct a trace that violates an invariant or satisfies a witness.

        Parameters:
            walker: the index of the walker that found the violation or satisfied the witness.
            column: the column of the property in the arrays of `Walkers`.
            item: the property.

        Raises:
            SpecError: if an action is not pure, so that an action instance no longer leads to the recorded state.
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
        """The coverage of the search so far, or None if it is not collected."""
        if self._coverage is None:
            return None
        new = self.sampled.led_to(len(self.spec.instances))
        return self._coverage.covered(self.sampled, self.enabled, self.taken, new)

    @property
    def _found_last(self) -> int:
        """The number of states that were found but not added to the frontier because the search was stopped."""
        return len(self._frontier.new_among(Arrivals.joined(self._found)).rows) if self._found else 0

    @property
    def statistics(self) -> Statistics:
        """The statistics of the search so far."""
        sampled, spec, tables = self.sampled, self.spec, self._tables.tables
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
            whole_reads=tables.whole_reads(),
            verified=self._tables.verified,
            walked=WalkCounts(
                behaviours=self.begun,
                steps=self.steps - self.expanded,
                expanded=self.expanded,
                waiting=len(self._frontier) + self._frontier.given_up + self._found_last,
                is_exact=sampled.is_exact,
                lengths=tuple(lengths),
                depths=tuple(map(sampled.scaled, np.bincount(sampled.depths).tolist())),
                dead_ends=int(self.ends[arrays.DEAD_END].sum()),
                outside=int(self.ends[arrays.OUTSIDE].sum()),
                enabled=enabled,
            ),
        )
