"""Records the slots that a call reads, in the order in which the call reads them.

Instead of the state itself, the recorded call receives a lazy state (see `lazy`): an instance of the spec's own class
whose fields are not set yet. The first read of each field is recorded and sets the field. Tuples and collections cannot
be lazy. They are replaced with objects called views (see `tuple_views` and `collection_views`), unless the code of the
spec would behave differently with a view (see `reach`).
"""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.map import Map
from leadline.checker.observing.collection_views import VIEWS, CollectionView
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
    """How precisely the reads of a call are recorded. The code of the called function determines which precision is
    possible.
    """

    STATES = 0
    """The call receives the state itself. The entire state counts as read."""
    FIELDS = 1
    """Each field of an attrs value is recorded separately. A tuple or a collection is recorded as a whole."""
    ELEMENTS = 2
    """Each element of a component tuple and each member of a collection is also recorded separately."""
    COPIES = 3
    """An element of a component tuple that is copied but not otherwise used does not count as read."""


class Mismatch(Exception):
    """Raised when a recorded call and the same call on the state itself return different results."""


class NotOrdinary(Exception):
    """Raised when a value contains a view or a lazy instance that cannot be replaced with the real value."""


class Recorder:
    """Records which slots a call reads, in the order of their first reads. A predicate of a step reads two states.

    Parameters:
        rows: the row of each state: the indices of the values in its slots.
        lasting: an object that the code could change and that outlives the call, or an empty string; see
            `Reach.lasting`.

    Attributes:
        reads: the value index of each slot that was read, keyed by slot. The slots of the second state begin at
            `SECOND`.
        enumerated: the collections whose members all count as read, even members that are found later.
        looked_at: whether the code used the value of an element that it was only expected to copy.
        escaped: whether the code may have read a value without the read being recorded.
        constructs: the unsupported code in loops over collections.
    """

    def __init__(
        self,
        layout: Layout,
        *rows: Sequence[int],
        precision: Precision = Precision.ELEMENTS,
        lasting: str = "",
    ) -> None:
        self._domains = layout.domains
        self.layout, self.precision, self.lasting = layout, precision, lasting
        self.reads: dict[int, int] = {}
        self.looked_at = self.escaped = self._has_ended = False
        self.enumerated: set[Collection] = set()
        self.constructs: set[Construct] = set()
        slots = layout.slots  # rows become too short when slots for new members are added
        self._rows = {which * SECOND: [*row, *[0] * (slots - len(row))] for which, row in enumerate(rows)}
        self._made: list[object] = []
        self._evolved: list[object] = []
        self._parts: dict[tuple[Node, int], object] = {}

    def read(self, slot: int, offset: int = 0) -> Any:
        """Record that a slot is read, and return its value.

        Parameters:
            slot: the index of the slot.
            offset: 0 for the first state, or `SECOND` for the second state.
        """
        number = self.reads[slot + offset] = self._rows[offset][slot]
        return self._domains[slot].values[number]

    def member(self, node: Collection, offset: int, member: object) -> Any:
        """Record that a member of a collection is read. Return its count; see `Collection`."""
        slot = self.layout.slot_of(node, member, asked=True)
        row = self._rows[offset]
        row += [0] * (slot + 1 - len(row))
        return self.read(slot, offset)

    def is_known_as(self, node: Collection, member: object) -> bool:
        """Return whether a collection has a slot for exactly the given member. For example, the slot of ``1`` is not a
        slot for ``True``.
        """
        return self.layout.is_known_as(node, member)

    def ordinary(self, value: Any) -> Any:
        """Replace all views and lazy instances in a value with the values that they represent, and return the result.
        The represented values count as read.

        Raises:
            NotOrdinary: if the value contains a view or a lazy instance inside an object that cannot be recreated.
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
        if kind is Map:
            items = {self.ordinary(key): self.ordinary(item) for key, item in value.items()}
            is_same = all(map(operator.is_, (*items, *items.values()), (*value, *value.values())))
            return value if is_same else Map(items)
        lazy = lazy_instances.get(id(value))
        if lazy is not None and not lazy[3]:
            return self.whole(lazy[1], lazy[2])
        if not attrs.has(kind):
            return value  # the layout rejects the value if it contains a view
        fields = {field.alias: getattr(value, field.name) for field in attrs.fields(kind)}
        made_of = {alias: self.ordinary(inner) for alias, inner in fields.items()}
        if lazy is None and all(made_of[alias] is inner for alias, inner in fields.items()):
            return value
        if not copies_unread(kind):
            raise NotOrdinary
        return kind(**made_of)

    def in_order(self, node: Collection, offset: int, changes: Mapping[object, Any]) -> list[object]:
        """Return the members of a collection in the iteration order of the real collection. This does not count as a
        read.

        Parameters:
            offset: 0 for the first state, or `SECOND` for the second state.
            changes: the counts that the code changed, keyed by member, as in `Collection.counts`.
        """
        value = self.layout.part(node, self._rows[offset])
        if not changes:
            return list(value)
        counts = {**node.counts(value), **changes}
        return list(node.of(counts))

    def read_all(self) -> None:
        """Record that every slot of every state is read. Slots that were read before keep their position in the
        order.
        """
        for offset, row in self._rows.items():
            for slot, number in enumerate(row):
                self.reads.setdefault(slot + offset, number)
        root = self.layout.root
        self.enumerated.update(root.collections if isinstance(root, Struct | Parts) else ())

    def state(self, which: int = 0) -> Any:
        """Return a lazy instance that represents a state.

        Parameters:
            which: 0 for the first state, 1 for the second state.
        """
        return self.value(self.layout.root, which * SECOND)

    def value(self, node: Node, offset: int = 0) -> Any:
        """Return the object that represents a part of a state: a plain value, a lazy instance, a tuple or a view."""
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
                return self.whole(node, offset)  # code could read its __dict__, which would show which fields are set
            return self.instance(node, offset)
        if isinstance(node, Collection):
            if self.precision <= Precision.FIELDS:
                return self.whole(node, offset)
            return VIEWS[node.cls](self, offset, node)
        assert isinstance(node, Parts)
        if node.whole or self.precision <= Precision.FIELDS:
            return tuple([self.value(element, offset) for element in node.elements])
        return TupleView(self, offset, node.elements)

    def instance(self, node: Struct, offset: int, changed: dict[str, object] | None = None) -> Any:
        """Return a new lazy instance.

        Parameters:
            offset: 0 for the first state, or `SECOND` for the second state.
            changed: the fields that `attrs.evolve` changed, keyed by name, or None if the instance is part of a state.
        """
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
        """Return the real value of a part of a state. The entire part counts as read."""
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
        """Return the object that represents an element of a tuple that the code iterates over. If the element does not
        have to be read, return an `Unread` object, which the code can only copy.
        """
        if type(node) is not Leaf or self.precision < Precision.COPIES or node.slot + offset in self.reads:
            return self.value(node, offset)
        return Unread(self, node.slot)

    def changes(self, recorded: object, successor: object, state: object) -> dict[int, int]:
        """Return the new value index of each slot that a step writes, keyed by slot.

        Parameters:
            recorded: the next state that the recorded call returned. It shows which slots were only copied.
            successor: the next state that the same call on `state` returned. It contains no views or lazy instances.
            state: the state before the step, without views or lazy instances.

        Raises:
            ShapeChanged: if a part of the next state does not have the same structure as in the initial state.
            Mismatch: if the two next states differ.
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
                node.check(value)
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
                self.layout.counted(node, value)  # rejects members that are equal but distinguishable
            members: Iterable[object] = seen._changes
        else:  # the step replaces the entire collection, so it writes every known member
            self._read_written(seen, value)
            for member in node.counts(value):
                self.layout.slot_of(node, member)
            self.enumerated.add(node)
            members = node.members
        for member in members:
            slot = self.layout.slot_of(node, member, asked=True)
            changes[slot] = self.layout.domains[slot].number(node.count(value, member))

    def _stood_for(self, item: Any) -> object:
        """Return an item of a `TupleView`. If the item is a node, return the object that represents this part of the
        state.
        """
        return self.value(item) if type(item) in NODES else item

    def _read_written(self, seen: object, value: object) -> None:
        """Record a read of each part of a state that a written value contains.

        Parameters:
            seen: the value that the recorded call wrote.
            value: the value that the call on the state itself wrote.

        Raises:
            Mismatch: if the values differ.
        """
        if not self.read_within(seen) and seen != value:
            raise Mismatch

    def read_within(self, value: object) -> bool:
        """Record a read of each part of a state that a value contains.

        Returns:
            True if the value could be searched completely. If not, the caller must compare the value with the real
            value, which reads the remaining parts.
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
        """End the recording. Lazy instances to which the spec still refers, for example in a cache, become ordinary
        instances.
        """
        self._has_ended = True
        self._parts.clear()
        # Instances come before the instances that they refer to. Releasing one can therefore free the next ones.
        made = [*reversed(self._evolved), *self._made]
        self._evolved, self._made = [], []
        for place in range(len(made)):
            instance, made[place] = made[place], None
            lazy = lazy_instances.pop(id(instance))
            if sys.getrefcount(instance) > _REFERENCES:
                self._complete(instance, lazy)

    def _complete(self, instance: object, lazy: Lazy) -> None:
        """Set all fields of an instance that is still in use after the call. This does not count as a read."""
        _, node, offset, changed = lazy
        for name, child in node.children.items():
            if name not in (changed or ()):
                _set(instance, name, self.layout.part(child, self._rows[offset]))


def _must_be_same(value: object, before: object) -> None:
    """Check that a copied value is unchanged.

    Raises:
        Mismatch: if the value has changed.
    """
    if value is not before and value != before:
        raise Mismatch


def _held_by_one_variable() -> int:
    """Return the result of `sys.getrefcount` for an object to which exactly one local variable refers."""
    made = [object()]
    for place in range(1):
        instance, made[place] = made[place], None
        count = sys.getrefcount(instance)
    return count


_REFERENCES = _held_by_one_variable()


_ATOMS = frozenset((int, bool, str, type(None), float, bytes))
