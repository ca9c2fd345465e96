"""Recording: the parts of a lazy state that a call reads, and that no other part affects its result."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.checker import Limits, component, constant
from leadline.checker.engines import oracle
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.lazy import lazy_instances, make_lazy, make_ordinary
from leadline.checker.observing.recording import Precision, Recorder
from leadline.checker.observing.tuple_views import LookedAt, TupleView
from leadline.checker.spec import Spec
from leadline.invariants.catalog import CATALOG


@attrs.frozen
class Cell:
    number: int
    colour: str = "red"
    log: tuple[int, ...] = ()

    def is_like(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.number == other.number


@attrs.frozen
class Board:
    total: int
    first: Cell = component()
    cells: tuple[Cell, ...] = component(each="cell")
    marks: tuple[Any, ...] = component(each="mark")
    modulus: int = constant(default=3)

    def with_cell(self, index: int, cell: Cell) -> Board:
        return attrs.evolve(self, cells=(*self.cells[:index], cell, *self.cells[index + 1 :]))


BOARD = Board(1, Cell(1), (Cell(1), Cell(2, "green")), (3, 7))


class Recording:
    """A lazy state, and the record of what is read."""

    def __init__(self, board: Any, precision: Precision = Precision.COPIES) -> None:
        self.board = board
        self.layout = Layout(board)
        self.recorder = Recorder(self.layout, self.layout.row(board), precision=precision)
        self.state: Any = self.recorder.state()

    @property
    def reads(self) -> list[str]:
        return [self.layout.domains[slot].path.partition(".")[2] for slot in self.recorder.reads]

    def written(self, recorded: Any, successor: Any) -> dict[str, Any]:
        changes = self.recorder.changes(recorded, successor, self.board).items()
        domains = self.layout.domains
        return {domains[slot].path.partition(".")[2]: domains[slot].values[number] for slot, number in changes}


@pytest.fixture(autouse=True)
def lazy() -> Iterator[None]:
    make_lazy(frozenset({Board, Cell}))
    yield
    make_ordinary()
    lazy_instances.clear()  # of recordings that a test did not end: what they hold would count as a spec's code


@pytest.fixture
def recording() -> Iterator[Recording]:
    made = Recording(BOARD)
    yield made
    made.recorder.end()


def test_the_first_read_of_each_slot_is_recorded_in_order(recording: Recording) -> None:
    state = recording.state
    assert state.cells[1].number + state.total + state.cells[1].number == 5
    assert recording.reads == ["cells[1].number", "total"]


def test_a_constant_is_not_a_read(recording: Recording) -> None:
    assert recording.state.modulus == 3
    assert not recording.reads


def test_a_lazy_state_is_of_the_real_class(recording: Recording) -> None:
    state = recording.state
    assert type(state) is Board
    assert type(state.cells) is tuple
    assert type(state.cells[0]) is Cell
    assert not recording.reads
    assert state.cells[0].is_like(Cell(1))
    assert recording.reads == ["cells[0].number"]


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
@pytest.mark.parametrize("precision", [Precision.FIELDS, Precision.ELEMENTS])
def test_a_lazy_state_equals_and_hashes_and_copies_as_the_state_does(twin: Any, precision: Precision) -> None:
    state = Recording(BOARD, precision).state
    assert state == BOARD
    assert BOARD == Recording(BOARD, precision).state  # noqa: SIM300
    assert hash(Recording(BOARD, precision).state) == hash(BOARD)
    assert repr(Recording(BOARD, precision).state) == repr(BOARD)
    assert twin(Recording(BOARD, precision).state) == BOARD
    assert Recording(BOARD, precision).state.first in {Cell(1)}


def test_evolve_reads_nothing(recording: Recording) -> None:
    state = recording.state
    changed = state.with_cell(0, attrs.evolve(state.cells[0], number=5))
    assert not recording.reads
    assert changed.cells[0].number == 5
    assert recording.written(changed, BOARD.with_cell(0, Cell(5))) == {"cells[0].number": 5}
    assert changed.cells[0].colour == "red"
    assert recording.reads == ["cells[0].colour"]


def test_evolve_refuses_an_unknown_field_as_it_always_does(recording: Recording) -> None:
    with pytest.raises(TypeError, match="colours"):
        attrs.evolve(recording.state.first, colours="red")


def test_evolve_is_as_it_was_when_nothing_is_recorded() -> None:
    assert attrs.evolve(BOARD, total=2) == Board(2, BOARD.first, BOARD.cells, BOARD.marks)
    make_ordinary()
    assert "__getattr__" not in vars(Cell)
    assert attrs.evolve.__kwdefaults__ is None
    make_lazy(frozenset({Board, Cell}))


def test_a_component_of_leaves_is_read_where_it_is_asked_for(recording: Recording) -> None:
    assert recording.state.marks[1] == 7
    assert recording.reads == ["marks[1]"]


def test_a_component_of_leaves_behaves_as_a_tuple() -> None:
    marks = Recording(BOARD, Precision.ELEMENTS).state.marks
    assert type(marks) is TupleView
    assert isinstance(marks, tuple)
    assert (*marks, 1) == marks + (1,) == (3, 7, 1)  # noqa: RUF005
    assert (1,) + marks == (1, 3, 7)  # noqa: RUF005
    assert marks + marks == marks * 2 == 2 * marks == (3, 7, 3, 7)
    assert marks == (3, 7)
    assert marks < (3, 8)
    assert hash(marks) == hash((3, 7))
    assert repr(marks) == "(3, 7)"
    assert marks[-1] == 7
    assert marks[:1] == (3,)
    assert list(reversed(marks)) == [7, 3]
    assert 7 in marks
    assert marks.index(7) == marks.count(7) == 1
    with pytest.raises(IndexError):
        marks[2]
    with pytest.raises(TypeError):
        marks + [1]  # noqa: RUF005


def test_a_tuple_of_leaves_is_a_tuple_where_fields_are_recorded() -> None:
    recording = Recording(BOARD, Precision.FIELDS)
    assert type(recording.state.marks) is tuple
    assert recording.reads == ["marks[0]", "marks[1]"]


def by_star(marks: Any) -> Any:
    return (*marks[:1], marks[1] + 1, *marks[2:])


def by_sum(marks: Any) -> Any:
    return marks[:1] + (marks[1] + 1,) + marks[2:]  # noqa: RUF005


def by_generator(marks: Any) -> Any:
    return tuple(marks[1] + 1 if place == 1 else mark for place, mark in enumerate(marks))


@pytest.mark.parametrize("element", [3, "three", None, True, (3,), frozenset({3})], ids=repr)
@pytest.mark.parametrize("changed", [by_star, by_sum, by_generator])
def test_elements_of_any_type_that_are_only_copied_are_not_read(changed: Any, element: Any) -> None:
    board = attrs.evolve(BOARD, marks=(element, 7))
    recording = Recording(board)
    after = attrs.evolve(recording.state, marks=changed(recording.state.marks))
    assert recording.written(after, attrs.evolve(board, marks=(element, 8))) == {"marks[1]": 8}
    assert recording.reads == ["marks[1]"]


@pytest.mark.parametrize(
    "look",
    [
        lambda mark: mark == 3,
        lambda mark: 3 != mark,  # noqa: SIM300
        lambda mark: mark is not None and mark + 1,
        lambda mark: isinstance(mark, int),
        lambda mark: mark.__class__,
        lambda mark: hasattr(mark, "real"),
        hash,
        bool,
        lambda mark: f"{mark}",
        lambda mark: mark.real,
        lambda mark: [1, 2, 3][mark],
        lambda mark: {mark},
        lambda mark: 12 / mark,
        lambda mark: 2**mark,
        lambda mark: 1 << mark,
        lambda mark: 16 >> mark,
        lambda mark: divmod(9, mark),
        lambda mark: range(mark),
        lambda mark: mark in (5, 6),
        lambda mark: 5 in (mark, 5),
        lambda mark: "%d" % mark,  # noqa: UP031
        lambda mark: max(mark, 4),
        copy.copy,
        pickle.dumps,
    ],
)
def test_a_copied_element_cannot_be_looked_at_unseen(recording: Recording, look: Any) -> None:
    with pytest.raises(LookedAt):
        look(next(iter(recording.state.marks)))
    assert recording.recorder.looked_at


def test_a_copied_element_that_lands_elsewhere_is_read(recording: Recording) -> None:
    state = recording.state
    after = attrs.evolve(state, marks=tuple(state.marks)[::-1])
    assert recording.written(after, attrs.evolve(BOARD, marks=(7, 3))) == {"marks[0]": 7, "marks[1]": 3}
    assert recording.reads == ["marks[1]", "marks[0]"]


def test_a_part_that_becomes_a_leaf_is_read(recording: Recording) -> None:
    state = recording.state
    after = attrs.evolve(state, total=(state.first, frozenset({state.cells[0]}), next(iter(state.marks))))
    direct = attrs.evolve(BOARD, total=(BOARD.first, frozenset({BOARD.cells[0]}), 3))  # type: ignore[arg-type]
    written = recording.written(after, direct)
    assert written == {"total": (Cell(1), frozenset({Cell(1)}), 3)}
    assert type(written["total"][0]) is Cell
    assert set(recording.reads) == {
        *(f"cells[0].{name}" for name in ("number", "colour", "log")),
        *(f"first.{name}" for name in ("number", "colour", "log")),
        "marks[0]",
    }


def test_what_a_spec_keeps_of_a_lazy_state_becomes_an_ordinary_value() -> None:
    made = Recording(BOARD, Precision.FIELDS)
    kept = [made.state.cells[1], attrs.evolve(made.state.first, number=9)]
    made.recorder.end()
    make_ordinary()
    assert kept == [Cell(2, "green"), Cell(9)]
    make_lazy(frozenset({Board, Cell}))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(CATALOG)), st.sampled_from(list(Precision)[1:]), st.data())
def test_recorded_reads_are_complete(name: str, precision: Precision, data: st.DataObject) -> None:
    """With other values in the parts that were not read, the call reads and changes the same parts."""
    spec: Spec[Any] = CATALOG[name]
    search = oracle.OracleSearch(spec.with_properties([]), Limits(max_states=150))
    search.run()
    states = list(search.arrivals)
    layout = Layout(states[0])
    classes = layout.classes()
    rows = [layout.row(state) for state in states]
    row, other = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(rows))
    make_lazy(classes)
    try:
        for instance in spec.instances:
            try:
                recorder, changes = changed(spec, layout, instance, row, precision)
            except LookedAt:
                continue  # a search records such a call less precisely
            mixed = [row[slot] if slot in recorder.reads else other[slot] for slot in range(layout.slots)]
            again, changes_again = changed(spec, layout, instance, mixed, precision)
            assert changes_again == changes
            assert again.reads == recorder.reads
            direct = [layout.row(successor) for successor in spec.take(instance, layout.state(mixed))]
            assert direct == [[step.get(slot, mixed[slot]) for slot in range(layout.slots)] for step in changes]
    finally:
        make_ordinary()


def changed(
    spec: Spec[Any], layout: Layout, instance: Any, row: list[int], precision: Precision
) -> tuple[Recorder, list[dict[int, int]]]:
    state = layout.state(row)
    direct = spec.take(instance, state)
    recorder = Recorder(layout, row, precision=precision)
    recorded = list(instance.successors(recorder.state()))
    changes = [recorder.changes(*successors, state) for successors in zip(recorded, direct, strict=True)]
    recorder.end()
    return recorder, changes
