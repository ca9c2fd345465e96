"""Sends a spec and its transition tables to workers.

This module does not send the leadline package, which is installed on the workers or sent by `Session`. The other
modules of a spec, such as the user's file and the modules that it imports, are sent as source text. The workers import
them under the same names, so that pickled values have the same classes in all processes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import attrs
from pyspark import cloudpickle

from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.digest import own_modules
from leadline.checker.spec import Spec

S = TypeVar("S")

_dumps: Callable[[object], bytes] = cloudpickle.dumps
_loads: Callable[[bytes], TransitionTables[Any]] = cloudpickle.loads


@attrs.frozen
class Crate:
    """The data that is sent to a worker.

    Attributes:
        sources: the modules to send: a dict that maps the name of each module to its source text and its path.
        content: the pickled transition tables, which contain the spec.
    """

    sources: dict[str, tuple[str, str]]
    content: bytes


def cloudpickled(value: object) -> bytes:
    """Pickle a value. It may include classes and functions that are defined inside a function.

    Raises:
        LeadlineError: if the value cannot be pickled.
    """
    try:
        return _dumps(value)
    except Exception as error:
        raise LeadlineError(f"the spark engine needs specs that can be pickled: {error}") from error


def packed(spec: Spec[S], tables: TransitionTables[S]) -> Crate:
    """Pickle a spec and its tables for workers. Raise LeadlineError if they cannot be pickled."""
    sources = {name: (path.read_text(encoding="utf-8"), str(path)) for name, path in own_modules(spec).items()}
    return Crate(sources, cloudpickled(tables))


def unpacked(crate: Crate) -> TransitionTables[Any]:
    """Make the modules of a spec importable, and return the tables, which contain the spec."""
    sys.meta_path.insert(0, _Shipped(crate.sources))
    return _loads(crate.content)


class _Shipped(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from source text that was sent to a worker."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package = any(name.startswith(f"{fullname}.") for name in self._sources)
        if fullname not in self._sources and not package:
            return None
        origin = self._sources.get(fullname, ("", ""))[1]
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=origin, is_package=package)
        if package and origin:
            spec.submodule_search_locations = [str(Path(origin).parent)]  # for modules that were not sent
        return spec

    def exec_module(self, module: ModuleType) -> None:
        text, path = self._sources.get(module.__name__, ("", ""))
        module.__file__ = path
        exec(compile(text, path, "exec"), vars(module))
