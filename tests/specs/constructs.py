"""Ways in which a spec's code may look at a state, natural ones and others, each made into small specs."""
# The constructs are meant as they are written.
# ruff: noqa: B009, E721, RUF005, RUF015, SIM300, UP030, UP031, UP032

from __future__ import annotations

import abc
import array
import bisect
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import enum
import functools
import gc
import heapq
import inspect
import itertools
import json
import math
import operator
import pickle
import struct
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from attrs import evolve, frozen

from leadline.checker import Spec, action, component, constant
from tests.specs.going_wrong import spec_going_wrong


class Colour(enum.Enum):
    RED = 0
    GREEN = 1
    BLUE = 2

    @property
    def warm(self) -> bool:
        return self is Colour.RED


COLOURS = tuple(Colour)


@frozen
class Proc:
    n: int = 0

    def newer(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.n > other.n

    def same_class(self, other: object) -> bool:
        return other.__class__ is self.__class__ and self.n == 2

    def very_same_class(self, other: object) -> bool:
        return type(other) is type(self) and self.n == 2

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.n

    def __lt__(self, other: Proc) -> bool:
        return self.n < other.n


@attrs.define(frozen=True, slots=False)
class Node:
    n: int = 0


class HasN(abc.ABC):
    n: int


HasN.register(Proc)


@dataclasses.dataclass(frozen=True)
class Seen:
    what: object = None


@frozen
class State:
    """Every part takes the values 0, 1 and 2, or the colours of these numbers."""

    procs: tuple[Proc, ...] = component(default=(Proc(),) * 2, each="proc")
    nodes: tuple[Node, ...] = component(default=(Node(),), each="node")
    cells: tuple[int, ...] = component(default=(0, 0), each="cell")
    colours: tuple[Any, ...] = component(default=(Colour.RED, None), each="colour")
    error: bool = False
    seen: Any = None
    table: tuple[int, ...] = constant(default=(0, 1, 2))

    @property
    def first_colour(self) -> Any:
        return next(iter(self.colours))

    @property
    def all_colours(self) -> list[Any]:
        return [*self.colours]


@action(i=range(2))
def step_proc(s: State, i: int) -> Iterator[State]:
    if s.procs[i].n < 2 and not s.error:
        yield evolve(s, procs=(*s.procs[:i], Proc(s.procs[i].n + 1), *s.procs[i + 1 :]))


@action()
def step_node(s: State) -> Iterator[State]:
    if s.nodes[0].n < 2 and not s.error:
        yield evolve(s, nodes=(Node(s.nodes[0].n + 1),))


@action(i=range(2))
def step_cell(s: State, i: int) -> Iterator[State]:
    if s.cells[i] < 2 and not s.error:
        yield evolve(s, cells=(*s.cells[:i], s.cells[i] + 1, *s.cells[i + 1 :]))


@action()
def step_colour(s: State) -> Iterator[State]:
    if s.colours[0] is not Colour.BLUE and not s.error:
        yield evolve(s, colours=(COLOURS[s.colours[0].value + 1], *s.colours[1:]))


@action()
def paint(s: State) -> Iterator[State]:
    if s.colours[1] is None and not s.error:
        yield evolve(s, colours=s.colours[:1] + (Colour.GREEN,))


STEPS = (step_proc, step_node, step_cell, step_colour, paint)
RARE = State((Proc(2), Proc(1)), (Node(2),), (2, 1), (Colour.BLUE, Colour.GREEN))


@functools.singledispatch
def kind(value: Any) -> str:
    return "other"


@kind.register
def _(value: tuple) -> str:  # type: ignore[type-arg]
    return f"tuple of {len(value)}"


@kind.register
def _(value: Proc) -> str:
    return f"proc {value.n}"


@functools.cache
def cached_sum(values: Any) -> int:
    return sum(values)


MEMO: dict[Any, Any] = {}
WEAK: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def memoised(proc: Proc) -> int:
    if proc not in MEMO:
        MEMO[proc] = proc.n * 3
    return MEMO[proc]  # type: ignore[no-any-return]


def weakly_memoised(proc: Proc) -> int:
    if proc not in WEAK:
        WEAK[proc] = proc.n * 3
    return WEAK[proc]


def tried(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except:  # noqa: E722
        return "failed"


def tried_politely(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error).__name__


def suppressed(look: Callable[[], Any]) -> Any:
    found = "failed"
    with contextlib.suppress(BaseException):
        found = look()
    return found


def returned(look: Callable[[], Any]) -> Any:
    found = "failed"
    try:
        found = look()
    finally:
        return found  # noqa: B012


def matched(value: Any) -> str:
    match value:
        case None:
            return "none"
        case Colour.GREEN:
            return "green"
        case Colour():
            return "colour"
        case int(number) if number > 1:
            return "large"
        case 0 | 1:
            return "small"
        case (2, *rest):
            return f"two and {len(rest)}"
        case [_, last]:
            return f"last {last}"
        case Proc(n=2):
            return "second"
        case {"n": n}:
            return f"mapping {n}"
    return "nothing"


# --- code that is reached in other ways than by its name ---


def is_rare(cells: Any) -> bool:
    """Tests the exact type of a component tuple: an engine that misses this code is wrong."""
    return type(cells) is tuple and cells[0] == 2


class Ask:
    """Asks, wherever a class calls one of its attributes."""

    def __get__(self, instance: Any, owner: Any = None) -> Callable[[], bool]:
        return lambda: is_rare(instance.cells)


def asked(function: Callable[..., Any], cells: Any) -> Any:
    return function(cells)


@frozen
class Holder:
    """Holds a tuple, and looks at it in unusual places."""

    cells: Any = attrs.field(repr=lambda cells: str(is_rare(cells)))
    made: bool = attrs.field(default=attrs.Factory(lambda self: is_rare(self.cells), takes_self=True))

    @functools.cached_property
    def cached(self) -> bool:
        return is_rare(self.cells)

    @property
    def found(self) -> bool:
        return is_rare(self.cells)


@frozen
class Positional(Holder):
    __match_args__ = ("found",)


@frozen
class Converted:
    rare: Any = attrs.field(converter=attrs.Converter(lambda cells, self: is_rare(cells), takes_self=True))  # type: ignore[misc]


class Mutable:
    __bool__ = functools.partialmethod(lambda self: is_rare(self.cells))
    __len__ = Ask()

    def __init__(self, cells: Any) -> None:
        self.cells = cells

    @property
    def value(self) -> Any:
        return self.kept

    @value.setter
    def value(self, cells: Any) -> None:
        self.kept = is_rare(cells)


class Parent:
    token = Colour.BLUE

    def ask(self, cells: Any) -> bool:
        return is_rare(cells)


class Child(Parent):
    def other(self, cells: Any) -> bool:
        return super().ask(cells)


class Slotted:
    __slots__ = ("look",)

    def __init__(self, look: Callable[[Any], Any]) -> None:
        self.look = look


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    look: Callable[[Any], Any]


@typing.runtime_checkable
class HasNumber(typing.Protocol):
    n: int


@functools.wraps(itertools.chain)
def disguised(cells: Any) -> bool:
    return is_rare(cells)


def plain(cells: Any) -> bool:
    return bool(cells)


plain.look = is_rare  # type: ignore[attr-defined]

PROXY = types.MappingProxyType({"look": is_rare})
NAMESPACE = types.SimpleNamespace(look=is_rare)
SLOTTED = Slotted(is_rare)
RULE = Rule(is_rare)
CHILD = Child()
CHILD.colour = Colour.BLUE  # type: ignore[attr-defined]
QUEUE = collections.deque([is_rare])
DEFAULTS: dict[Any, Any] = collections.defaultdict(lambda: is_rare)
GET_DICT = operator.attrgetter("__dict__")
GET_FOUND = operator.attrgetter("found")
CALL_LOOK = operator.methodcaller("ask", (2, 1))
FORMAT = "{0.found}"
FORMATTED = "{0.found}".format
GET_N = Proc.n.__get__  # type: ignore[attr-defined]
PERCENT = "%s"


def set_on_a_copy(proc: Proc) -> bool:
    copied = evolve(proc)
    object.__setattr__(copied, "n", 1)
    return copied == Proc(1) and proc.n == 2


def made_again(proc: Proc) -> bool:
    copied = evolve(proc)
    copied.__init__(1)  # type: ignore[misc]
    return copied == Proc(1) and proc.n == 2


def is_blue(s: State) -> bool:
    colours = s.all_colours
    return colours[0] is Colour.BLUE


def set_value(cells: Any) -> Any:
    made = Mutable(cells)
    made.value = cells
    return made.kept


def matched_dict(node: Any) -> Any:
    match node:
        case Node(__dict__=fields):
            return fields.get("n")
    return None


def matched_property(holder: Any) -> str:
    match holder:
        case Positional(True):
            return "by position"
        case Holder(found=True):
            return "by name"
    return "no"


REACHED: dict[str, Callable[[Any], Any]] = {
    "in a mapping proxy": lambda s: PROXY["look"](s.cells),
    "in a namespace": lambda s: NAMESPACE.look(s.cells),
    "in a slot": lambda s: SLOTTED.look(s.cells),
    "in a dataclass with slots": lambda s: RULE.look(s.cells),
    "in a deque": lambda s: QUEUE[0](s.cells),
    "in a default factory": lambda s: DEFAULTS["any"](s.cells),
    "an attribute of a function": lambda s: plain.look(s.cells),  # type: ignore[attr-defined]
    "under another module's name": lambda s: disguised(s.cells),
    "by super": lambda s: CHILD.other(s.cells),
    "cached_property of slots": lambda s: Holder(s.cells).cached,
    "a property in a pattern": lambda s: matched_property(Holder(s.cells)),
    "a property in a pattern, by position": lambda s: matched_property(Positional(s.cells)),
    "a property in a format": lambda s: "{0.found}".format(Holder(s.cells)),
    "a property in a format elsewhere": lambda s: FORMAT.format(Holder(s.cells)),
    "a property in a bound format": lambda s: FORMATTED(Holder(s.cells)),
    "a property in an attrgetter": lambda s: GET_FOUND(Holder(s.cells)),
    "a repr": lambda s: f"{Holder(s.cells)}",
    "a factory": lambda s: Holder(s.cells).made,
    "a converter": lambda s: Converted(s.cells).rare,
    "a setter": lambda s: set_value(s.cells),
    "a special method made of a partial": lambda s: bool(Mutable(s.cells)),
    "a special method of a descriptor": lambda s: len(Mutable(s.cells)),
    "an argument": lambda s: asked(is_rare, s.cells),
    "__dict__ in a format": lambda s: "{0.__dict__}".format(s.nodes[0]),
    "__dict__ in an attrgetter": lambda s: GET_DICT(s.nodes[0]).get("n"),
    "__dict__ in a pattern": lambda s: matched_dict(s.nodes[0]),
    "a protocol with a field": lambda s: isinstance(s.nodes[0], HasNumber) and s.nodes[0].n,
    "a descriptor's method": lambda s: tried(lambda: GET_N(s.procs[0])),
    "percent of a tuple of one": lambda s: "%s" % s.cells[:1],
    "percent of a tuple of one, by a name": lambda s: PERCENT % s.cells[:1] == "2",
    "set on a copy": lambda s: set_on_a_copy(s.procs[0]),
    "is, with an inherited attribute": lambda s: [c is Child.token for c in s.colours][0],
    "is, with an instance's attribute": lambda s: [c is CHILD.colour for c in s.colours][0],  # type: ignore[attr-defined]
    "is, with one of two": lambda s: [c is (Colour.BLUE if s.table else None) for c in s.colours][0],
    "is, of a property": lambda s: s.first_colour is Colour.BLUE,
    "is, of a property's element": lambda s: s.all_colours[0] is Colour.BLUE,
    "is, of a property's element, by a name": lambda s: is_blue(s),
    "__init__ of a copy": lambda s: made_again(s.procs[0]),
    "length of an iterator": lambda s: (operator.length_hint(iter(s.cells)), s.cells[0]),
    "generator": lambda s: (isinstance(iter(s.cells), collections.abc.Generator), s.cells[0]),
    "one of two is": lambda s: [(c if s.table else s.colours[0]) is Colour.BLUE for c in s.colours][0],
}


def copies(values: Any) -> list[Any]:
    return list(values)


def sliced(values: Any) -> Any:
    return values[:1]


def starred(values: Any) -> Any:
    return (*values,)


COPIES = {
    "list": copies,
    "slice": sliced,
    "star": starred,
    "tuple": tuple,
    "reversed": lambda values: list(reversed(values)),
}

LOOKS: dict[str, Callable[[Any], Any]] = {
    "type is": lambda c: type(c) is int,
    "type in": lambda c: {int: "int", Colour: "colour"}.get(type(c), "?"),
    "is None": lambda c: c is None,
    "is colour": lambda c: c is Colour.GREEN,
    "colour is": lambda c: Colour.BLUE is c,
    "is tuple of": lambda c: any(c is colour for colour in COLOURS),
    "bare except": lambda c: tried(lambda: c > 1),
    "suppress": lambda c: suppressed(lambda: c > 1),
    "finally": lambda c: returned(lambda: c > 1),
    "except type error": lambda c: tried_politely(lambda: 12 / c if c else 0),
    "power": lambda c: tried_politely(lambda: 2**c),
    "shift": lambda c: tried_politely(lambda: 1 << c),
    "divmod": lambda c: tried_politely(lambda: divmod(9, c + 1)),
    "join": lambda c: tried_politely(lambda: ",".join([c])),
    "callable": callable,
    "hasattr": lambda c: hasattr(c, "numerator"),
    "getattr": lambda c: getattr(c, "numerator", -1),
    "match": matched,
    "isinstance": lambda c: isinstance(c, int),
    "issubclass": lambda c: issubclass(type(c), int),
    "class": lambda c: c.__class__ is int,
    "operator.is": lambda c: operator.is_(c, None),
    "id": lambda c: id(c) == id(Colour.GREEN),
    "hash": hash,
    "text": lambda c: f"{c!r}",
    "percent": lambda c: "%s" % c,
    "dict": lambda c: {2: "two", Colour.BLUE: "blue"}.get(c, "?"),
    "in": lambda c: c in (2, Colour.BLUE),
    "sorted": lambda c: sorted([str(c), "1"]),
    "repr in try": lambda c: tried(lambda: int(repr(c))),
    "json": lambda c: json.dumps(c, default=lambda _: "default"),
    "enum": lambda c: tried_politely(lambda: Colour(c)),
    "index": lambda c: tried_politely(lambda: COLOURS[c]),
    "property": lambda c: getattr(c, "warm", None),
    "dynamic": lambda c: getattr(c, "war" + "m", None),
}

OF_ELEMENTS = {
    f"{copied} {look}, {part}": (
        lambda s, copy=COPIES[copied], see=LOOKS[look], name=part: [see(c) for c in copy(getattr(s, name))]
    )
    for copied, look, part in [
        *((copied, look, "cells") for copied in COPIES for look in ("type is", "is None", "bare except", "match")),
        *((copied, look, "colours") for copied in COPIES for look in ("type in", "is None", "is colour", "property")),
        *(("star", look, part) for look in LOOKS for part in ("cells", "colours")),
    ]
}

OF_STATES: dict[str, Callable[[Any], Any]] = {
    # the exact class
    "type is": lambda s: type(s.procs[0]) is Proc and s.procs[0].n,
    "type ==": lambda s: type(s.procs[0]) == Proc and s.procs[0].n,
    "type in dict": lambda s: {Proc: lambda p: p.n}[type(s.procs[0])](s.procs[0]),
    "type of the state": lambda s: type(s) is State and s.cells[0],
    "__class__ is": lambda s: s.procs[0].__class__ is Proc and s.procs[0].n,
    "type of a tuple": lambda s: type(s.cells) is tuple and s.cells[0],
    "type of attrs in a tuple": lambda s: type(s.procs) is tuple and s.procs[0].n,
    "type name": lambda s: (type(s.cells).__name__, s.cells[0]),
    "isinstance type(self)": lambda s: s.procs[0].newer(Proc(1)),
    "__class__ is self.__class__": lambda s: s.procs[0].same_class(Proc()),
    "type(other) is type(self)": lambda s: s.procs[0].very_same_class(Proc()),
    "Cls.__eq__": lambda s: Proc.__eq__(s.procs[0], Proc(2)) is True,
    "eq method": lambda s: Proc(2).__eq__(s.procs[0]) is True,
    "eq": lambda s: s.procs[0] == Proc(2),
    "eq reflected": lambda s: Proc(2) == s.procs[0],
    "eq of states": lambda s: s == RARE,
    "ne": lambda s: s.procs[0] != Proc(2),
    "lt": lambda s: s.procs[0] < Proc(2),
    "gt reflected": lambda s: Proc(2) > s.procs[0],
    "isinstance": lambda s: isinstance(s.procs[0], Proc) and s.procs[0].n,
    "isinstance of an ABC": lambda s: isinstance(s.procs[0], HasN) and s.procs[0].n,
    "isinstance of a tuple": lambda s: isinstance(s.cells, tuple) and s.cells[0],
    "isinstance of Sequence": lambda s: isinstance(s.cells, collections.abc.Sequence) and s.cells[0],
    "issubclass of __class__": lambda s: issubclass(s.cells.__class__, tuple) and s.cells[0],
    "singledispatch": lambda s: (kind(s.procs[0]), kind(s.cells), s.cells[0]),
    "match": lambda s: (matched(s.procs[0]), matched(s.cells), matched(s.cells[0]), matched(s.colours[1])),
    # the dictionary and other ways to the fields
    "vars": lambda s: vars(s.nodes[0])["n"],
    "vars get": lambda s: vars(s.nodes[0]).get("n"),
    "vars values": lambda s: list(vars(s.nodes[0]).values()),
    "__dict__": lambda s: s.nodes[0].__dict__.get("n"),
    "vars of slots": lambda s: tried_politely(lambda: vars(s.procs[0])),
    "__slots__": lambda s: [getattr(s.procs[0], name, "?") for name in type(s.procs[0]).__slots__ if name == "n"],
    "descriptor": lambda s: Proc.n.__get__(s.procs[0]),  # type: ignore[attr-defined]
    "descriptor in try": lambda s: tried(lambda: Proc.n.__get__(s.procs[0])),  # type: ignore[attr-defined]
    "object.__getattribute__": lambda s: tried(lambda: object.__getattribute__(s.procs[0], "n")),
    "getattr": lambda s: getattr(s.procs[0], "n"),
    "getattr dynamic": lambda s: getattr(s, "cel" + "ls")[0],
    "hasattr": lambda s: hasattr(s.procs[0], "n") and not hasattr(s.procs[0], "m") and s.procs[0].n,
    "attrgetter": lambda s: operator.attrgetter("n")(s.procs[0]),
    "attrs.fields": lambda s: [getattr(s.procs[0], field.name) for field in attrs.fields(Proc)],
    "asdict": lambda s: attrs.asdict(s.procs[0]),
    "astuple": lambda s: attrs.astuple(s),
    "getmembers": lambda s: [value for name, value in inspect.getmembers(s.procs[0]) if name == "n"],
    "dir": lambda s: [getattr(s.procs[0], name) for name in dir(s.procs[0]) if name == "n"],
    "getattr_static": lambda s: inspect.getattr_static(s.nodes[0], "n", None),
    "referents": lambda s: [value for value in gc.get_referents(s.procs[0]) if type(value) is int],
    "getstate": lambda s: tried_politely(lambda: s.procs[0].__getstate__()),
    "reduce": lambda s: repr(s.nodes[0].__reduce_ex__(4)[2]),
    "setattr of a copy": lambda s: evolve(copy.copy(s.nodes[0]), n=s.cells[0]).n,
    "cached_property": lambda s: s.procs[0].double,
    # copies
    "copy": lambda s: copy.copy(s.nodes[0]).n,
    "copy of slots": lambda s: copy.copy(s.procs[0]).n,
    "deepcopy": lambda s: copy.deepcopy(s).cells[0],
    "deepcopy of a tuple": lambda s: copy.deepcopy(s.cells)[0],
    "pickle": lambda s: pickle.loads(pickle.dumps(s)).cells[0],
    "pickle of a tuple": lambda s: pickle.dumps(s.cells),
    "evolve": lambda s: evolve(s.procs[0], n=s.procs[1].n + 1).n,
    "dataclass": lambda s: Seen(s.procs[0]) == Seen(Proc(2)),
    "dataclass hash": lambda s: hash(Seen(s.cells)) == hash(Seen((2, 1))),
    "dataclass replace": lambda s: dataclasses.replace(Seen(), what=s.procs[0]).what == Proc(2),
    "type in a dataclass": lambda s: type(Seen(s.procs[0]).what) is Proc and s.procs[0].n,
    "weak memo": lambda s: weakly_memoised(s.procs[0]),
    "memo": lambda s: memoised(s.procs[0]),
    "cache": lambda s: cached_sum(s.cells),
    # tuples
    "unpack": lambda s: (lambda a, b: a)(*s.cells),
    "star unpack": lambda s: [*s.cells][0],
    "slice": lambda s: s.cells[::-1],
    "negative index": lambda s: s.cells[-2],
    "len": lambda s: (len(s.cells), s.cells[0]),
    "contains": lambda s: 2 in s.cells,
    "index of": lambda s: tried_politely(lambda: s.cells.index(2)),
    "count": lambda s: s.cells.count(2),
    "Counter": lambda s: collections.Counter(s.cells)[2],
    "sum": lambda s: sum(s.cells),
    "prod": lambda s: math.prod(s.cells),
    "min and max": lambda s: (min(s.cells), max(s.cells)),
    "sorted": lambda s: sorted(s.cells),
    "sorted with key": lambda s: sorted(s.procs, key=lambda p: -p.n),
    "max with key": lambda s: max(s.procs, key=lambda p: p.n),
    "any": lambda s: any(c > 1 for c in s.cells),
    "all": lambda s: all(s.cells),
    "zip": lambda s: list(zip(s.cells, s.procs, strict=True))[0],
    "enumerate": lambda s: [i for i, c in enumerate(s.cells) if c == 2],
    "pairwise": lambda s: list(itertools.pairwise(s.cells)),
    "chain": lambda s: list(itertools.chain(s.cells, s.colours)),
    "map": lambda s: list(map(str, s.cells)),
    "map type": lambda s: list(map(type, s.cells)) == [int, int] and s.cells[0],
    "filter": lambda s: list(filter(None, s.cells)),
    "functools.reduce": lambda s: functools.reduce(operator.add, s.cells),
    "partial": lambda s: functools.partial(max, 1)(*s.cells),
    "set": lambda s: set(s.cells),
    "frozenset": lambda s: frozenset(s.procs),
    "dict key": lambda s: {(2, 1): "rare"}.get(s.cells, "?"),
    "dict of a tuple": lambda s: dict.fromkeys(s.cells),
    "bytes": lambda s: bytes(s.cells),
    "array": lambda s: array.array("i", s.cells).tolist(),
    "struct": lambda s: struct.pack("2i", *s.cells),
    "numpy": lambda s: int(np.array(s.cells)[0]),
    "numpy of colours": lambda s: repr(np.array(s.colours, dtype=object)[0]),
    "join": lambda s: tried_politely(lambda: "".join(s.cells)),
    "percent": lambda s: "%d-%d" % s.cells,
    "percent in try": lambda s: tried_politely(lambda: "%s" % s.cells),
    "format": lambda s: "{0[0]}".format(s.cells),
    "repr": lambda s: repr(s.cells),
    "str of the state": lambda s: str(s),
    "json": lambda s: json.dumps(s.cells, default=lambda _: "default"),
    "plus": lambda s: (s.cells + (9,))[0],
    "plus reflected": lambda s: ((9,) + s.cells)[1],
    "plus a list": lambda s: tried_politely(lambda: s.cells + [9]),
    "times": lambda s: (s.cells * 2)[2],
    "times reflected": lambda s: tried(lambda: (2 * s.cells)[2]),
    "matmul": lambda s: tried_politely(lambda: s.cells @ s.cells),
    "tuple order": lambda s: s.cells > (1, 5),
    "tuple order reflected": lambda s: (1, 5) < s.cells,
    "order in try": lambda s: tried_politely(lambda: s.cells > 5),
    "eq of a list": lambda s: s.cells == [2, 1],
    "tuple.__eq__": lambda s: tuple.__eq__(s.cells, (2, 1)),
    "tuple.__contains__": lambda s: tried(lambda: tuple.__contains__(s.cells, 2)),
    "tuple.__getitem__": lambda s: tried(lambda: tuple.__getitem__(s.cells, 0)),
    "tuple.count": lambda s: tried(lambda: tuple.count(s.cells, 2)),
    "itemgetter": lambda s: operator.itemgetter(0)(s.cells),
    "methodcaller": lambda s: operator.methodcaller("count", 2)(s.cells),
    "heap": lambda s: heapq.nsmallest(1, s.cells),
    "bisect": lambda s: bisect.bisect(s.cells, 1),
    "is of tuples": lambda s: (s.cells is s.cells, s.cells[0]),
    "is of procs": lambda s: (s.procs[0] is s.procs[0], s.procs[0].n),
    "colour is": lambda s: s.colours[0] is Colour.BLUE,
    "colour is, by a name": lambda s: [one for one in COLOURS if one is s.colours[0]],
    "colour is, in a loop": lambda s: any(c is Colour.BLUE for c in s.colours),
    "colour is, in a method": lambda s: s.colours[0].warm,
    "none": lambda s: s.colours[1] is None,
    "none in a loop": lambda s: [c is None for c in s.colours],
    "none after a copy": lambda s: (*s.colours[:1], *s.colours[1:])[1] is None,
    "iter twice": lambda s: (lambda it: (next(it), next(it)))(iter(s.cells)),
    "next with default": lambda s: next((c for c in s.cells if c is not None and c > 1), None),
    "groupby": lambda s: [key for key, _ in itertools.groupby(s.cells)],
    "nested": lambda s: ((s.cells, s.procs), s.colours),
    "namespace": lambda s: types.SimpleNamespace(c=s.cells).c[0],
    "eval": lambda s: eval("s.cells[0]", {"s": s}),
    "sys.getsizeof": lambda s: s.cells.__len__(),
    "isclass": lambda s: inspect.isclass(s.procs[0]) or s.procs[0].n,
    "simple": lambda s: (s.procs[0].n, s.cells[0], s.colours[0], s.nodes[0].n),
}

CONSTRUCTS = {**OF_STATES, **OF_ELEMENTS, **REACHED}


def elsewhere(s: State) -> bool:
    """Whether a state is the rare one but for what most constructs look at."""
    return s.procs[1].n == 1 and s.cells[1] == 1


def spec_of(look: Callable[[State], Any], *, guard: bool, first: bool) -> Spec[State]:
    """A spec that is violated in a few states, if a construct is recorded correctly there."""
    expected = look(RARE)

    def wrong(s: State) -> bool:
        return (look(s) == expected and elsewhere(s)) if first else (elsewhere(s) and look(s) == expected)

    return spec_going_wrong(State(), STEPS, wrong, guard=guard)
