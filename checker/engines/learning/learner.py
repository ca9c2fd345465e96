"""The learner, which makes the calls that a search needs, learns from those that are worth it, and compares.

It is the same for every search. Only the way in which a search stores its states differs; see `Holder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.learning.calls import Call, Changes, Job, Row
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
        """The packing of the states."""

    def repack(self) -> None:
        """Convert the states to a packing that has bits for all numbered values.

        Raises:
            StopSearch: there is not enough memory.
        """


class Learner(Generic[S]):
    """Extends the tables of a spec for one search.

    Parameters:
        tables: everything learned so far.
        holder: stores the states of the search.
        workers: has the processes that make calls.

    Attributes:
        tables: everything learned so far.
        comparison: compares learned results with further calls.
        verification: does so for a random share of all uses of learned results.
    """

    def __init__(self, tables: TransitionTables[S], holder: Holder, workers: Workers) -> None:
        self.tables, self._workers, self._holder = tables, workers, holder
        self.comparison = Comparison(tables)
        self.verification = Verification(self.comparison)
        self._index: EnabledIndex | None = None

    def learn(self, asked: Sequence[tuple[Job, int]], states: int) -> int:
        """Make the calls that are worth it, and learn from them.

        Parameters:
            asked: the calls that are needed, each with the number of times that its path was met.
            states: the number of states found so far.

        Returns:
            The number of calls that were not worth it.

        Raises:
            StopSearch: the tables are full.
            SpecError: the spec misbehaved.
            ShapeChanged, NotRecorded, NewKind: the search has to start again; see `Adjustments`.
        """
        effort = self.tables.effort
        jobs = [job for job, wanted in asked if effort.is_worthwhile(job[0], wanted, states)]
        self.make(jobs)
        return len(asked) - len(jobs)

    def make(self, jobs: list[Job]) -> None:
        """Make calls and learn from them; see `learn`."""
        self.learn_from(self._workers.helpers(self.tables.caller).make(jobs))

    def learn_from(self, calls: Iterable[tuple[Job, Call]]) -> None:
        """Learn from calls.

        Raises:
            StopSearch: the tables are full.
        """
        tables = self.tables
        try:
            for (tree, rows), call in calls:
                leaf = tables.leaf_of(call)
                self._note_members()
                if not tables.all_packed or len(self._holder.packing.sizes) < tables.layout.slots:
                    self._fit()
                tables.learn(tree, rows, call, leaf)  # last: a path must not lead to an outcome that is not packed
        except TablesFull:
            raise StopSearch(TABLES_FULL) from None

    def call(self, tree: int, *rows: Row) -> list[Changes] | bool | float:
        """Make a call without learning from it. After one or more calls, call `note_values`.

        Parameters:
            tree: the tree of the function to call.
            rows: the states.

        Returns:
            For an action instance, the changes of each step; for a predicate, whether it gives evidence; for the
            distance, the distance.
        """
        if tree < self.tables.instances:
            return self.steps(tree, rows[0])
        if tree < self.tables.caller.distance_tree:
            return self.shows(tree, *rows)
        self.tables.note_called(tree)
        return self.tables.caller.distance_of(rows[0])

    def steps(self, tree: int, row: Row) -> list[Changes]:
        """Call an action instance without learning from it; see `call`."""
        self.tables.note_called(tree)
        return self.tables.caller.steps(tree, row)

    def shows(self, tree: int, *rows: Row) -> bool:
        """Call a predicate without learning from it; see `call`."""
        self.tables.note_called(tree)
        return self.tables.caller.shows(tree, *rows)

    def ask(self, tree: int, row: Row, states: int) -> list[Changes] | bool | float:
        """Return the result of an action instance, a state predicate or the distance in a state; learn it if useful.

        Parameters:
            tree: the tree of the action instance, the predicate or the distance.
            row: the state.
            states: the number of states found so far.

        Raises: see `learn`.
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
        """Make sure that states have bits for all values and all members of collections that were met."""
        self._note_members()
        if not self._holder.packing.fits(self.tables.layout.sizes()):
            self._fit()

    def _note_members(self) -> None:
        """Add bits for new members of collections."""
        if self.tables.note_members():
            self._holder.packing.add(self.tables.layout.sizes())
            self._index = None

    def _fit(self) -> None:
        """Pack new outcomes. If a slot has more values than its bits can hold, pack all states and outcomes again."""
        if self._holder.packing.fits(self.tables.layout.sizes()):
            self.tables.pack(self._holder.packing)
            return
        with interrupts_wait():  # or states and outcomes would be packed in different ways
            self._holder.repack()
            self.tables.pack(self._holder.packing)

    def enabled_index(self, *, renew: bool) -> EnabledIndex:
        """Return the index of enabled action instances.

        Parameters:
            renew: whether to rebuild the index if much was learned since it was built.
        """
        index, packing = self._index, self._holder.packing
        if index is None or index.packing is not packing or (renew and index.is_outdated):
            with interrupts_wait():
                index = self._index = EnabledIndex(self.tables, packing)
        return index

    def forget_index(self) -> None:
        """Have the index of enabled action instances rebuilt for the next block, because trees have forgotten paths."""
        self._index = None

    def compare(self, states: NDArray[np.uint64], first: int, last: int) -> None:
        """Compare the paths of some states with calls; see `Comparison.paths`."""
        self.comparison.paths(states, self._holder.packing, first, last)
