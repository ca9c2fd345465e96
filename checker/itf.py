"""Trace files in the Informal Trace Format (ITF, Apalache ADR-015), our canonical format.

An attrs value is a record, a tuple a `#tup`, a frozenset a `#set`, a mapping a `#map`, an integer a
`#bigint`, an Enum member and None a variant without a value. What has no form of its own is
`#unserializable`. In ``#meta``: the spec and its bounds, the property, and for each state the action
with its parameters that led to it.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from checker.errors import TraceError
from checker.state import variables
from checker.trace import Trace

S = TypeVar("S")
Json = Any

SUFFIX = ".itf.json"
_UNIT = "U_OF_UNIT"
_NONE = "Nil"


@attrs.frozen
class Variant:
    """A tagged value read from a file: an Enum member or None as it was written."""

    tag: str

    def __repr__(self) -> str:
        return "None" if self.tag == _NONE else self.tag


@attrs.frozen
class FileRecord:
    """A record read from a file: an attrs value as it was written."""

    fields: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        return f"({', '.join(f'{name}={value}' for name, value in self.fields)})"


@attrs.frozen
class FileMap:
    """A map read from a file."""

    items: frozenset[tuple[Any, Any]]

    def __repr__(self) -> str:
        return f"{{{', '.join(sorted(f'{key}: {value}' for key, value in self.items))}}}"


@attrs.frozen
class Recorded:
    """One state of a trace file: its variables, and the action that led to it (None for the first)."""

    values: dict[str, Any]
    action: str | None
    arguments: dict[str, Any]

    @property
    def label(self) -> str:
        """The action with its parameters, as an action instance is written."""
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in self.arguments.items())})"


@attrs.frozen
class TraceFile:
    """What a trace file says, before anything is compared with a model.

    Attributes:
        spec: the name of the spec; None in a file that was not written by leadline.
        bounds: the spec's bounds by name.
        about: the name of the property at stake; None if the trace is about none.
        sentence: that property in one sentence.
        states: in order; at least one.
    """

    spec: str | None
    bounds: dict[str, Any]
    about: str | None
    sentence: str
    states: tuple[Recorded, ...]


def encode(value: Any) -> Json:
    """A value in ITF's notation."""
    if isinstance(value, enum.Enum):
        return {"tag": value.name, "value": _UNIT}
    if value is None:
        return {"tag": _NONE, "value": _UNIT}
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if attrs.has(type(value)):
        return {field.name: encode(getattr(value, field.name)) for field in variables(value)}
    if isinstance(value, tuple):
        return {"#tup": [encode(item) for item in value]}
    if isinstance(value, frozenset):
        return {"#set": _sorted(encode(item) for item in value)}
    if isinstance(value, Mapping):
        return {"#map": _sorted([encode(key), encode(item)] for key, item in value.items())}
    return {"#unserializable": repr(value)}


def _sorted(encoded: Any) -> list[Json]:
    """Elements in one order, whatever the order of the set they come from."""
    return sorted(encoded, key=lambda item: (len(json.dumps(item)), json.dumps(item)))


def decode(encoded: Json) -> Any:
    """The value of an expression in ITF's notation, as plain hashable Python.

    Raises:
        TraceError: it is not an expression of ITF.
    """
    match encoded:
        case bool() | int() | str():
            return encoded
        case list():
            return tuple(map(decode, encoded))
        case {"#bigint": str(digits)} if digits.removeprefix("-").isdecimal():
            return int(digits)
        case {"#tup": list(items)}:
            return tuple(map(decode, items))
        case {"#set": list(items)}:
            return frozenset(map(decode, items))
        case {"#map": list(items)} if all(isinstance(pair, list) and len(pair) == 2 for pair in items):
            return FileMap(frozenset((decode(key), decode(item)) for key, item in items))
        case {"#unserializable": str(text)}:
            return FileRecord((("#unserializable", text),))
        case {"tag": str(tag), "value": value} if len(encoded) == 2 and value == _UNIT:
            return Variant(tag)
        case dict() if not any(name.startswith("#") for name in encoded):
            return FileRecord(tuple(sorted((name, decode(item)) for name, item in encoded.items())))
    raise TraceError(f"not an ITF value: {json.dumps(encoded)[:60]}")


def encode_trace(trace: Trace[Any]) -> Json:
    """A trace as an ITF object, ready for `json.dump`."""
    about = trace.about
    meta = {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": trace.spec.name,
        "description": "a trace of leadline",
        "spec": trace.spec.name,
        "bounds": attrs.asdict(trace.spec.bounds),
        "property": about.name if about else None,
        "kind": about.kind.value if about else None,
        "sentence": about.sentence if about else None,
    }
    states = [{"#meta": {"index": 0}, **encode(trace.states[0])}]
    for index, step in enumerate(trace.steps, start=1):
        arguments = {name: encode(value) for name, value in step.instance.arguments.items()}
        action = {"index": index, "action": step.instance.action.name, "parameters": arguments}
        states.append({"#meta": action, **encode(step.after)})
    return {"#meta": meta, "vars": [field.name for field in variables(trace.states[0])], "states": states}


def write_trace(trace: Trace[Any], path: Path) -> None:
    """Write a trace to an ITF file, whose name should end in ``.itf.json``."""
    path.write_text(json.dumps(encode_trace(trace), indent=1) + "\n", encoding="utf-8")


def read_trace(path: Path) -> TraceFile:
    """Read an ITF file.

    Raises:
        TraceError: the file cannot be read, is cut short, or is not ITF; says where.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not a trace file: it is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise TraceError(f"{path} is not a whole JSON file: {error.msg} at line {error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not a trace file: {error}") from error
    try:
        return decode_trace(content)
    except (TraceError, ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not an ITF trace: {error}") from error


def decode_trace(content: Json) -> TraceFile:
    """What an ITF object says.

    Raises:
        TraceError: a part is missing or has the wrong form.
    """
    match content:
        case {"vars": list(names), "states": [_, *_] as states} if all(isinstance(name, str) for name in names):
            meta = content.get("#meta", {})
        case {"vars": _, "states": []}:
            raise TraceError("it has no states")
        case _:
            raise TraceError('it lacks "vars" or "states"')
    if not isinstance(meta, dict):
        raise TraceError('"#meta" is not an object')
    spec, bounds, about = meta.get("spec"), meta.get("bounds", {}), meta.get("property")
    if not isinstance(bounds, dict) or not isinstance(spec, str | None) or not isinstance(about, str | None):
        raise TraceError('"spec", "bounds" or "property" in "#meta" is not what leadline writes')
    return TraceFile(
        spec=spec,
        bounds=bounds,
        about=about,
        sentence=str(meta.get("sentence") or ""),
        states=tuple(_decode_state(index, state, names) for index, state in enumerate(states)),
    )


def _decode_state(index: int, state: Json, names: list[str]) -> Recorded:
    if not isinstance(state, dict):
        raise TraceError(f"state {index} is not an object")
    for name in names:
        if name not in state:
            raise TraceError(f"state {index} lacks the variable {name!r}")
    try:
        values = {name: decode(state[name]) for name in names}
        match state.get("#meta", {}):
            case {"action": str(action), "parameters": dict(parameters)}:
                arguments = {name: decode(value) for name, value in parameters.items()}
                return Recorded(values, action, arguments)
    except TraceError as error:
        raise TraceError(f"state {index}: {error}") from error
    return Recorded(values, None, {})
