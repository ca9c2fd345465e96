"""Finds the objects to which a value or code refers, and the origin of each module.

`reach` uses this module to find the code that an action can run, `mutation.changes` uses it to find the functions of a
spec, and `digest` uses it to find the code and the data of a spec. The functions of this module do not run any code of
the objects.
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
    """The origin of code: Python, leadline, a library, or the spec."""

    SPEC = enum.auto()
    """The spec. Leadline's packages `model` and `invariants` count as parts of specs."""
    LEADLINE = enum.auto()
    """Leadline's other packages."""
    PYTHON = enum.auto()
    """The standard library of Python."""
    INSTALLED = enum.auto()
    """An installed library."""


_CHECKER = Path(__file__).resolve().parents[1]
_OURS = (_CHECKER, _CHECKER.with_name("reports"))
_MODELS = (_CHECKER.with_name("model"), _CHECKER.with_name("invariants"))
_INSTALLED = frozenset(("site-packages", "dist-packages", Path(sysconfig.get_path("purelib")).name))
_PYTHON = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib"))


@functools.cache
def origin(module: str | None) -> Origin:
    """Return the origin of a module.

    Parameters:
        module: the name of the module. A module without a file, such as one created at run time, belongs to the spec
            unless it is built into Python.
    """
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None or module == "__main__":
        return Origin.PYTHON if module in sys.builtin_module_names else Origin.SPEC
    return origin_of_file(Path(file).resolve())


def origin_of_file(path: Path) -> Origin:
    """Return the origin of a source file."""
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
        name: the kind of the reference, for example ``.field``, ``[0]``, ``default 0`` or ``cell limit``. For a member
            of a set, it is ``member``, because a set has no order. It is ``referent`` if only the garbage collector
            reports the reference.
    """

    name: str
    value: object


def referents(value: object) -> Iterator[Reference]:
    """Yield the references from a value: first its contents, then its fields, then all other references.

    The contents are yielded in the value's own order. For a module, nothing is yielded, because the caller decides
    which members to visit; see `Walk.owners`.
    """
    if is_a(value, ModuleType):
        return
    known = {id(None)}
    for found in _by_structure(value):
        known.add(id(found.value))
        yield found
    if is_a(value, FunctionType, type):
        return  # the garbage collector would also report all globals of a function and all subclasses of a class
    known.add(id(stored(value, "__dict__")))
    for inner in gc.get_referents(value):
        if id(inner) not in known and not is_a(inner, ModuleType):
            known.add(id(inner))
            yield Reference("referent", inner)


def _by_structure(value: object) -> Iterator[Reference]:
    # Use the real class of the value and call only methods of built-in classes, so that no code of the spec runs.
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
    """Yield the references from the `__slots__` and the `__dict__` of a value."""
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
"""The `__slots__` that are not fields. The `__dict__` is searched separately."""


def _of_class(cls: type) -> Iterator[Reference]:
    """Yield the references from a class: first its bases, then its own members."""
    for place, base in enumerate(type.__getattribute__(cls, "__mro__")[1:]):
        yield Reference(f"base {place}", base)
    for name, inner in type.__getattribute__(cls, "__dict__").items():
        yield Reference(f".{name}", inner)


def _of_function(function: FunctionType) -> Iterator[Reference]:
    """Yield the references from a function: its default values, its closure and its attributes."""
    for place, default in enumerate(function.__defaults__ or ()):
        yield Reference(f"default {place}", default)
    for name, default in (function.__kwdefaults__ or {}).items():
        yield Reference(f"default {name}", default)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if cell != type(cell)():  # the cell is not empty: its variable has a value
            yield Reference(f"cell {name}", cell.cell_contents)
    for name, inner in vars(function).items():
        yield Reference(f".{name}", inner)


class Walk:
    """Visits the added values and all objects to which they refer, directly or indirectly. Each object is visited once.

    Classes and modules have too many members to visit all of them. Therefore only members whose names occur in the
    visited code are visited. The function `members` selects them.

    Parameters:
        visit: a function that is called with each object. It adds what the object refers to, by calling `meet`, `own`
            and `use`.
        members: a function that is called with a class or a module and returns the members to visit.

    Attributes:
        met: the objects found, keyed by their `id`, in the order in which they were found. This dict keeps the objects
            alive, so that their ids are not reused.
        owners: the classes and modules whose members are searched, keyed by their `id`.
        names: the names of attributes that occur in the visited code.
        any_name: whether the visited code computes names at run time, so that it can use any name.
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
        self._unasked: set[str] = set()
        self._looked_in: dict[int, bool] = {}

    def copied(self, visit: Callable[[object], None], members: Callable[[type | ModuleType], Iterable[object]]) -> Walk:
        """Return a walk that has visited the same, and goes on with other functions."""
        walk = Walk(visit, members)
        walk.met, walk.owners, walk.names = self.met.copy(), self.owners.copy(), self.names.copy()
        walk.any_name, walk._looked_in = self.any_name, self._looked_in.copy()
        return walk

    def meet(self, *values: object) -> None:
        """Add values to visit. A value that was added before is not visited again."""
        for value in values:
            if id(value) not in self.met:
                self.met[id(value)] = value
                self._waiting.append(value)

    def own(self, owner: type | ModuleType) -> bool:
        """Add a class or a module, so that its members are searched, and return whether it is new."""
        is_new = id(owner) not in self.owners
        self.owners[id(owner)] = owner
        return is_new

    def use(self, names: Iterable[str]) -> list[str]:
        """Add names that occur in the code. Return the new names, sorted."""
        new = sorted(set(names) - self.names)
        self.names.update(new)
        self._unasked.update(new)
        return new

    def uses(self, name: str) -> bool:
        """Return whether the visited code can use an attribute with this name."""
        return self.any_name or name in self.names

    def run(self) -> None:
        """Visit all values that were added and all objects to which they refer."""
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            names, self._unasked = self._unasked, set()
            for owner in list(self.owners.values()):
                is_known = self._looked_in.get(id(owner)) == self.any_name
                if not is_known or not vars(owner).keys().isdisjoint(names):
                    self._looked_in[id(owner)] = self.any_name
                    self.meet(*self._members(owner))
