"""Conditions of loops that can be evaluated ahead of the loop, and for members that are not there.

Evaluated ahead, a condition must give what it gives in the loop, and must do nothing else. So only this is taken:

- ``and``, ``or``, ``not``, comparisons, ``in``, and ``is`` with None, a bool or a member of an enum;
- of names, constants, fields (``m.kind``), items (``m[0]``), tuples and sets of these, sums and differences of
  integers, ``len(...)`` and ``isinstance(...)``;
- on values that cannot change, and whose methods are built in or written by attrs: numbers, text, tuples, frozensets,
  bags, members of enums, named tuples and frozen attrs values. A property, a method of the user's, or a value of any
  other type ends the evaluation with `NotPlain`.
"""

from __future__ import annotations

import ast
import enum
import functools
import weakref
from collections.abc import Sized
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import attrs

from leadline.checker.bag import Bag
from leadline.checker.observing.domains import StandIn
from leadline.checker.observing.nodes import Collection, can_be_taken_apart

T = TypeVar("T")

_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_IDENTITIES = (ast.Is, ast.IsNot)
_ATOMS = frozenset((int, str, bool, type(None), float, bytes, range))
_WRITERS = ("attr._make", "enum", "leadline.checker.bag")
_OPERATIONS = (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__", "__len__", "__contains__"),
    *("__iter__", "__getitem__", "__getattribute__", "__instancecheck__"),
)


class NotPlain(Exception):
    """A condition works on a value with which it may do more than compare."""


class NotTaken(Exception):
    """A condition is written in a way that is not taken.

    Attributes:
        node: the part of it.
    """

    def __init__(self, node: ast.AST) -> None:
        self.node = node
        super().__init__(node)


def checked(condition: ast.expr) -> ast.expr:
    """A condition with a check of each value that it works on.

    Raises:
        NotTaken: it is not written in the grammar above.
    """
    match condition:
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(op, [checked(value) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.UnaryOp(ast.Not(), checked(operand))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            if all(isinstance(op, _COMPARISONS) for op in ops):
                return ast.Compare(_value(left), ops, [_value(side) for side in comparators])
            if len(ops) == 1 and isinstance(ops[0], _IDENTITIES):
                return ast.Compare(_reached(left), ops, [_call("__single", _reached(comparators[0]))])
            raise NotTaken(condition)
    return _value(condition)


def _value(node: ast.expr) -> ast.expr:
    """What a condition compares."""
    match node:
        case ast.Constant():
            return node
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return node
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            return ast.Tuple([_value(element) for element in elements], ast.Load())
        case ast.List(elts=elements, ctx=ast.Load()) | ast.Set(elts=elements):
            return ast.Tuple([_value(element) for element in elements], ast.Load())
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return ast.BinOp(_call("__integer", _value(left)), op, _call("__integer", _value(right)))
        case ast.Call(func=ast.Name(id="len") as function, args=[inner], keywords=[]):
            return _call("__length", function, _value(inner))
        case ast.Call(func=ast.Name(id="isinstance") as function, args=[inner, ast.Name() as cls], keywords=[]):
            return _call("__is_instance", function, _reached(inner), cls)
    return _call("__plain", _reached(node))


def _reached(node: ast.expr) -> ast.expr:
    """What fields and items lead to."""
    match node:
        case ast.Name() | ast.Constant():
            return node
        case ast.Attribute(value=inner, attr=name):
            return _call("__field", _reached(inner), ast.Constant(name))
        case ast.Subscript(value=inner, slice=place) if not isinstance(place, ast.Slice | ast.Tuple):
            return _call("__item", _reached(inner), _value(place))
    raise NotTaken(node)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


# --- what the checks do when the condition is evaluated ---


def plain(value: Any) -> Any:
    """A value that is compared; of a view of a tuple, the tuple.

    Raises:
        NotPlain: it may have methods of the user's.
    """
    if type(value) in _ATOMS:
        return value
    if issubclass(type(value), StandIn) and hasattr(type(value), "_real"):
        value = value._real()
    if not is_plain(value):
        raise NotPlain
    return value


def is_plain(value: Any) -> bool:
    """Whether a value cannot change, and comparing it runs no code of the user's."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return True
    if kind in (tuple, frozenset, Bag):
        return all(map(is_plain, value))
    fields = _fields(kind)
    if issubclass(kind, StandIn):
        return hasattr(kind, "_candidates") and _all_plain(value)
    if fields is None:
        return False
    if issubclass(kind, tuple):
        return all(map(is_plain, tuple.__iter__(value)))
    return issubclass(kind, enum.Enum) or all(is_plain(field) for field in _set_fields(value, fields))


def _set_fields(value: object, fields: frozenset[str]) -> list[object]:
    try:
        return [object.__getattribute__(value, name) for name in fields]
    except AttributeError:
        raise NotPlain from None  # a lazy instance: comparing it reads fields that may hold anything


_plain_members: weakref.WeakKeyDictionary[Collection, int] = weakref.WeakKeyDictionary()
"""How many members of each collection are known to be plain."""


def _all_plain(view: Any) -> bool:
    node = view._node
    seen = _plain_members.get(node, 0)
    if seen < len(node.members):
        if not all(map(is_plain, list(node.members)[seen:])):
            return False
        _plain_members[node] = len(node.members)
    return all(map(is_plain, view._changes))


@functools.lru_cache(maxsize=4096)
def _fields(kind: Any) -> frozenset[str] | None:
    """The names of the fields of a class, all of which are kept in its instances; None of a class that is not plain."""
    if any(_is_own(getattr(kind, name, None)) for name in _OPERATIONS):
        return None
    if issubclass(kind, enum.Enum):
        return frozenset(("name", "value")) - {name for base in kind.__mro__[:-1] for name in _defined(base)}
    if issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        named: tuple[str, ...] = kind._fields
        in_place = all(type(vars(kind).get(name)).__name__ == "_tuplegetter" for name in named)
        return frozenset(named) if in_place else None
    if attrs.has(kind) and attrs.inspect(kind).is_frozen and can_be_taken_apart(kind):
        own = attrs.fields(kind)
        if all(getattr(field, "eq_key", None) is None and getattr(field, "order_key", None) is None for field in own):
            return frozenset(field.name for field in own)
    return None


def _defined(cls: type) -> list[str]:
    """What a class of the user's defines itself."""
    return [] if cls.__module__ == "enum" else [name for name in ("name", "value") if name in vars(cls)]


def _is_own(method: object) -> bool:
    """Whether a method of a class is the user's."""
    function = getattr(method, "__func__", method)
    if not isinstance(function, FunctionType):
        return (
            method is not None
            and not hasattr(type(method), "__objclass__")
            and callable(method)
            and (type(method).__module__ != "builtins")
        )
    return not (
        function.__code__.co_filename.startswith("<attrs generated") or function.__globals__.get("__name__") in _WRITERS
    )


def field(value: Any, name: str) -> object:
    """A field of a value, a member of an enum, or a member of a module. Raises NotPlain: it is another attribute."""
    kind: type = type(value)
    fields = _fields(kind)
    if fields is not None and name in fields:
        return getattr(value, name)
    if kind is enum.EnumMeta and name in value.__members__:
        return value.__members__[name]
    if kind is ModuleType and name in vars(value):
        return vars(value)[name]
    raise NotPlain


def item(value: Any, place: object) -> object:
    """An element of a tuple, or how often a bag holds a member. Raises NotPlain: it is an item of something else."""
    kind = type(value)
    if (
        kind in (tuple, str, Bag)
        or issubclass(kind, StandIn)
        or (issubclass(kind, tuple) and _fields(kind) is not None)
    ):
        return value[place]
    raise NotPlain


def single(value: T) -> T:
    """The right side of ``is``. Raises NotPlain: equal values may be different objects."""
    if value is None or type(value) is bool or isinstance(value, enum.Enum):
        return value
    raise NotPlain


def plain_tuple(value: T) -> T:
    """A member that a loop unpacks. Raises NotPlain: it is not a tuple."""
    if type(value) is tuple:
        return value
    raise NotPlain


def integer(value: object) -> int:
    """A side of a sum. Raises NotPlain: it is not an integer."""
    if type(value) is int:
        return value
    raise NotPlain


def is_instance(function: object, value: object, cls: object) -> bool:
    """What ``isinstance`` gives. Raises NotPlain: the name is not Python's, or the class decides that itself."""
    if function is isinstance and (type(cls) is type or type(cls) is enum.EnumMeta):
        return bool(isinstance(value, cls))
    raise NotPlain


def length(function: object, value: Sized) -> int:
    """What ``len`` gives. Raises NotPlain: the name is not Python's."""
    if function is len:
        return len(value)
    raise NotPlain


CHECKS = {
    "__field": field,
    "__integer": integer,
    "__is_instance": is_instance,
    "__item": item,
    "__length": length,
    "__plain": plain,
    "__plain_tuple": plain_tuple,
    "__single": single,
}
"""The functions that a checked condition calls, by name."""
