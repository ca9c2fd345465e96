"""The learner: makes the calls that a search is missing, learns from those that are worth it, and compares.

It is the same for every search. What differs is how a search holds its states: see `Holder`.
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
    """What holds the states of a search."""

    @property
    def packing(self) -> Packing:
        """How its states are packed."""

    def repack(self) -> None:
        """Pack its states another way, with bits for all values that have numbers.

        Raises:
            StopSearch: there is no memory for it.
        """


class Learner(Generic[S]):
    """Adds to what is known of a spec, for one search.

    Parameters:
        tables: what is known.
        holder: holds the states of the search.
        workers: has the processes that make calls.

    Attributes:
        tables: as given.
        comparison: compares what was learned with further calls.
        verification: does so for a random share of all that is used.
    """

    def __init__(self, tables: TransitionTables[S], holder: Holder, workers: Workers) -> None:
        self.tables, self._workers, self._holder = tables, workers, holder
        self.comparison = Comparison(tables)
        self.verification = Verification(self.comparison)
        self._index: EnabledIndex | None = None

    def learn(self, asked: Sequence[tuple[Job, int]], states: int) -> int:
        """Make the calls that are worth it, and learn from them.

        Parameters:
            asked: calls, each with how often its path was met.
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
        """Make calls, and learn from them; see `learn`."""
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
        """Make a call without learning from it. Call `note_values` after the last of several.

        Parameters:
            tree: the tree of what is called.
            rows: the states.

        Returns:
            Of an action instance, what each of its steps changes; of a predicate, whether it gives evidence; of the
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
        """The result of an action instance, a state predicate or the distance in a state. It is learned if worth it.

        Parameters:
            tree: the tree of what is asked.
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
        """See that states have bits for all values, and for the members of collections, that were met."""
        self._note_members()
        if not self._holder.packing.fits(self.tables.layout.sizes()):
            self._fit()

    def _note_members(self) -> None:
        """Have bits for new members of collections."""
        if self.tables.note_members():
            self._holder.packing.add(self.tables.layout.sizes())
            self._index = None

    def _fit(self) -> None:
        """Pack the outcomes that are new; or everything, if a slot has more values than bits."""
        if self._holder.packing.fits(self.tables.layout.sizes()):
            self.tables.pack(self._holder.packing)
            return
        with interrupts_wait():  # or states and outcomes would be packed in different ways
            self._holder.repack()
            self.tables.pack(self._holder.packing)

    def enabled_index(self, *, renew: bool) -> EnabledIndex:
        """The index of enabled action instances.

        Parameters:
            renew: whether to make it anew if much was learned since it was made.
        """
        index, packing = self._index, self._holder.packing
        if index is None or index.packing is not packing or (renew and index.is_outdated):
            with interrupts_wait():
                index = self._index = EnabledIndex(self.tables, packing)
        return index

    def forget_index(self) -> None:
        """Make the index of enabled action instances anew for the next block, as tables have forgotten paths."""
        self._index = None

    def compare(self, states: NDArray[np.uint64], first: int, last: int) -> None:
        """Compare paths that some states take with calls; see `Comparison.paths`."""
        self.comparison.paths(states, self._holder.packing, first, last)
