"""Shipping: a spec, and what was learned of it, brought to a worker.

Workers have leadline itself, from their own installation or from Spark. Whatever else a spec is made of, a
file of the user's with the modules beside it, is sent along as source text, and imported there under the
same names, so that values pickled anywhere are of the same classes everywhere.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
from pyspark import cloudpickle

from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.digest import own_modules
from leadline.checker.spec import Spec


@attrs.frozen
class Crate:
    """What a worker is sent.

    Attributes:
        sources: the text and the path of each module that is not leadline's, by name.
        content: pickled: the tables, which hold their spec.
    """

    sources: dict[str, tuple[str, str]]
    content: bytes


def cloudpickled(value: Any) -> bytes:
    """A value in bytes, also where its class or function is defined within a function.

    Raises:
        LeadlineError: it holds something that cannot be pickled.
    """
    try:
        data: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise LeadlineError(f"the spark engine needs specs that can be pickled: {error}") from error
    return data


def packed(spec: Spec[Any], tables: TransitionTables[Any]) -> Crate:
    """Pack a spec and its tables. Raises LeadlineError: they hold something that cannot be pickled."""
    sources = {name: (path.read_text(encoding="utf-8"), str(path)) for name, path in own_modules(spec).items()}
    return Crate(sources, cloudpickled(tables))


def unpacked(crate: Crate) -> TransitionTables[Any]:
    """The tables, and in them the spec."""
    sys.meta_path.insert(0, _Shipped(crate.sources))
    tables: TransitionTables[Any] = cloudpickle.loads(crate.content)
    return tables


class _Shipped(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from text, unless they are imported already."""

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
            spec.submodule_search_locations = [str(Path(origin).parent)]  # for what was not sent, on this machine
        return spec

    def exec_module(self, module: ModuleType) -> None:
        text, path = self._sources.get(module.__name__, ("", ""))
        module.__file__ = path
        exec(compile(text, path, "exec"), vars(module))
