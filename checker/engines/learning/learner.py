"""Calls a spec's functions for a search, and stores the results in decision trees for reuse.

All engines that learn results use this module. The engines differ in how they store their states; see `Holder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.learning.calls import Call, Job, Outcome, Row
from leadline.checker.engines.learning.comparison import Comparison
from leadline.checker.engines.learning.enabled_index import EnabledIndex
from leadline.checker.engines.learning.forest import TABLES_FULL, TablesFull
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.verification import Verification
from leadline.checker.engines.learning.workers import Workers

S = TypeVar("S")


class Holder(Protocol):
    """An object that stores the states of a search."""

    @property
    def packing(self) -> Packing:
        """The packing of the stored states."""

    def repack(self) -> None:
        """Convert the stored states to a new packing with enough bits for all values found so far.

        Raises:
            StopSearch: if there is not enough memory.
        """


class Learner(Generic[S]):
    """Calls the spec's functions, and stores the results in decision trees for reuse.

    Each action instance, each predicate of a property, and `Spec.distance` has a decision tree.

    Parameters:
        holder: the object that stores the states of the search.
        workers: the threads and processes of the search, including the helper processes, which also call the spec's
            functions.

    Attributes:
        comparison: compares learned results with the results of additional calls.
        verification: checks a random sample of the learned results against actual calls.
    """

    def __init__(self, tables: TransitionTables[S], holder: Holder, workers: Workers) -> None:
        self.tables, self._workers, self._holder = tables, workers, holder
        self.comparison = Comparison(tables)
        self.verification = Verification(self.comparison)
        self._index: EnabledIndex | None = None

    def learn(self, asked: Sequence[tuple[Job, int]], states: int) -> int:
        """Make the calls whose results are likely to be reused, and store their results in the tables.

        Parameters:
            asked: the possible calls, each with the number of states that need its result.
            states: the number of states found so far.

        Returns:
            The number of calls in `asked` that were not made.

        Raises:
            StopSearch: if the tables are full.
            SpecError: if an action, a property or the distance raised an exception or is not pure.
            ShapeChanged, NotRecorded: if the search must start again; see `Adjustments`.
        """
        effort = self.tables.effort
        jobs = [job for job, wanted in asked if effort.is_worthwhile(job[0], wanted, states)]
        if jobs:
            self.make(jobs)
        return len(asked) - len(jobs)

    def make(self, jobs: list[Job]) -> None:
        """Make calls and store their results in the tables. For the exceptions, see `learn`."""
        self.learn_from(self._workers.helpers(self.tables.caller).make(jobs))

    def learn_from(self, calls: Iterable[tuple[Job, Call]]) -> None:
        """Store the results of given calls in the tables.

        Parameters:
            calls: the calls, each with its reads and its result. The iterable may make the calls during the iteration.

        Raises:
            StopSearch: if the tables are full.
        """
        tables = self.tables
        try:
            for (tree, rows), call in calls:
                leaf = tables.leaf_of(call)
                self._note_members()
                if not tables.all_packed or len(self._holder.packing.sizes) < tables.layout.slots:
                    self._fit()
                tables.learn(tree, rows, call, leaf)  # at the end: outcomes must be packed before a path leads to them
        except TablesFull:
            raise StopSearch(TABLES_FULL) from None

    def call(self, tree: int, *rows: Row) -> list[Outcome] | bool | float:
        """Call a function without storing the result. Call `note_values` after one or more calls to this method.

        Parameters:
            tree: the index of the function's decision tree.
            rows: the state, or the states before and after a step.

        Returns:
            For an action instance, its steps. For a predicate, whether the state or step violates an
            invariant or satisfies a witness. For the distance, the distance.
        """
        if tree < self.tables.instances:
            return self.steps(tree, rows[0])
        if tree < self.tables.caller.distance_tree:
            return self.shows(tree, *rows)
        self.tables.note_called(tree)
        return self.tables.caller.distance_of(rows[0])

    def steps(self, tree: int, row: Row) -> list[Outcome]:
        """Call an action instance without storing the result, and return its steps.

        Parameters:
            tree: the index of the action instance's decision tree.
        """
        self.tables.note_called(tree)
        return self.tables.caller.steps(tree, row)

    def shows(self, tree: int, *rows: Row) -> bool:
        """Call a predicate without storing the result.

        Parameters:
            tree: the index of the predicate's decision tree.
            rows: the state, or the states before and after a step.

        Returns:
            Whether the state or step violates an invariant or satisfies a witness.
        """
        self.tables.note_called(tree)
        return self.tables.caller.shows(tree, *rows)

    def ask(self, tree: int, row: Row, states: int) -> list[Outcome] | bool | float:
        """Return the result of an action instance, a predicate on states, or `Spec.distance` for a state.

        If the result is not in the tables, call the function, and store the result if it is likely to be reused.

        Parameters:
            tree: the index of the function's decision tree.
            states: the number of states found so far.

        Returns:
            The result; see `call`.

        Raises:
            StopSearch, SpecError, ShapeChanged, NotRecorded: see `learn`.
        """
        tables = self.tables
        known = tables.gives(tree, row)
        if known is not None:
            return known
        if not tables.effort.is_worthwhile(tree, 1, states):
            return self.call(tree, row)
        call = tables.caller.make(tree, (row,))
        self.learn_from([((tree, (row,)), call)])
        return call.gave

    def note_values(self) -> None:
        """Add bits to the packing if the values and collection members found so far need more bits."""
        self._note_members()
        if not self._holder.packing.fits(self.tables.layout.sizes()):
            self._fit()

    def _note_members(self) -> None:
        """Add bits to the packing for collection members that were found since the last call."""
        if self.tables.note_members():
            self._holder.packing.add(self.tables.layout.sizes())
            self._index = None

    def _fit(self) -> None:
        """Pack the changes of newly learned steps. If a slot needs more bits, pack all states again."""
        if self._holder.packing.fits(self.tables.layout.sizes()):
            self.tables.pack(self._holder.packing)
            return
        with interrupts_wait():  # an interrupt here would leave states and changes packed in different ways
            self._holder.repack()
            self.tables.pack(self._holder.packing)

    def enabled_index(self, *, renew: bool) -> EnabledIndex:
        """Return the index of the action instances that may be enabled in a state. Build the index if necessary.

        Parameters:
            renew: whether to rebuild the index if many calls have been learned since it was built.
        """
        index, packing = self._index, self._holder.packing
        if index is None or index.packing is not packing or (renew and index.is_outdated):
            with interrupts_wait():
                index = self._index = EnabledIndex(self.tables, packing)
        return index

    def forget_index(self) -> None:
        """Discard the index that `enabled_index` returns. Call this after paths have been deleted from the trees."""
        self._index = None

    def compare(self, states: NDArray[np.uint64], first: int, last: int) -> None:
        """Compare learned results for the given states with the results of actual calls.

        Parameters:
            first, last: the range of indices from which states are chosen, excluding `last`.

        Raises:
            NotRecorded: if a call returned a result that differs from the learned one.
        """
        self.comparison.paths(states, self._holder.packing, first, last)
