"""Recording: which slots of a state a call reads, and in which order.

A call is given a lazy state: an instance of the spec's own class whose fields are not set yet. Python asks a class's
`__getattr__` for an attribute that an instance does not have, so the first read of each field is seen, is recorded, and
sets the field; later reads cost nothing. As the instance is of the real class, whatever a spec does with it (`type(x)`,
`isinstance(other, type(self))`, the generated `__eq__` and `__hash__`, methods, pickling) is true of it. `attrs.evolve`
copies the fields of a lazy instance without reading them.

Tuples cannot be lazy, so where an action's code allows it (see `constructs`) a `TupleView` stands in for a component
tuple, and an `Unread` for an element that is copied with others.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import attrs

from checker.bag import Bag
from checker.engines.compiled.kernel import SECOND
from checker.engines.compiled.learn.collection_views import BagView, CollectionView, SetView
from checker.engines.compiled.learn.layout import Collection, Layout, Leaf, Node, Parts, ShapeChanged, StandIn, Struct
from checker.state import variables

_new, _set = object.__new__, object.__setattr__


class Precision(enum.IntEnum):
    """How precisely the reads of a call are recorded. What its code does decides which of these is exact."""

    STATES = 0
    """The call is given the state itself, and all of it counts as read."""
    FIELDS = 1
    """Fields of attrs values are recorded one by one; a tuple is read as a whole."""
    ELEMENTS = 2
    """Elements of component tuples are recorded one by one too."""
    COPIES = 3
    """Elements of component tuples that are copied and never looked at do not count as read."""


class LookedAt(BaseException):
    """A copied element was looked at. Not an `Exception`, so that few specs catch it; those that do are found out."""


class Mismatch(Exception):
    """A recorded call did something else than the call on the state itself."""


class Unread(StandIn):
    """Stands for an element of a component tuple that is copied with others and may never be looked at.

    ``(*values[:place], new, *values[place + 1 :])`` copies every other element of a tuple. As long as nobody looks at
    the copies, they are not read. Whatever looks at this object raises `LookedAt`, and notes it with the recorder in
    case the spec catches that. ``is``, `type` and few others cannot be seen here; `constructs` knows them.

    Parameters:
        recorder: of the call that copies it.
        slot: the slot that it is copied from.
    """

    __slots__ = ("recorder", "slot")

    def __init__(self, recorder: Recorder, slot: int) -> None:
        _set_recorder(self, recorder)
        _set_slot(self, slot)

    def _look(self, *_: Any, **__: Any) -> Any:
        _recorder_of(self).looked_at = True
        raise LookedAt

    __getattribute__ = __setattr__ = __delattr__ = _look
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _look
    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __call__ = __missing__ = _look
    __int__ = __index__ = __float__ = __complex__ = __neg__ = __pos__ = __abs__ = __invert__ = _look
    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = _look
    __lshift__ = __rshift__ = __and__ = __xor__ = __or__ = _look
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _look
    __rpow__ = __rlshift__ = __rrshift__ = __rand__ = __rxor__ = __ror__ = _look
    __repr__ = __str__ = __format__ = __bytes__ = __reduce__ = __reduce_ex__ = _look
    __copy__ = __deepcopy__ = __sizeof__ = __dir__ = __fspath__ = _look
    __enter__ = __exit__ = __next__ = __reversed__ = __length_hint__ = _look
    __round__ = __trunc__ = __floor__ = __ceil__ = __await__ = __aiter__ = __anext__ = __aenter__ = __aexit__ = _look
    __get__ = __set_name__ = __instancecheck__ = __subclasscheck__ = __mro_entries__ = __buffer__ = _look


_recorder_of, _slot_of = Unread.recorder.__get__, Unread.slot.__get__  # type: ignore[attr-defined]
_set_recorder, _set_slot = Unread.recorder.__set__, Unread.slot.__set__  # type: ignore[attr-defined]


_Lazy = tuple["Recorder", Struct, int, dict[str, Any] | None]
"""What is known of a lazy instance: the recorder of the call that it was made for; its place in the layout, where
fields that are not set are read; which of the recorder's states that is, as the number of its first slot; and the
fields that `attrs.evolve` changed, None in an instance that stands for the state's own part."""

_lazy: dict[int, _Lazy] = {}
"""The lazy instances of the call that is being recorded, by identity. Each is kept alive by its recorder."""


class Recorder:
    """What one call reads of one state (a step predicate: of two), in the order of first reading.

    Parameters:
        layout: the layout of the states.
        rows: for each state, the numbers of its slots' values.
        precision: how precisely to record.
        told_apart: types of values that the call's code may tell apart by identity; elements that may have such
            values are not copied unread.

    Attributes:
        reads: the number of the value in each slot that was read. Slots of a second state are counted from `SECOND`.
        enumerated: the collections of which any member would have been read, one that is unknown yet too.
        copied: the slots whose values were copied unread.
        looked_at: whether a copied element was looked at after all.
        escaped: whether a read may have been missed in another way.
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
        self._rows = {which * SECOND: list(row) for which, row in enumerate(rows)}
        self._made: list[Any] = []
        self._evolved: list[Any] = []
        self._parts: dict[tuple[Node, int], Any] = {}

    def read(self, slot: int, offset: int = 0) -> Any:
        """The value in a slot of the state whose first slot is the offset."""
        number = self.reads[slot + offset] = self._rows[offset][slot]
        return self._domains[slot].values[number]

    def member(self, node: Collection, offset: int, member: Any) -> Any:
        """How often a collection of a state holds a member; of a set, whether it does."""
        slot = self.layout.slot_of(node, member)
        row = self._rows[offset]
        row += [0] * (slot + 1 - len(row))
        return self.read(slot, offset)

    def in_order(self, node: Collection, offset: int, changes: Mapping[Any, Any]) -> list[Any]:
        """The members of a collection in the order of the value itself, with some changes. This is no read."""
        value = self.layout.part(node, self._rows[offset])
        if not changes:
            return list(value)
        counts = {**node.counts(value), **changes}
        return list(node.of(counts))

    def read_all(self) -> None:
        """Count every slot of every state as read, after those that were."""
        for offset, row in self._rows.items():
            for slot, number in enumerate(row):
                self.reads.setdefault(slot + offset, number)
        root = self.layout.root
        self.enumerated.update(root.collections if isinstance(root, Struct | Parts) else ())

    def state(self, which: int = 0) -> Any:
        """A lazy instance of one of the states."""
        return self.value(self.layout.root, which * SECOND)

    def value(self, node: Node, offset: int = 0) -> Any:
        """What stands for a part of a state: the value of a slot, a lazy instance, a tuple or a view of one."""
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
                return self._whole(node, offset)  # its __dict__ would show which fields are set
            return self._instance(node, offset)
        if isinstance(node, Collection):
            if self.precision <= Precision.FIELDS:
                return self._whole(node, offset)
            return (SetView if node.cls is frozenset else BagView)(self, offset, node)
        assert isinstance(node, Parts)
        if node.whole or self.precision <= Precision.FIELDS:
            return tuple([self.value(element, offset) for element in node.elements])
        return TupleView(self, offset, node.elements)

    def _instance(self, node: Struct, offset: int, changed: dict[str, Any] | None = None) -> Any:
        made: Any = _new(node.cls)
        for name, value in node.set_at_once:
            _set(made, name, value)
        _lazy[id(made)] = (self, node, offset, changed)
        if changed is None:
            self._made.append(made)
        else:
            self._evolved.append(made)
            for name, value in changed.items():
                _set(made, name, value)
        return made

    def _whole(self, node: Struct | Collection, offset: int) -> Any:
        """A part of the state itself; all of it counts as read."""
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
        """An element that is copied with others and may never be looked at."""
        if (
            type(node) is not Leaf
            or self.precision < Precision.COPIES
            or node.slot + offset in self.reads
            or not self.layout.domains[node.slot].can_be_copied(self.told_apart)
        ):
            return self.value(node, offset)
        self.copied.add(node.slot)
        return Unread(self, node.slot)

    def changes(self, recorded: Any, successor: Any, state: Any) -> dict[int, int]:
        """What a step changes in the first state: the new number of each slot that was written.

        Parameters:
            recorded: the next state that the recorded call gave: says which slots are copies of themselves.
            successor: the one that the call on the state itself gave: its values are numbered, so nothing of the
                recording can stay in them.
            state: the state itself.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
            Mismatch: the two next states differ.
        """
        changes: dict[int, int] = {}
        self._compare(self.layout.root, recorded, successor, state, changes)
        return changes

    def _compare(self, node: Node, seen: Any, value: Any, before: Any, changes: dict[int, int]) -> None:
        if type(seen) is Unread:
            if _recorder_of(seen) is not self:
                raise Mismatch
            if type(node) is Leaf and _slot_of(seen) == node.slot:
                _must_be_same(value, before)
                return
            seen = self.read(_slot_of(seen))
        match node:
            case Leaf():
                self._read_written(seen, value)
                changes[node.slot] = self.layout.number(node, value)
            case Collection():
                self._compare_collection(node, seen, value, before, changes)
            case Struct():
                if type(value) is not node.cls:
                    raise ShapeChanged(node.path)
                lazy = _lazy.get(id(seen))
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
                for element, inner, item, item_before in zip(node.elements, _items(seen), value, before, strict=True):
                    if inner is not element:
                        self._compare(element, self._stood_for(inner), item, item_before, changes)
                    elif item is not item_before:
                        _must_be_same(item, item_before)

    def _compare_collection(
        self, node: Collection, seen: Any, value: Any, before: Any, changes: dict[int, int]
    ) -> None:
        if type(value) is not node.cls:
            raise ShapeChanged(node.path)
        if isinstance(seen, CollectionView) and seen._node is node and not seen._offset:
            _must_be_same(value, node.of({**node.counts(before), **seen._changes}) if seen._changes else before)
            members: Iterable[Any] = seen._changes
        else:  # it does not depend on what the state has there, so it says of each member whether it holds it
            self._read_written(seen, value)
            for member in node.counts(value):
                self.layout.slot_of(node, member)
            self.enumerated.add(node)
            members = node.members
        for member in members:
            slot = self.layout.slot_of(node, member)
            changes[slot] = self.layout.domains[slot].number(node.count(value, member))

    def _stood_for(self, item: Any) -> Any:
        """What an item of a tuple or of a `TupleView` stands for."""
        return self.value(item) if type(item) in _NODES else item

    def _read_written(self, seen: Any, value: Any) -> None:
        """Count as read what a recorded call writes, where the call on the state itself writes a value."""
        if not self.read_within(seen) and seen != value:
            raise Mismatch

    def read_within(self, value: Any) -> bool:
        """Count as read all that a value which becomes a leaf holds of the states.

        Returns:
            Whether it is known how; else a comparison with the leaf, which finds them equal, reads all.
        """
        kind = type(value)
        if kind in _ATOMS:
            return True
        if kind is Unread:
            self.read(_slot_of(value))
            return True
        if isinstance(value, CollectionView):
            value._value()
            return True
        if kind is TupleView or isinstance(value, tuple | frozenset):
            parts = [self._stood_for(item) for item in _items(value)]
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

    def is_immutable(self, value: Any) -> bool:
        """Whether a value cannot change while the call runs. This is no read; what is not known to be so is not."""
        kind = type(value)
        if kind in _ATOMS or issubclass(kind, StandIn | enum.Enum | type) or id(value) in _lazy:
            return True
        if kind in (tuple, frozenset):
            return all(map(self.is_immutable, value))
        if kind is FunctionType:
            return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
        if attrs.has(kind) and kind.__setattr__ is _Frozen.__setattr__:
            return all(self.is_immutable(getattr(value, field.name)) for field in attrs.fields(kind))
        return kind in (Bag, range)

    def end(self) -> None:
        """End the recording. What the spec keeps of it, in a cache for instance, becomes an ordinary value."""
        self._has_ended = True
        self._parts.clear()
        # in the order in which they refer to each other, so that what is not kept is gone when its turn comes
        made = [*reversed(self._evolved), *self._made]
        self._evolved, self._made = [], []
        for place in range(len(made)):
            instance, made[place] = made[place], None
            lazy = _lazy.pop(id(instance))
            if sys.getrefcount(instance) > _REFERENCES:
                self._complete(instance, lazy)

    def _complete(self, instance: Any, lazy: _Lazy) -> None:
        """Set the fields of an instance that stays. This is no read: the call is over."""
        _, node, offset, changed = lazy
        for name, child in node.children.items():
            if name not in (changed or ()):
                _set(instance, name, self.layout.part(child, self._rows[offset]))


def _must_be_same(value: Any, before: Any) -> None:
    """See that what was copied is what it was. Raises Mismatch: it is not."""
    if value is not before and value != before:
        raise Mismatch


def _held_by_one_variable() -> int:
    """What `sys.getrefcount` says of an object that only a list and a local variable of a loop refer to."""
    made = [object()]
    for place in range(1):
        instance, made[place] = made[place], None
        count = sys.getrefcount(instance)
    return count


_REFERENCES = _held_by_one_variable()


class TupleView(StandIn, Sequence[Any]):
    """Stands in for a component tuple whose elements are read only when they are asked for.

    Parameters:
        recorder: of the call that it is made for.
        offset: which state its nodes are of; see `Recorder.read`.
        items: the elements: a node stands for what the state has there, anything else for itself.
    """

    __slots__ = ("_items", "_offset", "_recorder")

    def __init__(self, recorder: Recorder, offset: int, items: tuple[Any, ...]) -> None:
        self._recorder, self._offset, self._items = recorder, offset, items

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return tuple

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        item = self._items[index]
        if isinstance(index, slice):
            return TupleView(self._recorder, self._offset, item)
        return self._recorder.value(item, self._offset) if type(item) in _NODES else item

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            yield self._recorder.copied_element(item, self._offset) if type(item) in _NODES else item

    def __reversed__(self) -> Iterator[Any]:
        return iter(self[::-1])

    def __add__(self, other: Any) -> Any:
        if type(other) is TupleView:
            same = other._recorder is self._recorder and other._offset == self._offset
            return TupleView(self._recorder, self._offset, self._items + (other._items if same else tuple(other)))
        if not isinstance(other, tuple):
            return NotImplemented
        return TupleView(self._recorder, self._offset, self._items + other)

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return TupleView(self._recorder, self._offset, other + self._items)

    def __mul__(self, times: Any) -> Any:
        return TupleView(self._recorder, self._offset, self._items * times)

    __rmul__ = __mul__

    def _real(self) -> tuple[Any, ...]:
        return tuple([self[place] for place in range(len(self))])

    def __contains__(self, value: object) -> bool:
        return any(self[place] == value for place in range(len(self)))

    def __eq__(self, other: object) -> Any:
        return self._real() == (other._real() if type(other) is TupleView else other)

    def __lt__(self, other: Any) -> Any:
        return self._real() < (other._real() if type(other) is TupleView else other)

    def __le__(self, other: Any) -> Any:
        return self._real() <= (other._real() if type(other) is TupleView else other)

    def __gt__(self, other: Any) -> Any:
        return self._real() > (other._real() if type(other) is TupleView else other)

    def __ge__(self, other: Any) -> Any:
        return self._real() >= (other._real() if type(other) is TupleView else other)

    def __hash__(self) -> int:
        return hash(self._real())

    def __repr__(self) -> str:
        return repr(self._real())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return tuple, (self._real(),)


@attrs.frozen
class _Frozen:
    """Has the `__setattr__` that attrs gives to immutable classes."""


_NODES = frozenset((Leaf, Struct, Parts, Collection))
_ATOMS = frozenset((int, bool, str, type(None), float, bytes))


def _items(value: Any) -> Any:
    return value._items if type(value) is TupleView else value


# --- what makes the instances of a class lazy ---

_own_getattr: dict[type, Any] = {}
"""The classes whose instances may be lazy now, and the `__getattr__` of each; None if it has none of its own."""


def make_lazy(classes: frozenset[type]) -> None:
    """Have instances of attrs classes asked for fields that are not set, and `attrs.evolve` copy without reading.

    Attributes of ordinary instances are found as before, a little slower. `make_ordinary` takes it back.
    """
    if classes <= _own_getattr.keys():
        return
    for cls in classes - _own_getattr.keys():
        _own_getattr[cls] = vars(cls).get("__getattr__")
        type.__setattr__(cls, "__getattr__", _getter(cls))
    attrs.evolve.__code__, attrs.evolve.__kwdefaults__ = _evolve.__code__, _evolve.__kwdefaults__


def make_ordinary() -> None:
    """Let all classes and `attrs.evolve` be as they were before `make_lazy`."""
    attrs.evolve.__code__, attrs.evolve.__kwdefaults__ = _evolve_as_it_is.__code__, _evolve_as_it_is.__kwdefaults__
    while _own_getattr:
        cls, own = _own_getattr.popitem()
        if own is None:
            type.__delattr__(cls, "__getattr__")
        else:
            type.__setattr__(cls, "__getattr__", own)


def _getter(cls: type) -> Any:
    inherited = getattr(cls, "__getattr__", None)
    names = frozenset(field.name for field in attrs.fields(cls))

    def field(self: Any, name: str) -> Any:
        lazy = _lazy.get(id(self))
        if lazy is None:
            if name in names and _lazy:
                # a copy of a lazy instance, made by means that do not ask for the fields
                next(iter(_lazy.values()))[0].escaped = True
        else:
            recorder, node, offset, _ = lazy
            child = node.children.get(name)
            if child is not None:
                value = recorder.read(child.slot, offset) if type(child) is Leaf else recorder.value(child, offset)
                _set(self, name, value)
                return value
        if inherited is not None:
            return inherited(self, name)
        if lazy is not None and name[:2] != "__":
            # not a field: what the constructor may have set besides
            return getattr(recorder._whole(node, offset), name)
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)

    field.__wrapped__ = inherited  # type: ignore[attr-defined]
    return field


_evolve_as_it_is: Any = FunctionType(
    attrs.evolve.__code__,
    attrs.evolve.__globals__,
    attrs.evolve.__name__,
    attrs.evolve.__defaults__,
)
_evolve_as_it_is.__kwdefaults__ = attrs.evolve.__kwdefaults__


def _evolved(args: tuple[Any, ...], changes: dict[str, Any]) -> Any:
    """What `attrs.evolve` does while instances may be lazy."""
    lazy = _lazy.get(id(args[0])) if len(args) == 1 else None
    if lazy is not None:
        recorder, node, offset, changed = lazy
        if node.copied_unread and changes.keys() <= node.aliases.keys():
            named = {node.aliases[alias]: value for alias, value in changes.items()}
            return recorder._instance(node, offset, {**changed, **named} if changed else named)
    return _evolve_as_it_is(*args, **changes)


def _evolve(*args: Any, _evolved: Any = _evolved, **changes: Any) -> Any:
    return _evolved(args, changes)
