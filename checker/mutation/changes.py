"""The mutations of a spec. A mutation either skips an action or makes a mistake in a function that the actions use.

A function is changed in place: its code object is replaced by the code object of the same function in a changed copy of
its file. The function object keeps its name, globals, defaults and closure, so all code that refers to it runs the
changed code. Each mutated spec is therefore searched in its own process; see `leadline.checker.mutation.processes`.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Never, Protocol, TypeVar, cast

import attrs

from leadline.checker.action import Action
from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.mutations import Change, changes_of
from leadline.checker.observing.objects import Origin, Walk, origin, origin_of_file, referents
from leadline.checker.spec import Spec
from leadline.checker.support.inspection import is_a, stored

S = TypeVar("S")
T = TypeVar("T")

MOST_HELD = 1_000
"""The maximum number of elements of a collection to search for functions."""


class NotMutated(LeadlineError):
    """Raised if a function cannot be changed. The message gives the reason."""


class Replacement(Protocol):
    """A function that takes a spec and returns the mutated spec."""

    def __call__(self, spec: Spec[S], /) -> Spec[S]: ...


@attrs.frozen(kw_only=True)
class Mutation:
    """A change that makes a spec wrong.

    Usually, either `change` or `replace` is set, but not both.

    Attributes:
        name: a name that is unique among the mutations of a spec. It does not contain line numbers, so it stays the
            same when lines of the file move.
        kind: ``action`` if an action is skipped, ``code`` if a function has a mistake. Other kinds of mutations use
            other words.
        sentence: a description of the mistake, or an empty string if the name is sufficient.
        source: the KIP, the ticket or another source that describes the correct rule or the mistake, or an empty
            string.
        file: the file that `change` changes, or None.
        change: the change to the file, or None.
        replace: a function that takes the original spec and returns the mutated spec, or None.
        bounds: the bounds with which the mutated spec is searched, if they differ from those of the spec: a dict that
            maps names to values.
        harmless: the reason why no property needs to detect the mutation, or an empty string if a property should.
    """

    name: str
    kind: str
    sentence: str = ""
    source: str = ""
    file: Path | None = None
    change: Change | None = None
    replace: Replacement | None = None
    bounds: Mapping[str, object] = attrs.field(factory=dict)
    harmless: str = ""

    @property
    def line(self) -> int | None:
        """The line number of the mistake in `file`, or None if the mutation does not change a file."""
        return None if self.change is None else self.change.line

    @property
    def text(self) -> str:
        """A description of the mistake with its source, or an empty string if the name is sufficient."""
        return f"{self.sentence} ({self.source})" if self.source else self.sentence

    def made(self, spec: Spec[S]) -> Spec[S]:
        """Return the mutated spec. If the mutation changes a function, the function stays changed until the process
        ends.

        Raises:
            NotMutated: if Python does not allow the change.
        """
        if self.replace is not None:
            return self.replace(spec)
        if self.change is not None and self.file is not None:
            change_functions(self.file, self.change)
        return attrs.evolve(spec)  # a copy, because cached properties of the old object must not be used


@attrs.frozen
class Mutations:
    """The mutations of a spec.

    Attributes:
        refused: the names of the functions that cannot be changed, each with the reason.
    """

    possible: tuple[Mutation, ...]
    refused: tuple[tuple[str, str], ...]


def mutations_of(spec: Spec[S]) -> Mutations:
    """Return the mutations of a spec. Each mutation either skips an action, or changes a function that the spec's
    actions or initial states use.

    These functions include those that return the values of action parameters. Properties and `Spec.within` are not
    changed, because they define the correct behaviour and the set of states to search. A function is changed only if it
    is in the same package as an action. If the action's file is not in a package, the function must be in the same
    folder.
    """
    reached = _Functions([*spec.actions, spec.initial_states])
    roots = {_root(file) for action in spec.actions for file in [_file(action.function)] if file is not None}
    possible = [_skipped(action) for action in spec.actions]
    refused = []
    by_file: dict[Path, list[FunctionType]] = {}
    for function in reached.found:
        file = _file(function)
        if file is None or origin_of_file(file) is not Origin.SPEC:
            if file is None and not function.__code__.co_filename.startswith("<attrs generated"):
                refused.append((function.__qualname__, "there is no source file"))
        elif not any(file.is_relative_to(root) for root in roots):
            refused.append((f"{file.name} {function.__qualname__}", "it is in another package than the actions"))
        elif function.__name__ == "<lambda>":
            line = function.__code__.co_firstlineno
            refused.append((f"{_shown(file, roots)} line {line}", "it is a lambda"))
        else:
            by_file.setdefault(file, []).append(function)
    for file, functions in sorted(by_file.items()):
        try:
            changes = changes_of(file.read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            refused.append((_shown(file, roots), f"its source cannot be read: {error}"))
            continue
        begins = {function.__code__.co_firstlineno for function in functions}
        shown = _shown(file, roots)
        possible += [
            Mutation(name=f"{shown} {change.name}", kind="code", file=file, change=change)
            for change in changes
            if not begins.isdisjoint(change.begins)
        ]
        changed = {begin for change in changes for begin in change.begins}
        for function in functions:
            if function.__code__.co_firstlineno not in changed:
                refused.append((f"{shown} {function.__qualname__}", "nothing in it can be changed"))
    return Mutations(tuple(possible), tuple(dict.fromkeys(refused)))


def _skipped(action: Action[S, ...]) -> Mutation:
    def without(spec: Spec[T]) -> Spec[T]:
        actions = [attrs.evolve(it, function=_never) if it.name == action.name else it for it in spec.actions]
        return attrs.evolve(spec, actions=actions)

    return Mutation(name=f"action {action.name} skipped", kind="action", replace=without)


def _never(*_: object) -> Iterator[Never]:
    yield from ()


# --- finding functions --------------------------------------------------------------------------------------


class _Functions:
    """Finds the functions that the given values use.

    A function is used if one of the values contains it or calls it. The class of an object cannot be determined from
    the code. Therefore a method counts as used if its class is used and its name occurs in the code, even if the method
    is never called.

    Attributes:
        found: the functions, without duplicates.
    """

    def __init__(self, values: Iterable[object]) -> None:
        self.found: list[FunctionType] = []
        self._walk = Walk(self._visit, self._methods)
        self._walk.meet(*values)
        self._walk.run()

    def _methods(self, cls: type | ModuleType) -> list[object]:
        """Return each member of a class or module whose name occurs in the code. The special methods of a class are
        always included.
        """
        is_class = is_a(cls, type)
        return [
            _bare(value)
            for name, value in vars(cls).items()
            if self._walk.uses(name) or (is_class and name[:2] == "__")
        ]

    def _visit(self, value: object) -> None:
        if is_a(value, FunctionType):
            self._function(cast(FunctionType, value))
        elif is_a(value, type):
            self._class(cast(type, value))
        elif is_a(value, ModuleType):
            if origin(cast(ModuleType, value).__name__) is Origin.SPEC:
                self._walk.own(cast(ModuleType, value))
        else:
            self._walk.meet(type(value))  # the object or its methods may be called
            self._walk.meet(*(held.value for held in itertools.islice(referents(value), MOST_HELD)))

    def _function(self, function: FunctionType) -> None:
        self.found.append(function)
        self._walk.meet(*(held.value for held in referents(function)))
        file = _file(function)
        if file is None or origin_of_file(file) is not Origin.SPEC:
            return
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        self._walk.use(names)
        self._walk.meet(*(function.__globals__[name] for name in sorted(names) if name in function.__globals__))

    def _class(self, cls: type) -> None:
        if origin(cls.__module__) is not Origin.SPEC or not self._walk.own(cls):
            return
        self._walk.meet(*cls.__mro__[1:])
        named_in = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        for field in attrs.fields(cls) if attrs.has(cls) else ():
            named = re.findall(r"\w+", field.type) if isinstance(field.type, str) else []
            self._walk.meet(*(named_in[name] for name in named if name in named_in))
            self._walk.meet(field.type, field.default, stored(field.default, "factory"))


def _bare(value: object) -> object:
    """Return the function inside a method, a property or a decorated function. Return any other value unchanged."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        inner = stored(value, name) if not is_a(value, FunctionType) else None
        if is_a(inner, FunctionType):
            return inner
    return value


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _file(function: object) -> Path | None:
    """Return the path of the source file of a function, or None if it has no source file."""
    path = Path(cast(FunctionType, function).__code__.co_filename) if is_a(function, FunctionType) else Path()
    return path.resolve() if path.suffix == ".py" and path.is_file() else None


def _root(file: Path) -> Path:
    """Return the folder of the outermost package that contains a file, or the file's own folder."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file() and (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _shown(file: Path, roots: set[Path]) -> str:
    """Return the path of a file relative to the folder that contains its package. The names of mutations contain this
    path.
    """
    root = next(root for root in roots if file.is_relative_to(root))
    start = root.parent if (root / "__init__.py").is_file() else root
    return file.relative_to(start).as_posix()


# --- changing functions -------------------------------------------------------------------------------------


def change_functions(file: Path, change: Change) -> None:
    """Replace the code of the functions in a file with code that contains the mistake. See the docstring of this
    module.
    """
    text = change.text(file.read_bytes())
    name = f"{file} (mutant)"  # the engines look up source by file name and must find the changed source
    lines = text.decode().splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    try:
        codes = {(code.co_firstlineno, code.co_name): code for code in _codes(compile(text, name, "exec"))}
    except (SyntaxError, ValueError) as error:
        raise NotMutated(f"the changed source cannot be compiled: {error}") from error
    for function in [it for it in gc.get_objects() if is_a(it, FunctionType)]:
        own = function.__code__
        if own.co_firstlineno in change.begins and own.co_filename.endswith(file.name) and _file(function) == file:
            try:
                function.__code__ = codes[own.co_firstlineno, own.co_name]
            except (KeyError, ValueError) as error:
                raise NotMutated("the changed function no longer uses a variable of the enclosing function") from error
