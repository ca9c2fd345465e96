"""Recording: the slots of a state that a call reads, in the order in which it reads them.

The call gets a lazy state (see `lazy`): an instance of the spec's own class whose fields are not set yet. The first
read of each field is recorded and sets the field. Tuples and collections cannot be lazy, so views replace them where
the code of an action allows it (see `reach`, `tuple_views` and `collection_views`).
"""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.observing.collection_views import BagView, CollectionView, SetView
from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.lazy import Lazy, lazy_instances
from leadline.checker.observing.nodes import (
    NODES,
    Collection,
    Leaf,
    Node,
    Parts,
    ShapeChanged,
    Struct,
    copies_unread,
)
from leadline.checker.observing.step_slots import SECOND
from leadline.checker.observing.tuple_views import TupleView, Unread, items_of, recorder_of, slot_of
from leadline.checker.state import variables

_new, _set = object.__new__, object.__setattr__


class Precision(enum.IntEnum):
    """How precisely the reads of a call are recorded. The code of the function determines which levels are exact."""

    STATES = 0
    """The call gets the state itself, and the entire state counts as read."""
    FIELDS = 1
    """Fields of attrs values are recorded one by one; a tuple is read as a whole."""
    ELEMENTS = 2
    """Elements of component tuples are also recorded one by one."""
    COPIES = 3
    """Elements of component tuples that are copied but not otherwise used do not count as read."""


class Mismatch(Exception):
    """Raised when a recorded call and the call on the state itself have different results."""


class NotOrdinary(Exception):
    """Raised when a value contains a stand-in and cannot be created again without it."""


class Recorder:
    """Records the slots that a call reads, in the order of their first reads. A step predicate reads two states.

    Parameters:
        layout: the layout of the states.
        rows: for each state, the numbers of the values in its slots.
        precision: how precisely to record.
        told_apart: types whose values the code may distinguish by identity. An element that can have such a value
            counts as read when it is copied.

    Attributes:
        reads: the number of the value in each slot that was read. Slots of a second state are counted from `SECOND`.
        enumerated: the collections that were enumerated, so that members not known yet would also have been read.
        copied: the slots whose values were copied without being read.
        looked_at: whether the value of a copied element was used after all.
        escaped: whether a read may have been missed for another reason.
        constructs: the code that was not understood in loops over collections.
    """

    def __init__(
        self,
        layout: Layout,
        *rows: Sequence[int],
        precision: Precision = Precision.ELEMENTS,
        told_apart: frozenset[type] = frozenset(),
    ) -> None:
        self._domains = layout.domains
        self.layout, self.precision, self.told_apart = layout, precision, told_apart
        self.reads: dict[int, int] = {}
        self.copied: set[int] = set()
        self.looked_at = self.escaped = self._has_ended = False
        self.enumerated: set[Collection] = set()
        self.constructs: set[Construct] = set()
        slots = layout.slots  # a row may be shorter, if slots for further members were added after it was created
        self._rows = {which * SECOND: [*row, *[0] * (slots - len(row))] for which, row in enumerate(rows)}
        self._made: list[object] = []
        self._evolved: list[object] = []
        self._parts: dict[tuple[Node, int], object] = {}

    def read(self, slot: int, offset: int = 0) -> Any:
        """Read the value in a slot. The offset selects the state: 0 for the first, `SECOND` for the second."""
        number = self.reads[slot + offset] = self._rows[offset][slot]
        return self._domains[slot].values[number]

    def member(self, node: Collection, offset: int, member: object) -> int:
        """Read how often a bag of a state contains a member; for a set, whether it contains the member."""
        slot = self.layout.slot_of(node, member, asked=True)
        row = self._rows[offset]
        row += [0] * (slot + 1 - len(row))
        count: int = self.read(slot, offset)
        return count

    def is_known_as(self, node: Collection, member: object) -> bool:
        """Whether a member has a slot for exactly this value: the slot of 1 does not count for True."""
        return self.layout.is_known_as(node, member)

    def ordinary(self, value: Any) -> Any:
        """Replace all stand-ins in a value by the values that they represent. These values count as read.

        Raises:
            NotOrdinary: the value contains a stand-in inside an object that cannot be created again.
        """
        kind = type(value)
        if kind in _ATOMS:
            return value
        if kind is Unread:
            return self.read(slot_of(value))
        if isinstance(value, CollectionView):
            return value._value()
        if kind is TupleView:
            return tuple(map(self.ordinary, value._real()))
        if kind in (tuple, frozenset):
            made = [self.ordinary(item) for item in value]
            return value if all(map(operator.is_, made, value)) else kind(made)
        lazy = lazy_instances.get(id(value))
        if lazy is not None and not lazy[3]:
            return self.whole(lazy[1], lazy[2])
        if not attrs.has(kind):
            return value  # the layout refuses the value if it contains stand-ins
        fields = {field.alias: getattr(value, field.name) for field in attrs.fields(kind)}
        made_of = {alias: self.ordinary(inner) for alias, inner in fields.items()}
        if lazy is None and all(made_of[alias] is inner for alias, inner in fields.items()):
            return value
        if not copies_unread(kind):
            raise NotOrdinary
        return kind(**made_of)

    def in_order(self, node: Collection, offset: int, changes: Mapping[object, int]) -> list[object]:
        """The members of a collection, with changes, in the order of the real value. This does not count as a read."""
        value = self.layout.part(node, self._rows[offset])
        if not changes:
            return list(value)
        counts = {**node.counts(value), **changes}
        return list(node.of(counts))

    def read_all(self) -> None:
        """Count every slot of every state as read. Slots that were not read before come last in the order."""
        for offset, row in self._rows.items():
            for slot, number in enumerate(row):
                self.reads.setdefault(slot + offset, number)
        root = self.layout.root
        self.enumerated.update(root.collections if isinstance(root, Struct | Parts) else ())

    def state(self, which: int = 0) -> Any:
        """A lazy instance of one of the states."""
        return self.value(self.layout.root, which * SECOND)

    def value(self, node: Node, offset: int = 0) -> Any:
        """Return the object that represents a part of a state: a value, a lazy instance, a tuple or a view."""
        if type(node) is Leaf:
            return self.read(node.slot, offset)
        made = self._parts.get((node, offset))
        if made is None:
            if self._has_ended:
                return self.layout.part(node, self._rows[offset])
            made = self._parts[node, offset] = self._part(node, offset)
        return made

    def _part(self, node: Node, offset: int) -> Any:
        if isinstance(node, Struct):
            if self.precision <= Precision.FIELDS and not node.slotted:
                return self.whole(node, offset)  # its __dict__ would show which fields are set
            return self.instance(node, offset)
        if isinstance(node, Collection):
            if self.precision <= Precision.FIELDS:
                return self.whole(node, offset)
            return (SetView if node.cls is frozenset else BagView)(self, offset, node)
        assert isinstance(node, Parts)
        if node.whole or self.precision <= Precision.FIELDS:
            return tuple([self.value(element, offset) for element in node.elements])
        return TupleView(self, offset, node.elements)

    def instance(self, node: Struct, offset: int, changed: dict[str, object] | None = None) -> Any:
        made: Any = _new(node.cls)
        for name, value in node.set_at_once:
            _set(made, name, value)
        lazy_instances[id(made)] = (self, node, offset, changed)
        if changed is None:
            self._made.append(made)
        else:
            self._evolved.append(made)
            for name, value in changed.items():
                _set(made, name, value)
        return made

    def whole(self, node: Struct | Collection, offset: int) -> Any:
        """Return a part of the state itself. The entire part counts as read."""
        row = self._rows[offset]
        if isinstance(node, Struct):
            for slot in range(*node.slots.indices(len(row))):
                self.reads.setdefault(slot + offset, row[slot])
        below = (node,) if isinstance(node, Collection) else node.collections
        for collection in below:
            self.enumerated.add(collection)
            for member in collection.members:
                self.member(collection, offset, member)
        return self.layout.part(node, row)

    def copied_element(self, node: Node, offset: int) -> Any:
        """Return the object that represents an element that is copied and may never be used otherwise."""
        if (
            type(node) is not Leaf
            or self.precision < Precision.COPIES
            or node.slot + offset in self.reads
            or not self.layout.domains[node.slot].can_be_copied(self.told_apart)
        ):
            return self.value(node, offset)
        self.copied.add(node.slot)
        return Unread(self, node.slot)

    def changes(self, recorded: object, successor: object, state: object) -> dict[int, int]:
        """Return the changes that a step makes to the first state: the new number of each slot that was written.

        Parameters:
            recorded: the next state that the recorded call returned; it shows which slots were only copied.
            successor: the next state that the call on the state itself returned. Its values are numbered, so that no
                stand-ins remain in them.
            state: the state itself.

        Raises:
            ShapeChanged: a component has a different shape than in the initial state.
            Mismatch: the two next states differ.
        """
        changes: dict[int, int] = {}
        self._compare(self.layout.root, recorded, successor, state, changes)
        return changes

    def _compare(self, node: Node, seen: Any, value: Any, before: Any, changes: dict[int, int]) -> None:
        if type(seen) is Unread:
            if recorder_of(seen) is not self:
                raise Mismatch
            if type(node) is Leaf and slot_of(seen) == node.slot:
                _must_be_same(value, before)
                return
            seen = self.read(slot_of(seen))
        match node:
            case Leaf():
                self._read_written(seen, value)
                changes[node.slot] = self.layout.number(node, value)
            case Collection():
                self._compare_collection(node, seen, value, before, changes)
            case Struct():
                if type(value) is not node.cls:
                    raise ShapeChanged(node.path)
                lazy = lazy_instances.get(id(seen))
                if lazy is not None and lazy[1] is node and not lazy[2]:
                    if value is before and not lazy[3]:
                        return
                    changed = lazy[3] or {}
                    for name, child in node.children.items():
                        inner, inner_before = getattr(value, name), getattr(before, name)
                        if name in changed:
                            self._compare(child, changed[name], inner, inner_before, changes)
                        elif inner is not inner_before:
                            _must_be_same(inner, inner_before)
                    return
                if type(seen) is not node.cls:
                    raise Mismatch
                for name, child in node.children.items():
                    self._compare(child, getattr(seen, name), getattr(value, name), getattr(before, name), changes)
            case Parts():
                if type(value) is not tuple or len(value) != len(node.elements):
                    raise ShapeChanged(node.path)
                if type(seen) not in (tuple, TupleView) or len(seen) != len(value):
                    raise Mismatch
                for element, inner, item, item_before in zip(node.elements, items_of(seen), value, before, strict=True):
                    if inner is not element:
                        self._compare(element, self._stood_for(inner), item, item_before, changes)
                    elif item is not item_before:
                        _must_be_same(item, item_before)

    def _compare_collection(
        self, node: Collection, seen: object, value: object, before: object, changes: dict[int, int]
    ) -> None:
        if type(value) is not node.cls:
            raise ShapeChanged(node.path)
        if isinstance(seen, CollectionView) and seen._node is node and not seen._offset:
            _must_be_same(value, node.of({**node.counts(before), **seen._changes}) if seen._changes else before)
            if value is not before:
                self.layout.counted(node, value)  # refuses members that are equal but distinguishable
            members: Iterable[object] = seen._changes
        else:  # the value does not depend on the state's collection, so every known member is written
            self._read_written(seen, value)
            for member in node.counts(value):
                self.layout.slot_of(node, member)
            self.enumerated.add(node)
            members = node.members
        for member in members:
            slot = self.layout.slot_of(node, member, asked=True)
            changes[slot] = self.layout.domains[slot].number(node.count(value, member))

    def _stood_for(self, item: Any) -> object:
        """Return the object that an item of a tuple or of a `TupleView` represents."""
        return self.value(item) if type(item) in NODES else item

    def _read_written(self, seen: object, value: object) -> None:
        """Count the parts of the states in a written value as read, and compare it with that of the unrecorded call.

        Raises:
            Mismatch: the values differ.
        """
        if not self.read_within(seen) and seen != value:
            raise Mismatch

    def read_within(self, value: object) -> bool:
        """Count all parts of the states that a value contains as read. The value is written to a leaf.

        Returns:
            Whether all parts of the value could be searched. If not, the caller must compare the value with the leaf;
            if they are equal, the comparison has read everything.
        """
        kind = type(value)
        if kind in _ATOMS:
            return True
        if kind is Unread:
            self.read(slot_of(value))
            return True
        if isinstance(value, CollectionView):
            value._value()
            return True
        if kind is TupleView or isinstance(value, tuple | frozenset):
            parts = [self._stood_for(item) for item in items_of(value)]
        elif attrs.has(kind):
            parts = [getattr(value, field.name) for field in variables(kind)]
        elif hasattr(kind, "__dataclass_fields__"):
            parts = [getattr(value, name) for name in kind.__dataclass_fields__]
        else:
            return False
        is_known = True
        for part in parts:
            is_known &= self.read_within(part)
        return is_known

    def end(self) -> None:
        """End the recording. Lazy instances that the spec still holds, such as in a cache, become ordinary values."""
        self._has_ended = True
        self._parts.clear()
        # an instance comes before those that it refers to, so that instances that are not kept are freed in turn
        made = [*reversed(self._evolved), *self._made]
        self._evolved, self._made = [], []
        for place in range(len(made)):
            instance, made[place] = made[place], None
            lazy = lazy_instances.pop(id(instance))
            if sys.getrefcount(instance) > _REFERENCES:
                self._complete(instance, lazy)

    def _complete(self, instance: object, lazy: Lazy) -> None:
        """Set the fields of an instance that is still in use. This does not count as a read, as the call is over."""
        _, node, offset, changed = lazy
        for name, child in node.children.items():
            if name not in (changed or ()):
                _set(instance, name, self.layout.part(child, self._rows[offset]))


def _must_be_same(value: object, before: object) -> None:
    """Check that a copied value is unchanged. Raises Mismatch: it has changed."""
    if value is not before and value != before:
        raise Mismatch


def _held_by_one_variable() -> int:
    """The result of `sys.getrefcount` for an object to which only a local variable of a loop refers."""
    made = [object()]
    for place in range(1):
        instance, made[place] = made[place], None
        count = sys.getrefcount(instance)
    return count


_REFERENCES = _held_by_one_variable()


_ATOMS = frozenset((int, bool, str, type(None), float, bytes))
