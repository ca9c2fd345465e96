"""Code that recording does not understand is reported, with its file and line and the calls that it concerns."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pytest

from leadline.checker import Spec, action, component, fuzz, invariant, put
from leadline.checker.result import Limits, Statistics, WholeRead
from leadline.checker.settings import CompiledSettings, RandomSettings
from leadline.reports.runs.phrases import statistics_lines
from tests.specs import learning
from tests.specs.going_wrong import ONLY_LEARNED


@attrs.frozen
class State:
    seen: frozenset[int] = frozenset()
    counts: tuple[int, ...] = (0, 0)
    parts: tuple[int, ...] = component(default=(0, 0))


@action(n=range(6))
def see(state: State, n: int) -> Iterator[State]:
    yield attrs.evolve(state, seen=state.seen | {n})


def is_large(n: int) -> bool:
    return n > 3


def by_condition(state: State) -> bool:
    return not any(is_large(n) and n > 9 for n in state.seen)


LIMITS = [9]


def by_changeable_object(state: State) -> bool:
    return not any(n > LIMITS[0] for n in state.seen)


def by_early_exit(state: State) -> bool:
    total = 0
    for n in state.seen:
        total += n
        if total > 99:
            break
    return total < 99


def by_variable(state: State) -> bool:
    n = 0
    for n in state.seen:
        if n > 9:
            return False
    return n < 9


def by_library(state: State) -> bool:
    return len(json.dumps(state.counts)) > 1


def by_identity(state: State) -> bool:
    return state.counts is not state.seen


def by_import(state: State) -> bool:
    from math import prod

    return prod(state.counts) == 0


def by_hiding_errors(state: State) -> bool:
    try:
        return state.counts[2] == 0
    except IndexError:
        return True


def understood(state: State) -> bool:
    return not any(n > 9 for n in state.seen) and sum(state.counts) == 0


def statistics_of(function: Callable[[Any], bool]) -> Statistics:
    spec = Spec(
        name="seen",
        initial_states=lambda _: [State()],
        actions=[see],
        properties=[invariant("it is fine")(function)],
    )
    return learning.explore(spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED)).statistics


def line_of(function: Callable[..., object], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(number for number, line in enumerate(lines, first) if text in line)


@pytest.mark.parametrize(
    ("function", "construct", "text", "reads"),
    [
        (by_condition, "the condition is_large(n)", "is_large(n)", "every member of a collection"),
        (
            by_changeable_object,
            "an object of type list, which could be changed",
            "n > LIMITS",
            "every member of a collection",
        ),
        (by_early_exit, "break in a loop", "break", "every member of a collection"),
        (by_variable, "n, which is read outside of its loop", "for n in", "every member of a collection"),
        (by_library, "json.dumps", "json.dumps", "whole tuples and collections"),
        (by_identity, "is", "is not", "whole states"),
        (by_import, "import", "from math", "whole states"),
        (by_hiding_errors, "try or with", "except", "whole tuples and collections"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_construct_that_is_not_understood_is_reported_with_its_place(
    function: Callable[[Any], bool], construct: str, text: str, reads: str
) -> None:
    statistics = statistics_of(function)
    (found,) = statistics.whole_reads
    assert (found.construct, found.reads, found.used_by) == (construct, reads, (function.__name__,))
    assert (found.function, found.file) == (function.__name__, Path(__file__).name)
    assert abs(found.line - line_of(function, text)) <= (construct == "try or with")
    assert statistics.learning is not None
    assert found.calls == statistics.learning.properties[function.__name__] > 0


def test_what_is_understood_is_not_reported() -> None:
    assert statistics_of(understood).whole_reads == ()


def test_a_recorded_call_that_fails_is_reported_with_its_line() -> None:
    """The elements are copied first, so they seem not to be read."""

    @action()
    def look(state: State) -> Iterator[State]:
        copies = [*state.parts]
        if copies[0] == 0:
            yield attrs.evolve(state, parts=(1, 1))

    spec = Spec(name="seen", initial_states=lambda _: [State()], actions=[see, look])
    found = learning.explore(spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED)).statistics.whole_reads
    place = ("test_a_recorded_call_that_fails_is_reported_with_its_line.<locals>.look", Path(__file__).name)
    assert [read[:4] for read in map(attrs.astuple, found)] == [
        ("a use of a part of the state that cannot be recorded", *place, line_of(look.function, "if copies"))
    ]


def test_random_search_reports_them_too() -> None:
    spec = Spec(
        name="seen",
        initial_states=lambda _: [State()],
        actions=[see],
        properties=[invariant("it is fine")(by_library)],
    )
    found = fuzz(spec, Limits(), settings=RandomSettings(examples=20, steps=5, workers=1)).statistics.whole_reads
    assert [(read.construct, read.used_by) for read in found] == [("json.dumps", ("by_library",))]


def test_the_terminal_names_the_most_expensive_one_only_where_it_matters() -> None:
    reads = WholeRead("json.dumps", "dumped", "mine.py", 9, "whole states", ("up", "down"), 40_000)
    few = attrs.evolve(reads, calls=10)

    def last_line(distinct: int, *found: WholeRead) -> str:
        return statistics_lines(Statistics(distinct=distinct, calls=50_000, whole_reads=found))[-1]

    assert last_line(50_000, reads, few) == (
        "json.dumps (dumped, mine.py:9) is not understood, so calls of up, down read whole states: 40,000 calls "
        "(1 similar place in --json and --html)"
    )
    assert "understood" not in last_line(90_000, reads)
    assert "understood" not in last_line(10_000, reads)


class Pair(NamedTuple):
    one: int = 0
    two: int = 0


@attrs.frozen
class Doubled:
    count: int = 0

    @functools.cached_property
    def twice(self) -> int:
        return 2 * self.count


@attrs.frozen
class Cells:
    cells: tuple[Doubled, ...] = component(default=(Doubled(),) * 6)
    other: Any = 0


@action(cell=range(6))
def counts_up(state: Cells, cell: int) -> Iterator[Cells]:
    if state.cells[cell].count < 3:
        yield put(state, "cells", cell, "count", state.cells[cell].count + 1)


HALF, TENTH, DAY, START = Fraction(1, 2), Decimal("0.1"), timedelta(1), datetime(2026, 1, 1)


def plain(state: Cells) -> bool:
    return all(each.count < 4 for each in state.cells)


def doubled(state: Cells) -> bool:
    return all(each.twice < 8 for each in state.cells)


def halved(state: Cells) -> bool:
    return all(each.count * HALF < 2 for each in state.cells)


def tenths(state: Cells) -> bool:
    return all(each.count * TENTH < 2 for each in state.cells)


def days(state: Cells) -> bool:
    return all(each.count * DAY < 4 * DAY for each in state.cells)


def later(state: Cells) -> bool:
    return all(START + each.count * DAY >= START for each in state.cells)


@pytest.mark.parametrize(
    ("other", "predicate"),
    [(Pair(), plain), (0, doubled), (HALF, halved), (TENTH, tenths), (DAY, days), (START, later)],
)
def test_values_that_cannot_change_do_not_make_a_predicate_read_more(
    other: Any, predicate: Callable[[Cells], bool]
) -> None:
    def searched(start: Cells, item: Any) -> Statistics:
        spec = Spec(name="cells", initial_states=lambda _: [start], actions=[counts_up], properties=[item])
        return learning.explore(spec).statistics

    statistics = searched(Cells(other=other), invariant("it is well")(predicate))
    assert (statistics.distinct, statistics.whole_reads) == (4**6, ())
    assert statistics.calls == searched(Cells(), invariant("it is well")(plain)).calls
