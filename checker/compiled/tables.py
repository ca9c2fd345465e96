"""Learning: one recorded call of an action or a predicate becomes a path in its decision tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from checker.audit import AUDITED, audit
from checker.compiled.forest import Forest, with_room
from checker.compiled.kernel import NOT_SHOWN, SHOWN
from checker.compiled.layout import Layout, NotOnlyInts
from checker.compiled.packing import Packing
from checker.compiled.views import LookedAt, Recorder
from checker.properties import Kind, Property
from checker.spec import Spec

S = TypeVar("S")


COMPARED, COMPARED_LATER = 10_000, 8
"""The first calls of predicates are compared with calls on the states themselves, and later one in so many."""


class SeesViews(Exception):
    """An action or a predicate does otherwise on a view than on a state; it has to be given states.

    Attributes:
        tree: which, by its place in the forest.
    """

    def __init__(self, tree: int) -> None:
        self.tree = tree
        super().__init__(tree)


Changes = dict[int, int]
"""What a step changes: the new number of each slot that it writes."""

Path = tuple[int, dict[int, int], int]
"""What `Forest.learn` takes: a tree, the reads, and the code of the leaf at their end."""


class Tables(Generic[S]):
    """What is known of a spec's actions and predicates.

    Parameters:
        spec: the spec.
        layout: the layout of its states.
        given_states: the trees of what is given states instead of views.

    Attributes:
        forest: a tree for each action instance, then for each state predicate, then for each step predicate.
        instances, first_step: how many action instances there are; where the step predicates' trees begin.
        state_checks, step_checks: the predicates, in the order of their trees.
        outcomes: every change that a leaf of an action's tree stands for.
        leaf_start, leaf_count: for each leaf, its first outcome and how many it has.
        keep, put: for each outcome, by word: the bits it keeps, and then those it sets.
        slots_read: for each predicate, all slots that it was seen to read; those of a second state are counted
            on from the first's.
        reads: the same by word, as bits that are set, of either state.
        calls: recorded calls made so far.
    """

    def __init__(self, spec: Spec[S], layout: Layout, given_states: frozenset[int]) -> None:
        self.spec, self.layout = spec, layout
        self.state_checks = spec.checks_of(Kind.INVARIANT, Kind.WITNESS)
        self.step_checks = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
        self.instances = len(spec.instances)
        self.first_step = self.instances + len(self.state_checks)
        names = [f"action {instance}" for instance in spec.instances]
        names += [f"{item.kind.value} {item.name}" for item in (*self.state_checks, *self.step_checks)]
        self.forest = Forest(names)
        self.outcomes: list[Changes] = []
        self.leaf_start = np.zeros(16, np.int32)
        self.leaf_count = np.zeros(16, np.int32)
        self.keep = self.put = self.reads = np.zeros((0, 0), np.uint64)
        self.slots_read: list[set[int]] = [set() for _ in (*self.state_checks, *self.step_checks)]
        self.calls = 0
        self._given_states = given_states
        self._looks_at_copies: set[int] = set()
        self._leaves: dict[tuple[tuple[tuple[int, int], ...], ...], int] = {}
        self._audited: set[tuple[int, ...]] = set()

    @property
    def most_outcomes(self) -> int:
        """The most steps that one action instance was seen to have from one state."""
        return int(self.leaf_count.max())

    def learn_action(self, tree: int, row: Sequence[int]) -> Path:
        """Learn what an action instance does in a state.

        Parameters:
            tree: the number of the instance.
            row: the numbers of the state's slots.

        Returns:
            The path for `Forest.learn`, once its outcomes are packed.

        Raises:
            SpecError: the action misbehaved.
            ShapeChanged: a component is not shaped as in the initial state.
            SeesViews: the action does otherwise on a view.
        """
        self.calls += 1
        state: S = self.layout.state(row)
        self._audit(tuple(row), state)
        recorder, steps = self._take(tree, row, state)
        reads = recorder.reads
        written = tuple(
            tuple(sorted((slot, number) for slot, number in step.items() if reads.get(slot) != number))
            for step in steps
        )
        if written not in self._leaves:
            self._leaves[written] = self._new_leaf([dict(step) for step in written])
        return tree, reads, -self._leaves[written] - 1

    def _audit(self, row: tuple[int, ...], state: S) -> None:
        if len(self._audited) < AUDITED and row not in self._audited:
            self._audited.add(row)
            audit(self.spec, state)

    def _take(self, tree: int, row: Sequence[int], state: S) -> tuple[Recorder, list[Changes]]:
        """Call an action on a view of a state, and see that it does what it does on the state itself."""
        instance = self.spec.instances[tree]
        direct = self.spec.take(instance, state)
        if tree in self._given_states:
            recorder = Recorder(self.layout, row)
            recorder.read_all()
            return recorder, [dict(enumerate(self.layout.row(successor))) for successor in direct]
        recorder = Recorder(self.layout, row, copies_unread=tree not in self._looks_at_copies)
        try:
            steps = [recorder.changes(successor) for successor in instance.successors(recorder.view())]
        except NotOnlyInts:
            raise
        except (Exception, LookedAt) as error:
            for successor in direct:
                self.layout.row(successor)  # which raises if the shape of a component has changed
            if tree in self._looks_at_copies:
                raise SeesViews(tree) from error
        else:
            if [self._after(row, step) for step in steps] == direct:
                return recorder, steps
            raise SeesViews(tree)
        self._looks_at_copies.add(tree)
        self.forest.forget(tree)  # what it reads from here on, it may read in another order
        return self._take(tree, row, state)

    def _after(self, row: Sequence[int], step: Changes) -> S:
        numbers = list(row)
        for slot, number in step.items():
            numbers[slot] = number
        state: S = self.layout.state(numbers)
        return state

    def learn_predicate(self, number: int, item: Property, *rows: Sequence[int]) -> None:
        """Learn what a predicate says of a state, or of the states before and after a step.

        Parameters:
            number: the number of its tree.
            item: the predicate.
            rows: the numbers of each state's slots.

        Raises:
            SpecError: the predicate misbehaved.
            SeesViews: it says otherwise of a view.
        """
        self.calls += 1
        recorder = Recorder(self.layout, *rows)
        if number in self._given_states:
            recorder.read_all()
            complaint = self.spec.complaint(item, *map(self.layout.state, rows))
        else:
            try:
                complaint = item.complaint(*map(recorder.view, range(len(rows))))
            except Exception as error:
                raise SeesViews(number) from error
            if self.calls < COMPARED or self.calls % COMPARED_LATER == 0:
                directly = self.spec.complaint(item, *map(self.layout.state, rows))
                if (complaint is None) != (directly is None):
                    raise SeesViews(number)
        shown = (complaint is None) == item.kind.is_witness
        self.forest.learn(number, recorder.reads, SHOWN if shown else NOT_SHOWN)
        self._note_reads(number - self.instances, recorder.reads)

    def _note_reads(self, predicate: int, slots: Iterable[int]) -> None:
        noted = self.slots_read[predicate]
        if not noted.issuperset(slots):
            noted.update(slots)
            self.reads[predicate] = self._bits(noted)

    def _bits(self, slots: set[int]) -> NDArray[np.uint64]:
        return self._packing.bits({slot % self.layout.slots for slot in slots})

    def _new_leaf(self, steps: list[Changes]) -> int:
        leaf = len(self._leaves)
        self.leaf_start = with_room(self.leaf_start, leaf + 1)
        self.leaf_count = with_room(self.leaf_count, leaf + 1)
        self.leaf_start[leaf], self.leaf_count[leaf] = len(self.outcomes), len(steps)
        self.outcomes += steps
        return leaf

    def pack(self, packing: Packing, known: int) -> None:
        """Pack the outcomes from a number on; 0 to pack them all anew."""
        if known == 0:
            self._packing = packing
            self.keep, self.put = (np.zeros((16, packing.words), np.uint64) for _ in range(2))
            self.reads = np.zeros((len(self.slots_read), packing.words), np.uint64)
            for predicate, slots in enumerate(self.slots_read):
                self.reads[predicate] = self._bits(slots)
        self.keep, self.put = with_room(self.keep, len(self.outcomes)), with_room(self.put, len(self.outcomes))
        for number in range(known, len(self.outcomes)):
            self.keep[number], self.put[number] = packing.change(self.outcomes[number])

    def check_sample(self, row: Sequence[int]) -> None:
        """See that what was learned of a state is what actions and predicates do, called on the state.

        What asks for the exact class of a part of the state can tell a view from a state. Each call that is
        learned is compared with one on the state; this looks at calls that were not made.

        Raises:
            SeesViews: an action or a predicate does otherwise.
        """
        state: S = self.layout.state(row)
        for tree, instance in enumerate(self.spec.instances):
            steps = self.steps(tree, row)
            if steps is not None:
                after = [self._after(row, step) for step in steps]
                if self.spec.take(instance, state) != after:
                    raise SeesViews(tree)
                for step, successor in zip(steps, after, strict=True):
                    both = [*row, *(step.get(slot, number) for slot, number in enumerate(row))]
                    self._check_predicates(self.first_step, self.step_checks, both, state, successor)
        self._check_predicates(self.instances, self.state_checks, row, state)

    def _check_predicates(self, first: int, items: Sequence[Property], row: Sequence[int], *states: S) -> None:
        for tree, item in enumerate(items, start=first):
            leaf = self.forest.leaf(tree, row)
            shown = (self.spec.complaint(item, *states) is None) == item.kind.is_witness
            if leaf is not None and leaf != -(SHOWN if shown else NOT_SHOWN) - 1:
                raise SeesViews(tree)

    def steps(self, tree: int, row: Sequence[int]) -> list[Changes] | None:
        """What is known of an action instance in a state; None if nothing is."""
        leaf = self.forest.leaf(tree, row)
        if leaf is None:
            return None
        return self.outcomes[self.leaf_start[leaf] : self.leaf_start[leaf] + self.leaf_count[leaf]]

    def forget(self, trees: Iterable[int], sizes: Sequence[int]) -> None:
        """Take back what was learned of some trees, and all outcomes with numbers that are taken back.

        Parameters:
            trees: those that may lead to such outcomes, or ask for such numbers.
            sizes: how many numbers of each slot stay.
        """
        for tree in trees:
            self.forest.forget(tree)
        for number, step in enumerate(self.outcomes):
            if any(value >= sizes[slot] for slot, value in step.items()):
                self.outcomes[number] = {}
        self._leaves = {
            written if all(value < sizes[slot] for step in written for slot, value in step) else (((-1, leaf),),): leaf
            for written, leaf in self._leaves.items()
        }
