"""The workers of the Spark engine, which expand states and evaluate properties on them."""

from __future__ import annotations

import pickle
import socket
from typing import Any, Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.expander import Expander, StepSeen
from leadline.checker.engines.compiled.paths import steps_into
from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.evidence import still_evaluated
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.verification import Verification
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.spark.numbering import NewValues, Numbering
from leadline.checker.engines.spark.shipping import Crate, unpacked
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits

S = TypeVar("S")

COMING = 2
"""The number of new states for each expanded state for which the hash table has room, so that it seldom has to grow."""


@attrs.frozen
class Run:
    """The data shared by all tasks of a run.

    Attributes:
        id: the identifier of the run. A resumed search is a new run.
        place: the path or the URI of the work directory.
        levels: the folder of the levels in it; see `Checkpoint.own`.
        shards: the number of shards.
        traces: the maximum number of counterexamples for each property.
        adjustments: facts about the spec that were found in earlier attempts at the search.
    """

    id: str
    place: str
    levels: str
    shards: int
    traces: int
    adjustments: Adjustments

    @property
    def crate(self) -> str:
        """The name of the file that contains the spec and its transition tables."""
        return f"run/{self.id}/spec.pickle"

    def numbering(self, revision: int) -> str:
        """Return the name of the file that contains the values in the order of their indices."""
        return f"run/{self.id}/numbers-{revision:04}.pickle"


@attrs.frozen
class Expansion:
    """The result of expanding some states.

    Attributes:
        found: the distinct next states in the order of discovery, except those that are also among the expanded states.
            The columns are: ``state``, the packed state; ``position``, its position in this order; ``parent``, the
            index of its predecessor among the expanded states; and ``arrival``, the action instance that leads from the
            predecessor to the state.
        generated: for each action instance, the number of generated steps.
        counters: the counters of `kernel.append`.
        steps_seen: for each predicate on steps, the first steps that violate its property or satisfy its witness.
        dead: the first deadlocked states (states without a next state).
    """

    found: dict[str, NDArray[Any]]
    generated: list[int]
    counters: list[int]
    steps_seen: list[list[StepSeen]]
    dead: list[int]


class Worker(Generic[S]):
    """A worker of the Spark engine. A process keeps its worker between the tasks of a run; see `loaded`.

    Parameters:
        run: the data shared by all tasks of the run.
        expander: the object that expands states. It holds the states of one task at a time.
        budget: the time and the memory that the worker may use.
    """

    def __init__(self, run: Run, expander: Expander[S], budget: Budget) -> None:
        self.run, self.expander, self.storage = run, expander, Storage(run.place)
        self._budget, self._revision = budget, -1

    @property
    def tables(self) -> TransitionTables[S]:
        """The transition tables of the spec."""
        return self.expander.tables

    @property
    def verification(self) -> Verification[S]:
        """The object that compares results in the transition tables with calls to the spec's functions."""
        return self.expander.learner.verification

    def agree(self, revision: int) -> Packing:
        """Switch to the given revision of the value numbering, which the driver has published.

        Returns:
            The packing of states for this numbering.
        """
        forget_news(self.expander)
        if revision != self._revision:
            numbering: Numbering = pickle.loads(self.storage.read_sealed(self.run.numbering(revision)))
            know(self.tables, numbering.values)
            packing = Packing(numbering.sizes)
            if self.expander.store.packing.is_same(packing):
                packing = self.expander.store.packing
            else:
                self.tables.pack(packing)
            self._hold(np.zeros((0, packing.words), np.uint64), packing)  # frees the states that the driver has found
            self._revision = revision
        return self.expander.store.packing

    def _hold(self, states: NDArray[np.uint64], packing: Packing, outside: NDArray[np.uint8] | None = None) -> None:
        memory, threads, is_constrained = self._budget.memory.for_states, self.expander.workers, outside is not None
        self.expander.store = store = Store(
            packing, self.tables.instances, memory, threads, len(states), is_constrained
        )
        store.states[: len(states)] = states
        if outside is not None:
            store.outside[: len(states)] = outside
        store.counters[kernel.STATES] = len(states)

    def expand(self, level: dict[str, NDArray[Any]], samples: int, steps_wanted: list[int]) -> Expansion:
        """Expand some states of a level. Return their next states and the counts of the steps.

        Parameters:
            level: the columns of the states. ``state`` contains the packed states. If the spec has a constraint, the
                column ``outside`` is 1 for states that do not satisfy the constraint.
            samples: the number of states whose results in the transition tables are checked against new calls.
            steps_wanted: for each predicate on steps, the maximum number of steps to collect that violate its property
                or satisfy its witness.

        Raises:
            NewValues: if the driver has not assigned indices to some values.
            SpecError: if an action or a property raised an exception or is not a pure function.
            ShapeChanged, NotRecorded: if the search must be restarted; see `Adjustments`.
        """
        expander, states = self.expander, level["state"]
        count = len(states)
        self._hold(states, expander.store.packing, level.get("outside"))
        expander.store.grow(COMING * count)
        for index in np.linspace(0, count - 1, samples, dtype=int):
            expander.learner.comparison.state(expander.row(index))
        generated, dead = np.zeros(self.tables.instances, np.int64), list[int]()
        steps_seen: list[list[StepSeen]] = [[] for _ in steps_wanted]
        block = expander.tuning.block * expander.workers.count
        for first in range(0, count, block):
            expander.watch.pause()
            missing = [wanted - len(seen) for wanted, seen in zip(steps_wanted, steps_seen, strict=True)]
            found = expander.find(first, min(first + block, count), missing)
            with interrupts_wait():
                result = expander.keep(found, self.run.traces - len(dead))
            generated += result.counts[:, 0]
            dead += result.dead
            for seen, more in zip(steps_seen, result.steps_seen, strict=True):
                seen += more
        if news := self.tables.news():
            raise NewValues(news)
        store, new = expander.store, slice(count, expander.store.count)
        return Expansion(
            found={
                "state": store.states[new],
                "position": np.arange(store.count - count, dtype=np.uint32),
                "parent": store.parents[new],
                "arrival": store.arrivals[new],
            },
            generated=generated.tolist(),
            counters=store.counters.tolist(),
            steps_seen=steps_seen,
            dead=dead,
        )

    def shown(self, states: NDArray[np.uint64], packing: Packing, wanted: list[int]) -> NDArray[np.bool_]:
        """Evaluate the predicates on the given states.

        Parameters:
            states, packing: the packed states, and their packing. The packing of the worker may have changed since, if
                a predicate asked for a member that no collection had before.
            wanted: for each predicate, the number of further states that are wanted; see `still_evaluated`.

        Returns:
            An array of shape (states, predicates). An entry is true if the state violates the predicate's property or
            satisfies its witness.
        """
        evaluated = still_evaluated(self.tables.state_checks, wanted)
        if not len(states) or not any(evaluated):
            return np.zeros((len(states), len(wanted)), np.bool_)
        own = self.expander.store.packing
        self._hold(states if own.is_same(packing) else packing.repack(states, own), own)
        return self.expander.check(0, evaluated, [False] * len(wanted))

    def steps_into(self, level: dict[str, NDArray[Any]], targets: NDArray[np.uint64]) -> list[tuple[int, int, int]]:
        """Find the steps from some states of a level to some states of the next level.

        Parameters:
            level: the columns of the states where the steps begin; see `expand`.

        Returns:
            For each step, the index of the state where it begins, its action instance, and the index of its target.
        """
        self.expand(level, 0, [0] * len(self.tables.step_checks))  # learns the paths that the steps need
        return steps_into(self.expander, lambda: targets, 0, len(level["state"]))


def forget_news(expander: Expander[S]) -> None:
    """Remove from the tables of an expander all values to which the driver has not assigned an index."""
    if expander.tables.forget_news():
        expander.workers.end_helpers()  # the helpers were forked with the removed values
        expander.learner.forget_index()


def know(tables: TransitionTables[S], values: list[list[object]]) -> None:
    """Add values to transition tables, with the indices that the driver has assigned to them.

    Parameters:
        values: for each slot, all its values in the order of their indices. The values that are already in the tables
            come first.
    """
    for domain, numbered in zip(tables.layout.domains, values, strict=True):
        for value in numbered[len(domain.values) :]:
            domain.number(value)
    tables.agree()


def loaded(run: Run) -> Worker[Any]:
    """Create a worker from the spec and the transition tables that the driver has written.

    Parameters:
        run: the data shared by all tasks of the run.

    Raises:
        LeadlineError: if this machine cannot access the work directory.
    """
    try:
        crate: Crate = pickle.loads(Storage(run.place).read_sealed(run.crate))
    except LeadlineError as error:
        raise LeadlineError(
            f"{socket.gethostname()} cannot access the driver's work directory {run.place}: "
            f"--work-dir must name a directory that all machines share ({error})"
        ) from error
    tables, budget, threads = unpacked(crate), Budget(Limits(traces=run.traces)), Workers(1)
    tables.agree()
    store = Store(Packing(tables.agreed or []), tables.instances, budget.memory.for_states, threads, 0)
    return Worker(run, Expander(tables, store, Watch(budget, threads)), budget)
