"""Learning: one recorded call of an action or a predicate becomes a path in its decision tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from checker.audit import AUDITED, audit
from checker.compiled.forest import Forest, with_room
from checker.compiled.kernel import NOT_SHOWN, SHOWN
from checker.compiled.layout import Layout
from checker.compiled.packing import Packing
from checker.compiled.views import Recorder
from checker.properties import Kind, Property
from checker.spec import Spec

S = TypeVar("S")


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


class Tables(Generic[S]):
    """What is known of a spec's actions and predicates.

    Parameters:
        spec: the spec.
        layout: the layout of its states.
        initial: an initial state.
        given_states: the trees of what is given states instead of views.

    Attributes:
        forest: a tree for each action instance, then for each state predicate, then for each step predicate.
        actions, states, steps: where in the forest these are.
        state_checks, step_checks: the predicates, in the order of their trees.
        outcomes: every change that a leaf of an action's tree stands for.
        leaf_start, leaf_count: for each leaf, its first outcome and how many it has.
        keep, put: for each outcome, by word: the bits it keeps, and then those it sets.
        calls: recorded calls made so far.
    """

    def __init__(self, spec: Spec[S], layout: Layout, initial: S, given_states: frozenset[int]) -> None:
        self.spec, self.layout = spec, layout
        self.state_checks = spec.checks_of(Kind.INVARIANT, Kind.WITNESS)
        self.step_checks = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
        instances, states, steps = len(spec.instances), len(self.state_checks), len(self.step_checks)
        self.actions = slice(0, instances)
        self.states = slice(instances, instances + states)
        self.steps = slice(instances + states, instances + states + steps)
        names = [f"action {instance}" for instance in spec.instances]
        names += [f"{item.kind.value} {item.name}" for item in (*self.state_checks, *self.step_checks)]
        self.forest = Forest(names)
        self.outcomes: list[Changes] = []
        self.leaf_start = np.zeros(16, np.int32)
        self.leaf_count = np.zeros(16, np.int32)
        self.keep = self.put = np.zeros((0, 0), np.uint64)
        self.calls = 0
        self._initial = initial
        self._given_states = given_states
        self._leaves: dict[tuple[tuple[tuple[int, int], ...], ...], int] = {}

    @property
    def most_outcomes(self) -> int:
        """The most steps that one action instance was seen to have from one state."""
        return int(self.leaf_count.max())

    def learn_action(self, tree: int, row: Sequence[int]) -> None:
        """Learn what an action instance does in a state.

        Parameters:
            tree: the number of the instance.
            row: the numbers of the state's slots.

        Raises:
            SpecError: the action misbehaved.
            ShapeChanged: a component is not shaped as in the initial state.
        """
        self.calls += 1
        if self.calls <= AUDITED:
            audit(self.spec, self.layout.state(row))
        steps = self._take_whole(tree, row)
        recorder = Recorder(self.layout, row)
        if tree in self._given_states:
            recorder.read_all()
        else:
            steps = self._take_on_view(tree, recorder, steps, row)
        reads = recorder.reads
        written = tuple(
            tuple(sorted((slot, number) for slot, number in step.items() if reads.get(slot) != number))
            for step in steps
        )
        if written not in self._leaves:
            self._leaves[written] = self._new_leaf([dict(step) for step in written])
        self.forest.learn(tree, reads, -self._leaves[written] - 1)

    def _take_on_view(self, tree: int, recorder: Recorder, direct: list[Changes], row: Sequence[int]) -> list[Changes]:
        """What an action does on a view of a state, which must be what it does on the state itself."""
        try:
            successors = self.spec.instances[tree].successors(recorder.view())
            steps = [recorder.changes(successor) for successor in successors]
        except Exception as error:
            raise SeesViews(tree) from error
        if direct != [dict(enumerate(row)) | step for step in steps]:
            raise SeesViews(tree)
        return steps

    def _take_whole(self, tree: int, row: Sequence[int]) -> list[Changes]:
        """What an action does on the state itself: every slot's number, for each step."""
        successors = self.spec.take(self.spec.instances[tree], self.layout.state(row))
        return [dict(enumerate(self.layout.row(successor))) for successor in successors]

    def learn_predicate(self, tree: int, item: Property, *rows: Sequence[int]) -> None:
        """Learn what a predicate says of a state, or of the states before and after a step."""
        self.calls += 1
        recorder = Recorder(self.layout, *rows)
        complaint = self.spec.complaint(item, *map(self.layout.state, rows))
        if tree in self._given_states:
            recorder.read_all()
        try:
            same = tree in self._given_states or (item.complaint(*map(recorder.view, range(len(rows)))) is None) == (
                complaint is None
            )
        except Exception:
            same = False
        if not same:
            raise SeesViews(tree)
        shown = (complaint is None) == item.kind.is_witness
        self.forest.learn(tree, recorder.reads, SHOWN if shown else NOT_SHOWN)

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
            self.keep, self.put = (np.zeros((16, packing.words), np.uint64) for _ in range(2))
        self.keep, self.put = with_room(self.keep, len(self.outcomes)), with_room(self.put, len(self.outcomes))
        for number in range(known, len(self.outcomes)):
            self.keep[number], self.put[number] = packing.change(self.outcomes[number])
