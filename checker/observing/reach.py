"""Finds the code that an action or a predicate can run, and determines how precisely its reads can be recorded.

All reads by the supported operators (see `opcodes`) and by the functions listed in this module can be recorded. A
function that uses only these operators and functions is recorded with full precision. Any other function is recorded
less precisely, which makes the search slower but not incorrect; see `Precision`. This module may find more code than a
function actually runs. It finds all objects to which the names in the code can refer, and every method with one of
these names in every class that it finds.
"""

from __future__ import annotations

import builtins
import collections
import dis
import enum
import functools
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.observing import opcodes
from leadline.checker.observing.constructs import CHANGEABLE, Construct
from leadline.checker.observing.objects import Origin, Walk, origin, referents
from leadline.checker.observing.recording import Precision
from leadline.checker.support.inspection import is_a, is_frozen, stored
from leadline.checker.values import is_of_library

_BUILTINS = {
    Precision.COPIES: (
        "abs all any ascii bin bool bytes chr classmethod complex dict divmod enumerate filter float format frozenset"
        " hash hex int isinstance issubclass iter len list map max min next object oct ord pow print property range"
        " repr reversed round set slice sorted staticmethod str sum super tuple zip NotImplemented Ellipsis __debug__"
        " __name__"
    ),
    Precision.FIELDS: "bytearray callable delattr dir getattr hasattr memoryview setattr type vars",
}
"""The built-in functions by the precision that they allow. Exceptions allow `COPIES`. All others allow only
`STATES`.
"""

_LIBRARIES = {
    Precision.COPIES: (
        "__future__ _abc abc attr._make._CacheHashWrapper attr._make.evolve cmath collections.Counter"
        " collections.OrderedDict collections.UserDict collections.UserList collections.abc collections.defaultdict"
        " collections.deque collections.namedtuple _collections._tuplegetter _collections_abc dataclasses.replace"
        " _decimal datetime.date datetime.datetime datetime.time datetime.timedelta datetime.timezone decimal enum"
        " fractions functools.cached_property functools.partial _functools.cmp_to_key"
        " functools.cmp_to_key functools.total_ordering functools.wraps _functools.partial _functools.reduce"
        " itertools.chain itertools.combinations itertools.combinations_with_replacement itertools.compress"
        " itertools.count itertools.cycle itertools.dropwhile itertools.filterfalse itertools.groupby"
        " itertools.islice itertools.pairwise itertools.permutations itertools.product itertools.repeat"
        " itertools.starmap itertools.takewhile itertools.tee itertools._tee itertools.zip_longest math numbers"
        " _operator.abs _operator.add _operator.and_ _operator.concat _operator.contains _operator.countOf"
        " _operator.eq _operator.floordiv _operator.ge _operator.getitem _operator.gt _operator.index"
        " _operator.indexOf _operator.inv _operator.invert _operator.itemgetter _operator.le _operator.lshift"
        " _operator.lt _operator.matmul _operator.mul _operator.ne _operator.neg _operator.not_ _operator.or_"
        " _operator.pos _operator.pow _operator.rshift _operator.sub _operator.truediv _operator.truth _operator.xor"
        " operator.itemgetter typing leadline.checker.action.Action leadline.checker.action.ActionInstance"
        " leadline.checker.bag leadline.checker.choices leadline.checker.map"
        " leadline.checker.bounds.check leadline.checker.bounds.fits leadline.checker.bounds.validate"
        " leadline.checker.enabled leadline.checker.refinement"
        " leadline.checker.engines.learning.warm_up leadline.checker.observing.lazy"
        " leadline.checker.properties.Property leadline.checker.update.field_of leadline.checker.update.put"
    ),
    Precision.ELEMENTS: "collections.ChainMap itertools.accumulate",  # these test whether an argument is None
    Precision.FIELDS: (
        # these read fields in the usual way, but may not accept views of tuples and sets
        "attr attrs cattr cattrs frozendict immutables networkx numpy pyrsistent sortedcontainers"
        " collections.abc.Generator _collections_abc.Generator"  # the iterators of views are instances of this class
        " _bisect _blake2 _collections _copyreg _csv _datetime _functools _hashlib _heapq _json _md5 _operator _pickle"
        " _queue _random _sha1 _sha2 _sha256 _sha3 _sha512 _statistics _string _struct _typing _weakref _weakrefset"
        " _zoneinfo array base64 binascii bisect builtins calendar collections contextlib copy copyreg csv dataclasses"
        " datetime difflib functools graphlib hashlib heapq html itertools json keyword logging operator pickle pprint"
        " queue random re reprlib secrets statistics string struct textwrap time types unicodedata uuid warnings"
        " weakref zlib zoneinfo"
    ),
    Precision.STATES: "_operator.is_ _operator.is_not",
}
"""Modules, and members of modules, by the precision that they allow. All others allow only `STATES`, because they may
be written in C and read the memory of a value, or inspect the running functions.
"""

_NAMES_AT_RUN_TIME = "getattr setattr delattr attrgetter methodcaller format format_map vformat"
"""Functions and methods that access attributes by names that they compute at run time."""

_ATTRIBUTES = {
    Precision.COPIES: (
        "__attrs_post_init__ __class__ __doc__ __members__ __module__ __name__ __qualname__ __wrapped__"
    ),
    Precision.FIELDS: "format format_map vformat",
    Precision.STATES: (
        "__delattr__ __delete__ __get__ __getattribute__ __init__ __set__ __setattr__ __setstate__ __subclasses__"
        " _getframe getrefcount setprofile settrace"
        # attributes through which the variables of a running function can be read
        " ag_frame cell_contents cr_frame f_back f_builtins f_globals f_locals gi_frame gi_yieldfrom tb_frame"
    ),
}
"""Attributes by the precision that they allow. Any other special name, such as `__dict__`, allows only `FIELDS`."""

_WRITERS = ("abc", "attr", "attrs", "collections", "dataclasses", "enum", "functools", "reprlib", "typing")
"""The libraries that generate methods of other classes. All reads by the generated methods can be recorded."""

_DATA = (int, str, bytes, float, complex, type(None), type(NotImplemented), type(Ellipsis), range, slice)

_DESCRIPTORS: tuple[type, ...] = (
    *(ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType),
    *(MethodWrapperType, WrapperDescriptorType),
)


_HELD: dict[type, str] = {Bag: "_counts", Map: "_items"}
"""The attributes of collections that hold a dict, which only code that names these attributes can reach."""

_GENERIC = (list, tuple, dict, set, frozenset)
"""The classes of which calling an alias such as ``set[int]`` only creates an instance."""


_IMMUTABLE: tuple[type, ...] = (
    *(int, bool, str, bytes, float, complex, type(None), type(Ellipsis), type(NotImplemented)),
    *(tuple, frozenset, range, slice, type, enum.Enum, Bag, Map, re.Pattern, CodeType, GenericAlias, UnionType),
    *(FunctionType, MethodType, BuiltinFunctionType, ModuleType, property, staticmethod, classmethod),
    *(functools.partial, functools.cached_property, type(vars(collections.namedtuple("_Named", ["item"]))["item"])),
    *(GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType),
)
_STATELESS = ("typing.", "attr.", "leadline.checker.")
"""The packages whose objects do not carry information from one call to another."""


def _by_name(table: dict[Precision, str]) -> dict[str, Precision]:
    return {name: precision for precision, names in table.items() for name in names.split()}


_OF_BUILTIN, _OF_LIBRARY, _OF_ATTRIBUTE = map(_by_name, (_BUILTINS, _LIBRARIES, _ATTRIBUTES))


class Reach:
    """Finds all code that a function can run, and determines how precisely calls to the function can be recorded.

    A new object has only looked at what the functions can receive; `of` adds a function. What is found does not depend
    on the order in which it is found, so this gives the same as a search for each function that begins with nothing.

    Parameters:
        given: the objects that the functions can receive. The first object is a state. The other objects are values in
            other states.
        packages: the packages that count as parts of the spec, even if they are installed; see `_packages`.

    Attributes:
        because: the construct that lowers the precision, or None if nothing lowers it.
    """

    def __init__(self, given: Sequence[object], packages: frozenset[str]) -> None:
        self.precision = max(Precision)
        self.because: Construct | None = None
        self._packages = packages
        self._roots: list[object] = []
        self._walk = Walk(self._look_at, self._members)
        self._named_in: dict[int, tuple[CodeType, str]] = {}
        self._stored: set[str] = set()
        self._global_names: set[str] = set()
        self._in_place = self._or_is_passed = False
        self._held: list[tuple[str, object]] = []
        self._lasting: str | None = None
        self.extend(given)

    def of(self, function: object, values: Iterable[object], copies: bool) -> Reach:
        """Return what a function reaches, which can receive further values.

        Parameters:
            function: the function of an action or a predicate.
            values: the arguments of an action.
            copies: whether the function belongs to an action, which may copy elements of tuples without reading them.
        """
        found = Reach.__new__(Reach)
        vars(found).update({name: _copied(value) for name, value in vars(self).items()})
        found._walk = self._walk.copied(found._look_at, found._members)
        if not copies and found.precision >= Precision.ELEMENTS:
            found.precision, found.because = Precision.ELEMENTS, None
        found.extend([function, *values])
        return found

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to pickle. The objects found are left out, because they are keyed by their `id`."""
        return {name: value for name, value in vars(self).items() if name not in ("_walk", "_named_in", "_held")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._walk = Walk(self._look_at, self._members)
        self._named_in, self._held = {}, []

    @property
    def lasting(self) -> str:
        """A description of an object that the code could change and that outlives a call, or an empty string if there
        is none.
        """
        if self._lasting is None:
            self._lasting = self._changeable()
        return self._lasting

    def _changeable(self) -> str:
        if self._stored:
            return f"the attribute {min(self._stored)}, which is assigned"
        if not self._walk.met:  # unpickled
            self.extend([])
        held = (inner for name, inner in self._held if self._walk.uses(name))
        for value in (*self._walk.met.values(), *held):
            if is_a(value, FunctionType):
                code: CodeType = value.__code__  # type: ignore[attr-defined]
                if changed := _assigned_free(code, frozenset(code.co_freevars)):
                    return f"the variable {changed}, which {code.co_name} assigns"
            elif not _is_immutable(type(value)):
                return f"an object of type {type(value).__name__}, {CHANGEABLE}"
        return ""

    def extend(self, values: Sequence[object]) -> None:
        """Search the code of additional objects that the function can receive."""
        self._lasting = None
        self._walk.meet(*([] if self._walk.met else self._roots), *values)
        self._roots += values
        self._walk.run()
        if self._in_place and self._or_is_passed:  # a dictionary's ``|=`` can call it: see `SetView._after`
            self._lower(Precision.FIELDS, "operator.or_ beside |=")
        modules = [owner for owner in self._walk.owners.values() if is_a(owner, ModuleType)]
        for name in sorted(self._stored):
            if name in self._global_names or any(name in vars(module) for module in modules):
                self._lower(Precision.FIELDS, f"{name}, a global name that may be assigned as an attribute")

    def _lower(self, precision: Precision, text: str, code: CodeType | None = None, wanted: str = "") -> None:
        """Lower the precision to the given maximum, unless it is already lower.

        Parameters:
            precision: the highest precision that is allowed.
            text: a description of the code that makes this necessary.
            code: the code object that contains this code, or None if it is unknown.
            wanted: the name or the argument of the instruction that determines the line of this code. An empty string
                if the instruction is unknown.
        """
        if precision < self.precision:
            because = Construct(text) if code is None else Construct.of(text, code, _line_of(wanted, code))
            self.precision, self.because = precision, because

    def _members(self, owner: type | ModuleType) -> list[object]:
        """Return those members of a class or a module whose names occur in the code, and the special methods."""
        found = [
            value
            for name, value in vars(owner).items()
            if (self._walk.uses(name) or (_is_special(name) and _is_code(value)))
            and not (is_a(owner, type) and _is_written_by_library(value))
        ]
        self._walk.meet(*found)
        return found

    def _use(self, names: Iterable[str], text: str, code: CodeType | None = None) -> None:
        """Add attribute names that occur in the code. Lower the precision if one of the attributes requires it."""
        for name in self._walk.use(names):
            allows = _OF_ATTRIBUTE.get(name, Precision.FIELDS if _is_special(name) else Precision.COPIES)
            self._lower(allows, text, code, name)
            self._walk.any_name |= name in _NAMES_AT_RUN_TIME.split()

    def _is_library(self, module: str | None) -> bool:
        return origin(module) is not Origin.SPEC and _package_of(module or "") not in self._packages

    def _look_at(self, value: Any) -> None:
        if is_a(value, FunctionType):
            self._look_at_function(value)
        elif is_a(value, type):
            self._look_at_class(value)
        elif is_a(value, ModuleType):
            if self._is_library(value.__name__):
                self._lower_for_library(value.__name__, "", value)
            self._walk.own(value)
        elif is_a(value, BuiltinFunctionType):
            if is_a(value.__self__, ModuleType):
                self._lower_for_library(value.__module__ or value.__self__.__name__, value.__name__, value)
            else:
                self._use([value.__name__], value.__qualname__)
                self._walk.meet(value.__self__)
        elif is_a(value, *_DESCRIPTORS):
            self._use([value.__name__], value.__qualname__)
            self._walk.meet(stored(value, "__self__"))
        elif is_a(value, MethodType):
            self._walk.meet(value.__func__, value.__self__)
        elif is_a(value, property):
            self._walk.meet(value.fget, value.fset, value.fdel)
        elif is_a(value, staticmethod, classmethod):
            self._walk.meet(value.__func__)
        elif is_a(value, functools.cached_property):
            self._walk.meet(value.func)
        elif is_a(value, functools.partial):
            self._walk.meet(value.func, *value.args, *value.keywords.values())
        elif is_a(value, GenericAlias) and value.__origin__ in _GENERIC:  # such as `set[int]()`
            self._walk.meet(value.__origin__, *value.__args__)
        elif not is_a(value, str, bytes):
            self._look_at_object(value)

    def _look_at_function(self, function: FunctionType) -> None:
        code = function.__code__
        held = [found.value for found in referents(function)]
        if _is_generated(function):
            for value in held:
                if type(value) is dict:  # of the cached properties, which only attrs reads
                    self._walk.meet(*value.values())
                elif not is_a(value, *_DESCRIPTORS):
                    self._walk.meet(value)
            return
        self._walk.meet(*held)
        module = function.__globals__.get("__name__")
        if self._is_library(module):
            self._lower_for_library(str(module), function.__name__, function)
            return
        self._note_names(held, code, "")
        read = opcodes.read(code)
        if read.precision < self.precision:
            self.precision, self.because = read.precision, read.because
        self._stored |= read.stored
        self._in_place |= read.in_place
        for sides in read.remainders:
            if not any(opcodes.is_number(side, function.__globals__, read.local_names) for side in sides or ()):
                self._lower(Precision.FIELDS, "% that may format text", code, "%")
        for name, *attributes in read.global_names:
            self._global_names.add(name)
            if function.__globals__.get(name) is builtins:  # which can have variables of any library
                self._lower(Precision.STATES, name, code, name)
            if name in function.__globals__:
                member = _member(function.__globals__[name], attributes)
                self._note_names([member], code, name)
                self._walk.meet(member)
            elif hasattr(builtins, name):
                self._note_names([getattr(builtins, name)], code, name)
                self._lower_for_library("builtins", name, getattr(builtins, name))
        inherited = {"__init__"} if function.__name__ == "__init__" else set()  # usually a call of `super().__init__`
        for name in read.attributes - inherited:
            self._use([name], name, code)
        if not all(test.has_one_object(function.__globals__) for test in read.identity_tests):
            self._lower(Precision.STATES, "is", code, "IS_OP")
        elif read.identity_tests:  # of which an `Unread` element would notice nothing
            self.precision = min(self.precision, Precision.ELEMENTS)

    def _look_at_class(self, cls: type) -> None:
        for base in cls.__mro__:
            if not self._is_library(base.__module__):
                self._look_at_own_class(base)
            elif not (issubclass(base, BaseException) or base in _DATA):
                self._lower_for_library(base.__module__, base.__name__, base)

    def _look_at_own_class(self, cls: type) -> None:
        if not self._walk.own(cls):
            return
        if not self._is_library(type(cls).__module__):
            self._walk.meet(type(cls))
        if vars(cls).get("_is_protocol"):
            # an `isinstance` test with a protocol can test whether a field is set
            self._lower(Precision.FIELDS, f"protocol {cls.__name__}")
        self._use(vars(cls).get("__match_args__", ()), f"a pattern of {cls.__name__}")
        fields = vars(cls).get("__attrs_attrs__", ())
        for field in fields:
            made = getattr(field.default, "factory", field.default)
            hooks = made, field.validator, field.converter, field.repr, field.eq_key, field.order_key, field.on_setattr
            self._walk.meet(*(hook for hook in hooks if hook is not attrs.NOTHING))

    def _look_at_object(self, value: Any) -> None:
        cls = type(value)
        if cls.__module__ != "builtins":
            self._walk.meet(cls)
        if stored(value, "__wrapped__") is not None:  # for example, a cache
            self._lower(Precision.FIELDS, f"{cls.__name__} {stored(value, '__name__', '')}".strip())
            self._walk.meet(stored(value, "__wrapped__"))
        if is_a(value, weakref.ReferenceType):
            self._walk.meet(value())
        if cls in _HELD:
            held: dict[object, object] = stored(value, _HELD[cls])
            self._held.append((_HELD[cls], held))
            self._walk.meet(*held, *held.values())
            return
        self._walk.meet(*(found.value for found in referents(value)))

    def _note_names(self, values: Iterable[object], code: CodeType, name: str) -> None:
        """Record the name under which a function's code refers to the given values."""
        for value in values:
            self._named_in.setdefault(id(value), (code, name))

    def _lower_for_library(self, module: str, name: str, value: object) -> None:
        """Lower the precision to what a library, or a member of the library, allows.

        Parameters:
            name: the name of the member, or an empty string for the module itself.
        """
        full_name = f"{module}.{name}".rstrip(".")
        if module == "builtins":
            own = getattr(builtins, name, None)
            is_exception = isinstance(own, type) and issubclass(own, BaseException)
            allows = _OF_BUILTIN.get(name, Precision.COPIES if is_exception else Precision.STATES)
        else:
            parents = (full_name, module, _package_of(module))
            allows = next((_OF_LIBRARY[known] for known in parents if known in _OF_LIBRARY), Precision.STATES)
        if name in _NAMES_AT_RUN_TIME.split():
            self._walk.any_name = True
        self._or_is_passed |= full_name == "_operator.or_"
        self._lower(allows, full_name.removeprefix("builtins."), *self._named_in.get(id(value), ()))


def _member(value: object, attributes: Iterable[str]) -> object:
    """Follow a chain of module attributes, and return the object at its end.

    Stop at the first object that is not a module.
    """
    for attribute in attributes:
        if not is_a(value, ModuleType) or attribute not in vars(value):
            break
        value = vars(value)[attribute]
    return value


@functools.lru_cache(maxsize=4096)
def _line_of(wanted: str, code: CodeType) -> int | None:
    """Return the line of the first instruction with the given name or argument, or None if there is no such
    instruction.
    """
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None:
            line = instruction.positions.lineno or line
        if wanted in (instruction.opname, instruction.argval, instruction.argrepr.removesuffix("=")):
            return line
    return None


def _is_code(value: Any) -> bool:
    """Return whether a special member of a class or a module is code. Python can run such code even if no other code
    mentions its name.
    """
    return (callable(value) or hasattr(type(value), "__get__")) and not is_a(value, *_DESCRIPTORS, type)


def _is_special(name: str) -> bool:
    return name[:2] == "__" == name[-2:]


def _is_generated(function: FunctionType) -> bool:
    """Return whether attrs, dataclasses or `collections.namedtuple` generated a method."""
    code = function.__code__
    return code.co_filename.startswith("<attrs generated") or (
        code.co_filename == "<string>"
        and (
            code.co_qualname.startswith("__create_fn__.<locals>.")
            or str(function.__globals__.get("__name__")).startswith("namedtuple_")
        )
    )


def _is_written_by_library(value: Any) -> bool:
    """Return whether a member of a class is a method that was written by a library in `_WRITERS`."""
    function = stored(value, "__func__", value)
    module = function.__globals__.get("__name__", "") if is_a(function, FunctionType) else ""
    return module.partition(".")[0] in _WRITERS and origin(module) is not Origin.SPEC


def reaching(given: Sequence[object]) -> Callable[[object, Iterable[object], bool], Reach]:
    """Return a function that is `Reach.of` for functions that all receive the given objects. What these have in common
    is searched only once.
    """

    @functools.cache
    def begun(packages: frozenset[str]) -> Reach:
        return Reach(given, packages)

    return lambda function, values, copies: begun(_packages(function, given[0])).of(function, values, copies)


def reach(function: object, given: Sequence[object], copies: bool) -> Reach:
    """Return what one function can reach. For the parameters, see `Reach` and `Reach.of`."""
    return reaching(given)(function, (), copies)


def _copied(value: object) -> object:
    return value.copy() if isinstance(value, set | dict | list) else value


def _packages(function: object, state: object) -> frozenset[str]:
    """Return the packages that define a function and the class of its states.

    These packages count as parts of the spec, even if they are installed.
    """
    names = {_package_of(str(value.__module__)) for value in (function, type(state))}
    return frozenset(names - {"leadline.checker"})


def _package_of(module: str) -> str:
    """Return the top-level package of a module. The subpackages of leadline count as separate packages."""
    names = module.split(".")
    return ".".join(names[: 1 + (names[0] == "leadline")])


def _is_immutable(kind: type) -> bool:
    if issubclass(kind, _IMMUTABLE) or is_of_library(kind) or f"{kind.__module__}.".startswith(_STATELESS):
        return True
    return is_frozen(kind)


@functools.lru_cache(maxsize=4096)
def _assigned_free(code: CodeType, names: frozenset[str]) -> str:
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in names:
            return str(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and (found := _assigned_free(inner, names.intersection(inner.co_freevars))):
            return found
    return ""
