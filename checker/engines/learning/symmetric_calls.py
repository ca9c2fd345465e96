"""Calls of actions under all permutations of a group; see `leadline.checker.symmetry`.

What is learned from a call of an action applies to all states that agree in what the call has read. It is used for
representatives only, so it has to be known that the action is symmetric in all these states. Therefore the permuted
actions are called on the permuted states as well. Their steps must be the permuted steps, and what they have read
counts as read too. A state that agrees in all of it then has, under each permutation, exactly these calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from leadline.checker.engines.learning.calls import Call, Caller, Outcome, Row
from leadline.checker.engines.learning.permutations import RowPermutations
from leadline.checker.observing.recording import Precision
from leadline.checker.support.escapes import visible
from leadline.checker.symmetry import Symmetry, refused

S = TypeVar("S")

Step = tuple[int, frozenset[tuple[int, int]]]
"""The label of an outcome, and its changes."""


class Made:
    """The calls of an action instance that were made so far, found by what they have read: a tree, in which each node
    is a slot with a branch for each value.

    Parameters:
        slots: the number of slots. A call that iterated over a collection would have read a new member too.

    Attributes:
        enumerates: whether a call iterated over a collection.
    """

    def __init__(self, recorded_as: Precision, slots: int) -> None:
        self._recorded_as, self._slots, self.enumerates = recorded_as, slots, False
        self._root: dict[int, Any] = {}

    def is_valid(self, recorded_as: Precision, slots: int) -> bool:
        """Return whether calls with this precision, and in states with these slots, can be found here."""
        return self._recorded_as == recorded_as and not (self.enumerates and self._slots != slots)

    def find(self, value_in: Callable[[int], int]) -> Call | None:
        """Return the call that has read the values of a row, or None if there is none.

        Parameters:
            value_in: a function that returns the value of a slot.
        """
        node: Any = self._root.get(0)
        while isinstance(node, tuple):
            slot, branches = node
            node = branches.get(value_in(slot))
        found: Call | None = node
        return found

    def add(self, call: Call) -> None:
        """Add a call. If it has not read what others have read first, it is not found again."""
        left, branches, number = dict(call.reads), self._root, 0
        while left:
            node = branches.setdefault(number, (next(iter(left)), {}))
            if not isinstance(node, tuple) or node[0] not in left:
                return
            branches, number = node[1], left.pop(node[0])
        branches.setdefault(number, call)
        self.enumerates |= bool(call.enumerated)


class SymmetricCaller(Caller[S]):
    """Calls a spec's functions, and actions under all permutations. For the other parameters, see `Caller`.

    Attributes:
        symmetry: the group.
        trees: for each permutation and action instance, the instance that it makes of it.
    """

    def __init__(self, *given: Any, symmetry: Symmetry[S], **named: Any) -> None:
        super().__init__(*given, **named)
        self.symmetry, self.permutations = symmetry, RowPermutations(self.layout, symmetry)
        places = {instance: tree for tree, instance in enumerate(self.spec.instances)}
        self.trees = [[places[symmetry.instance(by, each)] for each in self.spec.instances] for by in symmetry.group]
        self._is_inside = False
        self._made: list[Made | None] = [None] * self.instances

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a function, and record the slots that it reads; an action also under all permutations."""
        if self._is_inside or tree >= self.instances:
            call = super().make(tree, rows)
            self.permutations.extend()
            return call
        (row,) = rows
        while True:
            calls, known = list[Call](), (self.layout.slots, [*self.precision])
            for which, trees in enumerate(self.trees):
                calls.append(self._plain(trees[tree], which, row))
            self._level(tree)
            if known == (self.layout.slots, self.precision):
                return self._merged(tree, row, calls)

    def _plain(self, tree: int, which: int, row: Row) -> Call:
        """Call an action on what a permutation makes of a state and record its reads, unless an earlier call has read
        the same values.
        """
        call = self._known(tree, which, row)
        if call is None:
            self._is_inside = True
            try:
                call = super().make(tree, (self.permutations.row(which, row),))
            finally:
                self._is_inside = False
            self.permutations.extend()
            self._calls(tree).add(call)
        return call

    def _known(self, tree: int, which: int, row: Row) -> Call | None:
        return self._calls(tree).find(lambda slot: self.permutations.value(which, row, slot))

    def _calls(self, tree: int) -> Made:
        """Return the calls of an action instance from which something follows for further calls."""
        made, now = self._made[tree], (self.precision[tree], self.layout.slots)
        if made is None or not made.is_valid(*now):
            made = self._made[tree] = Made(*now)
        return made

    def _level(self, tree: int) -> None:
        """Record the instances that permutations make of an instance with the same precision, the lowest one."""
        orbit = {trees[tree] for trees in self.trees}
        lowest = min(orbit, key=lambda each: self.precision[each])
        for each in orbit:
            if self.precision[each] > self.precision[lowest]:
                self.precision[each], self.lowered_by[each] = self.precision[lowest], self.lowered_by[lowest]

    def _merged(self, tree: int, row: Row, calls: Sequence[Call]) -> Call:
        """Check that the calls are symmetric, and return the first one, with the reads of all."""
        permutations, own = self.permutations, calls[0]
        numbers = self.row_after(row, {})
        reads, enumerated = dict(own.reads), set(own.enumerated)
        for which, call in enumerate(calls):
            back = permutations.inverses[which]
            for slot in call.reads:
                there = permutations.targets[back][slot]
                reads.setdefault(there, numbers[there])
            enumerated.update(permutations.twin(back, path) for path in call.enumerated)
        steps = [self._moved_back(which, call.gave) for which, call in enumerate(calls)]
        if any(each != steps[0] for each in steps) and any(
            _beyond(each, reads) != _beyond(steps[0], reads) for each in steps
        ):
            # a step writes what another one leaves as it is: they agree only where it is so already
            for each in steps:
                for _, changes in each:
                    reads.update((slot, numbers[slot]) for slot, _ in changes if slot not in reads)
        self._compare(tree, row, numbers, steps)
        constructs = frozenset().union(*(call.constructs for call in calls))
        return Call(reads, enumerated, own.gave, constructs)

    def _moved_back(self, which: int, gave: list[Outcome] | bool | float) -> list[Step]:
        """Return the steps that a permuted call gave, permuted back."""
        assert isinstance(gave, list)
        back = self.permutations.inverses[which]
        targets, numbers = self.permutations.targets[back], self.permutations.numbers[back]
        return [
            (
                self._label(back, label),
                frozenset((targets[slot], numbers[slot][number]) for slot, number in changes.items()),
            )
            for label, changes in gave
        ]

    def _label(self, which: int, label: int) -> int:
        if not label:
            return 0
        return self.label_of(self.symmetry.instance(self.symmetry.group[which], self.numbered[label]))

    def _compare(self, tree: int, row: Row, numbers: Sequence[int], steps: Sequence[list[Step]]) -> None:
        """Check that the steps from a state are the same under all permutations.

        Parameters:
            steps: for each permutation, the steps of the permuted call, permuted back.
        """
        if all(each == steps[0] for each in steps):
            return
        every = [Counter((label, _effect(changes, numbers)) for label, changes in each) for each in steps]
        for which, found in enumerate(every):
            if found != every[0]:
                missing, more = every[0] - found, found - every[0]
                label, effect = next(iter(missing or more))
                instance = self.spec.instances[tree] if not label else self.numbered[label]
                by = self.symmetry.group[which]
                twin = self.symmetry.instance(by, instance)
                what = "does not lead" if missing else "leads"
                state = self.layout.state(self.permutations.row(which, row))
                after = self.layout.state(self.permutations.row(which, self.row_after(row, dict(effect))))
                raise refused(self.symmetry, by, state, f"{twin} {what} to {visible(str(after))}")

    def steps(self, tree: int, row: Row) -> list[Outcome]:
        """Call an action instance under all permutations without recording its reads, and return its steps."""
        own = super().steps(tree, row)
        self.permutations.extend()
        every = [self._moved_back(0, own)]
        for which, trees in enumerate(self.trees[1:], 1):
            call = self._known(trees[tree], which, row)
            gave = call.gave if call is not None else super().steps(trees[tree], self.permutations.row(which, row))
            if call is None:
                self.permutations.extend()
            every.append(self._moved_back(which, gave))
        self._compare(tree, row, self.row_after(row, {}), every)
        return own


def _beyond(steps: Sequence[Step], reads: dict[int, int]) -> Counter[Step]:
    """Return steps without the changes that write what was read."""
    return Counter((label, _effect(changes, reads)) for label, changes in steps)


def _effect(changes: frozenset[tuple[int, int]], numbers: Any) -> frozenset[tuple[int, int]]:
    """Return changes without those that leave what is known as it is.

    Parameters:
        numbers: a row, or a part of it.
    """
    known = numbers if isinstance(numbers, dict) else dict(enumerate(numbers))
    return frozenset((slot, number) for slot, number in changes if known.get(slot) != number)
