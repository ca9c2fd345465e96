"""Fingerprint: a digest of the code a spec is made of, to tell whether a saved run is of the same."""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import attrs

from leadline import checker
from leadline.checker.spec import Spec
from leadline.checker.support.inert import is_a, stored

_LIBRARIES = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
_HOUSE = Path(checker.__file__).resolve().parent.parent
_PLAIN = (bool, int, float, str, bytes, type(None))


def code_digest(spec: Spec[Any], *engine: str) -> str:
    """A digest of the source files that a spec comes from, and of the plain values that it reaches.

    Parameters:
        spec: its functions and classes say where to begin; whatever their modules hold leads on. Modules
            of Python and of installed libraries do not count, but leadline's own do.
        engine: the names of modules to begin at too.

    Returns:
        Hexadecimal digits: the same in every process, other ones after any change of the code.
    """
    modules, plain = _reached([*_begin(spec), *map(sys.modules.__getitem__, engine)])
    digest = hashlib.sha256()
    for source in sorted({_source(module) or Path() for module in modules}):
        digest.update(source.read_bytes())
    digest.update(repr(sorted(plain)).encode())
    return digest.hexdigest()


def own_modules(spec: Spec[Any]) -> dict[str, Path]:
    """The source file of each module that a spec comes from, but for leadline's own, by the module's name."""
    sources = {module.__name__: _source(module) for module in _reached([*_begin(spec), spec.distance])[0]}
    return {name: source for name, source in sources.items() if source is not None and not _is_ours(source)}


def _begin(spec: Spec[Any]) -> list[Any]:
    return [spec.initial_states, spec.bounds, spec.initials()[0], spec.within, *spec.actions, *spec.properties]


def _reached(values: Iterable[Any]) -> tuple[list[ModuleType], list[str]]:
    """The modules that some values come from and what they hold comes from; and the plain values met on the way."""
    modules: list[ModuleType] = []
    plain: list[str] = []
    seen: dict[int, Any] = {}  # the values are kept, so that no other gets the same identity
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if is_a(value, *_PLAIN):
            plain.append(repr(value))
        elif id(value) not in seen:
            seen[id(value)] = value
            waiting += _held(value)
            module = value if is_a(value, ModuleType) else _module_of(value)
            if module is not None and module not in modules and _source(module) is not None:
                modules.append(module)
                waiting += _names(module)
    return modules, plain


def _module_of(value: Any) -> ModuleType | None:
    """The module that a function or a class comes from; of another object, the one that its class comes from."""
    name = stored(value, "__module__")
    return sys.modules.get(name) if type(name) is str else None


def _names(module: ModuleType) -> list[Any]:
    """What a module's names stand for, but for those that Python gives it.

    A package of ours holds each of its modules as soon as anybody imports it, needed or not.
    """
    own = _is_ours(Path(module.__file__ or "").resolve())
    return [
        value
        for name, value in vars(module).items()
        if name[:2] != "__" and not (own and is_a(value, ModuleType) and value.__name__.startswith(module.__name__))
    ]


def _held(value: Any) -> list[Any]:
    """What a value holds."""
    if is_a(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    for kind in (tuple, list, set, frozenset):
        if is_a(value, kind):
            return list(kind.__iter__(value))
    if is_a(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if is_a(value, MethodType):
        return [value.__func__, value.__self__]
    if attrs.has(type(value)):
        return [stored(value, field.name) for field in attrs.fields(type(value))]
    if is_a(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]  # not the empty ones
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return []


def _source(module: ModuleType) -> Path | None:
    """A module's file; None of one that is Python's or an installed library's."""
    name = getattr(module, "__file__", None)
    if name is None:
        return None
    path = Path(name).resolve()
    return path if _is_ours(path) or not any(path.is_relative_to(library) for library in _LIBRARIES) else None


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(_HOUSE) and path.relative_to(_HOUSE).parts[0] in ("checker", "model", "invariants")
