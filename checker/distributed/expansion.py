"""Expansion: the compiled engine, given some states of a level instead of searching on from its own.

A driver and all its workers agree on the numbers of slot values: the driver gives them. A worker that meets
a value that has no number yet finishes what it does, so as to meet all of them, throws it away, and reports
the values; the driver numbers them, and has it done again. What else is learned stays with each worker.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from checker.budget import Budget
from checker.compiled import kernel, search
from checker.compiled.calls import Call
from checker.compiled.comparison import Comparison
from checker.compiled.layout import Layout
from checker.compiled.packing import Packing
from checker.compiled.search import Adjustments, CompiledSearch, Progression
from checker.compiled.store import Store
from checker.compiled.tables import Tables
from checker.compiled.workers import Workers
from checker.progress import Progress
from checker.result import Limits
from checker.spec import Spec

S = TypeVar("S")

COMING = 2
"""Next states that a state is expected to have, so that the table they are entered in need not grow."""

StepSeen = tuple[int, int, list[int]]
"""A step that shows a step predicate: the number of its state, the action instance, the next state's row."""


class NewValues(Exception):
    """Slots have values that the driver has not numbered yet.

    Attributes:
        values: each with its slot.
    """

    def __init__(self, values: list[tuple[int, Any]]) -> None:
        self.values = values
        super().__init__(values)


class HandOver(Exception):
    """The level that is to be expanded next is large."""


@attrs.frozen
class Numbering:
    """What all workers must agree on before they can exchange states.

    Attributes:
        values: the values of each slot, in the order of their numbers.
        sizes: of the packing.
    """

    values: list[list[Any]]
    sizes: list[int]

    @classmethod
    def of(cls, values: list[list[Any]], packing: Packing | None = None) -> Numbering:
        """The numbering of some values: packed as before if they fit, else with room for as many again, if it is free.

        Parameters:
            values: for each slot.
            packing: the packing so far.
        """
        sizes = [len(known) for known in values]
        if packing is not None and packing.fits(sizes):
            return cls(values, packing.sizes)
        roomy = [2 * size for size in sizes]
        return cls(values, roomy if Packing(roomy).words == Packing(sizes).words else sizes)


@attrs.frozen
class Expanded:
    """What comes of expanding some states.

    Attributes:
        found: the next states that differ from each other, in the order of discovery: ``state``, ``position``,
            ``parent`` (by its place among the states expanded) and ``arrival``.
        generated: for each action instance, how many steps it took.
        counters: see `kernel.append`.
        steps_seen: for each step predicate, the first steps that show it.
        dead: the first states without a next state.
    """

    found: dict[str, NDArray[Any]]
    generated: list[int]
    counters: list[int]
    steps_seen: list[list[StepSeen]]
    dead: list[int]


class LevelSearch(CompiledSearch[S], Generic[S]):
    """A compiled search that stops before the first large level, and then expands the states it is given.

    Parameters:
        large: how many states are a large level.
    """

    def __init__(
        self,
        spec: Spec[S],
        limits: Limits,
        progress: Progress | None,
        workers: Workers,
        adjustments: Adjustments,
        budget: Budget,
        large: int,
    ) -> None:
        super().__init__(spec, limits, progress, workers, adjustments, budget)
        self._large: int | None = large
        self._known: list[int] = []
        self._unsure: set[int] = set()

    def _expand(self, last: int) -> None:
        at = self._at
        if self._large is not None and at.next == at.levels[-1] and at.level_end - at.next >= self._large:
            self._known = self._sizes()
            raise HandOver
        super()._expand(last)

    def _learn_from(self, tree: int, call: Call) -> None:
        super()._learn_from(tree, call)
        if self._large is None and call.writes_beyond(self._known):
            self._unsure.add(tree)

    @property
    def searched(self) -> tuple[Progression, Store]:
        """How far the search came by itself, and what it found."""
        return self._at, self._store

    @property
    def tables(self) -> Tables[S]:
        """What is learned so far."""
        return self._tables

    @property
    def layout(self) -> Layout:
        """The slots of the states."""
        return self._layout

    @property
    def packing(self) -> Packing:
        """How states are packed now."""
        return self._store.packing

    @property
    def numbering(self) -> Numbering:
        """The numbers of this search as they are now."""
        return Numbering.of([domain.values for domain in self._layout.domains])

    def adopt(self, tables: Tables[S]) -> None:
        """Begin with what another search has learned, and with its numbers."""
        self._tables, self._layout = tables, tables.layout
        self._comparison = Comparison(tables)
        self._known = self._sizes()
        self._agree_on_packing(Packing(self._known))

    def know(self, values: list[list[Any]]) -> None:
        """Take over values with their numbers, and all that are numbered now."""
        for domain, numbered in zip(self._layout.domains, values, strict=False):
            for value in numbered:
                domain.number(value)
        self._known = self._sizes()

    def agree(self, numbering: Numbering) -> None:
        """Take over numbers, all of those so far among them, and search no further than what is given."""
        self._large, self.limits = None, Limits(traces=self.limits.traces)
        self.forget_news()
        self.know(numbering.values)
        if self._store.packing.sizes != numbering.sizes:
            self._agree_on_packing(Packing(numbering.sizes))

    def _agree_on_packing(self, packing: Packing) -> None:
        self._tables.pack(packing)
        self._hold(np.zeros((0, packing.words), np.uint64), packing)

    def forget_news(self) -> None:
        """Go back to the values that have numbers for sure, and forget the paths that know of others."""
        if self._sizes() == self._known:
            return
        tables = self._tables
        of_steps = range(tables.first_step, tables.first_step + len(tables.step_checks))
        tables.forget([*self._unsure, *of_steps], self._known)
        self.workers.end_helpers()
        self._layout.forget(self._known)
        self._unsure.clear()
        self._guards = None

    def _report_news(self) -> None:
        values = [
            (slot, value)
            for slot, (domain, known) in enumerate(zip(self._layout.domains, self._known, strict=True))
            for value in domain.values[known:]
        ]
        if values:
            raise NewValues(values)

    def _hold(self, states: NDArray[np.uint64], packing: Packing) -> None:
        """Have these states in the place of all that were found."""
        memory = self.budget.memory.for_states
        self._store = Store(packing, len(self.spec.instances), memory, self.workers, len(states))
        self._store.states[: len(states)] = states
        self._store.counters[kernel.STATES] = len(states)

    def expand(self, states: NDArray[np.uint64], samples: int, steps_wanted: list[int]) -> Expanded:
        """Expand some states of a level.

        Parameters:
            states: packed as was agreed.
            samples: on how many of them what was learned is compared with the actions themselves.
            steps_wanted: for each step predicate, how many more steps are wanted that show it.

        Raises:
            NewValues: there are values without a number.
            SpecError: the spec misbehaved.
            ShapeChanged, NotRecorded: the search has to begin again.
        """
        tables, traces, count = self._tables, self.limits.traces, len(states)
        self._hold(states, self._store.packing)
        self._store.grow(COMING * count)
        had = [traces - wanted for wanted in steps_wanted]
        self._at = Progression(
            counts=np.zeros((len(self.spec.instances), 2), np.int64),
            seen=[[0] * traces for _ in tables.state_checks],  # none is wanted: see `showing`
            steps_seen=[[(0, 0, [])] * already for already in had],
            dead=np.zeros(traces, np.int64),
        )
        for index in np.linspace(0, count - 1, samples, dtype=int):
            self._comparison.state(self._row(index))
        while self._at.next < count:
            self._expand(min(self._at.next + search.BLOCK * self.workers.count, count))
        self._report_news()
        store, at = self._store, self._at
        new = slice(count, store.count)
        return Expanded(
            found={
                "state": store.states[new],
                "position": np.arange(store.count - count, dtype=np.uint32),
                "parent": store.parents[new],
                "arrival": store.arrivals[new],
            },
            generated=at.counts[:, 0].tolist(),
            counters=store.counters.tolist(),
            steps_seen=[steps[already:] for steps, already in zip(at.steps_seen, had, strict=True)],
            dead=at.dead[: store.counters[kernel.DEADLOCKS]].tolist(),
        )

    def showing(self, states: NDArray[np.uint64], wanted: list[int]) -> list[list[int]]:
        """For each state predicate, the first of some states that show it, as many as are wanted."""
        self._hold(states, self._store.packing)
        had = [self.limits.traces - number for number in wanted]
        self._at.seen, self._at.checked = [[0] * already for already in had], 0
        self._check_states()
        return [seen[already:] for seen, already in zip(self._at.seen, had, strict=True)]

    def steps_into(self, states: NDArray[np.uint64], targets: NDArray[np.uint64]) -> list[tuple[int, int, int]]:
        """The steps from some states of a level into some of the next: state, action instance, target."""
        self.expand(states, 0, [0] * len(self._tables.step_checks))  # so that all paths are known
        return self._steps_to(lambda: targets, 0, len(states))

    def row(self, words: NDArray[np.uint64]) -> list[int]:
        """The slots' numbers in a state."""
        return self._store.packing.unpack(words)
