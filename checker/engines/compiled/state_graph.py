"""The graph of all states and steps that a search has found, stored compactly.

The steps are generated again after the search, from the learned transition tables. See `graph_loops` for the arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.action import ActionInstance
from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled import graph_loops, kernel
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.learning.arrays import Flags
from leadline.checker.errors import SpecError
from leadline.checker.liveness.fairness import conditions_of, disturbs
from leadline.checker.properties import Kind
from leadline.checker.result import Stop, StopKind
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted

S = TypeVar("S")

MOST_CONDITIONS = 64
"""The maximum number of predicates of steps in the formulas of a spec, which are bits of a word."""

Rows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.unsignedinteger]]
"""The graph as the first three arguments of the loops in `graph_loops`: the starts, the targets and the labels."""


@attrs.frozen(eq=False)
class PackedGraph(Generic[S]):
    """The graph of all states and steps.

    Attributes:
        rows: the graph; see `graph_loops`.
        settled: for each state, whether no fairness condition is enabled in it.
        instances: the action instances of the steps; see `Caller.numbered`.
        bits: for each action instance, the bit of its fairness condition. The shape is (action instances, words).
        strong: the bits of the strong conditions, one word per column of `bits`.
        disturbing: for each action instance, whether it is perturbing.
        marks: for each step, the truth of the predicates in formulas; see `graph_loops.add_rows`.
    """

    expander: Expander[S]
    rows: Rows
    settled: Flags
    instances: list[ActionInstance[S]]
    bits: NDArray[np.uint64]
    strong: NDArray[np.uint64]
    disturbing: Flags
    marks: NDArray[np.uint64]

    @classmethod
    def of(cls, expander: Expander[S], steps: int) -> PackedGraph[S]:
        """Generate the steps of all states.

        Parameters:
            expander: contains all states, and generates the steps between them.
            steps: the number of steps that the search has found.

        Raises:
            StopSearch: if the time or the memory is used up.
            SpecError: if the actions lead to other states than during the search.
        """
        spec, states = expander.tables.spec, expander.store.count
        if states > graph_loops.MOST_STATES or steps > graph_loops.MOST_STEPS:
            found = f"{counted(states, 'state')} and {counted(steps, 'step')}"
            raise StopSearch(Stop(StopKind.MEMORY, f"found {found}, too many to check liveness"))
        label = expander.tables.labels.dtype if len(expander.tables.labels) else expander.store.arrivals.dtype
        conditions = conditions_in(expander)
        expander.watch.need(steps * (4 + label.itemsize + (8 if len(conditions) else 0)) + states * 5)
        rows = np.zeros(states + 1, np.uint32), np.empty(steps, np.uint32), np.empty(steps, label)
        settled, marks = np.zeros(states, np.bool_), np.zeros(steps if len(conditions) else 0, np.uint64)
        _generate(expander, rows, settled, marks)
        instances = list(expander.tables.caller.numbered)
        bits, strong = _conditions(spec, instances)
        return cls(expander, rows, settled, instances, bits, strong, np.array(list(map(disturbs, instances))), marks)

    def steps(self, index: int) -> list[tuple[int, int]]:
        """Return the steps from a state to other states, as pairs of a next state and an action instance."""
        starts, targets, labels = self.rows
        row = slice(int(starts[index]), int(starts[index + 1]))
        found = zip(targets[row].tolist(), labels[row].tolist(), strict=True)
        return [(target, label) for target, label in found if target != index]

    def instance(self, before: int, after: int, quiet: bool = False) -> ActionInstance[S]:
        """Return an action instance that leads from one state to another, preferably one whose action is fair.

        Parameters:
            quiet: whether to ignore perturbing actions.
        """
        labels = [label for target, label in self.steps(before) if target == after]
        labels = [label for label in labels if not (quiet and self.disturbing[label])]
        best = next((label for label in labels if self.bits[label].any()), labels[0])
        return self.instances[best]


def conditions_in(expander: Expander[S]) -> NDArray[np.int64]:
    """Return the numbers of the predicates on steps that occur in formulas. Their order is that of the bits of marks.

    Raises:
        SpecError: if there are too many.
    """
    checks = expander.tables.step_checks
    found = np.array([place for place, item in enumerate(checks) if item.kind is Kind.STEP_CONDITION], np.int64)
    if len(found) > MOST_CONDITIONS:
        raise SpecError(
            f"the formulas contain {len(found)} predicates of steps: at most {MOST_CONDITIONS} are possible"
        )
    return found


def _conditions(spec: Spec[S], instances: Sequence[ActionInstance[S]]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the bits of each action instance's fairness conditions, and the bits of all strong conditions."""
    of_instances = [conditions_of(spec, instance) for instance in instances]
    number = {condition: place for place, condition in enumerate(dict.fromkeys(itertools.chain(*of_instances)))}
    words = len(number) // 64 + 1
    bits, strong = np.zeros((len(instances), words), np.uint64), np.zeros(words, np.uint64)
    for place, conditions in enumerate(of_instances):
        for condition in conditions:
            word, number_in_word = divmod(number[condition], 64)
            bit = np.uint64(1) << np.uint64(number_in_word)
            bits[place, word] |= bit
            strong[word] |= bit if condition.strong else np.uint64(0)
    return bits, strong


def _generate(expander: Expander[S], rows: Rows, settled: Flags, marks: NDArray[np.uint64]) -> None:
    """Generate the steps of all states, in blocks; see `PackedGraph`."""
    spec, filled, first = expander.tables.spec, 0, 0
    (starts, targets, labels), count = rows, len(settled)
    is_fair = np.array([bool(conditions_of(spec, instance)) for instance in spec.instances])
    workers, tuning = expander.workers, expander.tuning
    conditions, wanted = conditions_in(expander), np.zeros(len(expander.tables.step_checks), np.bool_)
    wanted[conditions] = True
    while first < count:
        expander.watch.pause()
        last = min(first + tuning.block * workers.count, count)
        parts, buffers = expander.generate(first, last, wanted)
        sizes = parts.cursors[:, kernel.FILLED].tolist()
        until = filled + sum(sizes)
        missing = until - len(targets)
        if missing <= 0:
            work = [
                (
                    parts.ends[part], parts.ends[part + 1], size, buffers.of(part), expander.store.indexed,
                    workers.count, is_fair, conditions, filled + sum(sizes[:part]), starts, targets, labels, settled,
                    marks,
                )
                for part, size in enumerate(sizes)
            ]  # fmt: skip
            found = workers.run(graph_loops.add_rows, work, alone=last - first < tuning.alone)
            missing = sum(number for number, _ in found)
        if missing > 0:
            raise SpecError("an action is not a pure function: it led to a state that the search did not find")
        first, filled = last, until
    if filled < len(targets):
        raise SpecError("an action is not a pure function: it did not repeat all steps that the search found")
    starts[count] = filled
