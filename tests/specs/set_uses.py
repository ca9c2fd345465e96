"""Ordinary ways of using a set or a bag, a small spec for each; run as a program, this says what engines answer.

A spec fills and empties a set of three members, and notes what a function finds in it. Whatever does not depend on the
order of the set must be right with every engine and every hash seed, and whatever does must be refused.
"""
# The uses are meant as they are written.
# ruff: noqa: RUF015, SIM110, B007, B905, UP031, UP032

from __future__ import annotations

import collections
import enum
import functools
import itertools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from leadline.checker import Bag, Limits, Result, Spec, SpecError, action, fuzz, invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.settings import CompiledSettings, RandomSettings
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"


@attrs.frozen
class Vote:
    voter: str
    epoch: int = 0


@attrs.frozen
class State:
    items: Any
    out: Any = None


WORDS, NUMBERS = ("b", "aa", "cc"), (8, 0, 3)
PAIRS = (("a", 1), ("b", 2), ("c", 1))
GROUPS: tuple[frozenset[str], ...] = (frozenset("ab"), frozenset("bc"), frozenset())
VOTES = (Vote("x", 1), Vote("y", 2), Vote("z", 2))


def union_in_a_loop(items: Iterable[str]) -> Any:
    total: frozenset[str] = frozenset()
    for item in items:
        total |= {item.upper()}
    return total


def filled(total: set[Any], items: Iterable[Any]) -> None:
    total |= items  # type: ignore[arg-type]


def filled_by_a_helper(items: Iterable[str]) -> Any:
    total: set[str] = set()
    filled(total, items)
    return frozenset(total)


def counted_by_pop(items: Iterable[str]) -> int:
    left, count = set(items), 0
    while left:
        left.pop()
        count += 1
    return count


def first_popped(items: Iterable[str]) -> Any:
    left = set(items)
    return left.pop() if left else None


def last_of_a_loop(items: Iterable[str]) -> Any:
    last = None
    for last in items:
        pass
    return last


def broken_off(items: Iterable[str]) -> Any:
    for item in items:
        if item != "b":
            return item
    return None


def found_early(items: Iterable[str]) -> bool:
    for item in items:
        if item == "b":
            return True
    return False


def pairs_counted(items: Iterable[str]) -> int:
    return sum(1 for one in items for other in items if one < other)


def unpacked(items: Sequence[str]) -> Any:
    if len(items) != 2:
        return None
    one, _ = items
    return one


def grouped(items: Iterable[tuple[str, int]]) -> Any:
    groups: dict[int, set[str]] = {}
    for name, number in items:
        groups.setdefault(number, set()).add(name)
    return frozenset((number, frozenset(names)) for number, names in groups.items())


def emptied(items: Iterable[str]) -> Any:
    left = set(items)
    left.discard("b")
    left -= {"cc"}
    left ^= {"b", "d"}
    return frozenset(left)


RIGHT: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "sorted": (WORDS, lambda items: tuple(sorted(items))),
    "min": (WORDS, lambda items: min(items, default="")),
    "min of numbers": (NUMBERS, lambda items: min(items, default=-1)),
    "set comprehension": (WORDS, lambda items: frozenset({len(item) for item in items})),
    "subset": (WORDS, lambda items: items <= {"b", "aa"}),
    "proper superset": (WORDS, lambda items: items > {"b"}),
    "symmetric difference": (WORDS, lambda items: items ^ {"b", "d"}),
    "in and not in": (WORDS, lambda items: "b" in items and "aa" not in items),
    "union in a loop": (WORDS, union_in_a_loop),
    "in place, in a helper": (WORDS, filled_by_a_helper),
    "set of tuples": (PAIRS, lambda items: frozenset(name for name, number in items if number == 1)),
    "set of frozensets": (GROUPS, lambda items: frozenset().union(*items)),
    "frozenset in a set": (GROUPS, lambda items: frozenset("ba") in items),
    "set of attrs values": (VOTES, lambda items: max((vote.epoch for vote in items), default=0)),
    "quorum": (VOTES, lambda items: sum(1 for vote in items if vote.epoch == 2) > len(items) / 2),
    "set of enum members": (Colour, lambda items: tuple(sorted(item.value for item in items))),
    "enum member in a set": (Colour, lambda items: Colour.RED in items and Colour.BLUE not in items),
    "True in a set of numbers": ((0, 1, 2), lambda items: True in items),
    "dict.fromkeys, sorted": (WORDS, lambda items: tuple(sorted(dict.fromkeys(items, 0)))),
    "pop until empty": (WORDS, counted_by_pop),
    "max with a key without ties": (WORDS, lambda items: max(items, key=lambda item: (len(item), item), default="")),
    "join of the sorted": (WORDS, lambda items: ",".join(sorted(items))),
    "any": (WORDS, lambda items: any(len(item) > 1 for item in items)),
    "all with a filter": (WORDS, lambda items: all(item < "c" for item in items if len(item) > 1)),
    "early return of a bool": (WORDS, found_early),
    "pairs": (WORDS, pairs_counted),
    "sum": (NUMBERS, lambda items: sum(items)),
    "reduce of numbers": (NUMBERS, lambda items: functools.reduce(operator.add, items, 0)),
    "counter": (PAIRS, lambda items: collections.Counter(number for _, number in items)[1]),
    "groups": (PAIRS, grouped),
    "methods that change a copy": (WORDS, emptied),
    "product": (NUMBERS, lambda items: sum(one < other for one, other in itertools.product(items, items))),
    "text of the sorted": (WORDS, lambda items: f"{sorted(items)}"),
    "bag": (Bag, lambda items: items["b"] + items.total()),
    "bag of the sorted": (Bag, lambda items: tuple(sorted(items.items()))),
}
"""Members, or their class, and what is found in a set of them, whatever its order."""

DEPENDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "next(iter())": (WORDS, lambda items: next(iter(items), None)),
    "list": (WORDS, lambda items: tuple(list(items)[:1])),
    "tuple": (WORDS, lambda items: tuple(items)),
    "dict.fromkeys": (WORDS, lambda items: tuple(dict.fromkeys(items))),
    "pop": (WORDS, first_popped),
    "max with ties": (WORDS, lambda items: max(items, key=len, default="")),
    "sorted with ties": (WORDS, lambda items: tuple(sorted(items, key=len))),
    "first of a filtered generator": (WORDS, lambda items: next((item for item in items if len(item) > 1), None)),
    "join": (WORDS, lambda items: ",".join(items)),
    "repr": (WORDS, lambda items: repr(items)),
    "f-string": (WORDS, lambda items: f"{items}"),
    "str": (WORDS, lambda items: str(items)),
    "format": (WORDS, lambda items: "{}".format(items)),
    "percent": (WORDS, lambda items: "%s" % (items,)),
    "text of a list": (WORDS, lambda items: repr([items])),
    "enumerate": (WORDS, lambda items: frozenset(enumerate(items))),
    "zip": (WORDS, lambda items: frozenset(zip(items, range(2)))),
    "reduce of strings": (WORDS, lambda items: functools.reduce(operator.add, items, "")),
    "last of a loop": (WORDS, last_of_a_loop),
    "break": (WORDS, broken_off),
    "unpacking": (WORDS, unpacked),
    "first enum member": (Colour, lambda items: next(iter(items), None)),
    "first vote": (VOTES, lambda items: next(iter(items), None)),
    "first group": (GROUPS, lambda items: next(iter(items), None)),
    "first pair": (PAIRS, lambda items: [*items][0][0] if items else None),
}
"""The same, where the order of the set decides."""


def spec_of(name: str, members: Any, find: Callable[[Any], Any]) -> Spec[State]:
    """A spec that looks at a set in one way."""
    kind: Any = Bag if members is Bag else frozenset
    words = list(WORDS if members is Bag else members)
    rare = find(kind(words))

    @action(place=range(3))
    def add(state: State, place: int) -> Iterator[State]:
        if words[place] not in state.items:
            items = state.items.add(words[place]) if kind is Bag else state.items | {words[place]}
            yield attrs.evolve(state, items=items)

    @action(place=range(3))
    def remove(state: State, place: int) -> Iterator[State]:
        if words[place] in state.items:
            items = state.items.remove(words[place]) if kind is Bag else state.items - {words[place]}
            yield attrs.evolve(state, items=items)

    @action()
    def look(state: State) -> Iterator[State]:
        yield attrs.evolve(state, out=find(state.items))

    @invariant("a full set is never noted")
    def never(state: State) -> bool:
        return not (state.out == rare == find(state.items) and len(state.items) == 3)

    return Spec(name=name, initial_states=lambda _: [State(kind())], actions=[add, remove, look], properties=[never])


SPECS = {name: spec_of(name, *use) for name, use in (RIGHT | DEPENDS).items()}


def answer(spec: Spec[State], search: Callable[[], Result]) -> object:
    """What an engine says of a spec, or why it refuses it."""
    try:
        result = search()
    except SpecError as error:
        return f"refused: {error}"
    (item,) = result.properties
    if result.engine == "random":
        return bool(item.traces)
    statistics = result.statistics
    return [bool(item.traces), statistics.distinct, statistics.generated, list(map(len, item.traces))]


def answers(spec: Spec[State], *, randomly: bool) -> list[object]:
    """What is said with the order of sets checked, and by all engines without that.

    Parameters:
        spec: the spec.
        randomly: whether to search it at random too, which takes longest; else None is said of that.
    """
    limits, settings = Limits(keep_going=True), CompiledSettings(workers=1, tuning=TUNING)
    at_random = RandomSettings(examples=100, steps=8, workers=1)
    return [
        answer(spec, lambda: with_order_checked(spec, lambda: oracle.explore(spec, limits))),
        answer(spec, lambda: oracle.explore(spec, limits)),
        answer(spec, lambda: learning.explore(spec, limits, settings=settings)),
        answer(spec, lambda: fuzz(spec, Limits(), settings=at_random)) if randomly else None,
    ]


TUNING = attrs.evolve(ONLY_LEARNED, many_values=3)

if __name__ == "__main__":
    print(
        json.dumps({name: answers(spec, randomly=place % 3 == 0) for place, (name, spec) in enumerate(SPECS.items())})
    )
