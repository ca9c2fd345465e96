"""Ways in which a spec's code may look at a set, a bag or a nested tuple, each made into small specs."""
# The constructs are meant as they are written.
# ruff: noqa: C414, C417, C419, SIM110, E731

from __future__ import annotations

import copy
import functools
import itertools
import operator
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Set
from typing import Any

from attrs import evolve, frozen

from leadline.checker import Action, Bag, Spec, action, component, put
from tests.specs.going_wrong import spec_going_wrong


@frozen
class Message:
    kind: str
    ballot: int

    @property
    def share(self) -> float:
        """It cannot be computed for some messages."""
        return 6 / (self.ballot - 1)


@frozen
class State:
    sent: frozenset[Message] = frozenset()
    pairs: frozenset[tuple[str, int]] = frozenset()
    bag: Bag[int] = Bag()
    grid: tuple[tuple[int, ...], ...] = component(default=((0, 0), (0, 0)))
    best: int = 0
    error: bool = False


KINDS = ("ask", "tell")


def _sends(s: State, kind: str, ballot: int) -> Iterator[State]:
    yield evolve(s, sent=s.sent | {Message(kind, ballot)})


@action(kind=KINDS, ballot=range(3))
def sends(s: State, kind: str, ballot: int) -> Iterator[State]:
    if kind == "tell" and (ballot < 2 or Message("ask", ballot) not in s.sent):
        return
    yield from _sends(s, kind, ballot)


@action(ballot=range(2))
def pairs_up(s: State, ballot: int) -> Iterator[State]:
    yield evolve(s, pairs=s.pairs | {("ask" if ballot % 2 else "tell", ballot)})


@action(ballot=range(2))
def bags(s: State, ballot: int) -> Iterator[State]:
    if s.bag.total() < 2:
        yield evolve(s, bag=s.bag.add(ballot))


@action()
def takes_out(s: State) -> Iterator[State]:
    for number in s.bag:
        yield evolve(s, bag=s.bag.remove(number), best=number)


@action()
def paints(s: State) -> Iterator[State]:
    yield put(s, "grid", 0, 0, 1)


STEPS: list[Action[State, ...]] = [sends, pairs_up, bags, takes_out, paints]

RARE = State(
    sent=frozenset((Message("ask", 0), Message("ask", 2), Message("tell", 2))),
    pairs=frozenset((("tell", 0), ("ask", 1))),
    bag=Bag((0, 1)),
    grid=((1, 0), (0, 0)),
    best=1,
)


def _for_if(s: State) -> int:
    total = 0
    for m in s.sent:
        if m.kind == "ask":
            total += m.ballot
    return total


def _for_continue(s: State) -> int:
    total = 0
    for m in s.sent:
        if m.kind != "tell":
            continue
        total += 1 + m.ballot
    return total


def _running_maximum(s: State) -> int:
    best = -1
    for m in s.sent:
        if m.ballot > best:
            best = m.ballot
    return best


def _condition_that_changes(s: State) -> frozenset[int]:
    reached, grew = {0}, True
    while grew:
        grew = False
        for m in s.sent:
            if m.ballot in reached or m.ballot - 2 in reached:
                grew |= m.ballot not in reached
                reached.add(m.ballot)
    return frozenset(reached)


def _list_that_grows(s: State) -> int:
    reached: list[int] = []
    found = 0
    for n in s.bag:
        if n == 0 or n in reached:
            reached.append(n + 1)
            found += 1
    return found


def _list_in_a_tuple(s: State) -> int:
    reached: tuple[str, list[int]] = ("x", [])
    found = 0
    for n in s.bag:
        if n == 0 or n in reached[1]:
            reached[1].append(n + 1)
            found += 1
    return found


def _condition_that_raises(s: State) -> int:
    """For the message that this tests, which is known from other states."""
    if Message("ask", 1) in s.sent:
        return 0
    return sum(m.ballot for m in s.sent if m.share > 0)


def _rebound(s: State) -> int:
    wanted, found = 0, 0
    for _ in range(3):
        for m in s.sent:
            if m.ballot == wanted:
                wanted += 1
                found += 1
    return found


def _lazy_generator(s: State) -> int:
    limit = 0
    chosen = (m for m in s.sent if m.ballot >= limit)
    limit = 2
    return len(list(chosen))


def _nonlocal(s: State) -> int:
    limit = 0

    def raise_limit() -> int:
        nonlocal limit
        limit = min(limit + 1, 1)
        return limit

    return sum(raise_limit() for m in s.sent if m.ballot >= min(limit, 0))


def _walrus(s: State) -> int:
    last = -5
    return len([(last := 0) for m in s.sent if m.ballot != last or m.ballot == 0])


def _early_return(s: State) -> bool:
    for m in s.sent:
        if m.kind == "tell" and m.ballot == 2:
            return True
    return False


def _for_else(s: State) -> int:
    for m in s.sent:
        if m.ballot == 1:
            break
    else:
        return 7
    return 8


def _last_one(s: State) -> Any:
    m = None
    for m in s.pairs:
        if m[1] > 5:
            return m
    return m is None


def _matches(s: State) -> int:
    found = 0
    for m in s.sent:
        match m:
            case Message("ask", ballot):
                found += ballot
            case Message(kind="tell"):
                found += 10
    return found


def _accumulates(s: State) -> frozenset[Any]:
    kept: set[Any] = set()
    for m in s.sent:
        kept.add(m.kind)
    for kind, ballot in s.pairs:
        if kind in kept:
            kept.add(ballot)
    return frozenset(kept)


def _manual(s: State) -> int:
    iterator, count = iter(s.sent), 0
    while next(iterator, None) is not None:
        count += 1
    return count


def _unpacks(s: State) -> Any:
    if len(s.pairs) != 2:
        return None
    one, other = s.pairs
    return one[1] + other[1]


def _catches(s: State) -> bool:
    try:
        return bool([1 // m.ballot for m in s.sent])
    except ZeroDivisionError:
        return True


def _in_class(s: State) -> bool:
    class Limits:
        low = min((m.ballot for m in s.sent if m.ballot > 0), default=0)

    return Limits.low == 2


def _shadowed(s: State) -> Any:
    any: Any = lambda items: len(list(items))
    return any(m.ballot == 2 for m in s.sent)


def _quorum(s: State) -> bool:
    def tells(ballot: int) -> bool:
        return any(m.kind == "tell" and m.ballot == ballot for m in s.sent)

    return any(tells(ballot) for ballot in range(3))


CONSTRUCTS: dict[str, Callable[[Any], Any]] = {
    "contains": lambda s: Message("ask", 2) in s.sent,
    "contains an unknown": lambda s: (Message("never", 2) in s.sent, Message("ask", 0) in s.sent),
    "contains another type": lambda s: (2 in s.sent, Message("ask", 2) in s.sent),
    "len": lambda s: len(s.sent),
    "bool": lambda s: bool(s.pairs),
    "not": lambda s: not s.pairs,
    "for": _for_if,
    "for, continue": _for_continue,
    "maximum": _running_maximum,
    "changing condition": _condition_that_changes,
    "list that grows": _list_that_grows,
    "list in a tuple": _list_in_a_tuple,
    "condition with a property": lambda s: sum(m.ballot for m in s.sent if m.ballot != 1 and m.share > 0),
    "condition that raises": _condition_that_raises,
    "condition with an operator": lambda s: sum(m.ballot for m in s.sent if (m.ballot * 3) % 2 == 0),
    "rebound name": _rebound,
    "lazy generator": _lazy_generator,
    "nonlocal": _nonlocal,
    "walrus": _walrus,
    "early return": _early_return,
    "for else": _for_else,
    "last one": _last_one,
    "match": _matches,
    "accumulates": _accumulates,
    "iter and next": _manual,
    "unpack": _unpacks,
    "catches": _catches,
    "class body": _in_class,
    "shadowed any": _shadowed,
    "quorum": _quorum,
    "any": lambda s: any(m.ballot == 2 for m in s.sent),
    "any of a list": lambda s: any([m.ballot == 2 for m in s.sent]),
    "all": lambda s: all(m.ballot != 1 for m in s.sent),
    "any, two clauses": lambda s: any(m.ballot == n and k == m.kind for m in s.sent for k, n in s.pairs),
    "all with if": lambda s: all(m.ballot != 0 for m in s.sent if m.kind == "tell"),
    "sum": lambda s: sum(m.ballot for m in s.sent if m.kind == "ask"),
    "count": lambda s: sum(1 for m in s.sent if m.ballot == 2),
    "max default": lambda s: max((m.ballot for m in s.sent if m.kind == "tell"), default=-1),
    "min key": lambda s: min(s.sent, key=lambda m: (m.ballot, m.kind), default=None) is None,
    "sorted": lambda s: tuple(sorted(s.pairs)),
    "sorted key": lambda s: tuple(sorted(s.sent, key=lambda m: (m.ballot, m.kind))),
    "list": lambda s: len(list(s.sent)),
    "tuple": lambda s: len(tuple(s.sent)),
    "set": lambda s: set(s.sent) == {Message("ask", 0), Message("ask", 2), Message("tell", 2)},
    "frozenset": lambda s: frozenset(s.pairs),
    "set comprehension": lambda s: frozenset({m.ballot for m in s.sent if m.kind == "ask"}),
    "dict comprehension": lambda s: tuple(sorted({m.ballot: 1 for m in s.sent if m.kind == "ask"})),
    "nested comprehension": lambda s: frozenset(m.ballot for m in s.sent if any(n == m.ballot for _, n in s.pairs)),
    "star": lambda s: len([*s.sent, *s.pairs]),
    "set display": lambda s: len({*s.sent}),
    "union": lambda s: len(s.sent | {Message("ask", 1)}),
    "union method": lambda s: len(s.sent.union([Message("ask", 1)], {Message("ask", 2)})),
    "reflected union": lambda s: len({Message("ask", 1)} | s.sent),
    "intersection": lambda s: s.sent & {Message("ask", 2), Message("tell", 1)},
    "reflected intersection": lambda s: {Message("ask", 2), Message("tell", 1)} & s.sent,
    "intersection method": lambda s: s.sent.intersection({Message("ask", 2), Message("tell", 1)}),
    "difference": lambda s: len(s.sent - {Message("ask", 2)}),
    "reflected difference": lambda s: {Message("ask", 2), Message("ask", 1)} - s.sent,
    "difference method": lambda s: s.pairs.difference([("ask", 1)]),
    "symmetric difference": lambda s: s.pairs ^ {("ask", 1), ("tell", 2)},
    "isdisjoint": lambda s: s.sent.isdisjoint([Message("ask", 1), Message("tell", 1)]),
    "issubset": lambda s: s.pairs.issubset({("ask", 1), ("tell", 0)}),
    "issuperset": lambda s: s.sent.issuperset({Message("ask", 0), Message("tell", 2)}),
    "subset": lambda s: s.pairs <= {("ask", 1), ("tell", 0)},
    "proper subset": lambda s: s.pairs < {("ask", 1), ("tell", 0), ("tell", 2)},
    "superset": lambda s: s.pairs >= {("ask", 1)},
    "proper superset": lambda s: s.pairs > {("ask", 1)},
    "reflected subset": lambda s: {("ask", 1)} <= s.pairs,
    "equal": lambda s: s.pairs == {("ask", 1), ("tell", 0)},
    "reflected equal": lambda s: {("ask", 1), ("tell", 0)} == s.pairs,
    "not equal": lambda s: s.pairs != frozenset({("ask", 1), ("tell", 0)}),
    "equal sets": lambda s: {m.ballot for m in s.sent} == {n for _, n in s.pairs},
    "hash": lambda s: {s.pairs: 1}.get(frozenset({("ask", 1), ("tell", 0)})),
    "in a set of sets": lambda s: s.pairs in {frozenset({("ask", 1), ("tell", 0)}), frozenset()},
    "repr": lambda s: len(repr(s.pairs)),
    "format": lambda s: len(f"{s.pairs}"),
    "percent": lambda s: len("%s" % (s.pairs,)),  # noqa: UP031
    "isinstance": lambda s: isinstance(s.sent, frozenset) and len(s.sent) == 3,
    "isinstance Set": lambda s: isinstance(s.sent, Set) and len(s.sent) == 3,
    "type": lambda s: type(s.sent) is frozenset and len(s.sent) == 3,
    "class": lambda s: s.sent.__class__ is frozenset and len(s.sent) == 3,
    "frozenset method": lambda s: frozenset.union(s.sent, s.sent) == s.sent and len(s.sent) == 3,
    "operator": lambda s: operator.contains(s.sent, Message("ask", 2)),
    "reduce": lambda s: functools.reduce(lambda total, m: total + m.ballot, s.sent, 0),
    "map": lambda s: sum(map(lambda m: m.ballot, s.sent)),
    "filter": lambda s: len(list(filter(lambda m: m.kind == "ask", s.sent))),
    "product": lambda s: sum(m.ballot == n for m, (_, n) in itertools.product(s.sent, s.pairs)),
    "combinations": lambda s: sum(1 for a, b in itertools.combinations(s.sent, 2) if a.ballot == b.ballot),
    "chain": lambda s: sum(1 for _ in itertools.chain(s.sent, s.pairs)),
    "zip": lambda s: len(list(zip(s.sent, range(2)))),  # noqa: B905
    "enumerate": lambda s: max((i for i, _ in enumerate(s.sent)), default=-1),
    "counter": lambda s: Counter(m.kind for m in s.sent)["ask"],
    "copy": lambda s: len(copy.copy(s.sent)),
    "deepcopy": lambda s: copy.deepcopy(s.pairs),
    "pickle": lambda s: pickle.loads(pickle.dumps(s.pairs)),
    "iter": lambda s: next(iter(s.sent), None) is None,
    "getattr": lambda s: getattr(s, "se" + "nt").isdisjoint({Message("ask", 1)}),
    "join": lambda s: len("".join(m.kind for m in s.sent if m.ballot == 2)),
    "default argument": lambda s: (lambda sent=s.sent: Message("tell", 2) in sent)(),
    "closure": lambda s: (lambda: len([m for m in s.sent if m.ballot == 2]))(),
    "changed set": lambda s: Message("ask", 1) in (s.sent | {Message("ask", 1)}),
    "changed twice": lambda s: len((s.sent | {Message("ask", 1)}) - {Message("ask", 0)}),
    "filter of a changed set": lambda s: sum(m.ballot for m in s.sent | {Message("x", 5)} if m.kind != "tell"),
    "evolved": lambda s: len(evolve(s, sent=s.sent - {Message("ask", 0)}).sent),
    "two sets": lambda s: {m.ballot for m in s.sent} - {n for _, n in s.pairs},
    "bag count": lambda s: s.bag[0],
    "bag contains": lambda s: 1 in s.bag and s.bag[0] > 0,
    "bag total": lambda s: s.bag.total(),
    "bag len": lambda s: len(s.bag),
    "bag bool": lambda s: bool(s.bag) and s.bag[1],
    "bag for": lambda s: sum(n for n in s.bag),
    "bag any": lambda s: any(n == 1 for n in s.bag),
    "bag counts": lambda s: tuple(sorted(s.bag.items())),
    "bag equal": lambda s: s.bag == Bag((0, 1)),
    "bag reflected equal": lambda s: Bag((1, 0)) == s.bag,
    "bag hash": lambda s: {s.bag: 3}.get(Bag((0, 1))),
    "bag add": lambda s: s.bag.add(0)[0],
    "bag remove": lambda s: s.bag.remove(1).total() if 1 in s.bag else -1,
    "bag repr": lambda s: len(repr(s.bag)),
    "bag list": lambda s: tuple(sorted(list(s.bag))),
    "grid cell": lambda s: s.grid[0][0] - s.grid[1][1],
    "grid row": lambda s: s.grid[0],
    "grid sum": lambda s: sum(map(sum, s.grid)) == 1 and s.grid[0][0],
    "grid any": lambda s: any(cell for row in s.grid for cell in row),
    "grid columns": lambda s: tuple(zip(*s.grid)),  # noqa: B905
    "grid equal": lambda s: s.grid == ((1, 0), (0, 0)),
    "grid compared": lambda s: s.grid > ((0, 1), (0, 0)),
    "grid contains": lambda s: (1, 0) in s.grid,
    "grid index": lambda s: s.grid.index((0, 0)),
    "grid unpack": lambda s: (lambda a, b: a[0] + b[1])(*s.grid),
    "grid hash": lambda s: {s.grid: 1}.get(((1, 0), (0, 0))),
    "put": lambda s: put(s.grid, 1, 0, 5),
    "put in the state": lambda s: put(s, "grid", 1, 0, 5).grid[0],
    "grid and set": lambda s: sum(row[m.ballot % 2] for m in s.sent for row in s.grid),
}


def spec_of(look: Callable[[State], Any], *, guard: bool) -> Spec[State]:
    """A spec that is violated in a few states, if a construct is recorded correctly there.

    Parameters:
        look: the construct.
        guard: whether an action uses it, or else an invariant.
    """
    expected = look(RARE)

    def wrong(s: State) -> bool:
        return bool(look(s) == expected) and s.best == 1 and len(s.sent) == 3 and Message("tell", 2) in s.sent

    return spec_going_wrong(State(), STEPS, wrong, guard=guard)
