"""Fingerprint: a digest of the code a spec is made of, to tell whether a saved run is of the same."""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

import checker
from checker.spec import Spec

_LIBRARIES = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
_HOUSE = Path(checker.__file__).resolve().parent.parent
_PLAIN = (bool, int, float, str, bytes, type(None))


def code_digest(spec: Spec[Any], *engine: str) -> str:
    """A digest of the source files that a spec comes from, and of the plain values in their modules.

    Parameters:
        spec: its functions and classes say where to begin; whatever their modules hold leads on. Modules
            of Python and of installed libraries do not count, but leadline's own do.
        engine: the names of modules to begin at too.

    Returns:
        Hexadecimal digits: the same in every process, other ones after any change of the code.
    """
    begin = [spec.initial_states, spec.bounds, spec.initials()[0], *spec.actions, *spec.properties]
    digest = hashlib.sha256()
    modules = {_source(module): module for module in _reached([*begin, *map(sys.modules.__getitem__, engine)])}
    for source in sorted(filter(None, modules)):
        digest.update(source.read_bytes())
        plain = {name: value for name, value in vars(modules[source]).items() if isinstance(value, _PLAIN)}
        digest.update(repr(sorted((name, repr(value)) for name, value in plain.items() if name[:2] != "__")).encode())
    return digest.hexdigest()


def _reached(values: Iterable[Any]) -> set[ModuleType]:
    """The modules that some values come from, and those that what they hold comes from."""
    modules: set[ModuleType] = set()
    seen: dict[int, Any] = {}  # the values are kept, so that no other gets the same identity
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _PLAIN):
            continue
        seen[id(value)] = value
        module = value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
        if module is not None and module not in modules and _source(module) is not None:
            modules.add(module)
            waiting += [held for held in vars(module).values() if not _inside(held, module)]
        waiting += _held(value)
    return modules


def _inside(value: Any, package: ModuleType) -> bool:
    """Whether a value is a module of a package, which the package holds as soon as anybody imports it."""
    return isinstance(value, ModuleType) and value.__name__.startswith(f"{package.__name__}.")


def _held(value: Any) -> list[Any]:
    """What a value holds that may come from another module than itself."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, tuple | list | set | frozenset):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if attrs.has(type(value)):
        return [getattr(value, field.name, None) for field in attrs.fields(type(value))]
    return [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]


def _source(module: ModuleType) -> Path | None:
    """A module's file; None of one that is Python's or an installed library's."""
    name = getattr(module, "__file__", None)
    if name is None:
        return None
    path = Path(name).resolve()
    own = path.is_relative_to(_HOUSE) and path.relative_to(_HOUSE).parts[0] in ("checker", "model", "invariants")
    return path if own or not any(path.is_relative_to(library) for library in _LIBRARIES) else None
