"""Inspection of objects without running their code.

The modules of a spec can contain any object, for example a proxy whose `__class__` raises an exception outside of a
request, or an object that imports a library on first use. `isinstance` and `getattr` run the code of such objects.
"""

from __future__ import annotations

from typing import Any


def is_a(value: object, *kinds: type) -> bool:
    """Return the result of `isinstance`, but without reading the value's `__class__`."""
    return issubclass(type(value), kinds)


def stored(value: object, name: str, default: object = None) -> Any:
    """Return an attribute, without calling a `__getattribute__` or `__getattr__` that the value's class defines.

    Parameters:
        value: the object or class with the attribute.
        name: the name of the attribute.
        default: the value to return if the attribute does not exist.
    """
    find: Any = type.__getattribute__ if issubclass(type(value), type) else object.__getattribute__
    try:
        return find(value, name)
    except AttributeError:
        return default
