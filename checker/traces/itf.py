"""Trace files in the Informal Trace Format (ITF), as described in ADR-015 of Apalache.

Values are encoded as follows:

- A state is a record of its variables. A component of a state is also a record.
- Any other instance of an attrs class or a dataclass is a variant whose tag is the name of the class.
- A member of an `Enum` is a variant whose value is its name. None is the variant ``Nil`` without a value.
- A tuple is a `#tup`, a frozenset is a `#set`, a mapping is a `#map`, and an integer is a `#bigint`.
- Any other value is `#unserializable`.

A lasso (a trace that ends in a loop) has the field ``loop``, which is the index of the state where the loop begins. The
last state equals the state at this index.

The ``#meta`` field of the file contains the spec, its bounds and the property. The ``#meta`` field of a state contains
the action that led to the state.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

import attrs

from leadline.checker.errors import TraceError
from leadline.checker.state import is_component, variables
from leadline.checker.support.durable import replace_file
from leadline.checker.support.files import file_text
from leadline.checker.trace import Trace

S = TypeVar("S")
Json = Any

SUFFIX = ".itf.json"

MOST_DEPTH = 100
"""The maximum depth of nested values in a trace file. It limits the depth of recursive calls."""

_UNIT = "U_OF_UNIT"
_NONE = "Nil"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Matches the memory address in the `repr` of an object, which is different in each run."""


@attrs.frozen
class RecordedState:
    """One state of a trace file.

    Attributes:
        values: the value of each variable, encoded in the form that `canonical` returns.
        action: the name of the action that led to the state, or None for the first state.
        arguments: the values of the action's parameters, in the same form.
    """

    values: dict[str, Json]
    action: str | None
    arguments: dict[str, Json]

    @property
    def label(self) -> str:
        """The action and its arguments as text, for example ``replicate(leader=0, follower=1)``."""
        return f"{self.action}({', '.join(f'{name}={shown(value)}' for name, value in self.arguments.items())})"


@attrs.frozen
class TraceFile:
    """The contents of a trace file.

    Attributes:
        spec: the name of the spec, or None if the file was not written by leadline.
        bounds: the values of the spec's bounds, keyed by name.
        about: the name of the property that the trace violates or of the witness that it satisfies, or None if the file
            names neither.
        sentence: the description of the property.
        states: the states in order. There is at least one state.
        loop: the index of the state where the loop begins if the trace is a lasso (ends in a loop), otherwise None.
    """

    spec: str | None
    bounds: dict[str, Any]
    about: str | None
    sentence: str
    states: tuple[RecordedState, ...]
    loop: int | None = None


def encode(value: Any) -> Json:
    """Encode a value in ITF.

    Two encodings are equal if and only if the values are equal and have the same class.
    """
    match value:
        case None:
            return {"tag": _NONE, "value": _UNIT}
        case enum.Flag():
            return {"tag": _class_name(value), "value": encode(value.value)}
        case enum.Enum():
            return {"tag": _class_name(value), "value": value.name}
        case bool() | str():
            return value
        case int():
            return {"#bigint": str(value)}
        case tuple():
            return {"#tup": [encode(item) for item in value]}
        case Set():
            return {"#set": _sorted(encode(item) for item in value)}
        case Mapping():
            return {"#map": sorted(([encode(key), encode(item)] for key, item in value.items()), key=_by_key)}
    names = _field_names(value)
    if names is not None:
        return {"tag": _class_name(value), "value": {name: encode(getattr(value, name)) for name in names}}
    return {"#unserializable": _ADDRESS.sub("", repr(value))}


def encode_state(state: Any, first: Any) -> dict[str, Json]:
    """Encode the variables of a state in ITF. Return a dict from names to encodings.

    Parameters:
        first: the first state of the trace. A component is encoded as a record if its class is the same as in `first`.
    """
    variables_of_first = {field.name: getattr(first, field.name) for field in variables(first)}
    encoded = {}
    for field in variables(state):
        value, before = getattr(state, field.name), variables_of_first[field.name]
        if is_component(field) and isinstance(value, tuple) and isinstance(before, tuple):
            pairs = itertools.zip_longest(value, before[: len(value)])
            encoded[field.name] = {"#tup": [_encode_component(*pair) for pair in pairs]}
        else:
            encoded[field.name] = _encode_component(value, before) if is_component(field) else encode(value)
    return encoded


def _encode_component(value: Any, first: Any) -> Json:
    return encode_state(value, first) if attrs.has(type(value)) and type(value) is type(first) else encode(value)


def _class_name(value: Any) -> str:
    return type(value).__qualname__.rpartition("<locals>.")[2].replace(".", "_")  # a tag must not contain dots


def _field_names(value: Any) -> list[str] | None:
    """Return the names of the fields that ``==`` compares, or None for a value without fields."""
    if attrs.has(type(value)):
        return [field.name for field in variables(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value) if field.compare]
    return None


def _sorted(encoded: Iterable[Json]) -> list[Json]:
    """Sort encoded elements in a fixed order, and remove duplicates."""
    return list({_order(item): item for item in sorted(encoded, key=_order)}.values())


def _order(encoded: Json) -> tuple[int, str]:
    text = json.dumps(encoded, sort_keys=True)
    return len(text), text  # shorter texts first, so that 9 is before 10


def _by_key(pair: list[Json]) -> tuple[int, str]:
    return _order(pair[0])


def canonical(encoded: Json) -> Json:
    """Convert an ITF value to the form that `encode` returns.

    Raises:
        TraceError: if the value is not valid ITF.
    """
    match encoded:
        case bool() | str():
            return encoded
        case int():
            return {"#bigint": str(encoded)}
        case {"#bigint": str(digits)} if len(encoded) == 1 and digits.removeprefix("-").isdecimal():
            return {"#bigint": str(int(digits))}
        case list(items) | {"#tup": list(items)}:
            return {"#tup": [canonical(item) for item in items]}
        case {"#set": list(items)}:
            return {"#set": _sorted(canonical(item) for item in items)}
        case {"#map": list(items)} if all(isinstance(pair, list) and len(pair) == 2 for pair in items):
            return {"#map": sorted(([canonical(key), canonical(item)] for key, item in items), key=_by_key)}
        case {"#unserializable": str()} if len(encoded) == 1:
            return encoded
        case dict() if not any(name.startswith("#") for name in encoded):
            return {name: canonical(item) for name, item in encoded.items()}
    raise TraceError(f"{json.dumps(encoded)[:60]} is not a value in the ITF format")


def shown(encoded: Json) -> str:
    """Convert an encoded value to text, in a notation similar to Python's.

    Parameters:
        encoded: a value in the form that `canonical` returns.
    """
    match encoded:
        case {"#bigint": digits}:
            return str(digits)
        case {"#tup": items}:
            return f"({', '.join(map(shown, items))}{',' * (len(items) == 1)})"
        case {"#set": items}:
            return f"{{{', '.join(map(shown, items))}}}"
        case {"#map": pairs}:
            return f"{{{', '.join(f'{shown(key)}: {shown(item)}' for key, item in pairs)}}}"
        case {"#unserializable": text}:
            return str(text)
        case {"tag": str(tag), "value": value} if len(encoded) == 2:
            if value == _UNIT:
                return "None" if tag == _NONE else tag
            if isinstance(value, str):
                return f"{tag}.{value}"
            return tag + (shown(value) if shown(value).startswith("(") else f"({shown(value)})")
        case dict():
            return f"({', '.join(f'{name}={shown(item)}' for name, item in encoded.items())})"
    return str(encoded)


def encode_trace(trace: Trace[Any]) -> Json:
    """Convert a trace to an ITF object that `json.dump` accepts."""
    about = trace.about
    meta = {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": trace.spec.name,
        "description": "a trace of leadline",
        "spec": trace.spec.name,
        "bounds": attrs.asdict(trace.spec.bounds),
        "property": about.name if about is not None else None,
        "kind": about.kind.value if about is not None else None,
        "sentence": about.sentence if about is not None else None,
    }
    states = [{"#meta": {"index": 0}, **encode_state(trace.states[0], trace.states[0])}]
    for index, step in enumerate(trace.steps, start=1):
        arguments = {name: encode(value) for name, value in step.instance.arguments.items()}
        action = {"index": index, "action": step.instance.action.name, "parameters": arguments}
        states.append({"#meta": action, **encode_state(step.after, trace.states[0])})
    names = [field.name for field in variables(trace.states[0])]
    loop = {} if trace.loop is None else {"loop": trace.loop}
    return {"#meta": meta, "vars": names, "states": states, **loop}


def write_trace(trace: Trace[Any], path: Path) -> None:
    """Write a trace to an ITF file. The name of the file should end with ``.itf.json``.

    Raises:
        OSError: if the file cannot be written.
    """
    replace_file(path, json.dumps(encode_trace(trace), indent=1).encode() + b"\n")


def read_trace(path: Path) -> TraceFile:
    """Read an ITF trace file.

    Raises:
        TraceError: if the file cannot be read, or if its content is not an ITF trace. The message says where the error
            is.
    """
    try:
        content = json.loads(file_text(path))
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not a trace file: it is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" starting at")  # the end of Python's message, which precedes a position
        raise TraceError(f"{path} is not valid JSON: {what} at line {error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not a trace file: {error}") from error
    if _depth(content) > MOST_DEPTH:
        raise TraceError(f"{path} is not an ITF trace: a value is nested more than {MOST_DEPTH} levels deep")
    try:
        return decode_trace(content)
    except (TraceError, ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not an ITF trace: {error}") from error


def _depth(content: Json) -> int:
    """Return how deeply lists and dicts are nested in a JSON value."""
    depth, level = 0, [content]
    while level:
        depth += 1
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for items in inner for item in items]
    return depth


def decode_trace(content: Json) -> TraceFile:
    """Convert the content of an ITF trace file to a `TraceFile`.

    Parameters:
        content: the content, as `json.load` returns it.

    Raises:
        TraceError: if the content is not an ITF trace.
    """
    match content:
        case {"vars": list(names), "states": [_, *_] as states} if all(isinstance(name, str) for name in names):
            meta = content.get("#meta", {})
        case {"vars": _, "states": []}:
            raise TraceError("the trace has no states")
        case _:
            raise TraceError('"vars" or "states" is missing')
    if not isinstance(meta, dict):
        raise TraceError('"#meta" is not a JSON object')
    spec, bounds, about = meta.get("spec"), meta.get("bounds", {}), meta.get("property")
    if not isinstance(bounds, dict) or not isinstance(spec, str | None) or not isinstance(about, str | None):
        raise TraceError('"spec", "bounds" or "property" in "#meta" has the wrong type')
    loop = content.get("loop")
    if loop is not None and not (type(loop) is int and 0 <= loop < len(states)):
        raise TraceError(
            f'"loop" must be the index of a state, from 0 to {len(states) - 1}, not {json.dumps(loop)[:60]}'
        )
    return TraceFile(
        spec=spec,
        bounds=bounds,
        about=about,
        sentence=str(meta.get("sentence") or ""),
        states=tuple(_decode_state(index, state, names) for index, state in enumerate(states)),
        loop=loop,
    )


def _decode_state(index: int, state: Json, names: list[str]) -> RecordedState:
    if not isinstance(state, dict):
        raise TraceError(f"state {index} is not a JSON object")
    for name in names:
        if name not in state:
            raise TraceError(f"state {index} lacks the variable {name!r}")
    try:
        values = {name: canonical(state[name]) for name in names}
        match state.get("#meta", {}):
            case {"action": str(action), "parameters": dict(parameters)}:
                arguments = {name: canonical(value) for name, value in parameters.items()}
                return RecordedState(values, action, arguments)
    except TraceError as error:
        raise TraceError(f"state {index}: {error}") from error
    return RecordedState(values, None, {})
