"""Provides the recorded results of calls as arrays for the loop of a random search, and makes the calls that it needs.

A walker is a position in the state space; see `leadline.checker.engines.random.walkers`. The compiled loop moves
walkers. If it needs a result that has not been recorded, the walker stops until the call has been made.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.calls import Changes, Job, Row
from leadline.checker.engines.learning.forest import with_room
from leadline.checker.engines.learning.learner import Learner
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.slot_hashes import SlotHashes
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.trees import NOT_SHOWN, SHOWN
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random import arrays as arrays
from leadline.checker.engines.random import kernel as kernel
from leadline.checker.result import Verified
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")


class WalkerTables(Generic[S]):
    """The tables that the loop of a random search reads, for one layout of states.

    A result that is likely to be reused is stored in the decision trees. Any other result is called an answer. An
    answer is stored for a single walker until this walker moves to a different state.

    Parameters:
        spec: the spec.
        initials: the initial states of the spec.
        adjustments: facts about the spec that were found in earlier attempts at the search.
        watch: the object that checks the limits, and holds the threads and processes of the search.
        purity: the object that checks that the spec's functions are pure. It calls them again on some of the states.
        tuning: internal sizes and limits.

    Attributes:
        learner: the object that calls the spec's functions.
        tables: the results recorded so far.
        layout: the layout, which defines the slots of the spec's states.
        packing: a packing with room for more values per slot than the search has found so far.
        initial_rows: for each initial state, the index of the value in each slot.
        checks: the properties that have a predicate, in the order of their decision trees.
        words: the number of 64-bit words that represent a set of predicates, with one bit per predicate.
        of_states: the set of state predicates.
        hashes: the object that computes the hashes of states.
    """

    def __init__(
        self,
        spec: Spec[S],
        initials: Sequence[S],
        adjustments: Adjustments,
        watch: Watch,
        purity: Purity[S],
        tuning: Tuning = DEFAULT,
    ) -> None:
        self._watch = watch
        self.tables = TransitionTables(
            spec, initials, adjustments, purity=purity, tuning=tuning, with_distance=spec.distance is not None
        )
        self.layout = self.tables.layout
        self.checks = (*self.tables.state_checks, *self.tables.step_checks)
        self.words = len(self.checks) // 64 + 1
        self.of_states = self.bits(range(self.tables.first_step - self.tables.instances))
        self.packing = self._roomy()
        self.hashes = SlotHashes(self.layout, self.packing)
        self.tables.pack(self.packing)
        self.learner = Learner(self.tables, self, watch.workers)
        self.hashes.calibrate(initials[0])
        self.initial_rows = padded(self.tables.rows, self.layout.slots)
        self._outcomes_known = self._measured = 0
        self._begins = np.zeros(16, np.int64)
        self._slots, self._values = np.zeros(16, np.int32), np.zeros(16, np.int32)
        self._answers: dict[int, dict[tuple[int, int], list[Changes] | bool]] = {}

    def bits(self, predicates: Iterable[int]) -> NDArray[np.uint64]:
        """Return a set of predicates as bits, 64 per word.

        Parameters:
            predicates: the positions of the predicates in `checks`.
        """
        bits = np.zeros(self.words, np.uint64)
        for predicate in predicates:
            bits[predicate // 64] |= np.uint64(1 << predicate % 64)
        return bits

    def _roomy(self) -> Packing:
        """Return a packing with room for twice as many values per slot as have been found so far."""
        return Packing([2 * size for size in self.layout.sizes()], spare=64)

    def repack(self) -> None:
        """Replace the packing with one that has room for more values, and update the hashes; see `Holder.repack`."""
        offset, self.packing = self.hashes.offset, self._roomy()
        self.hashes = SlotHashes(self.layout, self.packing)
        self.hashes.offset = offset

    def widen(self) -> None:
        """Add columns for new slots to the initial states, and update the hashes. Afterwards, the rows of the initial
        states are as long as those of the walkers.
        """
        self.initial_rows = arrays.widened(self.initial_rows, self.layout.slots)
        self.hashes.update()

    # Arguments of the loop.

    def learned(self) -> arrays.Learned:
        """Return the recorded results as arrays for the loop."""
        tables = self.tables
        self.hashes.update()
        index = self.learner.enabled_index(renew=True)
        for steps in itertools.islice(tables.outcomes, self._outcomes_known, None):
            self._add_outcome(steps)
        answers = self._outcomes_known
        for steps in self._answered():
            self._add_outcome(steps)
        self._outcomes_known = answers  # so that the next call of this method overwrites the outcomes of answers
        return arrays.Learned(
            tables.forest.pool, tables.leaf_start, tables.leaf_count, self._begins, self._slots, self._values,
            index.always, index.pairs, index.table, tables.read_by_slot(self.words),
            self.hashes.base, self.hashes.table,
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
        """Yield the changes made by each step in the stored answers, in the order of the walkers."""
        for _, answers in sorted(self._answers.items()):
            for _, given in sorted(answers.items()):
                if not isinstance(given, bool):
                    yield from given

    def answers(self, walkers: int) -> arrays.Answers:
        """Return the answers as arrays for the loop. `learned` must be called first, because it adds the outcomes of
        the answers.

        Parameters:
            walkers: the number of walkers.
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
        """Delete the answers of walkers that have moved to a different state.

        Parameters:
            fresh: for each walker, whether it is still at the state to which its answers belong.
        """
        for walker in list(self._answers):
            if not fresh[walker]:
                del self._answers[walker]

    # Calls.

    def learn(self, walkers: arrays.Walkers, states: int) -> bool:
        """Make the calls whose results the walkers need, and store each result in the tables or as an answer.

        Parameters:
            walkers: the walkers.
            states: the number of states that the search has visited.

        Returns:
            True if at least one result was stored in the tables.

        Raises:
            StopSearch, SpecError, ShapeChanged, NotRecorded, NewKind: see `Learner.learn`.
        """
        effort = self.tables.effort
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
            if effort.is_worthwhile(tree, wanted[end], states):
                jobs[end] = tree, asked_of
            else:
                unlearned.append((walker, (tree, about), asked_of))
        self.learner.make(list(jobs.values()))
        for walker, asked, asked_of in unlearned:
            self._answer(walkers, walker, asked, asked_of)
        self.learner.note_values()
        return bool(jobs)

    def _rows(self, before: list[int], tree: int, outcome: int) -> tuple[list[int], ...]:
        """Return the states on which a function is called for a walker.

        Parameters:
            before: the state of the walker.
            tree: identifies the action instance or predicate to call, by the index of its decision tree.
            outcome: the index of the outcome of a step from this state, or -1 if there is no step.

        Returns:
            For an action instance, the walker's state. For a state predicate, the state after the step, or the walker's
            state if there is no step. For a step predicate, the states before and after the step.
        """
        after = before
        if outcome >= 0:
            after = before.copy()
            for change in range(self._begins[outcome], self._begins[outcome + 1]):
                after[self._slots[change]] = int(self._values[change])
        if tree < self.tables.instances:
            return (before,)
        return (after,) if tree < self.tables.first_step else (before, after)

    def _answer(
        self, walkers: arrays.Walkers, walker: int, asked: tuple[int, int], rows: tuple[Sequence[int], ...]
    ) -> None:
        """Make a call for a walker, and store the result as an answer.

        Parameters:
            walkers: the walkers.
            walker: the index of the walker.
            asked: two numbers: the index of the called function's decision tree, and the hash of the last state in
                `rows`.
            rows: the states on which to call the function.
        """
        given = self.learner.call(asked[0], *rows)
        assert not isinstance(given, float)
        if not walkers.fresh[walker]:
            self._answers[walker] = {}
            walkers.fresh[walker] = True
        self._answers[walker][asked] = given

    def compare(self, rows: Iterable[Row]) -> None:
        """Compare the recorded results for the given states with the results of new calls.

        Parameters:
            rows: for each state, the index of the value in each slot.

        Raises:
            NotRecorded: if a call returned a result that differs from the recorded result.
        """
        packed = np.array([self.packing.pack(row) for row in rows])
        if len(packed):
            self.learner.compare(packed, 0, len(packed))

    def verify(self, rows: NDArray[np.int64]) -> None:
        """Check a random sample of the recorded results for the given states; see `Verification.rows`.

        Parameters:
            rows: for each state, the index of the value in each slot.

        Raises:
            NotRecorded: if a call returned a result that differs from the recorded result.
        """
        self.learner.verification.rows(rows, self.packing)

    def to_verify(self, walkers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Choose some of the given walkers at random, so that their states can be passed to `verify`.

        Parameters:
            walkers: the indices of the walkers to choose from.
        """
        return self.learner.verification.chosen(walkers)

    @property
    def verified(self) -> Verified:
        """How many recorded results have been compared with new calls to the spec's functions."""
        verification = self.learner.verification
        return Verified(verification.checked, verification.drawn, None)

    def distances(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the result of `Spec.distance` for each of the given states. Call the function only for states whose
        distance is not recorded.

        Parameters:
            rows: for each state, the index of the value in each slot.

        Raises:
            StopSearch: if the time limit is exceeded, or the tables are full.
            SpecError: if the function raised an exception, is not pure, or did not return a finite number of at least
                0.
            ShapeChanged, NotRecorded, NewKind: if the search must change its adjustments; see `Adjustments`.
        """
        tables, tree = self.tables, self.tables.caller.distance_tree
        self._measured += len(rows)
        codes, distances = np.zeros(len(rows), np.int32), np.zeros(len(rows))
        kernel.leaves(rows, tree, tables.forest.pool, codes)
        distances[codes < 0] = tables.distances[-codes[codes < 0] - 1]
        for place in np.flatnonzero(codes == 0).tolist():
            self._watch.pause()
            given = self.learner.ask(tree, rows[place].tolist(), self._measured)
            assert isinstance(given, float)
            distances[place] = given
        self.learner.note_values()
        return distances


def padded(rows: Sequence[Sequence[int]], slots: int) -> NDArray[np.int64]:
    """Return rows as an array with `slots` columns. Fill shorter rows with zeros."""
    array = np.zeros((len(rows), slots), np.int64)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array
