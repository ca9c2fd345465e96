"""Bounds: the frozen attrs class that makes a spec's state space finite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.support.names import nearest

_HELP = "leadline.help"
_RANGE = "leadline.range"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""An integer as it is typed: `int` would take other scripts' digits and underscores too."""

B = TypeVar("B")


@attrs.frozen
class NoBounds:
    """For specs whose state space is finite as it is."""


def bound(
    default: Any,
    text: str,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare one bound as an attrs field; its kind (int, bool or str) is its default's.

    Parameters:
        default: the value where the user names none.
        text: what it bounds, in a few words; shown by `leadline specs`.
        at_least: smallest value allowed, for an int.
        at_most: largest value allowed, for an int.
        choices: the values allowed, for a str.

    Returns:
        The attrs field, validated whenever the class is made.

    Raises:
        SpecError: the default is not an int, a bool or a str, or is not among the values allowed; a range
            is given for what is no int, or choices for what is no str.
    """
    if type(default) not in (int, bool, str):
        raise SpecError(f"a bound must be an int, a bool or a str, not {type(default).__name__} {default!r}")
    if (at_least is not None or at_most is not None) and type(default) is not int:
        raise SpecError(f"bound {text!r}: at_least and at_most need an int as the default, not {default!r}")
    if choices and type(default) is not str:
        raise SpecError(f"bound {text!r}: choices need a str as the default, not {default!r}")
    right = _right_values(type(default), at_least, at_most, choices)

    def fits(value: Any) -> bool:
        if type(value) is not type(default):
            return False
        if choices:
            return value in choices
        return (at_least is None or value >= at_least) and (at_most is None or value <= at_most)

    def validate(_: Any, field: attrs.Attribute[Any], value: Any) -> None:
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


def describe_bounds(bounds: Any) -> list[tuple[str, Any, str, str]]:
    """One row for each bound: its name, its value, what it bounds, and which values are possible."""
    return [
        (field.name, getattr(bounds, field.name), field.metadata.get(_HELP, ""), field.metadata.get(_RANGE, ""))
        for field in attrs.fields(type(bounds))
    ]


def bounds_text(bounds: Mapping[str, Any]) -> str:
    """Bounds as they are given to ``-b``."""
    return ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in bounds.items()
    )


def change_bounds(bounds: B, changes: Mapping[str, Any]) -> B:
    """The bounds with some of them changed.

    Parameters:
        bounds: a frozen attrs value.
        changes: new values by name; a str is read as the kind that the bound has.

    Returns:
        A new value of the same class.

    Raises:
        SpecError: an unknown name (the nearest is named) or a value that is not possible.
    """
    names = [name for name, *_ in describe_bounds(bounds)]
    for name in changes:
        if name not in names:
            raise SpecError(f"unknown bound {name!r}{nearest(name, names)}")
    read = {name: _read(value, type(getattr(bounds, name))) for name, value in changes.items()}
    return attrs.evolve(bounds, **read)  # type: ignore[misc]


def parse_bounds(text: str) -> dict[str, str]:
    """Read ``brokers=3,log_size=2``.

    Raises:
        SpecError: a part that is not ``name=value``, or a name given twice.
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


def _read(value: Any, kind: type) -> Any:
    """A command line's text as an int or bool; what cannot be read is left for the validator to refuse."""
    if not isinstance(value, str) or kind is str:
        return str(value) if kind is str and type(value) is int else value
    if kind is bool:
        return {"true": True, "false": False}.get(value.lower(), value)
    return int(value) if _INTEGER.fullmatch(value) else value
