"""Looking at objects without running their code.

What a spec's modules hold may be anything: a proxy whose `__class__` raises outside a request, an object that imports
a library when it is first used, a value that must not be looked at. `isinstance` and `getattr` run such code.
"""

from __future__ import annotations

from typing import Any


def is_a(value: Any, *kinds: type) -> bool:
    """Whether a value is of one of some classes: `isinstance`, but by the real class of the value alone."""
    return issubclass(type(value), kinds)


def stored(value: Any, name: str, default: Any = None) -> Any:
    """An attribute as `getattr` finds it for an object or a class that does not define `__getattribute__` itself.

    Parameters:
        value: what has the attribute.
        name: of the attribute.
        default: returned where there is none.
    """
    find: Any = type.__getattribute__ if issubclass(type(value), type) else object.__getattribute__
    try:
        return find(value, name)
    except AttributeError:
        return default
