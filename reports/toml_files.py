"""Read TOML files whose keys are the attributes of a class. Unknown keys, and values of another type, are refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs
import cattrs

from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import read_toml
from leadline.checker.support.messages import nearest

T = TypeVar("T")

Values = dict[str, int | bool | str]
"""The values of bounds, keyed by name."""


def read_as(kind: type[T], path: Path, what: str) -> T:
    """Read a TOML file.

    Parameters:
        kind: the class, an attrs class.
        what: what the file should be, for messages.

    Raises:
        LeadlineError: if the file cannot be read or is invalid.
    """
    content = read_toml(path)
    try:
        return structured(kind, content)
    except LeadlineError as error:
        raise LeadlineError(f"{path} is not {what}: {error}") from error


def structured(kind: type[T], content: object) -> T:
    """Return a table of a TOML file as an instance of an attrs class.

    Raises:
        LeadlineError: if the table is invalid. The message names one key. Unknown keys take precedence, because an
            unknown key can cause further errors.
    """
    try:
        return _converter().structure(content, kind)
    except cattrs.BaseValidationError as error:
        complaints = cattrs.transform_error(error, format_exception=lambda inner, _: _complaint(inner))
        message, _, key = min(complaints, key=lambda text: not text.startswith("unknown")).rpartition(" @ $")
        raise LeadlineError(f"{key[1:]} {message}".lstrip()) from error


def _complaint(error: BaseException) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        extra = min(error.extra_fields)
        return f"unknown key {extra!r}{nearest(extra, [field.name for field in attrs.fields(error.cl)])}"
    return "is missing" if isinstance(error, KeyError) else str(error)


_TYPES: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a string", lambda value: type(value) is str),
    int: ("an integer", lambda value: type(value) is int),
    bool: ("true or false", lambda value: type(value) is bool),
    float: ("a number", lambda value: type(value) is int or (type(value) is float and not math.isnan(value))),
    list[str]: ("an array of strings", lambda value: type(value) is list and _are(value, str)),
    bool | list[str]: (
        "true, false or an array of strings",
        lambda value: type(value) is bool or (type(value) is list and _are(value, str)),
    ),
    Values: (
        "a table of integers, booleans and strings",
        lambda value: type(value) is dict and _are(value.values(), int, bool, str),
    ),
}
"""What the values of each type must be, in words, and a function that returns whether a value is that."""


def _are(values: Iterable[object], *kinds: type) -> bool:
    return all(type(value) in kinds for value in values)


def _converter() -> cattrs.Converter:
    """Return a converter that accepts the types of TOML, and does not convert one type to another."""
    converter = cattrs.Converter(forbid_extra_keys=True)

    def is_known(kind: Any) -> bool:
        return get_origin(kind) is Literal or kind in _TYPES

    def take(value: Any, kind: Any) -> Any:
        choices = get_args(kind)
        right, fits = _TYPES.get(kind) or (f"one of {', '.join(choices)}", choices.__contains__)
        if not fits(value):
            raise TypeError(f"must be {right}, not {value!r}")
        return value

    converter.register_structure_hook_func(is_known, take)
    for kind in (str, int, bool, float):  # of which a converter has hooks that take precedence
        converter.register_structure_hook(kind, take)
    return converter
