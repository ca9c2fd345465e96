"""Recorded calls: an action or a predicate is called on views of states, and it is noted what it reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs

from checker.audit import AUDITED, audit
from checker.compiled.layout import Layout, NotOnlyInts
from checker.compiled.views import LookedAt, Recorder
from checker.properties import Kind
from checker.spec import Spec

S = TypeVar("S")

COMPARED, COMPARED_LATER = 10_000, 8
"""The first calls of predicates are compared with calls on the states themselves, and later one in so many."""

Row = Sequence[int]
"""A state, as the numbers of its slots' values."""

Job = tuple[int, tuple[Row, ...]]
"""A call to make: a tree, and the states: of a step predicate two, else one."""

Changes = dict[int, int]
"""What a step changes: the new number of each slot that it writes."""


class SeesViews(Exception):
    """An action or a predicate does otherwise on a view than on a state; it has to be given states.

    Attributes:
        tree: which, by its place in the forest.
    """

    def __init__(self, tree: int) -> None:
        self.tree = tree
        super().__init__(tree)


@attrs.frozen
class Call:
    """What one call read, and what it gave for that.

    Attributes:
        reads: the number in each slot that was read, in the order of reading; the slots of a second state are
            counted on from the first's.
        copied: the slots that were copied unread.
        gave: of an action, what each of its steps changes; of a predicate, whether it gives evidence.
    """

    reads: dict[int, int]
    copied: set[int]
    gave: list[Changes] | bool

    def writes_beyond(self, known: Sequence[int]) -> bool:
        """Whether it gives a value that is not among so many of its slot that have numbers."""
        steps = [] if isinstance(self.gave, bool) else self.gave
        return any(number >= known[slot] for step in steps for slot, number in step.items())


class Caller(Generic[S]):
    """Makes the calls of one search.

    Parameters:
        spec: the spec.
        layout: the layout of its states.
        given_states: the trees of what is given states instead of views.

    Attributes:
        instances, first_step: how many action instances there are; where the step predicates' trees begin. The
            trees of state predicates are between them.
        state_checks, step_checks: the predicates, in the order of their trees.
        looks_at_copies: the actions that were seen to look at what they had only copied.
    """

    def __init__(self, spec: Spec[S], layout: Layout, given_states: frozenset[int]) -> None:
        self.spec, self.layout = spec, layout
        self.state_checks = spec.checks_of(Kind.INVARIANT, Kind.WITNESS)
        self.step_checks = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
        self.instances = len(spec.instances)
        self.first_step = self.instances + len(self.state_checks)
        self.looks_at_copies: set[int] = set()
        self._given_states = given_states
        self._audited: set[tuple[int, ...]] = set()
        self._compared = 0
        self._last: tuple[Row, S] | None = None

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Make one call.

        Parameters:
            tree: of what.
            rows: the states.

        Raises:
            SpecError: it misbehaved.
            ShapeChanged: a component is not shaped as in the initial state.
            SeesViews: it does otherwise on a view.
            NotOnlyInts: it writes the first value of a slot that is not an int, and others were copied unread.
        """
        if tree < self.instances:
            return self._take(tree, rows[0])
        return self._evaluate(tree, rows)

    def _take(self, tree: int, row: Row) -> Call:
        """Call an action on a view of a state, and see that it does what it does on the state itself."""
        instance, state = self.spec.instances[tree], self._state(row)
        direct = self.spec.take(instance, state)
        if tree in self._given_states:
            recorder = Recorder(self.layout, row)
            recorder.read_all()
            return _call(recorder, [dict(enumerate(self.layout.row(successor))) for successor in direct])
        recorder = Recorder(self.layout, row, copies_unread=tree not in self.looks_at_copies)
        try:
            steps = [recorder.changes(successor) for successor in instance.successors(recorder.view())]
        except NotOnlyInts:
            raise
        except (Exception, LookedAt) as error:
            for successor in direct:
                self.layout.row(successor)  # which raises if the shape of a component has changed
            if tree in self.looks_at_copies:
                raise SeesViews(tree) from error
        else:
            if [self.after(row, step) for step in steps] == direct:
                return _call(recorder, steps)
            raise SeesViews(tree)
        self.looks_at_copies.add(tree)
        return self._take(tree, row)

    def _state(self, row: Row) -> S:
        """The state of a row, which is often that of the call before."""
        if self._last is None or self._last[0] is not row:
            self._last = row, self.layout.state(row)
            if len(self._audited) < AUDITED and tuple(row) not in self._audited:
                self._audited.add(tuple(row))
                audit(self.spec, self._last[1])
        return self._last[1]

    def after(self, row: Row, step: Changes) -> S:
        """The state after a step."""
        numbers = list(row)
        for slot, number in step.items():
            numbers[slot] = number
        state: S = self.layout.state(numbers)
        return state

    def _evaluate(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a predicate on views of a state, or of the states before and after a step."""
        checks, first = (
            (self.state_checks, self.instances) if tree < self.first_step else (self.step_checks, self.first_step)
        )
        item, recorder = checks[tree - first], Recorder(self.layout, *rows)
        if tree in self._given_states:
            recorder.read_all()
            complaint = self.spec.complaint(item, *map(self.layout.state, rows))
        else:
            try:
                complaint = item.complaint(*map(recorder.view, range(len(rows))))
            except Exception as error:
                raise SeesViews(tree) from error
            self._compared += 1
            if self._compared < COMPARED or self._compared % COMPARED_LATER == 0:
                directly = self.spec.complaint(item, *map(self.layout.state, rows))
                if (complaint is None) != (directly is None):
                    raise SeesViews(tree)
        return Call(recorder.reads, set(), (complaint is None) == item.kind.is_witness)


def _call(recorder: Recorder, steps: list[Changes]) -> Call:
    """Of what a step writes, what was there already changes nothing."""
    reads = recorder.reads
    changes = [{slot: number for slot, number in step.items() if reads.get(slot) != number} for step in steps]
    return Call(reads, recorder.copied, changes)
