"""Computes digests of specs. Comparing digests shows whether the code or the data of a spec has changed since a run was
saved.

Data that the code reads from outside at run time, such as a file or an environment variable, is not included. Whether
it may read such data is what `reads_outside` tells.
"""

from __future__ import annotations

import collections
import enum
import functools
import gc
import hashlib
import sys
from array import array
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType, ModuleType
from typing import TypeVar, cast

from leadline.checker.bag import Bag
from leadline.checker.bounds import NoBounds
from leadline.checker.map import Map
from leadline.checker.observing.objects import Origin, origin, origin_of_file, referents
from leadline.checker.observing.reach import reach
from leadline.checker.observing.recording import Precision
from leadline.checker.properties import AT_REST
from leadline.checker.spec import Spec
from leadline.checker.support.inspection import is_a, stored
from leadline.checker.values import HASH, cached_properties

S = TypeVar("S")

_PACKAGE = Path(__file__).resolve().parents[2]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))

_BUFFERS = (array, bytearray)
"""The types whose contents the garbage collector does not report."""

_NO_MEMBERS = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__", "__firstlineno__", "_abc_impl", HASH)
)
"""The attributes of classes and instances that digests do not include, because they do not affect results or change
during use."""

_LOOKS_UP_NAMES = frozenset(("getattr", "globals", "vars", "eval", "exec", "__dict__", "attrgetter", "import_module"))
"""Names that occur in code which can access any member of a module."""


def code_digest(spec: Spec[S]) -> str:
    """Return a digest of leadline, of the source files of a spec, and of the objects that the spec's functions can
    reach.

    The digest is the same in every process. It changes if the code or the data changes, even if only the order of a
    dict changes. The code of the standard library and of installed libraries is not included. Instances of their
    classes are included if they are part of the spec's data.

    Returns:
        The digest in hexadecimal.
    """
    objects = _Objects()
    found = objects.digest([*_begin(spec), *_ends(spec)])
    digest = hashlib.sha256(found + leadline_digest("checker"))
    for source in sorted(set(_sources(objects.modules).values())):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def reads_outside(spec: Spec[S]) -> str:
    """Return code of a spec that may read data which its digest does not include, or an empty string if there is none.

    Such code calls what `reach` does not know, for example ``open`` or ``os.environ``.
    """
    domains = [domain for action in spec.actions for domain in (*action.domains.values(), *action.drawn.values())]
    functions = [*spec.limits.values(), *(action.function for action in spec.actions), *domains]
    own = [item.function for item in spec.properties if item is not AT_REST]
    bounds = [] if is_a(spec.bounds, NoBounds) else [spec.bounds]
    found = reach(spec.initial_states, [spec.initials()[0], *bounds, *functions, *own], True)
    return found.because.text if found.precision is Precision.STATES and found.because is not None else ""


@functools.cache
def leadline_digest(*folders: str) -> bytes:
    """Return a digest of leadline's own source files and tables in the given folders, such as ``checker``."""
    digest = hashlib.sha256()
    for folder in folders:
        for source in sorted(file for ending in ("py", "toml") for file in _PACKAGE.glob(f"{folder}/**/*.{ending}")):
            digest.update(source.read_bytes())
    return digest.digest()


def own_modules(spec: Spec[S]) -> dict[str, Path]:
    """Return the source files of a spec's modules, keyed by module name. Leadline's own modules are not included."""
    objects = _Objects()
    objects.digest([*_begin(spec), spec.distance])
    sources = _sources(objects.modules)
    return {name: source for name, source in sources.items() if not _is_ours(source)}


def _begin(spec: Spec[S]) -> list[object]:
    return [spec.initial_states, spec.bounds, spec.initials()[0], *spec.limits.items(), *spec.actions, *spec.properties]


def _ends(spec: Spec[S]) -> list[object]:
    fairness = [str(each) for each in spec.fairness.items()]
    return [spec.check_deadlock, *(item.name for item in spec.checks), *map(str, spec.instances), *fairness]


class _Objects:
    """Computes digests of objects from their contents.

    Each module has its own digest, and so does each class or function that can be imported by its qualified name. If an
    object refers to one of them, the digest of the object includes only the name. Therefore, a digest does not depend
    on the order in which the objects are found.

    Attributes:
        modules: the modules of the spec that were found, keyed by name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        self._named: dict[str, object] = {}
        self._digests: dict[int, bytes] = {}
        self._held: list[object] = []  # keeps the objects alive, so that their ids are not reused

    def digest(self, values: Iterable[object]) -> bytes:
        """Return a digest of the given values and of all objects to which they refer."""
        found = hashlib.sha256(b"".join([self._of(value) for value in values]))
        done: dict[str, bytes] = {}
        while len(done) < len(self._named):
            for name, value in list(self._named.items()):
                if name not in done:
                    done[name] = self._of(value, by_name=False)
        for name in sorted(done):
            found.update(_hash(name, done[name]))
        return found.digest()

    def _of(self, value: object, by_name: bool = True) -> bytes:
        """Return the digest of one value. The method is not recursive, because data can be deeply nested."""
        under_way: list[tuple[int, Generator[object, bytes, bytes]]] = [(id(value), self._parts(value, by_name))]
        answer: bytes | None = None
        while under_way:
            identity, parts = under_way[-1]
            try:
                part = next(parts) if answer is None else parts.send(answer)
            except StopIteration as stop:
                under_way.pop()
                answer = cast(bytes, stop.value)
                if under_way or by_name:
                    self._digests[identity] = answer
                continue
            answer = self._known(part, [identity for identity, _ in under_way])
            if answer is None:
                self._held.append(part)
                under_way.append((id(part), self._parts(part)))
        assert answer is not None
        return answer

    def _known(self, value: object, under_way: list[int]) -> bytes | None:
        if is_a(value, *_PLAIN):
            return _hash(type(value).__qualname__, repr(value))
        if id(value) not in under_way:
            return self._digests.get(id(value))
        name = self._name(value)
        return _hash("named", name) if name else _hash("itself", len(under_way) - under_way.index(id(value)))

    def _parts(self, value: object, by_name: bool = True) -> Generator[object, bytes, bytes]:
        """Yield the parts of a value, receive the digest of each part, and return the digest of the value."""
        if is_a(value, *_PLAIN):
            return _hash(type(value).__qualname__, repr(value))
        name = self._name(value)
        if name and by_name:
            self._named.setdefault(name, value)
            return _hash("named", name)
        if is_a(value, ModuleType):
            return _hash("module", name)
        found: list[str | int | bytes] = [f"{type(value).__module__}.{type(value).__qualname__}", name]
        if is_a(value, set, frozenset):
            members = []
            for member in cast(frozenset[object], value):
                members.append((yield member))
            return _hash(*found, *sorted(members))
        if is_a(value, Bag, Map):
            members = []
            for pair in cast(Bag[object], value).items():
                members.append((yield pair))
            return _hash(*found, *sorted(members))
        for label, part in self._references(value):
            found += [label, (yield part)]
        return _hash(*found)

    def _name(self, value: object) -> str:
        """Return a name by which a value can be imported, or an empty string if there is none.

        For a module, this is its own name. For a class or a function, it is the qualified name, provided that the
        module contains the value under this name.
        """
        if is_a(value, ModuleType):
            module = cast(ModuleType, value)
            self._meet(module.__name__)
            return module.__name__
        if not is_a(value, type, FunctionType):
            self._meet(stored(type(value), "__module__"))
            return ""
        module_name, qualified = stored(value, "__module__"), stored(value, "__qualname__")
        self._meet(module_name)
        found: object = sys.modules.get(module_name) if type(module_name) is str else None
        for part in str(qualified).split("."):
            found = stored(found, part)
        return f"{module_name}.{qualified}" if found is value else ""

    def _meet(self, module: object) -> None:
        if type(module) is str and module in sys.modules and origin(module) is Origin.SPEC:
            self.modules[module] = sys.modules[module]

    def _references(self, value: object) -> Iterator[tuple[str, object]]:
        if is_a(value, FunctionType):
            yield from self._of_function(cast(FunctionType, value))
        elif is_a(value, type):
            yield from self._of_class(cast(type, value))
        elif is_a(value, enum.Enum):
            yield "class", type(value)
            yield "name", stored(value, "_name_")
            yield "value", stored(value, "_value_")
        elif is_a(value, functools._lru_cache_wrapper):
            yield "cached", stored(value, "__wrapped__")
        elif is_a(value, MemberDescriptorType, GetSetDescriptorType):
            yield "descriptor", stored(value, "__name__")
        else:
            yield "class", type(value)
            yield from _of_object(value)

    def _of_function(self, function: FunctionType) -> Iterator[tuple[str, object]]:
        if origin(function.__module__) is not Origin.SPEC:
            yield "library", f"{function.__module__}.{function.__qualname__}"
            return
        generated = function.__name__ == "__hash__" and function.__code__.co_filename.startswith("<attrs generated")
        if not generated:  # attrs adds a number to this code that differs between processes
            yield "code", _code(function.__code__)
        for reference in referents(function):
            yield reference.name, reference.value
        names = set(_names(function.__code__))
        for name in sorted(names & function.__globals__.keys()):
            yield f"global {name}", function.__globals__[name]
        for place in sorted(names & function.__globals__.keys()):
            module = function.__globals__[place]
            if is_a(module, ModuleType):
                yield from self._of_module(module, names, place)

    def _of_module(self, module: ModuleType, names: set[str], path: str) -> Iterator[tuple[str, object]]:
        """Yield those members of a module that code can use. If a member is a module, yield its members too.

        Parameters:
            path: the name by which the code refers to the module.
        """
        if origin(module.__name__) is not Origin.SPEC:
            return
        members = vars(module)
        used = [name for name in members if name[:2] != "__"] if names & _LOOKS_UP_NAMES else names & members.keys()
        for name in sorted(used):
            yield f"member {path}.{name}", members[name]
            if is_a(members[name], ModuleType) and path.count(".") < _DEEPEST:
                yield from self._of_module(members[name], names, f"{path}.{name}")

    def _of_class(self, cls: type) -> Iterator[tuple[str, object]]:
        if origin(stored(cls, "__module__")) is not Origin.SPEC:
            yield "library", f"{cls.__module__}.{cls.__qualname__}"
            return
        for reference in referents(cls):
            if reference.name.removeprefix(".") not in _NO_MEMBERS:
                yield reference.name, reference.value


_DEEPEST = 5
"""The maximum number of dots in the path of a module. A limit is needed because modules can refer to each other."""


def _of_object(value: object) -> Iterator[tuple[str, object]]:
    """Yield the content of an instance: its items, its fields, and other objects that the garbage collector reports."""
    if is_a(value, *_BUFFERS):
        yield "content", bytes(memoryview(cast(bytearray, value)).cast("B"))
    elif is_a(value, collections.deque):
        yield "items", list(collections.deque.__iter__(cast(collections.deque[object], value)))
    elif is_a(value, MappingProxyType):
        yield "mapping", next(iter(gc.get_referents(value)), None)
    elif is_a(value, CodeType):
        yield "code", _code(cast(CodeType, value))
    else:
        count, left_out = 0, _NO_MEMBERS
        if origin(type(value).__module__) is Origin.LEADLINE:  # what an action instance has computed is no content
            left_out = _NO_MEMBERS.union(*map(cached_properties, type(value).__mro__))
        for reference in referents(value):
            if reference.value is not type(value) and reference.name.removeprefix(".") not in left_out:
                count += 1
                yield reference.name, reference.value
        if not count and origin(type(value).__module__) is not Origin.SPEC:
            yield "text", _text(value)


def _text(value: object) -> object:
    """Return the content of an opaque object, such as a date, as returned by its `__reduce_ex__` method."""
    try:
        made = value.__reduce_ex__(4)
    except Exception:
        return "unknown"
    return [*made[1:3]] if isinstance(made, tuple) else made


def _code(code: CodeType) -> tuple[object, ...]:
    """Return the parts of a code object that determine its behaviour. Line numbers are not included."""
    constants = [_code(constant) if isinstance(constant, CodeType) else constant for constant in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, *constants, *names, code.co_argcount, code.co_kwonlyargcount, code.co_flags


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes that occur in a code object or in the functions nested in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _hash(*parts: str | int | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.digest()


def _sources(modules: dict[str, ModuleType]) -> dict[str, Path]:
    """Return the source files of the given spec modules, and of all spec modules that they use."""
    found: dict[str, Path] = {}
    waiting = list(modules.values())
    while waiting:
        module = waiting.pop()
        path = _source(module)
        if module.__name__ not in found and path is not None:
            found[module.__name__] = path
            waiting += _named_by(module)
    return found


def _named_by(module: ModuleType) -> Iterator[ModuleType]:
    """Yield each module that is a member of the given module or that defines one of its members.

    Submodules of leadline's packages are skipped. Python adds a submodule to its package when the submodule is
    imported, whether or not the spec uses it.
    """
    is_ours = _is_ours(_source(module) or Path())
    for name, value in list(vars(module).items()):
        if name[:2] == "__":
            continue
        if is_a(value, ModuleType):
            if not (is_ours and value.__name__.startswith(module.__name__)):
                yield value
        else:
            for owner in (value, type(value)):
                comes_from = stored(owner, "__module__")
                if type(comes_from) is str and comes_from in sys.modules:
                    yield sys.modules[comes_from]


def _source(module: ModuleType) -> Path | None:
    """Return the path of a module's file, or None if the module does not belong to a spec."""
    name = getattr(module, "__file__", None)
    return _source_file(name) if name else None


@functools.lru_cache(maxsize=4096)
def _source_file(name: str) -> Path | None:
    path = Path(name).resolve()
    return path if path.is_file() and origin_of_file(path) is Origin.SPEC else None


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(_PACKAGE) and path.relative_to(_PACKAGE).parts[0] in ("checker", "model", "invariants")
