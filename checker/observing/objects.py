"""The objects that values and code refer to: a walk over these objects, and the origin of each module.

Three modules use this walk: `reach` to find the code that an action can run, `mutation.changes` to find the functions
of a spec, and `digest` to check whether a saved run belongs to the same spec. Nothing here runs the code of an object.
"""

from __future__ import annotations

import enum
import functools
import gc
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from leadline.checker.support.inspection import is_a, stored


class Origin(enum.Enum):
    """The origin of code."""

    SPEC = enum.auto()
    """The spec: its own files, and leadline's `model` and `invariants`, which also belong to specs."""
    LEADLINE = enum.auto()
    """The rest of leadline."""
    PYTHON = enum.auto()
    """Python's standard library."""
    INSTALLED = enum.auto()
    """Another installed library."""


_CHECKER = Path(__file__).resolve().parents[1]
_OURS = (_CHECKER, _CHECKER.with_name("reports"))
_MODELS = (_CHECKER.with_name("model"), _CHECKER.with_name("invariants"))
_INSTALLED = frozenset(("site-packages", "dist-packages", Path(sysconfig.get_path("purelib")).name))
_PYTHON = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib"))


@functools.cache
def origin(module: str | None) -> Origin:
    """The origin of a module.

    Parameters:
        module: the name of the module. A module without a file, such as one created at run time, belongs to the spec,
            unless it is built into Python.
    """
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None or module == "__main__":
        return Origin.PYTHON if module in sys.builtin_module_names else Origin.SPEC
    return origin_of_file(Path(file).resolve())


def origin_of_file(path: Path) -> Origin:
    """The origin of a source file.

    Parameters:
        path: the resolved path of the file.
    """
    if any(path.is_relative_to(folder) for folder in _MODELS):
        return Origin.SPEC
    if any(path.is_relative_to(folder) for folder in _OURS):
        return Origin.LEADLINE
    if not _INSTALLED.isdisjoint(path.parts):
        return Origin.INSTALLED
    return Origin.PYTHON if any(path.is_relative_to(folder) for folder in _PYTHON) else Origin.SPEC


class Reference(NamedTuple):
    """A reference from one object to another.

    Attributes:
        name: how the object is reached: ``.field``, ``[0]``, ``default 0``, ``cell limit``; ``member`` for a member of
            a set, which has no order; ``referent`` if only the garbage collector reports the reference.
        value: the object that is referred to.
    """

    name: str
    value: object


def referents(value: object) -> Iterator[Reference]:
    """The direct references of a value in a defined order: contents, then fields, then all others.

    Contents are in the order of the value itself, for example of a tuple, a dictionary, or the bases of a class. The
    members of modules are left out, because the caller decides which of them count; see `Walk.owners`.

    Parameters:
        value: any object.
    """
    if is_a(value, ModuleType):
        return
    known = {id(None)}
    for found in _by_structure(value):
        known.add(id(found.value))
        yield found
    if is_a(value, FunctionType, type):
        return  # the collector would add a function's globals, and the classes derived from a class
    known.add(id(stored(value, "__dict__")))
    for inner in gc.get_referents(value):
        if id(inner) not in known and not is_a(inner, ModuleType):
            known.add(id(inner))
            yield Reference("referent", inner)


def _by_structure(value: object) -> Iterator[Reference]:
    # the real class of the value decides, and only methods of built-in classes are called
    if is_a(value, FunctionType):
        yield from _of_function(cast(FunctionType, value))
        return
    if is_a(value, type):
        yield from _of_class(cast(type, value))
        return
    if is_a(value, MethodType):
        yield Reference(".__func__", stored(value, "__func__"))
        yield Reference(".__self__", stored(value, "__self__"))
    elif is_a(value, dict):
        for place, (key, inner) in enumerate(dict.items(cast(dict[object, object], value))):
            yield Reference(f"key {place}", key)
            yield Reference(f"value {place}", inner)
    for kind in (tuple, list, set, frozenset):
        if is_a(value, kind):
            has_order = kind in (tuple, list)
            for place, inner in enumerate(kind.__iter__(cast(Any, value))):
                yield Reference(f"[{place}]" if has_order else "member", inner)
    yield from _fields(value)


def _fields(value: object) -> Iterator[Reference]:
    """References from the `__slots__` and the `__dict__` of a value."""
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in _NOT_FIELDS and (inner := stored(value, name, _MISSING)) is not _MISSING:
                yield Reference(f".{name}", inner)
    own = stored(value, "__dict__")
    if type(own) is dict:
        yield from (Reference(f".{name}", inner) for name, inner in own.items())


_MISSING = object()

_NOT_FIELDS = ("__dict__", "__weakref__")
"""Slots that are not fields: the attribute dictionary, which is searched separately, and the weak references."""


def _of_class(cls: type) -> Iterator[Reference]:
    """References from a class: its bases in order, then its own members."""
    for place, base in enumerate(type.__getattribute__(cls, "__mro__")[1:]):
        yield Reference(f"base {place}", base)
    for name, inner in type.__getattribute__(cls, "__dict__").items():
        yield Reference(f".{name}", inner)


def _of_function(function: FunctionType) -> Iterator[Reference]:
    """References from a function: its defaults, its closure, and its attributes, such as ``__wrapped__``."""
    for place, default in enumerate(function.__defaults__ or ()):
        yield Reference(f"default {place}", default)
    for name, default in (function.__kwdefaults__ or {}).items():
        yield Reference(f"default {name}", default)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if cell != type(cell)():  # an empty cell: its variable has no value yet
            yield Reference(f"cell {name}", cell.cell_contents)
    for name, inner in vars(function).items():
        yield Reference(f".{name}", inner)


class Walk:
    """Visits all objects that some values refer to, directly or indirectly, each object once.

    Classes and modules have too many members to visit them all. Only members whose names the visited code uses are
    visited; `members` selects them.

    Parameters:
        visit: called with each object. It calls `meet`, `own` and `use` for everything that the object refers to.
        members: called with a class or module; returns the members to visit, based on the names found so far.

    Attributes:
        met: each object found, by identity, in the order of discovery. The objects are kept alive, so that no other
            object gets the same identity.
        owners: the classes and modules whose members are searched, by identity.
        names: the names of attributes that the visited code uses.
        any_name: whether the code may use any name, because it creates names at run time.
    """

    def __init__(
        self, visit: Callable[[object], None], members: Callable[[type | ModuleType], Iterable[object]]
    ) -> None:
        self._visit, self._members = visit, members
        self.met: dict[int, object] = {}
        self.owners: dict[int, type | ModuleType] = {}
        self.names: set[str] = set()
        self.any_name = False
        self._waiting: list[object] = []
        self._looked_for: dict[int, tuple[int, bool]] = {}

    def meet(self, *values: object) -> None:
        """Add values to visit. Values that were added before are not visited again."""
        for value in values:
            if id(value) not in self.met:
                self.met[id(value)] = value
                self._waiting.append(value)

    def own(self, owner: type | ModuleType) -> bool:
        """Add a class or a module whose members are searched. Return whether it is new."""
        is_new = id(owner) not in self.owners
        self.owners[id(owner)] = owner
        return is_new

    def use(self, names: Iterable[str]) -> list[str]:
        """Add names that the code uses. Return the new ones, sorted."""
        new = sorted(set(names) - self.names)
        self.names.update(new)
        return new

    def uses(self, name: str) -> bool:
        """Whether the visited code may use an attribute with this name."""
        return self.any_name or name in self.names

    def run(self) -> None:
        """Visit all values that were added, and everything that they refer to, until nothing new is found."""
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            in_use = len(self.names), self.any_name
            for owner in list(self.owners.values()):
                if self._looked_for.get(id(owner)) != in_use:
                    self._looked_for[id(owner)] = in_use
                    self.meet(*self._members(owner))
