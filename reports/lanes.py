"""Lanes: a state as rows of named cells, which every view draws.

A state says how it is drawn by a method ``lanes()`` that returns its rows, and may explain its notation
in a class attribute ``legend``. A state without that gets a row for each component.
"""

from __future__ import annotations

import enum
from typing import Any

import attrs

from checker.itf import FileRecord
from checker.state import element_name, is_component, variables

Lanes = dict[str, dict[str, str]]
"""For each row, by its name, the text of its cells by column."""

REST = "state"
"""The row of what belongs to no component."""


def lanes_of(state: Any) -> Lanes:
    """The rows of a state.

    Parameters:
        state: an attrs value, or the variables read from a trace file.
    """
    if isinstance(state, dict):
        return _generic({name: (value, name) for name, value in state.items()}, set(state))
    if callable(getattr(state, "lanes", None)):
        lanes: Lanes = state.lanes()
        return lanes
    fields = variables(state)
    parts = {field.name: (getattr(state, field.name), element_name(field)) for field in fields}
    return _generic(parts, {field.name for field in fields if is_component(field)})


def legend_of(state: Any) -> str:
    """What the notation of a state's rows means; empty if the state does not say."""
    return str(getattr(type(state), "legend", ""))


def written(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None:
        return "-"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(written, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    if attrs.has(type(value)) and "__str__" not in vars(type(value)):
        inner = ", ".join(f"{field.name}={written(getattr(value, field.name))}" for field in variables(value))
        return f"{type(value).__name__}({inner})"
    return str(value)


def _generic(parts: dict[str, tuple[Any, str]], components: set[str]) -> Lanes:
    """A row for each component, and one for the rest."""
    lanes: Lanes = {}
    for name, (value, each) in parts.items():
        if name in components and isinstance(value, tuple):
            for index, element in enumerate(value):
                lanes[f"{each} {index}"] = {**lanes.get(f"{each} {index}", {}), **_cells(element, name)}
        elif name in components and _fields(value) is not None:
            lanes[name] = _cells(value, name)
        else:
            lanes.setdefault(REST, {})[name] = written(value)
    return lanes


def _cells(value: Any, name: str) -> dict[str, str]:
    fields = _fields(value)
    if fields is None:
        return {name: written(value)}
    return {field: written(inner) for field, inner in fields.items()}


def _fields(value: Any) -> dict[str, Any] | None:
    if isinstance(value, FileRecord):
        return dict(value.fields)
    if attrs.has(type(value)):
        return {field.name: getattr(value, field.name) for field in variables(value)}
    return None
