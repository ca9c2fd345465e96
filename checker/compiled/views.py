"""Recording views: a stand-in for a state that records which slots are read, in order.

A view is an instance of a generated subclass of the state's own class, whose fields are properties. Methods,
properties and `isinstance` work as on the real class. `attrs.evolve` on a view copies without reading, and
a component that comes back untouched in its own place is known to be unchanged.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs

from checker.compiled.layout import Layout, Leaf, Node, Parts, ShapeChanged, Struct

_EVOLVE = attrs.evolve.__code__
_ORIGIN = "_origin"


class LookedAt(BaseException):
    """An unread value was looked at. No `Exception`, so that a spec does not catch it."""


class Unread:
    """Stands for an int in a component tuple that is copied with others, and may never be looked at.

    ``(*values[:place], new, *values[place + 1 :])`` copies every other element of a tuple. As long as
    nobody looks at them, they are not read. Whatever looks at this object raises `LookedAt`. Only ``is``
    cannot be caught: so it stands for ints only, which are not None nor a member of an enum.

    Parameters:
        recorder: of the call that copies it.
        slot: the slot it was copied from, the second state's counted on from the first's.
    """

    __slots__ = ("_unread_recorder", "_unread_slot")

    def __init__(self, recorder: Recorder, slot: int) -> None:
        self._unread_recorder, self._unread_slot = recorder, slot

    def _looked_at(self, *_: Any) -> Any:
        raise LookedAt

    def __getattr__(self, name: str) -> Any:
        raise LookedAt

    __class__ = property(_looked_at)
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _looked_at
    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __call__ = _looked_at
    __int__ = __index__ = __float__ = __neg__ = __abs__ = __invert__ = _looked_at
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _looked_at
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __divmod__ = _looked_at
    __radd__ = __rsub__ = __rmul__ = __rfloordiv__ = __rmod__ = __rand__ = __ror__ = __rxor__ = _looked_at
    __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _looked_at
    __enter__ = __exit__ = __next__ = __reversed__ = __round__ = __dir__ = _looked_at


class Recorder:
    """What one call reads of one state (a step predicate: of two), in the order of first reading.

    Parameters:
        layout: the layout of the states.
        rows: for each state, the numbers of its slots' values.
        copies_unread: whether elements that are copied with others count as read only when looked at.

    Attributes:
        reads: the slots read; those of a second state are counted on from the first's.
        copied: the slots whose values were copied unread.
        views: the views made of the states' components.
    """

    def __init__(self, layout: Layout, *rows: Sequence[int], copies_unread: bool = False) -> None:
        self.layout = layout
        self.copies_unread = copies_unread
        self.reads: dict[int, int] = {}
        self.copied: set[int] = set()
        self.views: dict[tuple[Node, int], Any] = {}
        self._numbers = [number for row in rows for number in row]

    def read(self, slot: int, offset: int) -> Any:
        """The value in a slot of the state whose slots are counted from an offset."""
        number = self.reads[slot + offset] = self._numbers[slot + offset]
        return self.layout.domains[slot].values[number]

    def read_all(self) -> None:
        """Take every slot of every state for read, after those that were."""
        for slot, number in enumerate(self._numbers):
            self.reads.setdefault(slot, number)

    def view(self, which: int = 0) -> Any:
        """A view of one of the states."""
        return _value(self, which * self.layout.slots, self.layout.root)

    def changes(self, successor: Any) -> dict[int, int]:
        """What a next state changes in the first: the new number of each slot that was written.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
        """
        changes: dict[int, int] = {}
        self._compare(self.layout.root, successor, changes)
        return changes

    def _compare(self, node: Node, value: Any, changes: dict[int, int]) -> None:
        match node:
            case Leaf():
                if type(value) is not Unread or value._unread_slot != node.slot:
                    changes[node.slot] = self.layout.domains[node.slot].number(real(value))
            case Struct():
                if isinstance(value, View) and self._in_place(value, node):
                    for name, inner in (value._view_changed or {}).items():
                        if name not in node.constants:
                            self._compare(node.children[name], inner, changes)
                    return
                if not (type(value) is node.cls or (isinstance(value, View) and type(value)._view_class is node.cls)):
                    raise ShapeChanged(node.path)
                for name, child in node.children.items():
                    self._compare(child, getattr(value, name), changes)
            case Parts():
                if type(value) is PartsView and self._in_place(value, node):
                    return
                if not isinstance(value, tuple) or len(value) != len(node.elements):
                    raise ShapeChanged(node.path)
                for element, inner in zip(node.elements, value, strict=True):
                    self._compare(element, inner, changes)

    def _in_place(self, view: View | PartsView, node: Node) -> bool:
        """Whether a view stands where it was taken from: what it does not change is unchanged."""
        return view._view_recorder is self and view._view_node is node and not view._view_offset


class _CopyAttribute:
    """All that `attrs.evolve` sees of a view: one field, which holds the view itself."""

    init = True
    name = _ORIGIN
    alias = _ORIGIN


class ViewType(type):
    """The class of view classes."""

    _view_class: type

    @property
    def __attrs_attrs__(cls) -> Any:
        # `attrs.evolve` asks for the fields, reads all that are not replaced, and calls the class; here
        # it gets one field, the view, so that nothing is read that the author did not read
        if sys._getframe(2).f_code is _EVOLVE and cls._view_copies:  # type: ignore[attr-defined]
            return (_CopyAttribute,)
        return cls._view_class.__attrs_attrs__  # type: ignore[attr-defined]

    def __call__(cls, *args: Any, _origin: Any = None, **changes: Any) -> Any:
        if _origin is None:
            return cls._view_class(*args, **changes)
        aliases = _origin._view_node.aliases
        unknown = [alias for alias in changes if alias not in aliases]
        if unknown:
            raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument {unknown[0]!r}")
        named = {aliases[alias]: value for alias, value in changes.items()}
        return _view(
            _origin._view_recorder, _origin._view_offset, _origin._view_node, {**(_origin._view_changed or {}), **named}
        )


class View:
    """What all views are, besides instances of the class they stand in for."""

    __slots__ = ()
    _view_recorder: Recorder
    _view_offset: int
    _view_node: Struct
    _view_changed: dict[str, Any] | None
    _view_values: dict[str, Any]
    _view_class: ClassVar[type]


class PartsView(Sequence[Any]):
    """A stand-in for a component tuple with leaves, which are read only when they are asked for."""

    __slots__ = ("_view_node", "_view_offset", "_view_recorder")

    def __init__(self, recorder: Recorder, offset: int, node: Parts) -> None:
        self._view_recorder, self._view_offset, self._view_node = recorder, offset, node

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # it is a tuple, for all that a spec can see
        return tuple

    def __len__(self) -> int:
        return len(self._view_node.elements)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(self._copied, range(*index.indices(len(self)))))
        index = range(len(self))[index]
        return _value(self._view_recorder, self._view_offset, self._view_node.elements[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._copied, range(len(self)))

    def _copied(self, index: int) -> Any:
        """An element that is copied with others, and may never be looked at."""
        recorder, node = self._view_recorder, self._view_node.elements[index]
        if (
            not recorder.copies_unread
            or type(node) is not Leaf
            or node.slot + self._view_offset in recorder.reads
            or not recorder.layout.domains[node.slot].copyable
        ):
            return self[index]
        recorder.copied.add(node.slot)
        return Unread(recorder, node.slot + self._view_offset)

    def __add__(self, other: Any) -> Any:
        return tuple(self) + tuple(other)

    def __radd__(self, other: Any) -> Any:
        return tuple(other) + tuple(self)

    def __mul__(self, times: int) -> Any:
        return tuple(self) * times

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, tuple) else other)

    def __lt__(self, other: Any) -> bool:
        return tuple(self) < tuple(other)

    def __le__(self, other: Any) -> bool:
        return tuple(self) <= tuple(other)

    def __gt__(self, other: Any) -> bool:
        return tuple(self) > tuple(other)

    def __ge__(self, other: Any) -> bool:
        return tuple(self) >= tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def real(value: Any) -> Any:
    """A value with the views in it replaced by what they stand for."""
    if type(value) in (int, bool, str):
        return value
    if type(value) is Unread:
        return value._unread_recorder.read(value._unread_slot, 0)
    if isinstance(value, View):
        node = value._view_node
        return node.cls(**{alias: real(getattr(value, name)) for alias, name in node.aliases.items()})
    if type(value) is PartsView:
        return tuple(map(real, value))
    if isinstance(value, tuple):
        items = [real(item) for item in value]
        if all(item is old for item, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, frozenset):
        return frozenset(map(real, value))
    if attrs.has(type(value)):
        return _real_attrs(value)
    return value


def _real_attrs(value: Any) -> Any:
    changes = {}
    for field in attrs.fields(type(value)):
        inner = getattr(value, field.name)
        purified = real(inner)
        if purified is not inner and field.init:
            changes[field.alias] = purified
    return attrs.evolve(value, **changes) if changes else value


def _value(recorder: Recorder, offset: int, node: Node) -> Any:
    if type(node) is Leaf:
        return recorder.read(node.slot, offset)
    seen = recorder.views.get((node, offset))
    if seen is None:
        if isinstance(node, Struct):
            seen = _view(recorder, offset, node)
        elif isinstance(node, Parts) and node.whole:
            seen = tuple([_value(recorder, offset, element) for element in node.elements])
        else:
            assert isinstance(node, Parts)
            seen = PartsView(recorder, offset, node)
        recorder.views[(node, offset)] = seen
    return seen


def _view(recorder: Recorder, offset: int, node: Struct, changed: dict[str, Any] | None = None) -> Any:
    cls = view_class(node.cls)
    view = object.__new__(cls)
    cls._view_fill(view, recorder, offset, node, changed)
    return view


@functools.cache
def view_class(cls: type) -> Any:
    """The class of the views of an attrs class."""

    def fill(view: Any, recorder: Recorder, offset: int, node: Struct, changed: dict[str, Any] | None) -> None:
        set_recorder(view, recorder)
        set_offset(view, offset)
        set_node(view, node)
        set_changed(view, changed)
        set_values(view, {} if changed is None else changed.copy())

    def same(self: Any, other: object) -> Any:
        if isinstance(other, View):
            if (
                type(other) is type(self)
                and other._view_node is self._view_node
                and other._view_offset == self._view_offset
                and other._view_changed is None
                and self._view_changed is None
            ):
                return True
            other = real(other)
        return real(self) == other

    members: dict[str, Any] = {
        "__slots__": ("_view_changed", "_view_node", "_view_offset", "_view_recorder", "_view_values"),
        "__eq__": same,
        "__ne__": lambda self, other: not same(self, other),
        "__hash__": lambda self: hash(real(self)),
        "__reduce__": lambda self: (_identity, (real(self),)),
        "__deepcopy__": lambda self, memo: real(self),
        "_view_class": cls,
        "_view_copies": _copies_without_reading(cls),
        "_view_fill": staticmethod(fill),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        **{field.name: _property(field.name) for field in attrs.fields(cls)},
    }
    metaclass = ViewType if type(cls) is type else type("ViewType", (ViewType, type(cls)), {})
    made: Any = metaclass(cls.__name__, (cls, View), members)
    set_recorder, set_offset = made._view_recorder.__set__, made._view_offset.__set__
    set_node, set_changed, set_values = made._view_node.__set__, made._view_changed.__set__, made._view_values.__set__
    setattr(made, _ORIGIN, property(lambda self: self))
    return made


def _copies_without_reading(cls: type) -> bool:
    """Whether a class's constructor does nothing but keep what it is given."""
    steps = ("__attrs_pre_init__", "__attrs_post_init__", "__attrs_init__")
    return not any(hasattr(cls, step) for step in steps) and all(
        field.converter is None and field.validator is None for field in attrs.fields(cls)
    )


_UNREAD = object()


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        values = self._view_values
        value = values.get(name, _UNREAD)
        if value is _UNREAD:
            node = self._view_node
            child = node.children.get(name)
            value = values[name] = (
                node.constants[name] if child is None else _value(self._view_recorder, self._view_offset, child)
            )
        return value

    return property(get)


def _identity(value: Any) -> Any:
    return value
