"""Reach: all code that an action or a predicate can run, and how precisely its reads can be recorded.

What recording sees is known of Python's operators, of the functions listed here, and of nothing else. A function that
stays with those is recorded with full precision; one that reaches anything else is recorded less precisely, which is
slower and as exact; see `Precision`. The code that a function can reach is overestimated: whatever its names stand for,
and every method with one of the names, of every class that is met on the way.
"""

from __future__ import annotations

import builtins
import functools
import gc
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple

import attrs

import checker
from checker.compiled import constructs
from checker.compiled.recording import Precision
from checker.inert import is_a, stored


class Reach(NamedTuple):
    """What the code that a function can reach allows.

    Attributes:
        precision: how precisely its reads can be recorded.
        told_apart: the types of the values that ``is`` may compare a copied element with.
        because: what lowers the precision, for a person; empty if nothing does.
    """

    precision: Precision
    told_apart: frozenset[type]
    because: str


_BUILTINS = {
    Precision.COPIES: (
        "abs all any ascii bin bool bytes chr classmethod complex dict divmod enumerate filter float format frozenset"
        " hash hex int isinstance issubclass iter len list map max min next object oct ord pow print property range"
        " repr reversed round set slice sorted staticmethod str sum super tuple zip"
    ),
    Precision.FIELDS: "callable delattr dir getattr hasattr memoryview setattr type vars",
    Precision.STATES: "__import__ breakpoint compile eval exec globals id input locals open",
}
_LIBRARIES = {
    Precision.COPIES: (
        "__future__ abc attr._make.evolve checker cmath collections collections.abc dataclasses.replace decimal enum"
        " fractions functools.cached_property functools.cmp_to_key functools.partial functools.reduce itertools math"
        " numbers _operator operator typing"
    ),
    Precision.FIELDS: "_operator.attrgetter _operator.is_ _operator.is_not _operator.methodcaller",
    Precision.STATES: "ctypes gc importlib inspect os socket subprocess sys threading",
}
"""Modules, and members of modules, by the precision that they allow. All others allow that of fields."""

_NAMES_AT_RUN_TIME = "getattr setattr delattr attrgetter methodcaller"
"""What leads to attributes whose names may not be in the code."""

_ATTRIBUTES = {
    Precision.COPIES: (
        "__attrs_post_init__ __class__ __doc__ __init__ __members__ __module__ __name__ __qualname__ __wrapped__"
    ),
    Precision.STATES: "__get__ __getattribute__ __set__ __subclasses__ _getframe getrefcount setprofile settrace",
}
"""Attributes by the precision that they allow. Other special methods, called by name, allow that of fields."""

_WRITERS = ("abc", "attr", "attrs", "collections", "dataclasses", "enum", "functools", "reprlib", "typing")
"""Libraries that write methods of other classes, all of which look at their arguments in ways that are seen."""

_DATA = (int, str, bytes, float, complex, type(None), type(NotImplemented), type(Ellipsis), range, slice)


def _by_name(table: dict[Precision, str]) -> dict[str, Precision]:
    return {name: precision for precision, names in table.items() for name in names.split()}


_OF_BUILTIN, _OF_LIBRARY, _OF_ATTRIBUTE = map(_by_name, (_BUILTINS, _LIBRARIES, _ATTRIBUTES))


def reach(function: Any, given: Iterable[Any], copies: bool) -> Reach:
    """Follow a function to all code that it can reach.

    Parameters:
        function: an action's or a predicate's.
        given: what it is called with: a state, for the classes in it, and an action's arguments.
        copies: whether it is an action's, which may copy elements without looking at them.
    """
    search = _Search(function if copies else None)
    for value in (function, *given):
        search.meet(value)
    search.follow()
    if not copies:
        search.lower(Precision.ELEMENTS, "")
    return Reach(search.precision, frozenset(search.told_apart), search.because)


class _Search:
    """Follows all that code can get hold of, until there is nothing new.

    Parameters:
        action: the function whose first parameter is a state, if any.
    """

    def __init__(self, action: Any) -> None:
        self.precision, self.because = Precision.COPIES, ""
        self.told_apart: set[type] = set()
        self._action = action
        self._met: dict[int, Any] = {}
        self._waiting: list[Any] = []
        self._names: set[str] = set()
        self._owners: list[type | ModuleType] = []
        self._any_name = False

    def meet(self, *values: Any) -> None:
        """Note what the code can get hold of."""
        for value in values:
            if id(value) not in self._met:
                self._met[id(value)] = value  # kept, so that nothing else gets the same identity
                self._waiting.append(value)

    def lower(self, precision: Precision, because: str) -> None:
        """Allow no more than a precision."""
        if precision < self.precision:
            self.precision, self.because = precision, because

    def follow(self) -> None:
        """Follow all that was noted."""
        while self._waiting:
            while self._waiting:
                self._look_at(self._waiting.pop())
            for owner in self._owners:
                self.meet(*self._members(owner))

    def _members(self, owner: type | ModuleType) -> list[Any]:
        """What names that the code uses stand for in a class or a module; of a class, special methods too."""
        if is_a(owner, ModuleType):
            return [value for name, value in vars(owner).items() if self._any_name or name in self._names]
        return [
            value
            for name, value in vars(owner).items()
            if (self._any_name or name in self._names or (_is_special(name) and _is_code(value)))
            and not _is_written_by_library(value)
        ]

    def _look_at(self, value: Any) -> None:
        if is_a(value, FunctionType):
            self._look_at_function(value)
        elif is_a(value, type):
            self._look_at_class(value)
        elif is_a(value, ModuleType):
            if _is_library(value.__name__):
                self._lower_for_library(value.__name__, "")
            self._owners.append(value)
        elif is_a(value, BuiltinFunctionType):
            if is_a(value.__self__, ModuleType):
                self._lower_for_library(value.__module__ or value.__self__.__name__, value.__name__)
            else:
                self.meet(value.__self__)
        elif is_a(value, MethodType):
            self.meet(value.__func__, value.__self__)
        elif is_a(value, property):
            self.meet(value.fget, value.fset)
        elif is_a(value, staticmethod, classmethod):
            self.meet(value.__func__)
        elif is_a(value, functools.cached_property):
            self.meet(value.func)
        elif is_a(value, functools.partial):
            self.meet(value.func, *value.args, *value.keywords.values())
        else:
            self._look_at_object(value)

    def _look_at_function(self, function: FunctionType) -> None:
        code = function.__code__
        if code.co_filename.startswith("<attrs generated"):
            return
        self.meet(*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        for cell in function.__closure__ or ():
            with_contents = [cell.cell_contents] if cell != type(cell)() else []
            self.meet(*with_contents)
        if _is_library(function.__module__):
            self._lower_for_library(function.__module__, function.__name__)
            return
        read = constructs.read(code, function is self._action)
        self.lower(read.precision, read.because)
        for name, *attributes in read.global_names:
            if name in function.__globals__:
                self.meet(_member(function.__globals__[name], attributes))
            elif hasattr(builtins, name):
                self._lower_for_library("builtins", name)
        for name in read.attributes - self._names:
            allows = _OF_ATTRIBUTE.get(name, Precision.FIELDS if _is_special(name) else Precision.COPIES)
            self.lower(allows, f"{name} in {function.__qualname__}")
        self._names |= read.attributes
        for test in read.identity_tests:
            told_apart = test.told_apart(function.__globals__)
            if told_apart is None:
                self.lower(Precision.STATES, f"is in {function.__qualname__}")
            elif told_apart is not type and not test.rooted:
                self.told_apart.add(told_apart)

    def _look_at_class(self, cls: type) -> None:
        if _is_library(cls.__module__):
            if not (issubclass(cls, BaseException) or cls in _DATA):
                self._lower_for_library(cls.__module__, cls.__name__)
            return
        self._owners += [base for base in cls.__mro__ if not _is_library(base.__module__) and base not in self._owners]
        if not _is_library(type(cls).__module__):
            self.meet(type(cls))
        for field in attrs.fields(cls) if attrs.has(cls) else ():
            self.meet(field.validator, field.converter, field.eq_key, field.order_key)

    def _look_at_object(self, value: Any) -> None:
        cls = type(value)
        if is_a(value, dict):
            self.meet(*dict.keys(value), *dict.values(value))
        elif is_a(value, tuple, list, set, frozenset):
            self.meet(*value)
        elif is_a(value, MappingProxyType):
            self.meet(*gc.get_referents(value))
        if cls.__module__ == "builtins":
            return
        self.meet(cls)
        if (wrapped := stored(value, "__wrapped__")) is not None:  # a cache, for instance
            self.lower(Precision.FIELDS, f"{cls.__name__} {stored(value, '__name__', '')}".strip())
            self.meet(wrapped)
        elif attrs.has(cls):
            self.meet(*(stored(value, field.name) for field in attrs.fields(cls)))
        elif not cls.__module__.startswith("checker."):
            self.meet(*gc.get_referents(value))  # what it holds, in slots or in C too

    def _lower_for_library(self, module: str, name: str) -> None:
        """Allow no more than a library does, or a member of it."""
        full_name = f"{module}.{name}".rstrip(".")
        if module == "builtins":
            allows = _OF_BUILTIN.get(name, Precision.COPIES if name[:1].isupper() else Precision.FIELDS)
        else:
            parents = (full_name, module, module.partition(".")[0])
            allows = next((_OF_LIBRARY[known] for known in parents if known in _OF_LIBRARY), Precision.FIELDS)
        if name in _NAMES_AT_RUN_TIME.split():
            self._any_name = True
        self.lower(allows, full_name.removeprefix("builtins."))


def _member(value: Any, attributes: Iterable[str]) -> Any:
    """What attributes of a module lead to; of anything else, the thing itself."""
    for attribute in attributes:
        if not is_a(value, ModuleType) or attribute not in vars(value):
            break
        value = vars(value)[attribute]
    return value


def _is_code(value: Any) -> bool:
    return is_a(value, FunctionType, staticmethod, classmethod, property, functools.cached_property)


def _is_special(name: str) -> bool:
    return name[:2] == "__" == name[-2:]


def _is_written_by_library(value: Any) -> bool:
    """Whether a class's member is a method that a library wrote, or no code at all."""
    function = stored(value, "__func__", value)
    if not is_a(function, FunctionType):
        return False
    return (function.__module__ or "").partition(".")[0] in _WRITERS and _is_library(function.__module__)


_CHECKER = Path(checker.__file__).resolve().parent
_INSTALLED = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))


@functools.cache
def _is_library(module: str | None) -> bool:
    """Whether a module is Python's or an installed library's, the checker's among them; the models are not."""
    found = sys.modules.get(module or "")
    if found is None:
        return False
    file = getattr(found, "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    path = Path(file).resolve()
    models = (_CHECKER.with_name("model"), _CHECKER.with_name("invariants"))
    if any(path.is_relative_to(folder) for folder in models):
        return False
    return any(path.is_relative_to(folder) for folder in (_CHECKER, *_INSTALLED))
