"""Lazy instances: objects of a spec's own classes whose fields are set, and recorded as read, on first access.

Python calls `__getattr__` of a class if an instance does not have an attribute. The first read of each field is
therefore recorded and sets the field; later reads cost nothing. Because the instance belongs to the real class, all
operations of the spec work on it as usual: `type(x)`, `isinstance(other, type(self))`, the generated `__eq__` and
`__hash__`, methods and pickling. `attrs.evolve` copies the fields of a lazy instance without reading them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import attrs

from leadline.checker.observing.nodes import Leaf, Struct
from leadline.checker.observing.reader import Reader

_set = object.__setattr__

Lazy = tuple[Reader, Struct, int, dict[str, object] | None]
"""A description of a lazy instance: the recorder of its call; its node in the layout; the state that it belongs to, as
the number of that state's first slot; and the fields that `attrs.evolve` changed, or None if the instance was not
created by `attrs.evolve`. Fields that are not set are read from this state."""

lazy_instances: dict[int, Lazy] = {}
"""The lazy instances of the call that is being recorded, by identity. The recorder keeps them alive."""

_own_getattr: dict[type, object] = {}
"""The classes whose instances can currently be lazy, each with the `__getattr__` that it defines itself, or None."""


def make_lazy(classes: frozenset[type]) -> None:
    """Allow lazy instances of some attrs classes, and make `attrs.evolve` copy their fields without reading them.

    Attributes of ordinary instances work as before, but slightly slower. `make_ordinary` undoes this.
    """
    if classes <= _own_getattr.keys():
        return
    for cls in classes - _own_getattr.keys():
        _own_getattr[cls] = vars(cls).get("__getattr__")
        type.__setattr__(cls, "__getattr__", _getter(cls))
    attrs.evolve.__code__, attrs.evolve.__kwdefaults__ = _evolve.__code__, _evolve.__kwdefaults__


def make_ordinary() -> None:
    """Restore all classes and `attrs.evolve` to their state before `make_lazy`."""
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
                # a copy of a lazy instance, made in a way that does not access the fields
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
            # not a field, but an attribute that the constructor may have set
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
    """The implementation of `attrs.evolve` while instances can be lazy."""
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
