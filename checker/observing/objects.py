"""The objects that values and code lead to: one walk over them, and where each module comes from.

Three readers share this walk. `reach` asks what code an action can run, `mutation.changes` which functions a spec
has, and `digest` whether a saved run is of the same spec. Nothing here runs the code of what it looks at.
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
    """Where code comes from."""

    SPEC = enum.auto()
    """The spec: its own files, and leadline's `model` and `invariants`, which are specs too."""
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
    """Where a module comes from.

    Parameters:
        module: its name. A module without a file, such as one made at run time, is the spec's, unless it is built into
            Python.
    """
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None or module == "__main__":
        return Origin.PYTHON if module in sys.builtin_module_names else Origin.SPEC
    return origin_of_file(Path(file).resolve())


def origin_of_file(path: Path) -> Origin:
    """Where a source file comes from.

    Parameters:
        path: the file, resolved.
    """
    if any(path.is_relative_to(folder) for folder in _MODELS):
        return Origin.SPEC
    if any(path.is_relative_to(folder) for folder in _OURS):
        return Origin.LEADLINE
    if not _INSTALLED.isdisjoint(path.parts):
        return Origin.INSTALLED
    return Origin.PYTHON if any(path.is_relative_to(folder) for folder in _PYTHON) else Origin.SPEC


class Reference(NamedTuple):
    """One object that another refers to.

    Attributes:
        name: how it is reached: ``.field``, ``[0]``, ``default 0``, ``cell limit``; "member" of a set, which has no
            order; "referent" if only the garbage collector knows it.
        value: the object.
    """

    name: str
    value: object


def referents(value: object) -> Iterator[Reference]:
    """What a value refers to directly, in a defined order: contents, then fields, then the rest.

    The order is that of the value itself: of a tuple, a dictionary, the bases of a class. Modules are left out: which
    of their members count is for the caller to say; see `Walk.owners`.

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
    # the match is by the real class of the value; the methods called are those of the built-in classes
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
    """What a value's `__slots__` and `__dict__` hold."""
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
"""Slots for what refers to an object, or is looked at by itself."""


def _of_class(cls: type) -> Iterator[Reference]:
    """The bases of a class, in their order, and its own members."""
    for place, base in enumerate(type.__getattribute__(cls, "__mro__")[1:]):
        yield Reference(f"base {place}", base)
    for name, inner in type.__getattribute__(cls, "__dict__").items():
        yield Reference(f".{name}", inner)


def _of_function(function: FunctionType) -> Iterator[Reference]:
    """What a function holds: its defaults, its closure, and its attributes, such as ``__wrapped__``."""
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
    """Visits all that some values lead to, each object once.

    What a class or a module holds is too much to follow. So only members count whose names the visited code uses;
    `members` says which these are.

    Parameters:
        visit: called with each object; follows what counts with `meet`, `own` and `use`.
        members: given an owner, what of it to follow, by the names that are in use now.

    Attributes:
        met: each object met, by identity, in the order of meeting. They are kept, so that nothing else gets the same
            identity.
        owners: the classes and modules whose members count, by identity.
        names: the names of attributes that the visited code uses.
        any_name: whether the code may use any name, as it makes some when it runs.
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
        """Note values to visit; those that were met already are not visited again."""
        for value in values:
            if id(value) not in self.met:
                self.met[id(value)] = value
                self._waiting.append(value)

    def own(self, owner: type | ModuleType) -> bool:
        """Note a class or a module whose members count; whether it is new."""
        is_new = id(owner) not in self.owners
        self.owners[id(owner)] = owner
        return is_new

    def use(self, names: Iterable[str]) -> list[str]:
        """Note names that code uses; those that are new, sorted."""
        new = sorted(set(names) - self.names)
        self.names.update(new)
        return new

    def uses(self, name: str) -> bool:
        """Whether the visited code may use an attribute of this name."""
        return self.any_name or name in self.names

    def run(self) -> None:
        """Visit all that was met and not visited, and what this leads to, until there is nothing new."""
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            in_use = len(self.names), self.any_name
            for owner in list(self.owners.values()):
                if self._looked_for.get(id(owner)) != in_use:
                    self._looked_for[id(owner)] = in_use
                    self.meet(*self._members(owner))
