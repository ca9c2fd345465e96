"""Fingerprint: a digest of the code a spec is made of, to tell whether a saved run is of the same."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import checker
from checker.spec import Spec

_LIBRARIES = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
_HOUSE = Path(checker.__file__).resolve().parent.parent
_PLAIN = (bool, int, float, str, bytes, tuple, frozenset, type(None))


def code_digest(spec: Spec[Any], *engine: str) -> str:
    """A digest of the source files that a spec comes from, and of the plain values in their modules.

    Parameters:
        spec: its functions and classes say where to begin; whatever their modules hold leads on. Modules
            of Python and of installed libraries do not count, but leadline's own do.
        engine: the names of modules to begin at too.

    Returns:
        Hexadecimal digits: the same in every process, other ones after any change of the code.
    """
    digest = hashlib.sha256()
    for module in sorted(
        _reached([*_beginnings(spec), *map(sys.modules.__getitem__, engine)]), key=lambda module: str(_source(module))
    ):
        source = _source(module)
        assert source is not None
        digest.update(source.read_bytes())
        plain = {name: value for name, value in vars(module).items() if type(value) in _PLAIN and name[:2] != "__"}
        digest.update(repr([(name, _stable(value)) for name, value in sorted(plain.items())]).encode())
    return digest.hexdigest()


def _beginnings(spec: Spec[Any]) -> list[Any]:
    functions = [spec.initial_states, *(item.function for item in spec.properties)]
    functions += [action.function for action in spec.actions]
    return [*functions, *map(type, spec.initials()), type(spec.bounds)]


def _reached(values: Iterable[Any]) -> set[ModuleType]:
    reached: set[ModuleType] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        module = value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
        if module is not None and module not in reached and _source(module) is not None:
            reached.add(module)
            waiting += vars(module).values()
    return reached


def _source(module: ModuleType) -> Path | None:
    """A module's file; None of one that is Python's or an installed library's."""
    name = getattr(module, "__file__", None)
    if name is None:
        return None
    path = Path(name).resolve()
    own = path.is_relative_to(_HOUSE) and path.relative_to(_HOUSE).parts[0] in ("checker", "model", "invariants")
    return path if own or not any(path.is_relative_to(library) for library in _LIBRARIES) else None


def _stable(value: Any) -> Any:
    return sorted(map(repr, value)) if isinstance(value, frozenset) else value
