"""Supports lazy instances of a spec's own classes. Each field is set, and recorded as read, when it is first accessed.

If an instance does not have an attribute, Python calls the `__getattr__` method of the class. During a recorded call,
this method records that the field is read, and sets the field. Later reads of the field do not call the method. A lazy
instance belongs to the spec's own class, so `type(x)`, `isinstance`, the generated `__eq__` and `__hash__`, other
methods and pickling work as usual. `attrs.evolve` copies the fields of a lazy instance without reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import attrs

from leadline.checker.observing.nodes import Leaf, Struct

if TYPE_CHECKING:
    from leadline.checker.observing.recording import Recorder

_set = object.__setattr__

Lazy = tuple["Recorder", Struct, int, dict[str, object] | None]
"""A description of a lazy instance: the recorder of its call; its node in the layout of the state; 0 or `SECOND`, for
the first or second state of the call; and the fields that `attrs.evolve` changed. The last item is None if
`attrs.evolve` did not create the instance.
"""

lazy_instances: dict[int, Lazy] = {}
"""The lazy instances of the call that is being recorded, by their `id`. The recorder keeps the instances alive.

An interrupt in the middle of a recording leaves some here. Other objects would soon have their ids, so whoever catches
the interrupt removes them.
"""

_own_getattr: dict[type, object] = {}
"""The classes that can currently have lazy instances, each with its own `__getattr__` method or None."""


def make_lazy(classes: frozenset[type]) -> None:
    """Modify the given attrs classes, and `attrs.evolve`, to allow lazy instances of the classes.

    Other instances of these classes behave as before, but access to missing attributes is slower. `make_ordinary`
    undoes the change.
    """
    if classes <= _own_getattr.keys():
        return
    for cls in classes - _own_getattr.keys():
        _own_getattr[cls] = vars(cls).get("__getattr__")
        type.__setattr__(cls, "__getattr__", _getter(cls))
    attrs.evolve.__code__, attrs.evolve.__kwdefaults__ = _evolve.__code__, _evolve.__kwdefaults__


def make_ordinary() -> None:
    """Undo all changes that `make_lazy` made to classes and to `attrs.evolve`."""
    lazy_instances.clear()
    attrs.evolve.__code__, attrs.evolve.__kwdefaults__ = _evolve_as_it_is.__code__, _evolve_as_it_is.__kwdefaults__
    while _own_getattr:
        cls, own = _own_getattr.popitem()
        if own is None:
            type.__delattr__(cls, "__getattr__")
        else:
            type.__setattr__(cls, "__getattr__", own)


def _getter(cls: type) -> Callable[[object, str], object]:
    inherited = getattr(cls, "__getattr__", None)
    names = frozenset(field.name for field in attrs.fields(cls))

    def field(self: object, name: str) -> object:
        lazy = lazy_instances.get(id(self))
        if lazy is None:
            if name in names and lazy_instances:
                # this is a copy of a lazy instance that was made without accessing the fields
                next(iter(lazy_instances.values()))[0].escaped = True
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
            # the attribute is not a field, but the constructor may have set it
            return getattr(recorder.whole(node, offset), name)
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)

    vars(field)["__wrapped__"] = inherited
    return field


_evolve_as_it_is: Any = FunctionType(
    attrs.evolve.__code__,
    attrs.evolve.__globals__,
    attrs.evolve.__name__,
    attrs.evolve.__defaults__,
)
_evolve_as_it_is.__kwdefaults__ = attrs.evolve.__kwdefaults__


def _evolved(args: tuple[object, ...], changes: dict[str, object]) -> object:
    """Return a changed copy of an instance. This function replaces `attrs.evolve` while lazy instances are allowed."""
    lazy = lazy_instances.get(id(args[0])) if len(args) == 1 else None
    if lazy is not None:
        recorder, node, offset, changed = lazy
        if node.copied_unread and changes.keys() <= node.aliases.keys():
            named = {node.aliases[alias]: value for alias, value in changes.items()}
            return recorder.instance(node, offset, {**changed, **named} if changed else named)
    return _evolve_as_it_is(*args, **changes)


Evolve = Callable[[tuple[object, ...], dict[str, object]], object]


def _evolve(*args: object, _evolved: Evolve = _evolved, **changes: object) -> object:
    return _evolved(args, changes)


def differ(after: object, before: object) -> bool:
    """Return whether two values differ, as ``after != before`` does.

    If `attrs.evolve` has created `after` from the lazy instance `before`, only the changed fields are read and
    compared.
    """
    if after is before:
        return False
    if after.__class__ is tuple is before.__class__:  # so are the views of tuples
        return len(after) != len(before) or any(map(differ, after, before))
    made, own = lazy_instances.get(id(after)), lazy_instances.get(id(before))
    if made is None or own is None or made[:3] != own[:3] or own[3]:
        return after != before
    return any(differ(value, getattr(before, name)) for name, value in (made[3] or {}).items())
