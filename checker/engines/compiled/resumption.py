"""Restores the values of a saved search from its spec.

A checkpoint contains the indices of values instead of values. To find the value for an index, the spec's actions are
called again along a path from an initial state to the first state that contains the index. If a call returns several
next states, the next state on the path is recognized by the 64-bit hashes of its values. The hashes decide nothing
else: `CompiledSearch` then expands and checks every saved state again, and compares the states themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Generic, TypeVar

import attrs
import numpy as np

from leadline.checker.content import content
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.learning.restart import CHANGES, Adjustments
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.observing.domains import NO_VALUE
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.nodes import Collection, Leaf, Node, Parts, Struct
from leadline.checker.spec import Spec
from leadline.checker.values import same

S = TypeVar("S")

SLICE = 2**22
"""The number of states that compiled code processes between two checks for Ctrl-C."""

Unused = Set[tuple[int, int]]
"""Pairs of a slot and a value index that no saved state contains; see `Resumption.unused`."""


class SpecChanged(Exception):
    """Raised when a spec has changed since a search was saved. The message describes the difference."""


@attrs.frozen
class Hashes:
    """The 64-bit content hashes of a search's values.

    Attributes:
        values: for each slot, the hashes of its values in the order of their indices.
        members: for each slot that belongs to a collection member, the collection's path and the member's hash.
    """

    values: list[list[int]]
    members: list[tuple[str, int]]

    @property
    def first_member(self) -> int:
        """The index of the first slot that belongs to a collection member."""
        return len(self.values) - len(self.members)

    def extended(
        self, values: Sequence[Sequence[object]], members: Sequence[tuple[str, object]], unused: Unused
    ) -> Hashes:
        """Add the hashes of additional values and members to the existing hashes, and return the result.

        Parameters:
            values: for each slot, its values in the order of their indices. The values that already have hashes come
                first.
            members: (collection path, member) pairs. The members that already have hashes come first.
            unused: see `Resumption.unused`.

        Raises:
            LeadlineError: if two values of a slot have the same hash.
        """
        hashed = [*self.members, *((path, content("", member)) for path, member in members[len(self.members) :])]
        first, found = len(values) - len(members), []
        _refuse_equal(members, hashed, {slot - first for slot, number in unused if slot >= first and not number})
        for slot, known in enumerate(values):
            before = self.values[slot] if slot < len(self.values) else []
            found.append([*before, *(content("", value) for value in known[len(before) :])])
            _refuse_equal(known, found[-1], {number for of, number in unused if of == slot})
        return Hashes(found, hashed)


class Resumption(Generic[S]):
    """Restores the values of a saved search by calling the functions of the current spec.

    Parameters:
        hashes: the saved hashes of the values and of the collection members.
        store: the saved states, with the step by which each state was found.
        initials: the number of initial states. They come first.

    Attributes:
        values: for each slot, its values in the order of their indices. A value is `NO_VALUE` if no saved state
            contains its index.
        members: for each slot that belongs to a collection member, the collection's path and the member. A member is
            `NO_VALUE` if no saved state contains it.

    Raises:
        SpecChanged: if the actions of the spec do not lead to the saved states.
        ValueError, IndexError: if the parts of the saved search are inconsistent.
    """

    def __init__(self, spec: Spec[S], adjustments: Adjustments, hashes: Hashes, store: Store, initials: int) -> None:
        self.spec, self._adjustments, self._hashes = spec, adjustments, hashes
        self._store, self._initials = store, initials
        layout = self._layout()
        if layout.slots != hashes.first_member:
            raise SpecChanged("the components of the states differ from those in the saved search")
        self._root = layout.root
        self.values: list[list[object]] = [[NO_VALUE] * len(known) for known in hashes.values]
        self.members: list[tuple[str, object]] = [(path, NO_VALUE) for path, _ in hashes.members]
        holders = self._holders()
        self._numbers = [
            {hashed: number for number, hashed in enumerate(known) if holders[slot][number] >= 0}
            for slot, known in enumerate(hashes.values)
        ]
        self._known: list[dict[object, int]] = [{} for _ in hashes.values]
        self._slots = self._slots_of_members(holders)
        self._states: dict[int, S] = {}
        found = {index for known in holders for index in known if index >= 0}
        with _changed():
            self._replay(found)
        for slot in self._slots.values():
            self.values[slot][0] = 0  # number 0 is the count of an absent member

    def _layout(self) -> Layout:
        given = self._adjustments
        return Layout(self.spec.initials()[0], given.whole, given.apart)

    def _holders(self) -> list[list[int]]:
        """Return, for each value index of each slot, the first state that contains it, or -1 if there is none."""
        store, sizes = self._store, [len(known) for known in self._hashes.values]
        packing, begins = store.packing, np.cumsum([0, *sizes])
        holders = np.full(begins[-1], -1, np.int64)
        for first in range(0, store.loaded, SLICE):
            last = min(first + SLICE, store.loaded)
            wrong = kernel.note_holders(
                first, last, begins, store.states, packing.word, packing.shift, packing.mask, holders
            )
            if wrong >= 0:
                raise ValueError(f"state {wrong} contains a number that refers to no known value")
        return [holders[begin:end].tolist() for begin, end in itertools.pairwise(begins)]

    def _slots_of_members(self, holders: Sequence[Sequence[int]]) -> dict[tuple[str, int], int]:
        """Return a dict that maps each (collection path, member hash) pair to the member's slot."""
        slots = enumerate(self._hashes.members, self._hashes.first_member)
        return {member: slot for slot, member in slots if max(holders[slot][1:], default=-1) >= 0}

    def _replay(self, wanted: Iterable[int]) -> None:
        """Restore the given states, and all states on the paths to them, by calling the actions again."""
        initials = {tuple(self._row(state)): state for state in self.spec.initials()}
        rows = [self._saved(index) for index in range(self._initials)]
        if initials.keys() != set(rows):
            raise SpecChanged("the initial states of the spec differ from those in the saved search")
        self._states.update(enumerate(map(initials.__getitem__, rows)))
        before: tuple[int, int] = (-1, -1)
        after: dict[tuple[int, ...], S] = {}
        for index in self._ancestry(wanted):
            step = int(self._store.parents[index]), int(self._store.arrivals[index])
            if step != before:
                instance = self.spec.instances[step[1]]
                successors = self.spec.take(instance, self._states[step[0]])
                before, after = step, {tuple(self._row(state)): state for state in successors}
            row = self._saved(index)
            if row not in after:
                raise SpecChanged(
                    f"action {self.spec.instances[step[1]]} does not lead to the same states as in the saved search"
                )
            self._states[index] = after[row]

    def _ancestry(self, wanted: Iterable[int]) -> list[int]:
        """Return all states on the paths to the given states, except initial states, in order of discovery."""
        found: set[int] = set()
        for index in wanted:
            while index not in self._states and index not in found:
                found.add(index)
                if self._store.parents[index] >= index:
                    raise ValueError(f"the predecessor of state {index} is not an earlier state")
                index = int(self._store.parents[index])
        return sorted(found)

    def _saved(self, index: int) -> tuple[int, ...]:
        """Return the value indices of a saved state, one per slot."""
        return tuple(self._store.packing.unpack(self._store.states[index]))

    def _row(self, state: S) -> list[int]:
        """Return the value indices of a state, one per slot. Raise SpecChanged if a value has no index."""
        numbers = [0] * len(self.values)
        self._number(self._root, state, numbers)
        return numbers

    def _number(self, node: Node, value: object, numbers: list[int]) -> None:
        match node:
            case Leaf():
                numbers[node.slot] = self._number_of(node.slot, node.path, value)
            case Struct():
                _check_type(node, value)
                for name, child in node.children.items():
                    self._number(child, getattr(value, name), numbers)
            case Parts():
                _check_type(node, value)
                assert isinstance(value, tuple)
                if len(value) != len(node.elements):
                    raise SpecChanged(f"{node.path} does not have the same length as in the saved search")
                for element, item in zip(node.elements, value, strict=True):
                    self._number(element, item, numbers)
            case Collection():
                _check_type(node, value)
                for member, count in node.counts(value).items():
                    slot = self._slots.get((node.path, content("", member)))
                    if slot is None:
                        raise SpecChanged(f"{node.path} does not contain the same members as in the saved search")
                    self.members[slot - self._hashes.first_member] = node.path, member
                    numbers[slot] = self._number_of(slot, node.path, count)

    def _number_of(self, slot: int, path: str, value: object) -> int:
        number = self._known[slot].get(value)
        if number is not None and same(self.values[slot][number], value):
            return number
        number = self._numbers[slot].get(content("", value))
        if number is None:
            raise SpecChanged(f"the possible values of {path or 'the state'} differ from those in the saved search")
        self._known[slot][value] = number
        if self.values[slot][number] is NO_VALUE:
            self.values[slot][number] = value
        return number

    @property
    def unused(self) -> Unused:
        """The (slot, value index) pairs for which no value was restored, because no saved state contains the index."""
        slots = enumerate(self.values)
        return frozenset(
            (slot, number) for slot, known in slots for number, value in enumerate(known) if value is NO_VALUE
        )


def _refuse_equal(values: Sequence[object], hashes: Sequence[Hashable], unused: Container[int]) -> None:
    """Check that no two values have the same hash. If two had the same hash, it would be unclear which of them a saved
    state contains.

    Parameters:
        unused: the indices of values to ignore.
    """
    met: set[Hashable] = set()
    for place, (value, hashed) in enumerate(zip(values, hashes, strict=True)):
        if hashed in met and place not in unused:
            raise LeadlineError(f"a checkpoint cannot save {value!r}, because a different value has the same hash")
        if place not in unused:
            met.add(hashed)


def _check_type(node: Struct | Parts | Collection, value: object) -> None:
    if type(value) is not (tuple if isinstance(node, Parts) else node.cls):
        raise SpecChanged(f"{node.path or 'the state'} does not have the same type as in the saved search")


@contextmanager
def _changed() -> Iterator[None]:
    """Return a context manager that turns an error in the spec into `SpecChanged`. The saved search did not encounter
    the error, so the spec must have changed.
    """
    try:
        yield
    except SpecError as error:
        raise SpecChanged(str(error)) from error
    except CHANGES as error:
        raise SpecChanged("the spec reads other components of the states than it did in the saved search") from error
