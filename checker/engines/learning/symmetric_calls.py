"""Calls of actions under all permutations of a group; see `leadline.checker.symmetry`.

What is learned from a call of an action applies to all states that agree in what the call has read. It is used for
representatives only, so it has to be known that the action is symmetric in all these states. Therefore the permuted
actions are called on the permuted states as well. Their steps must be the permuted steps, and what they have read
counts as read too. A state that agrees in all of it then has, under each permutation, exactly these calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from leadline.checker.engines.learning.calls import Call, Caller, Outcome, Row
from leadline.checker.engines.learning.permutations import RowPermutations
from leadline.checker.support.escapes import visible
from leadline.checker.symmetry import Symmetry, refused

S = TypeVar("S")

Step = tuple[int, frozenset[tuple[int, int]]]
"""The label of an outcome, and its changes."""


class SymmetricCaller(Caller[S]):
    """Calls a spec's functions, and actions under all permutations. For the other parameters, see `Caller`.

    Attributes:
        symmetry: the group.
        permutations: the permutations of rows.
        trees: for each permutation and action instance, the instance that it makes of it.
    """

    def __init__(self, *given: Any, symmetry: Symmetry[S], **named: Any) -> None:
        super().__init__(*given, **named)
        self.symmetry, self.permutations = symmetry, RowPermutations(self.layout, symmetry)
        places = {instance: tree for tree, instance in enumerate(self.spec.instances)}
        self.trees = [[places[symmetry.instance(by, each)] for each in self.spec.instances] for by in symmetry.group]
        self._is_inside = False

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a function, and record the slots that it reads; an action also under all permutations."""
        if self._is_inside or tree >= self.instances:
            call = super().make(tree, rows)
            self.permutations.extend()
            return call
        (row,), permutations = rows, self.permutations
        while True:
            calls, known = list[Call](), (self.layout.slots, [*self.precision])
            for which, trees in enumerate(self.trees):
                self._is_inside = True
                try:
                    calls.append(super().make(trees[tree], (permutations.row(which, row),)))
                finally:
                    self._is_inside = False
                permutations.extend()
            self._level(tree)
            if known == (self.layout.slots, self.precision):
                return self._merged(tree, row, calls)

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
        steps = [self._moved_back(which, call) for which, call in enumerate(calls)]
        if any(_beyond(each, reads) != _beyond(steps[0], reads) for each in steps):
            # a step writes what another one leaves as it is: they agree only where it is so already
            for each in steps:
                for _, changes in each:
                    reads.update((slot, numbers[slot]) for slot, _ in changes if slot not in reads)
        self._compare(tree, row, numbers, steps)
        constructs = frozenset().union(*(call.constructs for call in calls))
        return Call(reads, enumerated, own.gave, constructs)

    def _moved_back(self, which: int, call: Call) -> list[Step]:
        """Return the steps of a permuted call, permuted back."""
        assert isinstance(call.gave, list)
        back = self.permutations.inverses[which]
        targets, numbers = self.permutations.targets[back], self.permutations.numbers[back]
        return [
            (
                self._label(back, label),
                frozenset((targets[slot], numbers[slot][number]) for slot, number in changes.items()),
            )
            for label, changes in call.gave
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
        every = [Counter((label, _effect(changes, numbers)) for label, changes in each) for each in steps]
        for which, found in enumerate(every):
            if found != every[0]:
                missing, more = every[0] - found, found - every[0]
                label, effect = next(iter(missing or more))
                instance = self.spec.instances[tree] if not label else self.numbered[label]
                by = self.symmetry.group[which]
                twin = self.symmetry.instance(by, instance)
                what = "does not lead" if missing else "leads"
                states = self.layout.state(row), self.layout.state(self.permutations.row(which, row))
                after = self.layout.state(self.permutations.row(which, self.row_after(row, dict(effect))))
                raise refused(
                    self.symmetry, by, states, f"{twin} {what} from the second state to {visible(str(after))}, unlike "
                    "the permuted step from the first state",
                )  # fmt: skip

    def steps(self, tree: int, row: Row) -> list[Outcome]:
        """Call an action instance under all permutations without recording its reads, and return its steps."""
        own = super().steps(tree, row)
        self.permutations.extend()
        every = list[list[Step]]()
        for which, trees in enumerate(self.trees):
            gave = super().steps(trees[tree], self.permutations.row(which, row)) if which else own
            self.permutations.extend()
            every.append(self._moved_back(which, Call({}, set(), gave)))
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
