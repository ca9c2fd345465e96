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
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import attrs

from checker.compiled.layout import HASH, Layout, Leaf, Node, Parts, ShapeChanged, StandIn, Struct
from checker.state import variables

_set = object.__setattr__


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


class _Lazy(NamedTuple):
    """What is known of a lazy instance.

    Attributes:
        recorder: of the call that it was made for.
        node: its place in the layout: where fields that are not set are read.
        offset: which of the recorder's states that is, as the number of its first slot.
        changed: the fields that `attrs.evolve` changed; None in an instance that stands for the state's own part.
    """

    recorder: Recorder
    node: Struct
    offset: int
    changed: dict[str, Any] | None


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
        reads: the number of the value in each slot that was read. Slots of a second state are counted on from the
            first's.
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
        self.layout, self.precision, self.told_apart = layout, precision, told_apart
        self.reads: dict[int, int] = {}
        self.copied: set[int] = set()
        self.looked_at = self.escaped = self._has_ended = False
        self._numbers = [number for row in rows for number in row]
        self._made: list[Any] = []
        self._evolved: list[Any] = []
        self._parts: dict[tuple[Node, int], Any] = {}

    def read(self, slot: int, offset: int = 0) -> Any:
        """The value in a slot of the state whose first slot is the offset."""
        number = self.reads[slot + offset] = self._numbers[slot + offset]
        return self.layout.domains[slot].values[number]

    def read_all(self) -> None:
        """Count every slot of every state as read, after those that were."""
        for slot, number in enumerate(self._numbers):
            self.reads.setdefault(slot, number)

    def state(self, which: int = 0) -> Any:
        """A lazy instance of one of the states."""
        return self.value(self.layout.root, which * self.layout.slots)

    def value(self, node: Node, offset: int = 0) -> Any:
        """What stands for a part of a state: the value of a slot, a lazy instance, a tuple or a view of one."""
        if type(node) is Leaf:
            return self.read(node.slot, offset)
        made = self._parts.get((node, offset))
        if made is None:
            if self._has_ended:
                return self.layout.part(node, self._numbers[offset : offset + self.layout.slots])
            made = self._parts[node, offset] = self._part(node, offset)
        return made

    def _part(self, node: Node, offset: int) -> Any:
        if isinstance(node, Struct):
            if self.precision <= Precision.FIELDS and not node.slotted:
                return self._whole(node, offset)  # its __dict__ would show which fields are set
            return self._instance(node, offset)
        assert isinstance(node, Parts)
        if node.whole or self.precision <= Precision.FIELDS:
            return tuple([self.value(element, offset) for element in node.elements])
        return TupleView(self, offset, node.elements)

    def _instance(self, node: Struct, offset: int, changed: dict[str, Any] | None = None) -> Any:
        made: Any = object.__new__(node.cls)
        for name, value in node.constants.items():
            _set(made, name, value)
        if node.caches_hash:
            _set(made, HASH, None)
        for name, value in (changed or {}).items():
            _set(made, name, value)
        _lazy[id(made)] = _Lazy(self, node, offset, changed)
        (self._made if changed is None else self._evolved).append(made)
        return made

    def _whole(self, node: Struct, offset: int) -> Any:
        """A part of the state itself; all of it counts as read."""
        numbers = self._numbers[offset : offset + self.layout.slots]
        for slot in range(*node.slots.indices(self.layout.slots)):
            self.reads.setdefault(slot + offset, numbers[slot])
        return self.layout.part(node, numbers)

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

    def evolved(self, lazy: _Lazy, changes: dict[str, Any]) -> Any:
        """A copy of a lazy instance with some fields changed. The others are not read.

        Parameters:
            lazy: what is known of the instance.
            changes: new values by the name of the field.
        """
        return self._instance(lazy.node, lazy.offset, {**(lazy.changed or {}), **changes})

    def changes(self, recorded: Any, successor: Any) -> dict[int, int]:
        """What a step changes in the first state: the new number of each slot that was written.

        Parameters:
            recorded: the next state that the recorded call gave: says which slots are copies of themselves.
            successor: the one that the call on the state itself gave: its values are numbered, so nothing of the
                recording can stay in them.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
            Mismatch: the two differ.
        """
        changes: dict[int, int] = {}
        self._compare(self.layout.root, recorded, successor, changes)
        return changes

    def _compare(self, node: Node, seen: Any, value: Any, changes: dict[int, int]) -> None:
        if type(seen) is Unread:
            if _recorder_of(seen) is not self:
                raise Mismatch
            if type(node) is Leaf and _slot_of(seen) == node.slot:
                return
            seen = self.read(_slot_of(seen))
        match node:
            case Leaf():
                if not self.read_within(seen) and seen != value:
                    raise Mismatch
                changes[node.slot] = self.layout.domains[node.slot].number(value)
            case Struct():
                lazy = _lazy.get(id(seen))
                if lazy is not None and lazy.node is node and not lazy.offset:
                    for name, inner in (lazy.changed or {}).items():
                        if name in node.children:
                            self._compare(node.children[name], inner, getattr(value, name), changes)
                    return
                if type(value) is not node.cls:
                    raise ShapeChanged(node.path)
                if type(seen) is not node.cls:
                    raise Mismatch
                for name, child in node.children.items():
                    self._compare(child, getattr(seen, name), getattr(value, name), changes)
            case Parts():
                if type(value) is not tuple or len(value) != len(node.elements):
                    raise ShapeChanged(node.path)
                if type(seen) not in (tuple, TupleView) or len(seen) != len(value):
                    raise Mismatch
                for element, inner, item in zip(node.elements, _items(seen), value, strict=True):
                    if inner is not element:
                        self._compare(element, self._stood_for(inner), item, changes)

    def _stood_for(self, item: Any) -> Any:
        """What an item of a tuple or of a `TupleView` stands for."""
        return self.value(item) if type(item) in _NODES else item

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
        numbers = self._numbers[lazy.offset : lazy.offset + self.layout.slots]
        for name, child in lazy.node.children.items():
            if name not in (lazy.changed or ()):
                _set(instance, name, self.layout.part(child, numbers))


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


_NODES = frozenset((Leaf, Struct, Parts))
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
                next(iter(_lazy.values())).recorder.escaped = True
        else:
            child = lazy.node.children.get(name)
            if child is not None:
                value = lazy.recorder.value(child, lazy.offset)
                _set(self, name, value)
                return value
        if inherited is not None:
            return inherited(self, name)
        if lazy is not None and name[:2] != "__":
            # not a field: what the constructor may have set besides
            return getattr(lazy.recorder._whole(lazy.node, lazy.offset), name)
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
    if lazy is not None and lazy.node.copied_unread:
        aliases = lazy.node.aliases
        if all(alias in aliases for alias in changes):
            return lazy.recorder.evolved(lazy, {aliases[alias]: value for alias, value in changes.items()})
    return _evolve_as_it_is(*args, **changes)


def _evolve(*args: Any, _evolved: Any = _evolved, **changes: Any) -> Any:
    return _evolved(args, changes)
