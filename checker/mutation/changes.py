"""Mutations of a spec: each of its actions skipped, and each function that they reach with one mistake in it.

A function is changed in place: it gets the code object of the same function in the changed file, and keeps its name,
globals, defaults and closure. So all that refers to it has the mistake, wherever it is kept, and a search of a mutated
spec needs a process of its own: see `leadline.checker.mutation.processes`.
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
from typing import Any, cast

import attrs

from leadline.checker.action import Action
from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.mutations import Change, changes_of
from leadline.checker.observing.objects import Origin, Walk, origin, origin_of_file, referents
from leadline.checker.spec import Spec
from leadline.checker.support.inspection import is_a, stored

MOST_HELD = 1_000
"""Elements of a collection that are looked into for functions."""


class NotMutated(LeadlineError):
    """A mistake cannot be made in a function. The text says why."""


@attrs.frozen(kw_only=True)
class Mutation:
    """One way in which a spec is made wrong.

    Attributes:
        name: what it is called; no two of a spec have the same name. It has no line number, so that a name that was
            written down to explain a survivor is still right when lines move.
        kind: ``action``: an action is skipped; ``code``: a function has a mistake; or another word for `replace`.
        sentence: what is wrong, in words; empty if the name says it.
        source: where the right rule or the mistake comes from: a KIP, a ticket; empty if nowhere.
        file: the file of `change`.
        change: a mistake in a file.
        replace: returns another spec in place of the spec.
        bounds: bounds in which it is searched, where they differ from the spec's own.
        harmless: why it does no harm; empty if it should.
    """

    name: str
    kind: str
    sentence: str = ""
    source: str = ""
    file: Path | None = None
    change: Change | None = None
    replace: Any = None
    bounds: Mapping[str, Any] = attrs.field(factory=dict)
    harmless: str = ""

    @property
    def line(self) -> int | None:
        """The line of `file` that the mistake is in; None if it is not in a file."""
        return None if self.change is None else self.change.line

    @property
    def text(self) -> str:
        """What is wrong, with the source; empty if the name says all."""
        return f"{self.sentence} ({self.source})" if self.source else self.sentence

    def made(self, spec: Spec[Any]) -> Spec[Any]:
        """The mutated spec. Functions are changed for the rest of this process.

        Raises:
            NotMutated: Python does not allow the change.
        """
        if self.replace is not None:
            replaced: Spec[Any] = self.replace(spec)
            return replaced
        if self.change is not None and self.file is not None:
            _change_functions(self.file, self.change)
        return attrs.evolve(spec)  # which has no cached values


@attrs.frozen
class Mutations:
    """What can be made wrong with a spec.

    Attributes:
        possible: the mutations.
        refused: the functions in which no mistake is made, each with the reason.
    """

    possible: tuple[Mutation, ...]
    refused: tuple[tuple[str, str], ...]


def mutations_of(spec: Spec[Any]) -> Mutations:
    """The mutations of any spec, found in the source of its actions and of the functions that they reach.

    An action reaches the functions that give the values of its parameters, too. Properties and `Spec.within` are not
    changed: they say what is right, and what is searched.

    Functions of the same package are changed; of a file that is in no package, those in files of the same folder.
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


def _skipped(action: Action[Any, Any]) -> Mutation:
    def without(spec: Spec[Any]) -> Spec[Any]:
        actions = [attrs.evolve(it, function=_never) if it.name == action.name else it for it in spec.actions]
        return attrs.evolve(spec, actions=actions)

    return Mutation(name=f"action {action.name} skipped", kind="action", replace=without)


def _never(*_: Any) -> Iterator[Any]:
    yield from ()


# --- finding functions --------------------------------------------------------------------------------------


class _Functions:
    """The functions that some values lead to: by what they call, hold, and by the methods that they name.

    It may find more than is called, as the class of a value is not known: a method counts if its class is reached, and
    any function reached names it.

    Attributes:
        found: each once, in the order of finding.
    """

    def __init__(self, values: Iterable[object]) -> None:
        self.found: list[FunctionType] = []
        self._walk = Walk(self._visit, self._methods)
        self._walk.meet(*values)
        self._walk.run()

    def _methods(self, cls: type | ModuleType) -> list[object]:
        """The members of a class or a module that are named by now, and all special methods."""
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
            self._walk.meet(type(value))  # an object that is called, or whose methods are
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


def _bare(value: Any) -> Any:
    """The function of a method, however it is kept in its class."""
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


def _file(function: FunctionType | Any) -> Path | None:
    """The source file of a function; None if there is none."""
    path = Path(function.__code__.co_filename) if is_a(function, FunctionType) else Path()
    return path.resolve() if path.suffix == ".py" and path.is_file() else None


def _root(file: Path) -> Path:
    """The folder whose files are changed: the outermost package that a file is in, or else its folder."""
    folder = file.parent
    while (folder.parent / "__init__.py").is_file() and (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _shown(file: Path, roots: set[Path]) -> str:
    """A file's path as names of mutations have it: from the folder that the package is in."""
    root = next(root for root in roots if file.is_relative_to(root))
    start = root.parent if (root / "__init__.py").is_file() else root
    return file.relative_to(start).as_posix()


# --- changing them ------------------------------------------------------------------------------------------


def _change_functions(file: Path, change: Change) -> None:
    """Give the functions of a file the code that they have with a mistake. See `Mutation.made`."""
    text = change.text(file.read_bytes())
    name = f"{file} (mutant)"  # the engines look up source by the name of its file
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
