"""Functions that inspect objects without running their code.

The modules of a spec can contain any object. An example is a proxy object whose `__class__` attribute raises an
exception outside of a web request, or a module object that imports a library when it is first used. `isinstance` and
`getattr` run the code of such objects. The functions in this module do not.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs


def is_a(value: object, *kinds: type) -> bool:
    """Return whether a value is an instance of one of `kinds`. Unlike `isinstance`, this function does not read the
    `__class__` attribute of the value.
    """
    return issubclass(type(value), kinds)


def stored(value: object, name: str, default: object = None) -> Any:
    """Return an attribute without calling any `__getattribute__` or `__getattr__` method that the class of the value
    defines.

    Parameters:
        default: the value to return if there is no such attribute.
    """
    find: Any = type.__getattribute__ if issubclass(type(value), type) else object.__getattribute__
    try:
        return find(value, name)
    except AttributeError:
        return default


def is_frozen(kind: type) -> bool:
    """Return whether a class is itself a frozen attrs class. A plain class that only inherits from one is not."""
    return "__attrs_attrs__" in vars(kind) and attrs.inspect(kind).is_frozen


def with_arguments(function: object) -> tuple[object, dict[str, object]]:
    """Return the function that a `functools.partial` calls, and its keyword arguments."""
    given: dict[str, object] = {}
    while isinstance(function, functools.partial) and not function.args:
        given = {**function.keywords, **given}
        function = function.func
    return function, given
