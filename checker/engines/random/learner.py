"""The learner of a random search: what is known of a spec, as arrays for the loop, and the calls that add to it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled.kernel import NOT_SHOWN, SHOWN
from leadline.checker.engines.learning.calls import Call, Caller, Changes, Job, Row
from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.engines.learning.enabled_index import Guards
from leadline.checker.engines.learning.forest import TABLES_FULL, TablesFull, with_room
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.slot_hashes import Contents
from leadline.checker.engines.learning.tables import Tables
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random import arrays as arrays
from leadline.checker.engines.random import kernel as kernel
from leadline.checker.observing.layout import Layout
from leadline.checker.spec import Spec

S = TypeVar("S")


class Learner(Generic[S]):
    """Learns one spec, with one layout of its states.

    Calls that are worth it are learned from. The others are answers: they are kept for a walker as long as it is in the
    state that they are about.

    Parameters:
        spec: the spec.
        initials: its initial states.
        adjustments: what was found out about the spec so far.
        watch: checks the time, and has the threads and processes that share the work.
        purity: checks some of the states.

    Attributes:
        layout: how states are rows of numbers.
        initial_rows: of the initial states.
        tables: what was learned.
        checks: the predicates, in the order of their trees.
        words: the 64-bit words that have a bit for each predicate.
        of_states: the bits of the predicates of states.
        contents: hashes rows by the contents of the states.
    """

    def __init__(
        self, spec: Spec[S], initials: Sequence[S], adjustments: Adjustments, watch: Watch, purity: Purity[S]
    ) -> None:
        self._watch = watch
        given = adjustments.whole, adjustments.apart, adjustments.read_when_copied
        self.layout = Layout(spec.initials()[0], *given)
        rows = [self.layout.row(state) for state in initials]
        with_distance = spec.distance is not None
        self.tables = Tables(Caller(spec, self.layout, adjustments.given_states, purity, with_distance=with_distance))
        self._comparison = Comparison(self.tables)
        self.checks = (*self.tables.state_checks, *self.tables.step_checks)
        self.words = len(self.checks) // 64 + 1
        self.of_states = self.bits(range(self.tables.first_step - self.tables.instances))
        self._pack()
        self.contents.calibrate(initials[0])
        self.initial_rows = padded(rows, self.layout.slots)
        self._outcomes_known = self._measured = 0
        self._begins = np.zeros(16, np.int64)
        self._slots, self._values = np.zeros(16, np.int32), np.zeros(16, np.int32)
        self._answers: dict[int, dict[tuple[int, int], list[Changes] | bool]] = {}

    def bits(self, predicates: Iterable[int]) -> NDArray[np.uint64]:
        """Bits of some predicates."""
        bits = np.zeros(self.words, np.uint64)
        for predicate in predicates:
            bits[predicate // 64] |= np.uint64(1 << predicate % 64)
        return bits

    # What is known.

    def _pack(self) -> None:
        """Make room for twice the values that each slot has."""
        self._packing = Packing([2 * size for size in self.layout.sizes()], spare=64)
        self.tables.pack(self._packing)
        self.contents = Contents(self.layout, self._packing)
        self._guards: Guards | None = None

    def note_values(self) -> None:
        """See that there is room for the values and the members of collections that were met."""
        sizes = self.layout.sizes()
        if self.tables.note_members():
            self._packing.add(sizes)
            self._guards = None
        if self._packing.fits(sizes):
            self.tables.pack(self._packing)
        else:
            offset = self.contents.offset
            self._pack()
            self.contents.offset = offset

    def widen(self) -> None:
        """Give the initial states all slots, as a walk that begins there must leave nothing of the one before."""
        self.initial_rows = arrays.widened(self.initial_rows, self.layout.slots)
        self.contents.update()

    def learned(self) -> arrays.Learned:
        """All that the loop has to know."""
        tables = self.tables
        self.contents.update()
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
            self._guards.always, self._guards.pairs, self._guards.table, tables.read_by_slot(self.words),
            self.contents.base, self.contents.table,
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

    def answers(self, walkers: int) -> arrays.Answers:
        """The answers, for the loop; see `learned`, which has their outcomes behind all others.

        Parameters:
            walkers: how many there are.
        """
        begins = np.zeros(walkers + 1, np.int64)
        about, start, count = list[tuple[int, int]](), [], []
        outcome = len(self.tables.outcomes)
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

    def drop_answers(self, fresh: NDArray[np.bool_]) -> None:
        """Drop the answers of walkers that have left the state that these are about.

        Parameters:
            fresh: see `walk_arrays.Walkers`.
        """
        for walker in list(self._answers):
            if not fresh[walker]:
                del self._answers[walker]

    # Calls.

    def learn(self, walkers: arrays.Walkers, states: int) -> bool:
        """Make the calls that walkers wait for, and learn from those that are worth it; whether any was.

        Parameters:
            walkers: the walkers.
            states: how many states the search has had so far.

        Raises:
            StopSearch: the tables are full.
            SpecError: the spec misbehaved.
            ShapeChanged, NotRecorded, NewKind: see `adjustments.CHANGES`.
        """
        tables = self.tables
        wanting: list[tuple[int, int, int, int, tuple[int, int]]] = []
        wanted: Counter[tuple[int, int]] = Counter()
        for walker in np.flatnonzero(walkers.parked).tolist():
            for tree, node, number, outcome, about in walkers.wants[walker, : walkers.wanted[walker]].tolist():
                wanting.append((walker, tree, outcome, about % 2**64, (node, number)))
                wanted[node, number] += 1
        jobs: dict[tuple[int, int], Job] = {}
        unlearned: list[tuple[int, tuple[int, int], tuple[list[int], ...]]] = []
        rows: dict[int, list[int]] = {}
        for walker, tree, outcome, about, end in wanting:
            if end in jobs:
                continue
            if walker not in rows:
                rows[walker] = walkers.values[walker].tolist()
            asked_of = self._rows(rows[walker], tree, outcome)
            if tables.effort.is_worthwhile(tree, wanted[end], states):
                jobs[end] = tree, asked_of
            else:
                unlearned.append((walker, (tree, about), asked_of))
        self._learn_from(self._watch.workers.helpers(tables.caller).make(list(jobs.values())))
        for walker, asked, asked_of in unlearned:
            self._answer(walkers, walker, asked, asked_of)
        self.note_values()
        return bool(jobs)

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
        if tree < self.tables.instances:
            return (before,)
        return (after,) if tree < self.tables.first_step else (before, after)

    def _learn_from(self, calls: Iterable[tuple[Job, Call]]) -> None:
        """Learn from calls.

        Raises:
            StopSearch: the tables are full.
        """
        try:
            for (tree, rows), call in calls:
                leaf = self.tables.leaf_of(call)
                self.note_values()
                self.tables.learn(tree, rows, call, leaf)
        except TablesFull:
            raise StopSearch(TABLES_FULL) from None

    def _answer(
        self, walkers: arrays.Walkers, walker: int, asked: tuple[int, int], rows: tuple[Sequence[int], ...]
    ) -> None:
        """Call what a walker wants to know, for this once.

        Parameters:
            asked: the tree, and the hash of the state that this is about or that the step leads to.
            rows: see `_rows`.
        """
        tables, tree = self.tables, asked[0]
        given: list[Changes] | bool
        given = tables.caller.steps(tree, rows[0]) if tree < tables.instances else tables.caller.shows(tree, *rows)
        tables.note_called(tree)
        if not walkers.fresh[walker]:
            self._answers[walker] = {}
            walkers.fresh[walker] = True
        self._answers[walker][asked] = given

    def compare(self, rows: Iterable[Row]) -> None:
        """Compare what was learned with calls, at some states.

        Raises:
            NotRecorded: something does otherwise than was learned.
        """
        packed = np.array([self._packing.pack(row) for row in rows])
        if len(packed):
            self._comparison.paths(packed, self._packing, 0, len(packed))

    def distances(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """The distances of some states. Where one is not known, it is called, and learned if that is worth it.

        Parameters:
            rows: of the states.

        Raises:
            StopSearch: the time is up, or the tables are full.
            SpecError: the distance raised an exception, or is not a number from 0 on.
            ShapeChanged, NotRecorded, NewKind: see `adjustments.CHANGES`.
        """
        tables, tree = self.tables, self.tables.caller.distance_tree
        self._measured += len(rows)
        codes, distances = np.zeros(len(rows), np.int32), np.zeros(len(rows))
        kernel.leaves(rows, tree, tables.forest.pool, codes)
        distances[codes < 0] = tables.distances[-codes[codes < 0] - 1]
        for place in np.flatnonzero(codes == 0).tolist():
            self._watch.pause()
            distances[place] = self._distance(tree, rows[place].tolist())
        self.note_values()
        return distances

    def _distance(self, tree: int, row: Row) -> float:
        """The distance of a state whose path was not known."""
        tables = self.tables
        if not tables.effort.is_worthwhile(tree, 1, self._measured):
            tables.note_called(tree)
            return tables.caller.distance_of(row)
        leaf = tables.forest.leaf(tree, row)  # the path may have been learned since
        if leaf is not None:
            return float(tables.distances[leaf])
        call = tables.caller.make(tree, (row,))
        self._learn_from([((tree, (row,)), call)])
        assert isinstance(call.gave, float)
        return call.gave


def padded(rows: Sequence[Sequence[int]], slots: int) -> NDArray[np.int64]:
    """Rows as an array, with 0 in the slots that they lack as these are new."""
    array = np.zeros((len(rows), slots), np.int64)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array
