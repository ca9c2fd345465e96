"""Makes sets iterate in an unusual order while a spec's functions are called.

The iteration order of a set of strings differs between processes, so the results of a spec must not depend on it. To
test this, the functions of the spec are compiled again with hooks. A hook is a call to a method of `Reordering`. Hooks
are added wherever Python iterates over a value or passes a value to a function. A hook replaces a set with a collection
of its members in a different order. Within the block of `Reordering.active`, all callers of a function run its code
with hooks.

If a hook does not support an operation, such as a rarely used method of a set, it records the operation in
`Reordering.not_understood`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import gc
import linecache
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Literal, cast

import attrs

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.observing.objects import Origin, origin
from leadline.checker.source.files import codes_in
from leadline.checker.support.inspection import is_a

Order = Callable[[list[object]], list[object]]
"""A function that takes the members of a set in their usual order and returns them in a different order."""

ORDERS: tuple[Order, ...] = (lambda members: members[::-1], lambda members: members[1:] + members[:1])
"""The orders to test. For a set with two members, both orders swap them. For a larger set, both orders move the first
and the last member.
"""

Pattern = tuple["Pattern", ...] | Literal["*"] | None
"""How a value is unpacked: a tuple with a pattern for each part, or None if the value is not unpacked. A star matches
any number of parts."""

_HOOK = "__leadline_set_iteration__"

_NOT_UNDERSTOOD = frozenset(
    ("eval", "exec", "compile", "globals", "hash", "id", "cached_property", "__import__", "import_module")
)
"""Names that code with hooks must not use: code without hooks, values that differ between processes, and values that
are kept between calls."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SET_METHODS = _words(
    "__contains__ __len__ add clear copy difference difference_update discard intersection intersection_update"
    " isdisjoint issubset issuperset remove symmetric_difference symmetric_difference_update union update __and__"
    " __or__ __sub__ __xor__ __eq__ __ne__ __le__ __lt__ __ge__ __gt__ __iand__ __ior__ __isub__ __ixor__"
)
"""The methods of sets whose results do not depend on the order of the members."""

_KEEPING_METHODS = _words(
    "add append appendleft copy count discard get index insert items keys pop popleft remove setdefault values"
)
"""The methods of other built-in collections that do not iterate over their arguments."""

_KEEPING = frozenset(
    (
        *(len, isinstance, issubclass, callable, getattr, hasattr, setattr, super, type, object, set, frozenset, bool),
        *(operator.or_, operator.and_, operator.sub, operator.xor, operator.contains, operator.eq, operator.ne),
        *(operator.le, operator.lt, operator.ge, operator.gt, operator.ior, operator.iand, operator.isub),
        *(operator.ixor, operator.is_, operator.is_not, operator.not_, operator.truth, print),
    )
)
"""The functions and classes whose results do not depend on the iteration order of their arguments."""

_TEXT = frozenset((str, repr, ascii, format))

_CACHED = functools._lru_cache_wrapper


class NotUnderstood(Exception):
    """Raised when hooks cannot be added to the functions of a spec. The message gives the reason."""


class _OtherOrder(frozenset[object]):
    """A copy of a frozenset that iterates in a different order. It is passed to functions that have no hooks."""

    ordered: list[object]

    def __iter__(self) -> Iterator[object]:
        return iter(self.ordered)

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, self.ordered))}}})"


class _OtherOrderOfSet(set[object]):
    """A copy of a set that iterates in a different order. It is passed to functions that have no hooks."""

    ordered: list[object]

    def __iter__(self) -> Iterator[object]:
        return iter(self.ordered)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self.ordered))}}}"


class Reordering:
    """Adds hooks to the functions of the given modules. The hooks change the iteration order of sets.

    The public methods, except `active` and `restore`, are the hooks.

    Attributes:
        not_understood: the last operation that a hook did not support, or an empty string if there was none.

    Raises:
        NotUnderstood: if the source of a function in `needed` is not known, or if the code uses a name that is not
            supported.
    """

    def __init__(self, modules: Iterable[ModuleType], needed: Iterable[object]) -> None:
        self.not_understood = ""
        codes = dict[CodeType, CodeType]()
        for module in modules:
            codes.update(_with_hooks(getattr(module, "__file__", None) or ""))
        self._own = {id(code): code for code in codes.values()}
        self._functions = [
            (function, function.__code__, codes[function.__code__])
            for function in gc.get_objects()
            if type(function) is FunctionType and function.__code__ in codes
        ]
        known = {id(function) for function, *_ in self._functions}
        for function in needed:
            if id(function) not in known:
                raise NotUnderstood(
                    f"the source code of {getattr(function, '__qualname__', function)} is not available"
                )
        self._order: Order = list

    @contextmanager
    def active(self, order: Order) -> Iterator[None]:
        """Return a context manager that makes the functions iterate over sets in the given order."""
        self._order = order
        setattr(builtins, _HOOK, self)
        try:
            for function, _, code in self._functions:
                function.__code__ = code
            yield
        finally:
            self.restore()

    def restore(self) -> None:
        """Restore the original code of the functions. Calling this more than once has no further effect."""
        for function, code, _ in self._functions:
            function.__code__ = code
        vars(builtins).pop(_HOOK, None)

    def each(self, value: object) -> object:
        """Return a replacement for a value that the code iterates over."""
        return self._ordered(value) if _is_set(value) else value

    def unpacked(self, value: object, pattern: Pattern) -> object:
        """Return a replacement for a value that the code unpacks, as in ``(a, b), *c = value``."""
        if not isinstance(pattern, tuple):
            return value
        value = self.each(value)
        if not isinstance(value, list | tuple) or not any(pattern):
            return value
        if "*" in pattern:
            star = pattern.index("*")
            pattern = (*pattern[:star], *[None] * (len(value) + 1 - len(pattern)), *pattern[star + 1 :])
        return list(map(self.unpacked, value, pattern)) if len(value) == len(pattern) else value

    def each_unpacked(self, value: Iterable[object], pattern: Pattern) -> Iterator[object]:
        """Return an iterator over the items of a value, for code that unpacks each item as `pattern` describes."""
        return (self.unpacked(item, pattern) for item in cast(Iterable[object], self.each(value)))

    def shown(self, value: object) -> object:
        """Return a replacement for a value that the code converts to text. If the value contains a set but has an
        unsupported type, record this.
        """
        if not _holds_set(value):
            return value
        kind: type = type(value)
        if kind in (set, frozenset):
            made = (_OtherOrderOfSet if kind is set else _OtherOrder)(cast(set[object], value))
            made.ordered = list(map(self.shown, self._ordered(value)))
            return made
        if kind in (tuple, list):
            return kind(map(self.shown, cast(Iterable[object], value)))
        if kind is dict:
            return {self.shown(key): self.shown(inner) for key, inner in cast(dict[object, object], value).items()}
        self.not_understood = f"text of a {kind.__name__} that contains a set"
        return value

    def remainder(self, left: object, right: object) -> object:
        """Return the result of ``left % right``, which formats text if `left` is a str."""
        return operator.mod(left, self.shown(right) if isinstance(left, str | bytes) else right)

    def called(self, function: object) -> object:
        """Return a replacement for a function, a class or another callable that the code calls."""
        if is_a(function, MethodType):
            bound = cast(MethodType, function)
            function = MethodType(cast(Callable[..., object], _without_cache(bound.__func__)), bound.__self__)
        function = _without_cache(function)
        if _is_builtin_method(function):
            return self._method(cast(BuiltinFunctionType, function))
        if is_a(function, BuiltinFunctionType, type):
            if function == chain.from_iterable:
                return self._from_iterable
            if function in _KEEPING:
                return function
            if function in _TEXT:
                return self._showing(cast(Callable[..., object], function))
        return function if self._has_hooks(function) else self._passing(cast(Callable[..., object], function))

    def _has_hooks(self, function: object) -> bool:
        """Return whether a callable has hooks or does not need any."""
        if is_a(function, MethodType):
            function = cast(MethodType, function).__func__
        if is_a(function, MethodDescriptorType, WrapperDescriptorType):
            descriptor = cast(MethodDescriptorType, function)
            return descriptor.__objclass__ in (set, frozenset) and descriptor.__name__ in _SET_METHODS
        if is_a(function, FunctionType):
            function = cast(FunctionType, function)
            is_ours = origin(function.__module__) is Origin.LEADLINE or function.__module__.startswith("attr")
            return id(function.__code__) in self._own or is_ours
        if is_a(function, type):
            made = cast(type, function)
            return made not in (Bag, Map) and (
                attrs.has(made) or origin(made.__module__) in (Origin.SPEC, Origin.LEADLINE)
            )
        return origin(type(function).__module__) in (Origin.SPEC, Origin.LEADLINE)

    def _method(self, method: BuiltinFunctionType) -> object:
        """Return a replacement for a method that the code calls on a built-in object."""
        owner, name = method.__self__, method.__name__
        if _is_set(owner):
            if name == "pop":
                return lambda: self._popped(cast(set[object], owner))
            if name == "__iter__":
                return lambda: iter(self._ordered(owner))
            if name not in _SET_METHODS:
                self.not_understood = f"{name} of a set"
            return method
        if isinstance(owner, str) and name in ("format", "format_map"):
            return lambda *args, **named: method(
                *map(self.shown, args), **{key: self.shown(named[key]) for key in named}
            )
        return method if name in _KEEPING_METHODS else self._passing(method)

    def _showing(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return a wrapper for a function that converts its arguments to text."""

        def call(*args: object, **named: object) -> object:
            return function(*map(self.shown, args), **{name: self.shown(value) for name, value in named.items()})

        return call

    def _passing(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return a wrapper for a function that has no hooks. Sets that the wrapper passes to the function iterate in a
        different order.
        """

        def call(*args: object, **named: object) -> object:
            return function(*map(self._passed, args), **{name: self._passed(value) for name, value in named.items()})

        return call

    def _passed(self, value: object) -> object:
        """Return a replacement for a value that the code passes to a function without hooks."""
        if _is_set(value):
            if len(cast(set[object], value)) < 2:
                return value
            made = (_OtherOrderOfSet if isinstance(value, set) else _OtherOrder)(cast(set[object], value))
            made.ordered = self._ordered(value)
            return made
        is_function = is_a(value, BuiltinFunctionType, MethodDescriptorType) or any(value is it for it in _ITERATING)
        return self.called(value) if is_function else value

    def _ordered(self, value: object) -> list[object]:
        members = list(cast(set[object], value))
        return members if len(members) < 2 else self._order(members)

    def _popped(self, members: set[object]) -> object:
        member = self._ordered(members)[0] if members else members.pop()
        members.discard(member)
        return member

    def _from_iterable(self, values: Iterable[object]) -> object:
        """Implement `itertools.chain.from_iterable` with hooks."""
        return chain.from_iterable(cast(Iterable[Iterable[object]], self.each_unpacked(values, ())))


_ITERATING = (list, tuple, dict, enumerate, zip, map, filter, reversed, str)
"""Classes that iterate over their arguments. Functions such as `map` can be passed such a class and call it."""


def _without_cache(function: object) -> object:
    """Return the function that an `lru_cache` wraps. Cached results are not used, because they were computed without
    hooks.
    """
    return getattr(function, "__wrapped__") if is_a(function, _CACHED) else function  # noqa: B009


def _is_builtin_method(function: object) -> bool:
    return is_a(function, BuiltinFunctionType, MethodWrapperType) and not is_a(
        cast(BuiltinFunctionType, function).__self__, ModuleType, type, type(None)
    )


def _is_set(value: object) -> bool:
    """Return whether a value is a set whose class does not override the iteration of the built-in classes."""
    cls: type = type(value)
    return is_a(value, set, frozenset) and getattr(cls, "__iter__") in (set.__iter__, frozenset.__iter__)  # noqa: B009


def _holds_set(value: object) -> bool:
    """Return whether a value is, or contains, a set with at least two members."""
    if is_a(value, set, frozenset):
        return len(cast(set[object], value)) > 1 or any(map(_holds_set, cast(set[object], value)))
    if isinstance(value, tuple | list):
        return any(map(_holds_set, value))
    if isinstance(value, dict | Bag | Map):
        return any(map(_holds_set, value.items()))
    cls: type = type(value)
    return attrs.has(cls) and any(_holds_set(getattr(value, field.name, None)) for field in attrs.fields(cls))


# --- adding hooks to functions ---


def _with_hooks(file: str) -> dict[CodeType, CodeType]:
    """Return a dict that maps the original code of each function in a file to its code with hooks.

    Raises:
        NotUnderstood: if the file cannot be read, or if it uses a name that is not supported.
    """
    source = "".join(linecache.getlines(file))
    try:
        tree, compiled = ast.parse(source), compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise NotUnderstood(f"{file} cannot be parsed") from error
    changed = compile(ast.fix_missing_locations(_Hooks(file).visit(tree)), file, "exec", dont_inherit=True)
    own, others = list(codes_in(compiled)), list(codes_in(changed))
    if [code.co_qualname for code in own] != [code.co_qualname for code in others]:
        raise NotUnderstood(f"the functions in {file} cannot be matched to the copies that contain hooks")
    return dict(zip(own, others, strict=True))


class _Hooks(ast.NodeTransformer):
    """Adds hooks to the syntax tree of a file.

    Parameters:
        file: the path of the file, for messages.
    """

    def __init__(self, file: str) -> None:
        self._file = file

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _NOT_UNDERSTOOD:
            raise NotUnderstood(f"{self._file} uses {node.id}, which is not supported")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in _NOT_UNDERSTOOD - {"id", "hash", "compile"}:  # fields may have these names
            raise NotUnderstood(f"{self._file} uses {node.attr}, which is not supported")
        self.generic_visit(node)
        return node

    def visit_alias(self, node: ast.alias) -> ast.alias:
        if node.name.rpartition(".")[2] in _NOT_UNDERSTOOD:
            raise NotUnderstood(f"{self._file} uses {node.name}, which is not supported")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == "super"):
            node.func = _hook("called", node.func)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _hook("each", node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = self._iterated(node.target, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = self._iterated(node.target, node.iter)
        return node

    def _iterated(self, target: ast.expr, value: ast.expr) -> ast.expr:
        pattern = _pattern(target)
        return _hook("each", value) if pattern is None else _hook("each_unpacked", value, _constant(pattern))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        patterns = {pattern for target in node.targets if (pattern := _pattern(target)) is not None}
        if len(patterns) > 1:
            raise NotUnderstood(f"{self._file} unpacks a value into two different patterns on line {node.lineno}")
        for pattern in patterns:
            node.value = _hook("unpacked", node.value, _constant(pattern))
        if any(isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice) for target in node.targets):
            node.value = _hook("each", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add):  # the left operand is not a set, because sets do not support `+=`
            node.value = _hook("each", node.value)
        elif isinstance(node.op, ast.Mod):
            node.value = _hook("shown", node.value)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        self.generic_visit(node)
        node.value = _hook("each", node.value)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        self.generic_visit(node)
        node.value = _hook("shown", node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _hook("remainder", node.left, node.right) if isinstance(node.op, ast.Mod) else node


def _pattern(target: ast.expr) -> Pattern:
    """Return the pattern that describes how an assignment to `target` unpacks a value."""
    if isinstance(target, ast.Starred):
        return "*"
    return tuple(map(_pattern, target.elts)) if isinstance(target, ast.Tuple | ast.List) else None


def _constant(pattern: Pattern) -> ast.expr:
    return ast.parse(repr(pattern), mode="eval").body


def _hook(name: str, *values: ast.expr) -> ast.expr:
    """Return the syntax tree of a hook, which calls a method of `Reordering`."""
    hooks = ast.Name(_HOOK, ast.Load())
    return ast.copy_location(ast.Call(ast.Attribute(hooks, name, ast.Load()), list(values), []), values[0])
