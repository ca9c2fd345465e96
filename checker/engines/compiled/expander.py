"""Computes the next states of a block of packed states, and evaluates the properties on them.

The compiled search and each worker of the Spark engine have an expander. The expander does not handle levels, limits,
progress or checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.block_parts import BlockParts
from leadline.checker.engines.compiled.buffers import Buffers, UnlearnedSteps
from leadline.checker.engines.compiled.store import MOST_STATES, Store
from leadline.checker.engines.evidence import still_evaluated
from leadline.checker.engines.learning.arrays import CountArrays
from leadline.checker.engines.learning.calls import Outcome
from leadline.checker.engines.learning.enabled_index import EnabledIndex
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.learner import Learner
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.trees import SHOWN
from leadline.checker.engines.learning.trees import leaves as find_leaves
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.result import Stop, StopKind

S = TypeVar("S")

CHUNKS = 4
"""The number of parts per thread into which a block is divided. An idle thread takes the next part."""

CALLS_A_LOOK = 64
"""The number of learned calls between two checks of the memory."""

StepSeen = tuple[int, int, list[int]]
"""A step that violates a property or satisfies a witness.

It is given as the index of the state before the step, the action instance, and the index of the value in each slot of
the state after the step.
"""


@attrs.frozen(eq=False)
class NextStates:
    """The next states of a block of states, before the new states are stored.

    Attributes:
        buffers: the next states of each part.
        new: the number of new states found in each part.
        steps_wanted: for each predicate on steps, the maximum number of steps to collect; see `Expander.find`.
    """

    parts: BlockParts
    buffers: Buffers
    new: list[int]
    steps_wanted: Sequence[int]


@attrs.frozen(eq=False)
class BlockResult:
    """The result of expanding a block of states.

    Attributes:
        counts: for each action instance, the number of its steps, and the number of those steps that led to a new
            state. The shape is (action instances, 2).
        steps_seen: for each predicate on steps, the first steps that violate the property or satisfy the witness, up to
            the requested number.
        dead: the first deadlocked states (states that have no next state and are not final), up to the requested
            number.
    """

    counts: NDArray[np.int64]
    steps_seen: list[list[StepSeen]]
    dead: list[int]


class Expander(Generic[S]):
    """Expands blocks of states and evaluates predicates on them, using learned transition tables.

    The tables contain a decision tree for each action instance and each predicate. If a path through a tree has not
    been learned yet, the spec's function is called. Such a path is said to be unknown.

    Parameters:
        tables: the transition tables. Calls to the spec's functions extend them.
        store: the states found so far. The method `keep` adds the new states.
        watch: the object that checks the limits on time and memory. It also holds the threads of the search.

    Attributes:
        tuning: internal sizes and times.
        learner: makes the calls for unknown paths.
        earlier: the number of states that were processed earlier and are not in the store; see `learn`.
    """

    def __init__(self, tables: TransitionTables[S], store: Store, watch: Watch) -> None:
        self.tables, self.store, self.watch, self.workers = tables, store, watch, watch.workers
        self.tuning, self.layout = tables.caller.tuning, tables.layout
        tables.pack(store.packing)
        self.learner = Learner(tables, self, watch.workers)
        self.earlier = 0
        self._buffers: Buffers | None = None

    def find(self, first: int, last: int, steps_wanted: Sequence[int]) -> NextStates:
        """Generate the next states of a block, and determine which of them are new.

        Parameters:
            first, last: the range of states in the block, excluding `last`.
            steps_wanted: for each predicate on steps, how many more violating steps (for a witness, satisfying steps)
                to collect at most; see `still_evaluated`.

        Raises:
            StopSearch: if the time or the memory is used up, or if the tables are full.
            SpecError: if an action or a property raised an exception or is not a pure function.
            ShapeChanged, NotRecorded: if the search must start again; see `Adjustments`.
        """
        store = self.store
        self.learner.compare(store.states, first, last)
        wanted = np.array(still_evaluated(self.tables.step_checks, steps_wanted), np.bool_)
        parts, buffers = self.generate(first, last, wanted)
        coming = int(parts.cursors[:, kernel.FILLED].sum())
        self.learner.verification.actions(store.states, store.packing, self.indices_within(first, last), coming)
        self._make_room(coming)
        entered = store.insert(buffers, parts.cursors[:, kernel.FILLED].copy(), coming < self.tuning.alone)
        return NextStates(parts, buffers, entered.sum(axis=0).tolist(), steps_wanted)

    def generate(self, first: int, last: int, wanted: NDArray[np.bool_]) -> tuple[BlockParts, Buffers]:
        """Generate the next states of a block. If the packing changes in the meantime, start again.

        Parameters:
            first, last: the range of states in the block, excluding `last`.
            wanted: for each predicate on steps, whether to evaluate it.

        Returns:
            The parts of the block, and the next states of each part.

        Raises:
            StopSearch, SpecError, ShapeChanged, NotRecorded: see `find`.
        """
        while True:
            found = self._generated(first, last, wanted)
            if found is not None:
                return found

    def other_action(self, found: NextStates, last: int) -> int | None:
        """Compare the next states of a block with the states of a saved search that are loaded into the store.

        Parameters:
            found: the result of the last call to `find`.
            last: the index after the last state of the block.

        Returns:
            The index of an action instance that does not lead to the saved states, or None if the same states were
            found by the same steps.
        """
        store, filled = self.store, found.parts.cursors[:, kernel.FILLED].copy()
        for part, count in enumerate(filled):
            if found.new[part]:
                return int(found.buffers.trees[part, np.argmax(found.buffers.places[part, :count] >= 0)])
        wrong = kernel.first_not_found(
            store.count, store.found_from(last), np.array(found.parts.ends), filled, found.buffers.arrays, store.states,
            store.parents, store.arrivals,
        )  # fmt: skip
        return None if wrong < 0 else int(store.arrivals[wrong])

    def keep(self, found: NextStates, dead_wanted: int, most: int | None = None) -> BlockResult:
        """Count the steps of a block and add its new states to the store. This method must not be interrupted.

        Parameters:
            found: the result of the last call to `find`.
            dead_wanted: the maximum number of deadlocked states (states without a next state) to collect.
            most: the maximum number of states in the store, or None if all new states are known to fit.
        """
        parts, buffers, new, store = found.parts, found.buffers, found.new, self.store
        wanted = max(found.steps_wanted, default=0)
        counters = np.zeros((len(new), kernel.COUNTERS), np.int64)
        counts = np.zeros((len(new), self.tables.instances, 2), np.int64)
        has_final = self.tables.spec.ending is not None
        room = max(parts.ends[part + 1] - parts.ends[part] for part in range(len(new))) if has_final else dead_wanted
        dead = np.zeros((len(new), room), np.int64)
        seen = np.zeros((len(new), len(found.steps_wanted)), np.int64)
        seen_at = np.zeros((*seen.shape, wanted), np.int64)
        counted = CountArrays(counters, counts, dead, seen, seen_at)
        filled = parts.cursors[:, kernel.FILLED].copy()  # contiguous, or Numba compiles again for several parts
        work = [
            (
                part, store.count + sum(new[:part]), parts.ends[part], parts.ends[part + 1], filled, buffers.arrays,
                -1 if most is None else most, store.kept, counted,
            )
            for part in range(len(new))
        ]  # fmt: skip
        if most is not None:
            # parts after the one that reaches the limit are not counted
            next(part for part in work if kernel.append(*part))
        else:
            self.workers.run(kernel.append, work, alone=sum(new) < self.tuning.alone)
        result = BlockResult(counts.sum(axis=0), [[] for _ in found.steps_wanted], [])
        for part in range(len(new)):
            store.add_counters(counters[part])
            result.dead.extend(dead[part, : counters[part, kernel.DEADLOCKS]].tolist())
            for number, steps in enumerate(result.steps_seen):
                for place in seen_at[part, number, : min(seen[part, number], found.steps_wanted[number] - len(steps))]:
                    parent, tree = buffers.parents[part, place], buffers.trees[part, place]
                    steps.append((int(parent), int(tree), store.packing.unpack(buffers.found[part, place])))
        if has_final:  # evaluated for all of them, because it may raise an exception
            result.dead[:] = [index for index in result.dead if not self.is_final(index)]
        del result.dead[dead_wanted:]
        return result

    def check(self, first: int, wanted: Sequence[bool], inherit: Sequence[bool]) -> NDArray[np.bool_]:
        """Evaluate the predicates on the state with the index `first` and on all later states.

        Parameters:
            wanted: for each predicate, whether to evaluate it. If it contains entries for the predicates on steps too,
                they are evaluated on the steps from the states' predecessors.
            inherit: for each predicate, whether it is known that no predecessor of these states violates the property
                or satisfies the witness. False for predicates on steps.

        Returns:
            A boolean array of shape (states, predicates). An entry is true if the state violates the property or
            satisfies the witness.
        """
        tables, store = self.tables, self.store
        parts, evaluated = self._parts(first, store.count), np.array(wanted, np.bool_)
        shown = np.zeros((store.count - first, len(wanted)), np.bool_)
        while parts.busy:
            parts.fit(len(store.packing.sizes))
            self.workers.run(
                kernel.check,
                [
                    (
                        parts.of(part), store.packed, first, store.parents, np.array(inherit, np.bool_), tables.reads,
                        evaluated, shown, tables.instances, tables.first_step, tables.forest.pool,
                    )
                    for part in parts.busy
                ],
                alone=parts.left.sum() < self.tuning.alone,
            )  # fmt: skip
            for part in self.learn(parts, first):
                self._judge(parts, part, first, evaluated, shown)
        of_states = len(tables.state_checks)
        verification = self.learner.verification
        verification.predicates(store.states, store.packing, first, wanted[:of_states], shown[:, :of_states])
        return shown

    def learn(self, parts: BlockParts, states: int) -> list[int]:
        """Call functions of the spec to learn unknown paths. Skip paths that are unlikely to save time.

        Parameters:
            parts: the parts of a block, with the unknown paths of their states.
            states: the number of states of the store that were processed so far.

        Returns:
            The indices of the parts whose deferred states need direct calls, because some paths were not learned.

        Raises:
            StopSearch: if the tables are full.
        """
        if not self.learner.learn(parts.jobs(self.tables.first_step), self.earlier + states):
            parts.cursors[:, kernel.PATIENT] = False
            return []
        parts.cursors[:, kernel.PATIENT] = True
        return [part for part in parts.busy if len(parts.that_wait(part))]

    def leaves(self, indices: NDArray[np.int64], first_tree: int, trees: int) -> NDArray[np.int32]:
        """Return, for each state and tree, the code of the leaf that the state reaches, or 0 if the path is unknown.

        The array has the shape (states, trees).
        """
        packing, codes = self.store.packing, np.zeros((len(indices), trees), np.int32)
        pool = self.tables.forest.pool
        find_leaves(indices, self.store.states, first_tree, pool, packing.word, packing.shift, packing.mask, codes)
        return codes

    def is_enabled(self, tree: int, index: int) -> bool:
        """Return whether an action instance is enabled in a state. If the path is unknown, call the action.

        Parameters:
            tree: the index of the action instance.

        Raises:
            StopSearch: if the tables are full.
            SpecError: if the action raised an exception or is not a pure function.
            ShapeChanged, NotRecorded: if the search must start again; see `Adjustments`.
        """
        return bool(self.learner.ask(tree, self.row(index), self.store.count))

    def is_final(self, index: int) -> bool:
        """Return whether `Spec.final` is true for a state."""
        return self.tables.spec.is_final(self.state(index))

    def row(self, index: int) -> list[int]:
        """Return the value indices of a state, one per slot."""
        return self.store.packing.unpack(self.store.states[index])

    def state(self, index: int) -> S:
        """Return a state as an object of the spec's state class."""
        state: S = self.layout.state(self.row(index))
        return state

    def sizes(self) -> list[int]:
        """Return, for each slot, the number of values found so far."""
        return self.layout.sizes()

    def within(self, first: int, last: int) -> int:
        """Return the number of states in ``range(first, last)`` that satisfy the constraint `Spec.within`."""
        return last - first - int(np.count_nonzero(self.store.outside[first:last]))

    def indices_within(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the indices of those states in ``range(first, last)`` that satisfy the constraint `Spec.within`."""
        outside = self.store.outside[first:last]  # empty if the spec has no constraint
        return first + np.flatnonzero(~outside) if len(outside) else np.arange(first, last)

    def free(self) -> None:
        """Free the memory of the buffers."""
        self._buffers = None

    def _generated(self, first: int, last: int, wanted: NDArray[np.bool_]) -> tuple[BlockParts, Buffers] | None:
        """Generate the next states of a block. If the packing changes meanwhile, return None."""
        tables, packing = self.tables, self.store.packing
        parts, looked_at = self._parts(first, last), tables.calls
        buffers = self._buffers_for(parts)
        index = self.learner.enabled_index(renew=last - first >= self.tuning.alone)
        answers: list[UnlearnedSteps] = []
        while True:
            full = self._walk(parts, buffers, index, wanted, answers)
            answers = self._answers(parts, packing, self.learn(parts, first))
            if self.store.packing is not packing:
                return None
            if any(full):
                self.watch.need(2 * buffers.nbytes)
                buffers.grow()
            if not parts.busy:
                self._judge_steps(parts, buffers)
                return parts, buffers
            self.watch.pause()
            if tables.calls - looked_at >= CALLS_A_LOOK:
                self.watch.need(0)
                looked_at = tables.calls

    def _walk(
        self,
        parts: BlockParts,
        buffers: Buffers,
        index: EnabledIndex,
        wanted: NDArray[np.bool_],
        answers: Sequence[UnlearnedSteps],
    ) -> list[bool]:
        """Generate the next states of all states that remain to be processed. Return, for each part, whether its buffer
        is full.
        """
        tables, store, packing = self.tables, self.store, self.store.packing
        parts.fit(len(packing.sizes))
        answers = answers or [UnlearnedSteps([], packing)] * len(parts.cursors)
        return self.workers.run(
            kernel.expand,
            [
                (
                    parts.of(part), store.packed, answers[part].arrays, parts.ends[part], buffers.of(part), wanted,
                    index.arrays, tables.first_step, tables.reads[len(tables.state_checks) :], tables.arrays,
                )
                for part in parts.busy
            ],
            alone=parts.left.sum() < self.tuning.alone,
        )  # fmt: skip

    def _answers(self, parts: BlockParts, packing: Packing, too_many: Sequence[int]) -> list[UnlearnedSteps]:
        """Call the actions on the deferred states of the given parts, and return the steps of each part.

        Return no steps if the packing of the states changes during the calls.
        """
        answers = [UnlearnedSteps([], packing)] * len(parts.cursors)
        for part in too_many if self.store.packing is packing else ():
            found = self._steps_from(parts.that_wait(part))
            if self.store.packing is packing:
                answers[part] = UnlearnedSteps(found, packing)
        return answers

    def _parts(self, first: int, last: int) -> BlockParts:
        """Divide the states in ``range(first, last)`` into parts for the threads."""
        tuning, workers = self.tuning, self.workers.count
        alone = workers == 1 or last - first < tuning.alone
        count = 1 if alone else min(workers * CHUNKS, last - first)  # so that no part is empty
        return BlockParts(first, last, count, self.layout.slots, tuning)

    def _buffers_for(self, parts: BlockParts) -> Buffers:
        """Return buffers for the next states of each part of a block. Reuse existing buffers if possible."""
        count, words, step_checks = len(parts.cursors), self.store.packing.words, len(self.tables.step_checks)
        states = int(np.diff(parts.ends).max())
        buffers, draws = self._buffers, len(self.tables.labels) > 0
        if buffers is None or buffers.found.shape[::2] != (count, words) or buffers.begins.shape[1] < states:
            buffers = self._buffers = Buffers(count, states, words, step_checks, self.workers.count, draws=draws)
        return buffers

    def _steps_from(self, indices: NDArray[np.int64]) -> list[list[tuple[int, list[Outcome]]]]:
        """For each of the given states, call the action instances whose paths are unknown, and return their steps."""
        tables, found = self.tables, []
        for index, codes in zip(indices, self.leaves(indices, 0, tables.instances), strict=True):
            row = self.row(index)
            found.append([(tree, self.learner.steps(tree, row)) for tree in np.flatnonzero(codes == 0).tolist()])
        self.learner.note_values()
        return found

    def _judge(
        self, parts: BlockParts, part: int, first: int, wanted: NDArray[np.bool_], shown: NDArray[np.bool_]
    ) -> None:
        """Evaluate predicates on the deferred states of a part. If a path is unknown, call the predicate.

        Parameters:
            parts, part: the parts of the block, and the index of the part.
            first, wanted, shown: see `kernel.check`.
        """
        tables, indices, of_states = self.tables, parts.that_wait(part), len(self.tables.state_checks)
        codes = self.leaves(indices, tables.instances, of_states)
        of_steps = (of_states + np.flatnonzero(wanted[of_states:])).tolist()
        for index, of_state in zip(indices.tolist(), codes, strict=True):
            shown[index - first, :of_states] |= of_state == SHOWN  # includes paths that were learned after the loop ran
            row = self.row(index)
            for predicate in np.flatnonzero((of_state == 0) & wanted[:of_states]).tolist():
                shown[index - first, predicate] = self.learner.shows(tables.instances + predicate, row)
            before = self.row(int(self.store.parents[index])) if of_steps else []
            for predicate in of_steps:
                tree = tables.instances + predicate
                leaf = tables.forest.leaf(tree, before, row)
                shown[index - first, predicate] = (
                    -leaf - 1 == SHOWN if leaf is not None else self.learner.shows(tree, before, row)
                )
        parts.cursors[part, kernel.WAITING] = 0

    def _judge_steps(self, parts: BlockParts, buffers: Buffers) -> None:
        """Call the predicates on a block's steps, wherever the tables contain no result."""
        tables, packing = self.tables, self.store.packing
        for part, filled in enumerate(parts.cursors[:, kernel.FILLED]):
            shown = buffers.shown[part, :filled]
            before: tuple[int, list[int]] = (-1, [])
            for place, predicate in np.argwhere(shown == kernel.NOT_KNOWN).tolist():
                parent = int(buffers.parents[part, place])
                if before[0] != parent:
                    before = parent, self.row(parent)
                tree = tables.first_step + predicate
                shown[place, predicate] = self.learner.shows(
                    tree, before[1], packing.unpack(buffers.found[part, place])
                )

    @property
    def packing(self) -> Packing:
        """The packing of the states."""
        return self.store.packing

    def repack(self) -> None:
        """Repack all states, with more bits for the slots that need them."""
        members = len(self.layout.members)
        packing = self.store.packing_of(self.layout, spare=members and 16 + members // 2)
        self.watch.need(self.store.bytes_to_repack(packing))
        self.store.repack(packing)

    def _make_room(self, coming: int) -> None:
        """Make room in the store for more states. Raise StopSearch if there is not enough memory."""
        self.watch.need(self.store.bytes_to_grow(coming))
        if self.store.stored + coming > self.store.room:
            raise StopSearch(self.no_room())
        with interrupts_wait():
            self.store.grow(coming)

    def no_room(self) -> Stop:
        """Return the stop reason to report when the store has no room for more states."""
        return no_room(self.store, self.watch.budget)


def no_room(store: Store, budget: Budget) -> Stop:
    """Return the stop reason to report when a store has no room for more states."""
    if store.room >= MOST_STATES:
        return Stop(StopKind.MEMORY, f"reached {MOST_STATES:,} states, the maximum number of states in one search")
    return budget.memory_failed()
