"""Lanes: a state as rows of named cells, which every view draws.

A state says how it is drawn by a method ``lanes()`` that returns its rows, and may explain its notation
in a class attribute ``legend``. A state without that gets a row for each component. All texts are `visible`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from checker.itf import Json, shown
from checker.state import element_name, is_component, variables
from checker.visible import visible

Lanes = dict[str, dict[str, str]]
"""For each row, by its name, the text of its cells by column."""

REST = "state"
"""The row of what belongs to no component."""


def lanes_of(state: Any) -> Lanes:
    """The rows of a state."""
    if callable(getattr(state, "lanes", None)):
        return _visible(state.lanes())
    fields = variables(state)
    parts = {field.name: (getattr(state, field.name), element_name(field)) for field in fields}
    components = {field.name for field in fields if is_component(field)}
    return _generic(parts, components, _items, _fields, written)


def legend_of(state: Any) -> str:
    """What the notation of a state's rows means; empty if the state does not say."""
    return visible(str(getattr(type(state), "legend", "")))


def written(value: Any) -> str:
    """A value as a person writes it."""
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


def lanes_of_file(values: dict[str, Json]) -> Lanes:
    """The rows of a state as a trace file has it, where its spec is not at hand: one for each record."""
    parts = {name: (value, name) for name, value in values.items()}
    return _generic(parts, set(values), _items_in_file, _fields_in_file, shown)


def _generic(
    parts: dict[str, tuple[Any, str]],
    components: set[str],
    items: Callable[[Any], Sequence[Any] | None],
    fields: Callable[[Any], dict[str, Any] | None],
    text: Callable[[Any], str],
) -> Lanes:
    """A row for each component, and one for the rest.

    Parameters:
        parts: each field's value, and what one element of it is called, by name.
        components: the names of those that have rows of their own.
        items: the elements of a tuple; None of any other value.
        fields: the fields of a record; None of any other value.
        text: a value as a person writes it.
    """
    called = [each for name, (value, each) in parts.items() if name in components and items(value) is not None]
    lanes: Lanes = {}
    for name, (value, each) in parts.items():
        elements = items(value)
        if name in components and elements is not None:
            for index, element in enumerate(elements):
                inner = fields(element)
                # what two components have of one broker is one row, whose columns must not be taken for each other
                prefix = f"{name}." if inner is not None and called.count(each) > 1 else ""
                cells = {name: element} if inner is None else {f"{prefix}{key}": part for key, part in inner.items()}
                lanes.setdefault(f"{each} {index}", {}).update({key: text(part) for key, part in cells.items()})
        elif name in components and (inner := fields(value)) is not None:
            lanes[name] = {key: text(part) for key, part in inner.items()}
        else:
            lanes.setdefault(REST, {})[name] = text(value)
    return _visible(lanes)


def _visible(lanes: Lanes) -> Lanes:
    return {
        visible(row): {visible(column): visible(text) for column, text in cells.items()} for row, cells in lanes.items()
    }


def _items(value: Any) -> Sequence[Any] | None:
    return value if isinstance(value, tuple) else None


def _fields(value: Any) -> dict[str, Any] | None:
    if not attrs.has(type(value)):
        return None
    return {field.name: getattr(value, field.name) for field in variables(value)}


def _items_in_file(value: Json) -> Sequence[Any] | None:
    return value["#tup"] if isinstance(value, dict) and "#tup" in value else None


def _fields_in_file(value: Json) -> dict[str, Any] | None:
    match value:
        case {"tag": str(), "value": dict(inner)} if len(value) == 2:
            return _fields_in_file(inner)
        case {"tag": str(), "value": _} if len(value) == 2:
            return None
    if not isinstance(value, dict) or any(name.startswith("#") for name in value):
        return None
    return value
