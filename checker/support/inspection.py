"""Inspection of objects without running their code.

The modules of a spec can contain any object: a proxy whose `__class__` raises outside of a request, an object that
imports a library on first use, a value that must not be accessed. `isinstance` and `getattr` run such code.
"""

from __future__ import annotations

from typing import Any


def is_a(value: object, *kinds: type) -> bool:
    """Like `isinstance`, but without reading the value's `__class__`."""
    return issubclass(type(value), kinds)


def stored(value: object, name: str, default: object = None) -> Any:
    """Like `getattr`, but without calling a `__getattribute__` or `__getattr__` that the value's class defines.

    Parameters:
        value: the object or class with the attribute.
        name: the name of the attribute.
        default: returned if the attribute does not exist.
    """
    find: Any = type.__getattribute__ if issubclass(type(value), type) else object.__getattribute__
    try:
        return find(value, name)
    except AttributeError:
        return default
