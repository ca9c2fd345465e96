"""What two engines must agree on, and specs that are hard to pack."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any
from unittest import mock

import attrs
from hypothesis import strategies as st

from leadline.checker import Limits, Result, Spec, action, component, constant, invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.learning import helpers
from leadline.checker.properties import step_invariant, step_witness, witness
from leadline.checker.settings import CompiledSettings, Tuning
from tests.specs import learning
from tests.specs.direct import same_by_direct_calls


def answers(result: Result) -> Any:
    """All that two engines must agree on."""
    statistics = attrs.asdict(result.statistics)
    for name in (
        "seconds",
        "memory",
        "calls",
        "compared",
        "verified",
        "learning",
        "whole_reads",
        "level_done",
        "spilled",
    ):
        del statistics[name]
    if statistics["liveness"] is not None:
        del statistics["liveness"]["seconds"]
    properties = [(item.property.name, item.verdict, list(map(len, item.traces))) for item in result.properties]
    return result.verdict, result.reason, result.exhausted, statistics, properties


SMALL = Tuning(block=15, alone=3, asked=3, waiting=2, shared=1, helped_after=0)
"""Blocks so small that there are many, and few paths are learned at once."""


def assert_same_answers(spec: Spec[Any], limits: Limits, workers: int = 2) -> None:
    """Both engines agree; the compiled one with blocks so small that there are many, and calls and blocks shared.

    Few paths are learned at once, so that many states have to wait, and parts are gone on with often.
    """
    expected = oracle.explore(spec, limits) if limits.coverage else same_by_direct_calls(spec, limits)[1]
    with mock.patch.object(helpers, "RENEWED_AFTER", 20):
        found = learning.explore(spec, limits, settings=CompiledSettings(workers=workers, tuning=SMALL))
    assert answers(found) == answers(expected)
    for item, other in zip(found.properties, expected.properties, strict=True):
        assert len(set(map(repr, item.traces))) == len(other.traces)
        if item.traces and limits.traces == 1:
            assert repr(item.traces[0]) == repr(other.traces[0])
        for trace in item.traces:
            assert trace.states[0] in spec.initials()
            for step in trace.steps:
                assert step.after in spec.take(step.instance, step.before)


class Colour(enum.Enum):
    RED = 0
    GREEN = 1


@attrs.frozen
class Cell:
    number: int
    colour: Colour | None = None
    log: tuple[int, ...] = ()


@attrs.frozen
class Board:
    total: int
    first: Cell = component()
    cells: tuple[Cell, ...] = component(each="cell")
    marks: tuple[int | None, ...] = component(each="mark")
    modulus: int = constant(default=3)

    def with_cell(self, index: int, cell: Cell) -> Board:
        place = index % len(self.cells)
        return attrs.evolve(self, cells=(*self.cells[:place], cell, *self.cells[place + 1 :]))


def effect(board: Board, kind: int, index: int, amount: int) -> Board:
    """One of many ways in which an action may read and write."""
    cell = board.cells[index % len(board.cells)]
    mark = index % len(board.marks)
    match kind:
        case 0:
            return attrs.evolve(board, total=(board.total + amount) % board.modulus)
        case 1:
            return board.with_cell(index, attrs.evolve(cell, number=(cell.number + amount) % board.modulus))
        case 2:
            return attrs.evolve(board, first=cell)
        case 3:
            return attrs.evolve(board, cells=board.cells[::-1])
        case 4:
            return board.with_cell(index, attrs.evolve(cell, colour=Colour(amount % 2) if board.total else None))
        case 5:
            return attrs.evolve(board, marks=(*board.marks[:mark], cell.number, *board.marks[mark + 1 :]))
        case 6:
            return board.with_cell(index, Cell(board.first.number, cell.colour, (*cell.log, amount)[-2:]))
        case 7:
            return Board(amount % board.modulus, board.first, board.cells, board.marks, board.modulus)
        case 8:
            return attrs.evolve(board, first=attrs.evolve(board.first, log=(sum(c.number for c in board.cells) % 3,)))
        case _:
            return board


def guard(board: Board, kind: int, index: int, amount: int) -> bool:
    cell = board.cells[index % len(board.cells)]
    match kind:
        case 0:
            return board.total != amount % board.modulus
        case 1:
            return cell.number <= amount
        case 2:
            return cell == board.first or cell.colour is None
        case 3:
            return board.marks[index % len(board.marks)] is None
        case 4:
            return hash(cell) == hash(board.cells[0])
        case 5:
            return len(set(board.cells)) > 1 or board.marks == (None,) * 2
        case 6:
            return bool(cell.log) and cell.log[-1] != amount
        case _:
            return True


choices = st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 3))


@st.composite
def specs(draw: st.DrawFn) -> Spec[Board]:
    cells, marks = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    programs = draw(st.lists(st.tuples(choices, st.lists(choices, min_size=1, max_size=2)), min_size=1, max_size=4))

    def make(number: int, when: tuple[int, int, int], then: list[tuple[int, int, int]]) -> Any:
        def act(board: Board, shift: int) -> Iterator[Board]:
            if guard(board, when[0], when[1] + shift, when[2]):
                for kind, index, amount in then:
                    yield effect(board, kind, index + shift, amount)

        act.__name__ = f"act{number}"
        return action(shift=range(draw(st.integers(1, 2))))(act)

    starts = draw(st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True))
    bad, kind = draw(choices), draw(st.integers(0, 2))

    @invariant("some things never are")
    def never(board: Board) -> bool:
        return not (guard(board, *bad) and board.total == kind and board.cells[0].number == 2)

    @step_invariant("the total does not jump")
    def steady(before: Board, after: Board) -> bool:
        return abs(after.total - before.total) < 2 or before.first == after.first

    @witness("a cell is green")
    def green(board: Board) -> bool:
        return any(cell.colour is Colour.GREEN for cell in board.cells)

    @step_witness("a mark is set")
    def marked(before: Board, after: Board) -> bool:
        return before.marks != after.marks

    return Spec(
        name="random",
        initial_states=lambda bounds: [
            Board(start, Cell(0), tuple(Cell(index) for index in range(cells)), (None,) * marks) for start in starts
        ],
        actions=[make(number, *program) for number, program in enumerate(programs)],
        properties=draw(st.lists(st.sampled_from([never, steady, green, marked]), unique=True)),
        check_deadlock=draw(st.booleans()),
    )


@attrs.frozen
class Pair:
    left: int
    right: int = attrs.field(default=0)

    def __attrs_post_init__(self) -> None:
        assert self.left + self.right < 9


@attrs.frozen
class Slot:
    value: int


@attrs.frozen
class Shelf:
    slot: Slot | Pair = component()
    count: int = attrs.field(default=0, converter=int)


@action()
def put(shelf: Shelf) -> Iterator[Shelf]:
    if isinstance(shelf.slot, Pair):
        yield attrs.evolve(shelf, slot=Slot(shelf.count))
    elif shelf.count < 4:
        yield Shelf(Pair(0), shelf.count + 1)


@attrs.frozen
class Wide:
    numbers: tuple[int, ...] = component()


@attrs.frozen
class Row:
    numbers: tuple[int, ...] = component()


def spark_answers(result: Result) -> Any:
    """All that two engines must agree on."""
    return answers(attrs.evolve(result, statistics=attrs.evolve(result.statistics, **UNSHARDED)))


UNSHARDED: dict[str, Any] = {"shards": 0, "skew": 0.0, "spilled": 0}
