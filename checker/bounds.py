"""Bounds: the frozen attrs class that makes a spec's state space finite."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.support.messages import nearest

_HELP = "leadline.help"
_RANGE = "leadline.range"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""An integer in ASCII digits; `int` also accepts underscores and the digits of other scripts."""

B = TypeVar("B")
T = TypeVar("T")


@attrs.frozen
class NoBounds:
    """The bounds of a spec whose state space is finite without bounds."""


def bound(
    default: T,
    text: str,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    choices: tuple[str, ...] = (),
) -> T:
    """Declare a bound as an attrs field. The type of its default (int, bool or str) is the type of the bound.

    Parameters:
        default: the value if the user does not give one.
        text: a short description of the bound, shown by `leadline specs`.
        at_least: the smallest allowed value of an int.
        at_most: the largest allowed value of an int.
        choices: the allowed values of a str.

    Returns:
        An attrs field that validates its value when an instance is created.

    Raises:
        SpecError: the default is not an int, a bool or a str, or is not an allowed value; or a range is given and the
            default is not an int; or choices are given and the default is not a str.
    """
    if type(default) not in (int, bool, str):
        raise SpecError(f"a bound must be an int, a bool or a str, not {type(default).__name__} {default!r}")
    if (at_least is not None or at_most is not None) and type(default) is not int:
        raise SpecError(f"bound {text!r}: at_least and at_most require a default that is an int, not {default!r}")
    if choices and type(default) is not str:
        raise SpecError(f"bound {text!r}: choices require a default that is a str, not {default!r}")
    right = _right_values(type(default), at_least, at_most, choices)

    def fits(value: object) -> bool:
        if type(value) is not type(default):
            return False
        if choices:
            return value in choices
        if not isinstance(value, int):
            return True
        return (at_least is None or value >= at_least) and (at_most is None or value <= at_most)

    def validate(_: object, field: attrs.Attribute[T], value: T) -> None:
        if not fits(value):
            raise SpecError(f"bound {field.name}={value} is out of range: it must be {right}")

    if not fits(default):
        raise SpecError(f"bound {text!r}: its default {default!r} is out of range: it must be {right}")
    return attrs.field(default=default, validator=validate, metadata={_HELP: text, _RANGE: right})


def _right_values(kind: type, at_least: int | None, at_most: int | None, choices: tuple[str, ...]) -> str:
    if choices:
        return "one of " + ", ".join(choices)
    if kind is bool:
        return "true or false"
    if kind is str:
        return "a word"
    if at_least is None and at_most is None:
        return "an integer"
    if at_most is None:
        return f"an integer of {at_least} or more"
    return f"an integer from {at_least} to {at_most}" if at_least is not None else f"an integer up to {at_most}"


def describe_bounds(bounds: object) -> list[tuple[str, object, str, str]]:
    """Return a tuple for each bound, with its name, value, description and allowed values."""
    kind: type = type(bounds)
    return [
        (field.name, getattr(bounds, field.name), field.metadata.get(_HELP, ""), field.metadata.get(_RANGE, ""))
        for field in attrs.fields(kind)
    ]


def bounds_text(bounds: Mapping[str, object]) -> str:
    """Return bounds in the notation of the option ``-b``."""
    return ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in bounds.items()
    )


def change_bounds(bounds: B, changes: Mapping[str, object]) -> B:
    """Return bounds with some values changed.

    Parameters:
        bounds: a frozen attrs value.
        changes: the new values by name; a str is converted to the type of the bound.

    Returns:
        A new value of the same class.

    Raises:
        SpecError: a name is unknown (the message suggests the nearest), or a value is not allowed.
    """
    names = [name for name, *_ in describe_bounds(bounds)]
    for name in changes:
        if name not in names:
            raise SpecError(f"unknown bound {name!r}{nearest(name, names)}")
    read = {name: _read(value, type(getattr(bounds, name))) for name, value in changes.items()}
    evolve: Callable[..., B] = attrs.evolve
    return evolve(bounds, **read)


def parse_bounds(text: str) -> dict[str, str]:
    """Parse ``brokers=3,log_size=2``.

    Raises:
        SpecError: a part is not ``name=value``, or a name is given twice.
    """
    changes: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise SpecError(f"cannot read the bound {part!r}: write name=value, e.g. brokers=3,log_size=2")
        if name in changes:
            raise SpecError(f"bound {name} is given twice")
        changes[name] = value
    return changes


def _read(value: object, kind: type) -> object:
    """Convert text from the command line to an int or a bool; the validator refuses text that cannot be converted."""
    if not isinstance(value, str) or kind is str:
        return str(value) if kind is str and type(value) is int else value
    if kind is bool:
        return {"true": True, "false": False}.get(value.lower(), value)
    return int(value) if _INTEGER.fullmatch(value) else value
