"""Random specs that read their states in every way that the language offers.

A spec is text, made by a grammar: each rule is an expression with holes, such as ``max($cells)``, and the type of what
it gives. The text is executed in this module's names. All functions are total and pure, and the values of each slot are
few, so that every engine has to give the same answer.
"""
# The specs use what is imported and defined here.
# ruff: noqa: B012, E722, F401

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import pickle
import random
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import attr
import attrs
from attrs import evolve, frozen

from leadline.checker import Spec, action, component, constant, invariant, step_invariant, step_witness, witness


class Hue(enum.Enum):
    RED = 0
    GREEN = 1
    BLUE = 2

    @property
    def warm(self) -> bool:
        return self is Hue.RED


HUES = (Hue.RED, Hue.GREEN, None)
ONE = 1


class Methods:
    """What all component classes can do."""

    __slots__ = ()
    n: Any
    hue: Any

    def same(self, other: Any) -> bool:
        return isinstance(other, type(self)) and bool(self.n == other.n)

    def same_class(self, other: Any) -> bool:
        return other.__class__ is self.__class__ and self.n == 1

    def very_same_class(self, other: Any) -> bool:
        return type(other) is type(self) and self.hue is None

    def bumped(self) -> Any:
        return evolve(self, n=(self.n + 1) % 3)  # type: ignore[misc]

    def rebuilt(self) -> Any:
        return type(self)(self.n)  # type: ignore[call-arg]

    @property
    def double(self) -> int:
        return 2 * int(self.n)

    def __add__(self, other: Any) -> Any:
        return self.n + other.n if isinstance(other, Methods) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + self.n if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return other - self.n if isinstance(other, int) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self.n * other if isinstance(other, int) else NotImplemented

    def __contains__(self, value: Any) -> bool:
        return bool(value == self.n)

    def __getitem__(self, place: Any) -> Any:
        return (self.n, self.hue)[place]

    def __len__(self) -> int:
        return int(self.n)

    def __bool__(self) -> bool:
        return bool(self.n)

    def __call__(self, value: Any) -> Any:
        return (value, self.n)

    def __format__(self, how: str) -> str:
        return f"<{self.n}>"


@frozen
class Slotted(Methods):
    n: int = 0
    hue: Any = None


@frozen(slots=False)
class Roomy(Methods):
    n: int = 0
    hue: Any = None

    @functools.cached_property
    def triple(self) -> int:
        return 3 * self.n


@frozen(order=True)
class Ordered(Methods):
    n: int = 0
    hue: Any = attrs.field(default=None, order=False)


@frozen(cache_hash=True)
class Hashing(Methods):
    n: int = 0
    hue: Any = None

    @functools.cached_property
    def triple(self) -> int:
        return 3 * self.n


@frozen
class Checked(Methods):
    n: int = attrs.field(default=0, converter=int)
    hue: Any = None

    def __attrs_post_init__(self) -> None:
        assert self.n >= 0


@frozen
class Renamed(Methods):
    _n: int = 0
    hue: Any = None

    @property
    def n(self) -> Any:
        return self._n

    def bumped(self) -> Any:
        return evolve(self, n=(self._n + 1) % 3)


@frozen
class Inner:
    m: int = 0


@frozen
class Outer(Methods):
    n: int = 0
    hue: Any = None
    inner: Inner = component(default=Inner())
    deep: tuple[int, ...] = component(default=(0, 1))


CLASSES = (Slotted, Roomy, Ordered, Hashing, Checked, Renamed, Outer)


@dataclasses.dataclass(frozen=True)
class Seen:
    what: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class SeenToo:
    what: Any = None
    more: Any = 0


@frozen
class Holder:
    what: Any

    @property
    def is_tuple(self) -> bool:
        return type(self.what) is tuple

    @functools.cached_property
    def text(self) -> str:
        return f"{self.what}"


class Plain:
    def __init__(self, what: Any) -> None:
        self.what = what

    def __eq__(self, other: object) -> Any:
        return self.what == other.what if isinstance(other, Plain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.what)


class Pair(collections.namedtuple("Pair", "left right")):
    __slots__ = ()


def is_tuple(value: Any) -> bool:
    return type(value) is tuple


def first_is_one(value: Any) -> bool:
    return type(value) is tuple and value[0] == 1


def number(value: Any) -> int:
    """A number for any value, by looking at its type first."""
    kind = type(value)
    if kind is bool:
        return 1 if value else 2
    if kind is int:
        return int(value % 7)
    if kind in CLASSES:
        return 3 + int(value.n)
    if isinstance(value, tuple | list):
        return len(value) + sum(map(number, value))
    return {str: len, Hue: lambda v: v.value + 1, type(None): lambda _: 5}.get(kind, lambda _: 4)(value)  # type: ignore


def tried(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except:
        return 0


def suppressed(look: Callable[[], Any]) -> Any:
    found = 1
    with contextlib.suppress(BaseException):
        found = look()
    return found


def returned(look: Callable[[], Any]) -> Any:
    found = 2
    try:
        found = look()
    finally:
        return found


@functools.cache
def cached(value: Any) -> Any:
    return number(value)


MEMO: dict[Any, Any] = {}


def memoised(value: Any) -> Any:
    if value not in MEMO:
        MEMO[value] = number(value)
    return MEMO[value]


@functools.singledispatch
def kind(value: Any) -> int:
    return 0


@kind.register
def _(value: tuple) -> int:  # type: ignore[type-arg]
    return len(value)


@kind.register
def _(value: Methods) -> int:
    return int(value.n)


def matched(value: Any) -> int:
    match value:
        case None | Hue.RED:
            return 1
        case Hue():
            return 2
        case int(n) if n > 1:
            return 3
        case 0 | 1:
            return 4
        case (1, *rest):
            return 5 + len(rest)
        case [_, last]:
            return number(last)
        case Slotted(n=1) | Roomy(1) | Ordered(hue=None):
            return 7
        case Methods(n=2, hue=hue):
            return 8 + number(hue)
        case {"n": n}:
            return 11 + number(n)
        case str():
            return 12
    return 13


RULES = {
    "small": """0 | 1 | 2 | $comp.n | $comp.n | $pair[0] | $pair[1] | $s.cells[0] | $s.cells[-1] | $int % 3
        | ($int % 3) | min($small, $small) | abs($small - $small) | ($small if $bool else $small) | $comp[0]
        | max($pair) | next(iter($pair)) | operator.itemgetter(1)($pair) | (lambda V: $small(V:small))($small)
        | getattr($comp, 'n') | getattr($comp, 'hn'[1:]) | len($comp) | Pair(*$pair).right""",
    "int": """$small | $small | $int + $int | $int - $int | $int * $small | -$int | 12 // ($int % 3 + 1)
        | 2 ** $small | 1 << $small | divmod(9, $small + 1)[1] | len($ints) | sum($ints) | max($ints, default=1)
        | len($comps) | ($int if $bool else $int) | functools.reduce(operator.add, $ints, 0)
        | $ints.count($small) | int($bool) | sum(1 for V in $ints if $bool(V:small))
        | sum($int(V:comp) for V in $comps) | number($any) | kind($key) | matched($any) | cached($key)
        | memoised($key) | hash($key) % 5 | len($str) | sum($int(V:int) for V in $ints)
        | max($comps, key=lambda V: $int(V:comp)).n | $comp.double | $comp + $comp | 1 + $comp | 5 - $comp
        | $comp * 2 | [$int, $int][$bool] | ($int, $int)[$small % 2] | {True: $int, False: $int}[$bool]
        | {Hue.RED: 0, Hue.GREEN: 1, None: 2}[$hue] | functools.partial(number)($any)
        | (lambda V: $int(V:any))($any) | (lambda V: $int(V:comp))($comp) | (lambda V: $int(V:ints))($ints)
        | sum(map(number, $comps)) | len({$key, $key}) | len({V: 1 for V in $ints})
        | collections.Counter($ints)[$small] | sum(vars($roomy)['n'] for _ in $pair) | $roomy.__dict__['n']
        | vars($roomy).get('n') | {int: 1, type(None): 2, Hue: 3}.get(type($any), 4)
        | {V: 1 for V in CLASSES}.get(type($any), 2) | sum(itertools.accumulate($ints))
        | len(list(zip($ints, $comps))) | sum(V for V, _ in zip($ints, $comps))
        | sum(V * $small for V in enumerate($comps) for V in V[:1]) | (lambda V, *W: V + len(W))(*$pair)
        | sum(itertools.chain($ints, $pair)) | int('%d' % $int) | int(f'{$int}')
        | operator.attrgetter('n')($comp) | operator.methodcaller('count', 1)($pair)
        | attrs.asdict($comp)['hue' and list(attrs.asdict($comp))[0]] | attrs.astuple($comp)[0]
        | next((V for V in $ints if $bool(V:small)), 3) | functools.reduce(lambda V, W: V * 2 + W, $ints, 0)
        | tried(lambda: $int) | suppressed(lambda: $int) | returned(lambda: $int) | tried(lambda: $any.n)
        | tried(lambda: 12 // $small) | tried(lambda: $any + $any and 1) | tried(lambda: len($any))
        | tried(lambda: number(sorted($any))) | tried(lambda: number($any < $any))
        | suppressed(lambda: 2 ** $small // $small) | returned(lambda: number($any[0]))
        | tried(lambda: $comp.missing) | tried(lambda: number($s.seen.what)) | number($s.seen) | len($s.bag)
        | matched($s.seen)""",
    "bool": """$any == $any | $any == $any | $any != $any | $int < $int | $int >= $small | $int == $int
        | $small == 1 | not $bool | ($bool and $bool) | ($bool or $bool) | $hue is None | $hue is not None
        | $hue is Hue.RED | $hues[0] is Hue.GREEN | [*$s.hues][0] is None
        | $s.top is None | $s.top is Hue.RED | $hue == $hue | type($any) is $class | type($any) == $class
        | $comp.__class__ is $class | type($any) in CLASSES | isinstance($any, $class) | isinstance($any, tuple)
        | isinstance($any, (int, Methods)) | $comp.same($comp) | $comp.same_class($comp)
        | $comp.very_same_class($comp) | type($comp).__eq__($comp, $any) is True | $comp.__eq__($any) is True
        | type($pair) is tuple | is_tuple($any) | first_is_one($any) | any($bool(V:small) for V in $ints)
        | all($bool(V:comp) for V in $comps) | any(V is None for V in $hues)
        | any(V is Hue.GREEN for V in $hues) | all(V is not None for V in $hues)
        | all(map(is_tuple, ($any, $any))) | $any in ($any, $any) | $small in $ints | $comp in $comps
        | $hue in $hues | $key in {$key, $key} | $small in $comp | bool($comp) | any($ints) | all($ints)
        | bool($ints) | $ints == $ints | $pair == $pair | $pair < $pair | $comps == $comps | $comp == $comp
        | sorted($ints) == list($ints) | $bool is True | type($small) is int | $small is ONE
        | any(V is ONE for V in $ints) | any(type(V) is int for V in $ints) | (lambda V: $bool(V:any))($any)
        | (lambda V: $bool(V:hue))($hue) | (lambda V: $bool(V:comp))($comp) | $ordered < $ordered
        | hasattr($any, 'n') | hasattr($comp, 'double') | callable($any) | issubclass(type($any), Methods)
        | (W := $int) > 1 and W < 4 | 0 < $int < 3 | $int != $int != $int | $comp.hue is $hue
        | bool(Holder($any).is_tuple) | $str == $str | $str in $str | tried(lambda: $bool) is True
        | suppressed(lambda: $bool) is True | returned(lambda: $any == $any) is True | $s.seen == $any
        | $s.seen is None | Seen($any) == Seen($any) | Plain($any) == Plain($any) | copy.copy($comp) == $comp
        | $comp == copy.deepcopy($comp) | pickle.loads(pickle.dumps($comp)) == $comp
        | len($s.bag) > 0 and $small in $s.bag | bool($s.seen) | $s.error > 0 | operator.eq($any, $any)
        | operator.contains($ints, $small) | tuple.__eq__(tuple($pair), tuple($pair)) is True""",
    "str": """f'{$any}' | f'{$comp}' | f'{$small:>2}' | f'{$any!r}' | '%s' % ($any,) | '%s-%r' % ($any, $small)
        | '%d' % $int | str($any) | repr($any) | '{}'.format($any) | '{0}'.format($comp)
        | ','.join(map(str, $ints)) | 'ab' * $small | type($any).__name__ | Holder($any).text | 'x'
        | format($comp, '') | ''.join(str(V) for V in $comps) | ascii($pair) | 'abc'[$small] | 'abc'[$small:]
        | '%s' % $small""",
    "hue": """$s.top | $s.hues[0] | $s.hues[1] | $comp.hue | $comp.hue | None | Hue.RED | Hue.GREEN | HUES[$small]
        | ($hue if $bool else $hue) | $hues[0] | (lambda V: V)($hue) | $comp[1]
        | next((V for V in $hues if V is not None), None) | next((V for V in $hues if $bool(V:hue)), None)""",
    "hues": """$s.hues | $s.hues | $s.hues[::-1] | tuple($s.hues) | [V for V in $s.hues] | ($hue, $hue)
        | (*$s.hues[:1], $hue) | [V.hue for V in $comps]
        | [$hue] + [V if V is not None else $hue for V in $s.hues]""",
    "pair": """$s.cells | $s.cells | $s.cells | $s.cells[::-1] | ($small, $small) | (*$s.cells[:1], $small)
        | ($small, *$s.cells[1:]) | $s.cells[:1] + ($small,) | ($small,) + $s.cells[1:]
        | tuple(V for V in $pair) | tuple(sorted($pair)) | tuple(list($pair)) | tuple(map(operator.pos, $pair))
        | tuple($small if V == $small else W for V, W in enumerate($pair)) | ($pair if $bool else $pair)
        | tuple(V if $bool(V:small) else $small for V in $pair) | tuple(reversed($pair))
        | (lambda V: (V[0], $small))($pair) | (lambda V: V)($pair) | copy.copy($pair) | tuple([*$pair])
        | ($pair * 2)[1:3] | (lambda V, W: (W, V))(*$pair) | tuple(dict(enumerate($pair)).values())
        | tuple(itertools.islice($pair, 2)) | (lambda *V: V)(*$pair)""",
    "ints": """$pair | $pair | $pair[1:] | $pair[:$small] | list($pair) | sorted($ints) | [V.n for V in $comps]
        | $pair + $pair | (*$pair, $small) | [*$ints, $int] | [V for V in $ints if $bool(V:small)]
        | [$small] * $small | list(map(number, $comps)) | sorted($ints, key=lambda V: -V)
        | [$int(V:small) for V in $ints] | list(filter(None, $ints)) | list(range($small))
        | list(V for W in ($ints, $ints) for V in W) | $ints[::-1] | sorted({*$ints})
        | list(dict.fromkeys($ints))""",
    "comp": """$s.comps[0] | $s.comps[1] | $s.one | $s.comps[-1] | $s.comps[$small % 2] | $comp.bumped()
        | $comp.rebuilt() | evolve($comp, n=$small) | evolve($comp, hue=$hue) | copy.copy($comp)
        | ($comp if $bool else $comp) | max($comps, key=lambda V: $int(V:comp))
        | min($comps, key=operator.attrgetter('n')) | (lambda V: $comp(V:comp))($comp)
        | sorted($comps, key=lambda V: V.n)[0] | $class($small) | next(V for V in $comps) | $comps[0]
        | type($comp)($small, $hue) | attr.evolve($comp, n=$small)
        | functools.reduce(lambda V, W: V if V.n > W.n else W, $comps) | {1: $comp}[1] | Seen($comp).what
        | Holder($comp).what""",
    "comps": """$s.comps | $s.comps | $s.comps[::-1] | list($s.comps) | ($comp, $comp)
        | [V.bumped() for V in $s.comps] | ($s.one, *$s.comps) | sorted($comps, key=lambda V: V.n)
        | [V for V in $s.comps if $bool(V:comp)] or [$comp] | (*$s.comps[:1], $comp)
        | tuple($comp if V == $small else W for V, W in enumerate($s.comps))""",
    "roomy": """Roomy($small) | Roomy($small, $hue) | ($comp if type($comp) is None else Roomy($small))
        | copy.copy(Roomy($small)) | evolve(Roomy(), n=$small)""",
    "ordered": "Ordered($small) | Ordered($comp.n, $hue)",
    "nothing": "None",
    "class": """Slotted | Roomy | Ordered | Hashing | Checked | Renamed | Outer | tuple | int | type($comp)
        | $comp.__class__""",
    "key": """$small | $small | $comp | $comp | $pair | tuple($comps) | $hue | $str | ($key, $key) | Seen($comp)
        | frozenset($ints) | Pair($small, $hue) | Plain($key)""",
    "any": """$small | $int | $bool | $str | $hue | $comp | $comp | $pair | $comps | $ints | $hues | $key
        | ($any, $any) | [$any, $any] | Seen($any) | Holder($any) | SeenToo($any, $small) | $s.seen | $s.bag
        | {'n': $any} | {'n': $any}['n'] | ($any if $bool else $any) | (lambda V: $any(V:any))($any)
        | (lambda: $any)() | [$any][0] | attrs.asdict($comp) | attrs.astuple($comp) | $s.comps | $s.cells
        | $s.hues | types.SimpleNamespace(v=$any).v | tried(lambda: $any) | suppressed(lambda: $any)""",
}
"""Expressions by type. A hole is ``$type``, or ``$type(V:type)`` if a name of that type is bound; ``$s`` is a state."""

WRITES = {
    "cells": [
        "$pair",
        "(*S.cells[:1], $small)",
        "($small, *S.cells[1:])",
        "S.cells[::-1]",
        "tuple(V if $bool(V:small) else $small for V in S.cells)",
    ],
    "hues": [
        "(*S.hues[:1], $hue)",
        "($hue, $hue)",
        "S.hues[::-1]",
        "($hue, *S.hues[1:])",
        "tuple(V if $bool(V:hue) else None for V in S.hues)",
    ],
    "comps": [
        "(evolve(S.comps[0], n=$small), *S.comps[1:])",
        "S.comps[:1] + (evolve(S.comps[1], hue=$hue),)",
        "S.comps[::-1]",
        "tuple(V.bumped() if $bool(V:comp) else V for V in S.comps)",
        "tuple(sorted(S.comps, key=lambda V: $int(V:comp)))",
        "tuple(evolve(V, n=$small) for V in S.comps)",
        "(S.comps[1], S.comps[0].bumped())",
    ],
    "one": [
        "evolve(S.one, n=$small)",
        "S.one.bumped()",
        "evolve(S.one, hue=$hue, n=$small)",
        "S.one.rebuilt()",
        "type(S.one)($small, $hue)",
        "evolve(S.one, hue=$hue)",
    ],
    "bag": ["frozenset($pair)", "S.bag | {$small}", "frozenset(V for V in S.bag if $bool(V:small))"],
}
"""What actions write into a field of the state ``S``."""

LEAKS = [
    "S.one",
    "S.comps[0]",
    "Seen(S.one)",
    "SeenToo(S.cells)",
    "Seen((S.cells, S.hues[0]))",
    "Holder(S.comps)",
    "Plain(S.cells)",
    "S.cells",
    "S.hues",
    "tuple(S.cells)",
    "list(S.cells)[0]",
    "frozenset(S.cells)",
    "(S.one, S.cells)",
    "(is_tuple, first_is_one, number)[$small]",
    "CLASSES[$small]",
    "'ab' * $small",
    "$hue",
    "Pair(*S.cells)",
    "$bool",
    "Seen($pair)",
    "Holder($comp)",
    "$pair",
    "S.cells[:$small]",
    "f'{S.one}'",
    "S.seen",
    "None",
    "Seen(Seen(S.comps))",
    "frozenset({S.one})",
    "S.comps[::-1]",
]
"""What actions keep in the leaf ``seen``: one of these in a spec, so that no two values are equal and differ."""

STATEMENTS = """
W = $T
|
W = $T
for V in $ints:
    if $bool(V:small):
        W = $T
        break
|
W = $T
try:
    W = $T
except BaseException:
    pass
|
W = $T
if $bool:
    return $R
|
V, *X = $ints or [0]
W = $T(V:int)
|
def V():
    for X in $ints:
        yield $int(X:small)
W = $T
if sum(V()) > 2:
    W = $T
|
match $any:
    case None | 0 | Hue.RED:
        W = $T
    case (V, *_):
        W = $T(V:any)
    case Slotted(n=V) | Roomy(n=V):
        W = $T(V:small)
    case {'n': V}:
        W = $T(V:any)
    case _:
        W = $T
|
X = $any
def V():
    nonlocal X
    X = $any(X:any)
    return $T
W = V()
|
W = $T
with contextlib.suppress(BaseException):
    W = $T
|
try:
    W = $T
except:
    W = $T
|
V = 0
W = $T
while V < $small:
    V += 1
    W = $T(V:small)
|
class V:
    x = $any
    def __eq__(self, other):
        return $bool(self.x:any)
W = $T
if V() == $any:
    W = $T
|
W = $T
try:
    if $bool:
        return $R
finally:
    if $bool:
        return $R
"""
"""Statements that bind ``W`` to something of a type ``T``; ``R`` is the type of what the function returns."""


WANDERS = [
    """@action(i=range(2))
def stepcell(s, i):
    yield evolve(s, cells=(*s.cells[:i], (s.cells[i] + 1) % 3, *s.cells[i + 1 :]))""",
    """@action(i=range(2))
def stepcomp(s, i):
    yield evolve(s, comps=tuple(c.bumped() if j == i else c for j, c in enumerate(s.comps)))""",
    """@action()
def stephue(s):
    if s.hues[0] is not None:
        yield evolve(s, hues=(HUES[s.hues[0].value + 1], s.hues[1]))""",
    """@action()
def stepone(s):
    if s.one.n < 2:
        yield evolve(s, one=evolve(s.one, n=s.one.n + 1, hue=s.hues[0]))""",
    """@action()
def stepswap(s):
    yield evolve(s, hues=s.hues[::-1], comps=(evolve(s.comps[0], hue=Hue.GREEN), *s.comps[1:]))""",
]
"""Actions that lead through many states, so that random ones are enabled."""


class Grammar:
    """Makes expressions and functions.

    Parameters:
        chance: where the random choices come from.
        calm: whether to leave out what no precise recording allows (``try``, ``type``, ``vars``), so that the precise
            ways of recording are tried as well.
    """

    def __init__(self, chance: random.Random, calm: bool) -> None:
        self._chance, self._calm = chance, calm
        self._names = itertools.count()
        self._scope: list[tuple[str, str]] = []
        self.states = ["s"]

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a type."""
        if kind == "s":
            return self._chance.choice(self.states)
        known = [name for name, its in self._scope if its == kind]
        if known and self._chance.random() < 0.5:
            return self._chance.choice(known)
        if kind == "any" and self._scope and self._chance.random() < 0.3:
            return self._chance.choice(self._scope)[0]
        rules = _CALM_RULES[kind] if self._calm else _RULES[kind]
        if depth <= 0:
            rules = _leaves(tuple(rules)) or rules
        return f"({self.fill(self._chance.choice(rules), depth - 1)})"

    def fill(self, rule: str, depth: int) -> str:
        """A rule with its holes filled."""
        fresh = {place: f"{place.lower()}{next(self._names)}" for place in "VWX"}
        rule = re.sub(r"\b[VWX]\b", lambda found: fresh[found[0]], rule)

        def hole(found: re.Match[str]) -> str:
            if found[2] is None:
                return self.expression(found[1], depth)
            self._scope.append((found[2], found[3]))
            made = self.expression(found[1], depth)
            self._scope.pop()
            return made

        return re.sub(r"\$(\w+)(?:\(([\w.]+):(\w+)\))?", hole, rule)

    def function(self, head: str, kind: str, last: str = "return $R") -> str:
        """A function of some statements and a last one."""
        lines = [head]
        for _ in range(self._chance.choice((0, 0, 1, 2))):
            statements = _CALM_STATEMENTS if self._calm else _STATEMENTS
            bound = self._chance.choice(("int", "bool", "any", "comp", "ints", "hue", "pair"))
            name = f"local{next(self._names)}"
            rule = self._chance.choice(statements).replace("$T", f"${bound}").replace("$R", f"${kind}")
            rule = re.sub(r"\bW\b", name, rule)
            made = self.fill(rule, 2)
            lines += ["    " + line for line in made.splitlines()]
            self._scope.append((name, bound))
        lines += ["    " + line for line in self.fill(last.replace("$R", f"${kind}"), 3).splitlines()]
        self._scope.clear()
        return "\n".join(lines)


def _split(text: str) -> list[str]:
    return [rule.strip() for rule in re.split(r"\s\|\s", text)]


_RULES = {kind: _split(text) for kind, text in RULES.items()}
_ROUGH = re.compile(
    r"type\(|isinstance|__|tried|suppressed|returned|vars|number|kind|matched|cached|memoised|getattr|getter|caller|copy\."
    r"|is_tuple|first_is|same|asdict|astuple|pickle|Counter|callable|partial|issubclass|hasattr|asked|rebuilt|class\b"
)
_CALM_RULES = {kind: [rule for rule in rules if not _ROUGH.search(rule)] or rules for kind, rules in _RULES.items()}
_STATEMENTS = [rule.strip("\n") for rule in STATEMENTS.split("\n|\n")]
_CALM_STATEMENTS = [rule for rule in _STATEMENTS if not re.search("try|with|match|class", rule)]


@functools.cache
def _leaves(rules: tuple[str, ...]) -> list[str]:
    """The rules with the fewest holes."""
    return [rule for rule in rules if len(re.findall(r"\$(?!s\b)", rule)) == 0]


def source(seed: int) -> str:
    """The text of a random spec."""
    chance = random.Random(seed)
    while True:
        text = _source(chance)
        try:
            compile(text, "<hostile spec>", "exec")
        except SyntaxError:
            continue  # an f-string within another, or a name bound where it cannot be
        return text


def _source(chance: random.Random) -> str:
    classes = [chance.choice(CLASSES).__name__ for _ in range(2)]
    field_order = chance.sample(sorted(WRITES), len(WRITES))
    frozen_by = chance.choice(("frozen", "frozen", "frozen(slots=False)", "frozen(cache_hash=True)"))
    defaults = {
        "cells": "component(default=(0, 1), each='cell')",
        "hues": "component(default=(Hue.RED, None), each='hue')",
        "comps": f"component(default=({classes[0]}(), {classes[0]}(1)), each='comp')",
        "one": f"component(default={classes[1]}())",
        "bag": "frozenset()",
    }
    parts = [f"@{frozen_by}", "class State:"]
    parts += [f"    {name}: Any = {defaults[name]}" for name in field_order]
    parts += ["    seen: Any = None", "    error: int = 0", "    table: Any = constant(default=(0, 1, 2))"]
    parts += ["    @property", "    def top(self): return next(iter(self.hues))", ""]
    leak = chance.choice(LEAKS)
    parts += [f"{wander}\n" for wander in chance.sample(WANDERS, chance.choice((1, 2, 3)))]
    for place in range(chance.choice((2, 3, 4))):
        grammar = Grammar(chance, calm=chance.random() < 0.6)
        names = chance.sample(sorted(WRITES), chance.choice((1, 1, 2)))
        writes = [f"{name}={chance.choice(WRITES[name])}" for name in names]
        if chance.random() < 0.3:
            writes.append(f"seen={leak}")
        if chance.random() < 0.3:
            writes.append("error=$small")
        changes = ", ".join(writes).replace("S.", "s.")
        style = chance.choice(
            ("yield evolve(s, {})", "made = evolve(s, {})\nyield made", "for w in (1,):\n    yield evolve(s, {})")
        )
        last = "if $bool:\n" + "\n".join("    " + line for line in style.format(changes).splitlines())
        parts += ["@action()", grammar.function(f"def step{place}(s):", "nothing", last), ""]
    kinds = [("invariant", ["s"])] * 3 + [
        ("witness", ["s"]),
        ("step_invariant", ["before", "s"]),
        ("step_witness", ["before", "s"]),
    ]
    for place, (kind, states) in enumerate(chance.sample(kinds, 4)):
        grammar = Grammar(chance, calm=chance.random() < 0.4)
        grammar.states = states
        parts += [f"@{kind}('p{place}')", grammar.function(f"def p{place}({', '.join(states)}):", "bool"), ""]
    return "\n".join(parts)


def spec_of(text: str) -> Spec[Any]:
    """The spec that a text is of."""
    names = {name: value for name, value in globals().items() if name[:1] != "_" and name not in ("source", "spec_of")}
    names["__name__"] = "hostile_spec"
    exec(compile(text, "<hostile spec>", "exec"), names)
    MEMO.clear()
    cached.cache_clear()
    made = [value for name, value in names.items() if re.fullmatch(r"step[a-z]+|(step|p)\d", name)]
    return Spec(
        name="hostile",
        initial_states=lambda _: [names["State"]()],
        actions=[value for value in made if type(value).__name__ == "Action"],
        properties=[value for value in made if type(value).__name__ != "Action"],
    )
