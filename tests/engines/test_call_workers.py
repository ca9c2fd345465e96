"""Helper processes make calls for a search. If they fail, the results are the same."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import Limits, Spec, SpecError, action, component, put
from leadline.checker.engines import oracle
from leadline.checker.engines.learning import helpers as call_workers
from leadline.checker.engines.learning.calls import Caller, Job
from leadline.checker.engines.learning.helpers import Helper, Helpers
from leadline.checker.observing.layout import Layout
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.invariants.catalog import CATALOG
from tests.specs import learning

SPEC = CATALOG["atomic/kip-101"].with_bounds({"log_size": 1, "records": 1})


EAGER = Tuning(shared=1, helped_after=0)


@pytest.fixture(autouse=True)
def helpers_are_renewed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_workers, "RENEWED_AFTER", 20)


"""Every call is shared with other processes."""


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def caller_of(spec: Spec[Any]) -> Caller[Any]:
    return Caller(spec, Layout(spec.initials()[0]), frozenset(), tuning=EAGER)


def jobs_of(spec: Spec[Any], caller: Caller[Any]) -> list[Job]:
    row = caller.layout.row(spec.initials()[0])
    return [(tree, (row,)) for tree in range(len(spec.instances))]


def assert_same_figures(spec: Spec[Any]) -> None:
    expected = oracle.explore(spec, Limits(keep_going=True))
    found = learning.explore(spec, Limits(keep_going=True), settings=CompiledSettings(workers=3, tuning=EAGER))
    assert found.verdict is expected.verdict
    assert found.statistics.distinct == expected.statistics.distinct
    assert found.statistics.generated == expected.statistics.generated
    assert found.statistics.actions == expected.statistics.actions


def test_what_helpers_answer_is_what_the_search_would_find() -> None:
    caller = caller_of(SPEC)
    alone, helped = Helpers(caller, 0), Helpers(caller, 2)
    jobs = jobs_of(SPEC, caller)
    asked = []
    with mock.patch.object(Helper, "ask", autospec=True, side_effect=Helper.ask) as ask:
        made = list(helped.make(jobs))
        asked += [len(call.args[1]) for call in ask.call_args_list]
    assert sum(asked) >= len(jobs) * 2 // 3
    assert made == list(alone.make(jobs))
    helped.end()


def test_searches_with_and_without_helpers_agree() -> None:
    with mock.patch.object(Helper, "ask", autospec=True, side_effect=Helper.ask) as ask:
        assert_same_figures(SPEC)
    assert sum(len(call.args[1]) for call in ask.call_args_list) > 100


def test_a_helper_that_is_killed_is_done_without() -> None:
    ask = Helper.ask
    asked = []

    def ask_the_dead(self: Helper, jobs: list[Job]) -> None:
        asked.append(len(jobs))
        if len(asked) == 5:
            self._process.kill()
            self._process.join()
        ask(self, jobs)

    with mock.patch.object(Helper, "ask", ask_the_dead):
        assert_same_figures(SPEC)
    assert len(asked) in (5, 6)  # another helper may be asked in the same round, and then none any more


def test_every_call_is_made_where_no_helper_can_be_had() -> None:
    caller = caller_of(SPEC)
    jobs = (jobs_of(SPEC, caller) * 3)[:13]
    with mock.patch.object(call_workers, "Helper", side_effect=OSError("no more processes")):
        made = list(Helpers(caller, 2).make(jobs))
    assert made == list(Helpers(caller, 0).make(jobs))


def test_a_helper_that_is_killed_at_work_is_done_without() -> None:
    answers = Helper.answers

    def answers_of_the_dead(self: Helper, count: int) -> Any:
        self._process.kill()
        return answers(self, count)

    with mock.patch.object(Helper, "answers", answers_of_the_dead):
        assert_same_figures(SPEC)


def test_after_calls_that_were_cut_off_nothing_is_taken_for_the_answer_to_something_else() -> None:
    caller = caller_of(SPEC)
    helped, jobs = Helpers(caller, 1), jobs_of(SPEC, caller)
    first = next(helped.make(jobs))
    assert first[0] == jobs[0]
    again = list(helped.make(jobs[::-1]))
    assert again == list(Helpers(caller, 0).make(jobs[::-1]))


def test_values_that_cannot_be_pickled_are_no_trouble() -> None:
    @attrs.frozen
    class Mark:  # a class within a function cannot
        number: int

    @attrs.frozen
    class Board:
        marks: tuple[Mark | None, ...] = component()

    @action(place=range(3))
    def count(board: Board, place: int) -> Iterator[Board]:
        mark = board.marks[place]
        number = 0 if mark is None else (mark.number + 1) % 4
        yield Board((*board.marks[:place], Mark(number), *board.marks[place + 1 :]))

    assert_same_figures(Spec(name="marks", initial_states=lambda bounds: [Board((None,) * 3)], actions=[count]))


def test_helpers_have_the_very_objects_of_the_search() -> None:
    """An action may go through a set in its order: equal sets may have others."""

    @attrs.frozen
    class Locks:
        owners: tuple[str | None, ...] = component()
        asked: frozenset[str] = frozenset()

    names = ("ann", "bob", "cid")

    @action(name=names, lock=range(3))
    def take(locks: Locks, name: str, lock: int) -> Iterator[Locks]:
        if locks.owners[lock] is None:
            yield attrs.evolve(locks, owners=put(locks.owners, lock, name), asked=locks.asked | {name})

    @action(lock=range(3))
    def give(locks: Locks, lock: int) -> Iterator[Locks]:
        if locks.asked and all(locks.owners[names.index(name)] != "bob" for name in locks.asked):
            yield attrs.evolve(locks, owners=put(locks.owners, lock, None))

    @action()
    def forget(locks: Locks) -> Iterator[Locks]:
        if locks.asked:
            yield attrs.evolve(locks, asked=locks.asked - {min(locks.asked)})

    start = Locks((None,) * 3)
    assert_same_figures(Spec(name="locks", initial_states=lambda bounds: [start], actions=[take, give, forget]))


def test_a_search_in_a_process_of_a_pool_has_no_helpers() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_distinct) == oracle.explore(SPEC).statistics.distinct


def _distinct() -> int:
    return learning.explore(SPEC, settings=CompiledSettings(workers=2, tuning=EAGER)).statistics.distinct


def test_an_error_of_the_spec_is_reported_by_the_search() -> None:
    @attrs.frozen
    class Count:
        number: int

    @action()
    def count(state: Count) -> Iterator[Count]:
        if state.number == 7:
            raise ValueError("seven")
        yield Count(state.number + 1)

    spec = Spec(name="count", initial_states=lambda bounds: [Count(0)], actions=[count])
    with pytest.raises(SpecError, match=r"action count.* raised ValueError: seven"):
        learning.explore(spec, settings=CompiledSettings(workers=2, tuning=EAGER))


def test_where_there_is_no_fork_there_are_no_helpers() -> None:
    with mock.patch.object(multiprocessing, "get_all_start_methods", return_value=["spawn"]):
        assert_same_figures(SPEC)
