"""The function `put`, which replaces a part of a value, like ``EXCEPT`` in TLA+, and `field_of`, which reads one."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import attrs

from leadline.checker.map import Map

T = TypeVar("T")


@functools.cache
def _aliases(kind: Any) -> dict[str, str]:
    """Return the names of a class's fields, and how ``attrs.evolve`` names them: `_at` as ``at``, for example."""
    return {field.name: field.alias for field in getattr(kind, "__attrs_attrs__", ())}


def field_of(value: Any, name: str) -> Any:
    """Return the value of a field of an attrs value, whose name is computed.

    Unlike ``getattr``, which may run any code of a spec, it reads a field and nothing else. Therefore the compiled
    engine can learn from calls that use it.

    Raises:
        TypeError: if the value has no such field.
    """
    kind: Any = type(value)
    if name not in _aliases(kind):
        raise TypeError(f"field_of reads a field of an attrs value, and {name!r} is none of {kind.__name__}")
    return getattr(value, name)


def put(value: T, /, *path_and_new: Any) -> T:
    """Return a copy of a tuple, a `Map` or an attrs value with one part replaced. The part can be at any depth.

    ``put(grid, 1, 2, 0)`` is like ``[grid EXCEPT ![1][2] = 0]`` in TLA+. If an action uses `put`, the compiled engine
    does not assume that the action reads the parts that are only copied.

    Parameters:
        value: a tuple, a map or an attrs value.
        path_and_new: the path of the part, followed by its new value. The path contains, for each level, an index of a
            tuple (starting at 0), a key of a map, or the name of a field of an attrs value.

    Raises:
        IndexError: if an index is negative or too large.
        KeyError: if a map does not contain a key that is not the last part of the path.
        TypeError: if the path is missing, or if a value on the path is neither a tuple, a map nor an attrs value.

    Example:
        >>> put(((0, 0), (0, 0)), 1, 0, 7)
        ((0, 0), (7, 0))
    """
    if len(path_and_new) < 2:
        raise TypeError(
            "put takes a value, the path to a part of it (a field name or an index for each level of nesting), and "
            "the new part"
        )
    place, *rest = path_and_new
    current: Any = value
    if isinstance(current, Map):
        made: T = current.put(place, rest[0] if len(rest) == 1 else put(current[place], *rest))  # type: ignore[assignment]
        return made
    if isinstance(place, str):
        new = rest[0] if len(rest) == 1 else put(getattr(current, place), *rest)
        kind: Any = type(current)
        changed: T = attrs.evolve(current, **{_aliases(kind).get(place, place): new})
        return changed
    if not isinstance(current, tuple):
        raise TypeError(
            "put replaces an element of a tuple, a value of a map or a field of an attrs object, not a part of "
            f"{current!r}"
        )
    if not 0 <= place < len(current):
        raise IndexError(f"put cannot use index {place}: the tuple has {len(current)} elements, numbered from 0")
    new = rest[0] if len(rest) == 1 else put(current[place], *rest)
    return (*current[:place], new, *current[place + 1 :])  # type: ignore[return-value]
