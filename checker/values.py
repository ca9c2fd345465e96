"""Defines what a value is: when two values are the same, and which values a state may contain.

Two values are the same if their types and their contents are the same at every depth. This is stricter than ``==``,
for which ``True`` equals ``1``, ``0.0`` equals ``-0.0``, and fields that are declared with `constant` do not count.
One rule for each class, `rule_of`, says what the contents of its values are. Everything else here is derived from the
rules:

- `same` compares two values, and `key` returns a hashable that is equal exactly for values that are the same;
- `difference` finds the first parts in which two values differ;
- `unfit` says why a value cannot be in a state.

Python merges equal members of sets and equal keys of maps, and so do the tables of a search. Therefore values that are
equal but not the same are refused where they meet: in one place of the state (see `places`), in one domain, and among
the initial states. TLC stops, too, when it compares such values.
"""

from __future__ import annotations

import enum
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, TypeVar

import attrs

from leadline.checker.bag import Bag
from leadline.checker.errors import SpecError
from leadline.checker.map import Map
from leadline.checker.support.escapes import visible

T = TypeVar("T")

HASH = "_attrs_cached_hash"
"""The attribute in which attrs stores the hash of an instance of a class with ``cache_hash=True``."""

CONSTANT = "leadline.constant"
"""The key in the metadata of an attrs field that is declared with `constant`."""

ATOMS = frozenset((int, bool, str, bytes, type(None)))
"""The types whose equal values are the same. `float` is not one of them, because 0.0 equals -0.0."""

LIBRARY = frozenset((
    "builtins.range", "datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "datetime.timezone",
    "decimal.Decimal", "fractions.Fraction", "ipaddress.IPv4Address", "ipaddress.IPv4Interface",
    "ipaddress.IPv4Network", "ipaddress.IPv6Address", "ipaddress.IPv6Interface", "ipaddress.IPv6Network",
    "pathlib.PosixPath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath", "pathlib.WindowsPath",
    "uuid.UUID", "zoneinfo.ZoneInfo",
))  # fmt: skip
"""The classes of Python's library whose values cannot change. Their contents are what `pickle` stores."""

_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)
_BASES: dict[type, Callable[[Any], object]] = {
    int: int.__int__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    float: float.__float__,
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    dict: lambda value: tuple(dict.items(value)),
    list: lambda value: tuple(list.__iter__(value)),
    object: lambda value: None,
}
"""The built-in classes that a class may extend, each with a function that returns what a value has from them."""

_UNSET = object()


class Form(enum.Enum):
    """How two values of one class are compared."""

    ATOM = enum.auto()
    """With ``==``."""
    PARTS = enum.auto()
    """Part by part."""
    MEMBERS = enum.auto()
    """Member by member. The members have no order."""
    ONE = enum.auto()
    """With ``is``: each value is one object, such as a member of an enumeration, or a function that has a name."""
    IDENTITY = enum.auto()
    """With ``is``, because the class does not define ``__eq__``. Only a constant may contain such a value."""
    REFUSED = enum.auto()
    """With ``is``, because nothing says what the contents are. Only a constant may contain such a value."""


@attrs.frozen(eq=False)
class Rule:
    """What the contents of the values of a class are.

    Attributes:
        form: how two values are compared.
        parts: for `Form.PARTS`, a function that returns the parts of a value, keyed by where they are in the value. For
            `Form.MEMBERS`, one that returns the members: of a bag, each with its count, and of a map, each with its
            value.
        variables: for an object, a function that returns the names of its attributes, without constants.
        names: if the parts are exactly the attributes with these names, the names. Otherwise empty.
        can_change: whether it is an attrs class that is not frozen, so that its objects could change in a state.
        instead: what to use instead of the class, if it is refused.
    """

    form: Form
    parts: Callable[[Any], Any] = lambda _: {}
    variables: Callable[[Any], Iterable[str]] = lambda _: ()
    names: tuple[str, ...] = ()
    can_change: bool = False
    instead: str = "str, int, tuple, frozenset, Bag, Map or a frozen attrs class"

    @property
    def is_tuple(self) -> bool:
        """Whether a value has the same parts as a tuple."""
        return self.parts is _elements


@functools.cache
def rule_of(cls: type) -> Rule:
    """Return the rule for the values of a class."""
    if cls in ATOMS:
        return Rule(Form.ATOM)
    if cls is float or cls is complex:
        return Rule(Form.PARTS, lambda value: {"": repr(value)})
    if cls is tuple or cls is list:
        return Rule(Form.PARTS, _elements)
    if cls is frozenset or cls is set:
        return Rule(Form.MEMBERS, list)
    if cls is Bag or cls is Map:
        return Rule(Form.MEMBERS, lambda value: list(value.items()))
    if issubclass(cls, enum.Enum) or cls in (type(...), type(NotImplemented)) or issubclass(cls, _NAMED):
        return Rule(Form.ONE)
    if is_of_library(cls):
        return Rule(Form.PARTS, lambda value: _elements(value.__reduce_ex__(4)[1:]))
    for base, name in {frozenset: "frozenset", set: "frozenset", Bag: "Bag", Map: "Map"}.items():
        if issubclass(cls, base):
            return Rule(Form.REFUSED, instead=name)
    if cls.__eq__ is object.__eq__:
        return Rule(Form.IDENTITY)
    return _rule_of_object(cls)


def _rule_of_object(cls: type) -> Rule:
    base = next(base for base in cls.__mro__ if base in _BASES)
    slots = _slots(cls)
    pointers = len(slots) + (cls.__weakrefoffset__ > 0) + (cls.__dictoffset__ > 0 or cls.__dictoffset__ == -8)
    size = base.__basicsize__ + pointers * object.__basicsize__ // 2
    if cls.__basicsize__ != size or cls.__itemsize__ != base.__itemsize__:
        return Rule(Form.REFUSED)  # written in C, with contents that Python does not show
    hidden = {HASH, *_copied(cls)[1]}
    fields = attrs.fields(cls) if attrs.has(cls) else ()
    names = tuple(field.name for field in fields)
    others = [slot for slot in slots if slot.__name__ not in hidden and slot.__name__ not in names]
    constants = frozenset(f".{field.name}" for field in fields if is_constant(field))
    if base is tuple and not others and not cls.__dictoffset__:
        return Rule(Form.PARTS, _elements)

    def parts(value: object) -> dict[str, object]:
        found = {f".{name}": getattr(value, name, _UNSET) for name in names}
        for slot in others:  # a class and a base of it can each have a slot with the same name
            name = f".{slot.__name__}"
            found[f".{slot.__qualname__}" if name in found else name] = _get(slot, value)
        if cls.__dictoffset__:
            attributes = object.__getattribute__(value, "__dict__")
            found |= {f".{name}": attributes[name] for name in sorted(attributes) if name not in hidden}
        if base is not object:
            found[""] = _BASES[base](value)
        return {name: part for name, part in found.items() if part is not _UNSET}

    def variables(value: object) -> list[str]:
        return [name[1:] for name in parts(value) if name not in constants and name.rfind(".") == 0]

    decorated = [base for base in cls.__mro__ if "__attrs_attrs__" in vars(base)]  # a plain subclass inherits freezing
    can_change = decorated != [] and not attrs.inspect(decorated[0]).is_frozen
    if base is not object or others or cls.__dictoffset__:
        return Rule(Form.PARTS, parts, variables if base in (object, tuple) else lambda _: (), can_change=can_change)
    fixed = tuple(name for name in names if f".{name}" not in constants)
    return Rule(Form.PARTS, parts, lambda _: fixed, names, can_change)


def _get(slot: MemberDescriptorType, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:
        return _UNSET


def _elements(value: Iterable[object]) -> dict[str, object]:
    return {f"[{index}]": item for index, item in enumerate(value)}


def is_of_library(cls: type) -> bool:
    """Return whether a class is in `LIBRARY`."""
    module = cls.__module__.removesuffix("._local")  # of pathlib, in Python 3.13
    return f"{module}.{cls.__qualname__}" in LIBRARY and getattr(sys.modules.get(module), cls.__name__, None) is cls


@functools.cache
def cached_properties(cls: type) -> frozenset[str]:
    """Return the names of the cached properties of a class, without those of its bases.

    They are computed from the contents of an instance, and are not part of them. attrs replaces those of a class with
    slots by slots that are not fields.
    """
    names = {name for name, item in vars(cls).items() if isinstance(item, functools.cached_property)}
    if "__attrs_attrs__" in vars(cls):
        fields = {field.name for field in attrs.fields(cls)}
        slots = {name for name, item in vars(cls).items() if isinstance(item, MemberDescriptorType)}
        names |= slots - fields - {HASH}
    return frozenset(names)


def copied(value: Any) -> Any:
    """Return a shallow copy of an object or a tuple, without what its cached properties have computed.

    No code of the class runs, so it does not matter what its constructor takes.
    """
    cls: type = type(value)
    made: Any
    if isinstance(value, tuple):
        made = tuple.__new__(cls, tuple.__getitem__(value, slice(None)))
    else:
        made = object.__new__(cls)
    slots, computed = _copied(cls)
    for slot in slots:
        if (part := _get(slot, value)) is not _UNSET:
            slot.__set__(made, part)
    if cls.__dictoffset__:
        vars(made).update({name: part for name, part in vars(value).items() if name not in computed})
    return made


@functools.cache
def _copied(cls: type) -> tuple[list[MemberDescriptorType], frozenset[str]]:
    """Return the slots of a class that a copy has too, and the names of the cached properties, which it has not."""
    computed = frozenset(name for base in cls.__mro__ for name in cached_properties(base))
    return [slot for slot in _slots(cls) if slot.__name__ not in computed], computed


def _slots(cls: type) -> list[MemberDescriptorType]:
    """Return the slots of a class and of its bases, without those of classes that are written in C."""
    python = [base for base in cls.__mro__ if base not in _BASES and "__slots__" in vars(base)]
    found = (item for base in python for item in vars(base).values() if isinstance(item, MemberDescriptorType))
    return list(dict.fromkeys(found))  # attrs enters the slots of a base in the class, too


def same(one: object, other: object) -> bool:
    """Return whether the types and the contents of two values are the same at every depth.

    Values that are the same differ at most in the identity of objects, and in the order in which sets, bags and maps
    iterate. Objects that are compared by identity are the same only as themselves.
    """
    if one is other:
        return True
    cls: type = type(one)
    compare = _comparison(cls)
    return type(other) is cls and compare(one, other)


@functools.cache
def _comparison(cls: type) -> Callable[[Any, Any], bool]:
    """Return a function that compares two values of a class as `same` does."""
    rule = rule_of(cls)
    if rule.form is Form.ATOM:
        return operator.eq
    if rule.form is Form.MEMBERS:
        return _have_same_members if cls in (frozenset, set) else _have_same_items
    if rule.form is not Form.PARTS:
        return operator.is_
    if rule.is_tuple:
        return _are_same
    parts = rule.parts
    if not rule.names:
        return lambda one, other: _have_same_parts(parts(one), parts(other))
    fields = operator.attrgetter(*rule.names)
    if len(rule.names) == 1:  # `fields` then returns the value instead of a tuple
        return lambda one, other: same(fields(one), fields(other))
    return lambda one, other: _are_same(fields(one), fields(other))


def _are_same(ones: tuple[object, ...], others: tuple[object, ...]) -> bool:
    if len(ones) != len(others):
        return False
    for one, other in zip(ones, others, strict=True):  # noqa: SIM110  # `all` with a generator takes twice the time
        if one is not other and not same(one, other):
            return False
    return True


def _have_same_parts(ones: Mapping[str, object], others: Mapping[str, object]) -> bool:
    return ones.keys() == others.keys() and all(same(part, others[name]) for name, part in ones.items())


def _have_same_members(ones: frozenset[object], others: frozenset[object]) -> bool:
    if len(ones) != len(others):
        return False
    shared = set(map(id, ones))
    new = [member for member in others if id(member) not in shared]
    if not new:
        return True
    twins = {member: member for member in ones}
    return all(member in twins and same(twins[member], member) for member in new)


def _have_same_items(ones: Mapping[object, object], others: Mapping[object, object]) -> bool:
    """Compare two maps, or the counts of two bags."""
    twins = {key: (key, value) for key, value in ones.items()}
    return len(ones) == len(others) and all(
        key in twins and same(twins[key], (key, value)) for key, value in others.items()
    )


class _Itself:
    """A key for a value that is the same only as itself."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def key(value: object) -> tuple[object, ...]:
    """Return a hashable that is equal to the key of another value if, and only if, the two values are the same."""
    cls: type = type(value)
    rule = rule_of(cls)
    match rule.form:
        case Form.ATOM:
            return cls, value
        case Form.PARTS:
            parts = rule.parts(value)
            return cls, *((name, key(part)) for name, part in parts.items())
        case Form.MEMBERS:
            return cls, frozenset(map(key, rule.parts(value)))
        case _:
            return cls, _Itself(value)


def difference(one: object, other: object, path: str = "") -> tuple[str, object, object] | None:
    """Return the first difference between two values, or None if they are the same.

    Two objects that pretend to be of another class, as the views of a recorded call do, do not differ.

    Returns:
        Where the two values differ, and what they have there.
    """
    if same(one, other) or type(one) is not one.__class__ or type(other) is not other.__class__:
        return None
    cls: type = type(one)
    rule = rule_of(cls)
    if type(other) is cls:
        pairs: list[tuple[str, object, object]] = []
        if rule.form is Form.PARTS:
            ones, others = rule.parts(one), rule.parts(other)
            pairs = [(name, ones[name], others[name]) for name in ones] if ones.keys() == others.keys() else []
        elif rule.form is Form.MEMBERS:
            twins: dict[Any, Any] = {member: member for member in one}  # type: ignore[attr-defined]
            if len(twins) == len(other) and all(member in twins for member in other):  # type: ignore
                pairs = [("", twins[member], member) for member in other]  # type: ignore[attr-defined]
                if isinstance(one, Mapping):
                    pairs += [(f"[{member!r}]", one[member], other[member]) for member in other]  # type: ignore
        for name, inner, inner_other in pairs:
            if found := difference(inner, inner_other, path + name):
                return found
    return path, one, other


def refusal(place: str, one: object, other: object) -> SpecError | None:
    """Return the error for two equal values that meet in one place but are not the same, or None if they are the same.

    Parameters:
        place: where both values occur, for example ``State.replicas[0].epoch``.
    """
    found = difference(one, other)
    if found is None:
        return None
    path, part, other_part = found
    detail = ""
    if not _are_equal(part, other_part):  # equality ignores this part, as it ignores constants
        detail = f" ({path.lstrip('.') or 'contents'}: {' and '.join(_texts(part, other_part))})"
        path, part, other_part = "", one, other
    texts = [_text(one), _text(other)] if detail else _texts(part, other_part)
    return SpecError(
        f"{place}{path} holds both {' and '.join(texts)}, which are equal but not the same{detail}: "
        "use only one of the two"
    )


class Unfit(SpecError):
    """Raised when a value cannot be in a state, because it is not compared by its contents."""


def unfit(value: object) -> str:
    """Return why a value itself, apart from its parts, cannot be in a state outside of a constant. Empty if it can."""
    cls: type = type(value)
    rule, name = rule_of(cls), cls.__qualname__
    match rule.form:
        case Form.ONE if isinstance(value, _NAMED) and not _has_name(value):
            return f"{_text(value)}, which is equal only to itself: define it at the top level of its module"
        case Form.IDENTITY:
            return f"a {name}, which is equal only to itself: define __eq__ and __hash__ for its class, or use an Enum"
        case Form.REFUSED:
            return f"a {name}, whose contents cannot be compared: use {rule.instead}"
        case Form.PARTS if rule.can_change:
            return f"a {name}, which is not frozen: use @attrs.frozen"
        case Form.PARTS if not _are_equal(value, value):
            return f"{_text(value)}, which is not equal to itself: use None or a str"
        case Form.PARTS if not _is_comparable(value):
            return f"a {name}, whose __eq__ raises an exception for other values: let it return NotImplemented for them"
    return ""


def _has_name(value: Any) -> bool:
    """Return whether a class, a function or a module can be imported by its name, so that there is only one."""
    if isinstance(value, ModuleType):
        return sys.modules.get(value.__name__) is value
    found: object = sys.modules.get(value.__module__ or "")
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def first_unfit(value: object, path: str = "") -> tuple[str, str] | None:
    """Return where the first part of a value is that cannot be in a state, and why, or None if there is no such part.

    The path of a member of a set is that of the set.
    """
    if why := unfit(value):
        return path, why
    cls: type = type(value)
    rule = rule_of(cls)
    if rule.form is Form.MEMBERS:
        parts = [(path, part) for part in rule.parts(value)]
    else:
        fixed = {f".{field.name}" for field in (attrs.fields(cls) if attrs.has(cls) else ()) if is_constant(field)}
        parts = [(path + name, part) for name, part in rule.parts(value).items() if name not in fixed]
    return next(filter(None, (first_unfit(part, inner) for inner, part in parts)), None)


def is_constant(field: attrs.Attribute[Any]) -> bool:
    """Return whether an attrs field was declared with `constant`."""
    return CONSTANT in field.metadata


def _are_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def _is_comparable(value: object) -> bool:
    try:
        return value != _UNSET or True
    except Exception:
        return False


def _texts(one: object, other: object) -> list[str]:
    """Return the texts of two values that are not the same. They differ."""
    texts = [_text(one), _text(other)]
    if texts[0] == texts[1]:
        texts = [f"{text} ({type(each).__name__})" for text, each in zip(texts, (one, other), strict=True)]
    return texts


def _text(value: object) -> str:
    try:
        text = f"a {type(value).__qualname__}" if type(value).__repr__ is object.__repr__ else repr(value)
    except Exception:
        text = f"a {type(value).__qualname__}"
    return visible(text)


def distinct(values: Iterable[T], place: str) -> list[T]:
    """Return the given values without those that are the same as an earlier one.

    Raises:
        SpecError: if two values are equal but not the same. The message names the place.
    """
    given = list(values)
    known = dict.fromkeys(given)
    if len(known) == len(given):
        return given
    firsts = {value: value for value in known}
    for value in given:
        if firsts[value] is not value and (error := refusal(place, firsts[value], value)):
            raise error
    return list(known)
