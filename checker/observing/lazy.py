"""Lazy instances: objects of a spec's own classes whose fields are read, and recorded, when they are asked for.

Python asks a class's `__getattr__` for an attribute that an instance does not have. So the first read of each field is
seen, is recorded, and sets the field; later reads cost nothing. As the instance is of the real class, whatever a spec
does with it (`type(x)`, `isinstance(other, type(self))`, the generated `__eq__` and `__hash__`, methods, pickling) is
true of it. `attrs.evolve` copies the fields of a lazy instance without reading them.
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
"""What is known of a lazy instance: the recorder of the call that it was made for; its place in the layout, where
fields that are not set are read; which of the recorder's states that is, as the number of its first slot; and the
fields that `attrs.evolve` changed, None in an instance that stands for the state's own part."""

lazy_instances: dict[int, Lazy] = {}
"""The lazy instances of the call that is being recorded, by identity. Each is kept alive by its recorder."""

_own_getattr: dict[type, object] = {}
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


def _getter(cls: type) -> Callable[[object, str], object]:
    inherited = getattr(cls, "__getattr__", None)
    names = frozenset(field.name for field in attrs.fields(cls))

    def field(self: object, name: str) -> object:
        lazy = lazy_instances.get(id(self))
        if lazy is None:
            if name in names and lazy_instances:
                # a copy of a lazy instance, made by means that do not ask for the fields
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
            # not a field: what the constructor may have set besides
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
    """What `attrs.evolve` does while instances may be lazy."""
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
