"""Convert a state to rows of text, which all reports show.

The drawing function of the spec returns the rows. If a spec has no such function, each component of the state is a row.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import attrs

from leadline.checker.drawing import Row, no_rows
from leadline.checker.spec import Spec
from leadline.checker.state import element_name, is_component, variables
from leadline.checker.support.escapes import visible
from leadline.checker.traces.itf import Json, shown

S = TypeVar("S")
T = TypeVar("T")

Rows = dict[str, Row]
"""The rows of a state, by their names and in the order in which reports show them."""

REST = "state"
"""The name of the row for values that do not belong to a component."""


def rows_of(spec: Spec[S], state: S) -> Rows:
    """Return the rows of a state.

    Raises:
        SpecError: if the drawing function of the spec raises an error.
    """
    if spec.drawing is not None and spec.drawing.rows is not no_rows:
        return spec.rows(state)
    fields = variables(state)
    parts = {field.name: (getattr(state, field.name), element_name(field)) for field in fields}
    components = {field.name for field in fields if is_component(field)}
    return _generic(parts, components, _items, _fields, written)


def written(value: object) -> str:
    """Convert a value to the text that reports show."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None:
        return "-"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(written, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{written(key)}: {written(item)}' for key, item in value.items()))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    if attrs.has(type(value)) and "__str__" not in vars(type(value)):
        inner = ", ".join(f"{field.name}={written(getattr(value, field.name))}" for field in variables(value))
        return f"{type(value).__name__}({inner})"
    return str(value)


def rows_of_file(values: dict[str, Json]) -> Rows:
    """Return the rows of a state from a trace file whose spec is not available. Each record is a row.

    Parameters:
        values: the values of the state's variables, keyed by variable name.
    """
    parts = {name: (value, name) for name, value in values.items()}
    return _generic(parts, set(values), _items_in_file, _fields_in_file, shown)


def _generic(
    parts: Mapping[str, tuple[T, str]],
    components: set[str],
    items: Callable[[T], Sequence[T] | None],
    fields: Callable[[T], Mapping[str, T] | None],
    text: Callable[[T], str],
) -> Rows:
    """Return a row for each component, and one row for all other values.

    Parameters:
        parts: the fields of the state, keyed by name. Each entry is a pair: the value of the field, and the name for
            one element of this value.
        components: the names of the fields that are components and therefore have their own rows.
        items: a function that returns the elements of a value if it is a tuple, otherwise None.
        fields: a function that returns the fields of a value if it is a record, otherwise None.
        text: a function that converts a value to text.
    """
    called = [each for name, (value, each) in parts.items() if name in components and items(value) is not None]
    columns: dict[str, dict[str, str]] = {}
    for name, (value, each) in parts.items():
        elements = items(value)
        if name in components and elements is not None:
            for index, element in enumerate(elements):
                inner = fields(element)
                # two components of one broker share a row, so their columns need different names
                prefix = f"{name}." if inner is not None and called.count(each) > 1 else ""
                cells: Mapping[str, T] = (
                    {name: element} if inner is None else {f"{prefix}{key}": part for key, part in inner.items()}
                )
                columns.setdefault(f"{each} {index}", {}).update({key: text(part) for key, part in cells.items()})
        elif name in components and (inner := fields(value)) is not None:
            columns[name] = {key: text(part) for key, part in inner.items()}
        else:
            columns.setdefault(REST, {})[name] = text(value)
    return {visible(name): Row(columns=cells) for name, cells in columns.items()}


def _items(value: object) -> Sequence[object] | None:
    return value if isinstance(value, tuple) else None


def _fields(value: object) -> dict[str, object] | None:
    if not attrs.has(type(value)):
        return None
    return {field.name: getattr(value, field.name) for field in variables(value)}


def _items_in_file(value: Json) -> Sequence[Json] | None:
    return value["#tup"] if isinstance(value, dict) and "#tup" in value else None


def _fields_in_file(value: Json) -> Mapping[str, Json] | None:
    match value:
        case {"tag": str(), "value": dict(inner)} if len(value) == 2:
            return _fields_in_file(inner)
        case {"tag": str(), "value": _} if len(value) == 2:
            return None
    if not isinstance(value, dict) or any(name.startswith("#") for name in value):
        return None
    return value
