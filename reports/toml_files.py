"""Read TOML files whose keys are the attributes of a class. Unknown keys, and values of another type, are refused."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, TypeVar

import cattrs

from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import read_toml

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
        return _converter().structure(content, kind)
    except cattrs.BaseValidationError as error:
        first = cattrs.transform_error(error)[0]
        raise LeadlineError(f"{path} is not {what}: {first.replace(' @ $.', ', at ').replace(' @ $', '')}") from error


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, types in {int: (int,), str: (str,), float: (int, float)}.items():
        converter.register_structure_hook(kind, functools.partial(_exactly, types))
    converter.register_structure_hook_func(lambda kind: bool(kind == Values), _values)
    return converter


def _exactly(types: tuple[type, ...], value: Any, kind: type) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(value)
    return value


def _values(value: object, _: object) -> Values:
    if type(value) is not dict or not {int, bool, str}.issuperset(map(type, value.values())):
        raise TypeError(f"must be a table of integers, booleans and strings, not {value!r}")
    return value
