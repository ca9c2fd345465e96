"""The compiled loops and decision trees where a mistake would be silent: equal hashes, and verdicts that are reused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest

from leadline.checker import Limits, Result, Spec, SpecError, action, component, step_invariant, step_witness
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import block_parts as chunks
from leadline.checker.engines.compiled import kernel, search
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.learning import warm_up as warming
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.forest import Forest
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.settings import DEFAULT, CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.specs import learning
from tests.specs.agreement import SMALL, assert_same_answers

MASK = 2**64 - 1


def unhashed(wanted: int) -> int:
    """The state of one word that has a hash. Each step of `kernel._hash` can be taken back."""
    mixed = wanted * pow(0xC4CEB9FE1A85EC53, -1, 2**64) & MASK
    mixed ^= mixed >> 32
    mixed = mixed * pow(0xFF51AFD7ED558CCD, -1, 2**64) & MASK
    return mixed ^ 0x9E3779B97F4A7C15


ALIKE = [unhashed(hashed) for hashed in (0x1234_5678_9ABC_DEF0, 0x1234_5679_9ABC_DEF0, 0x1234_567A_9ABC_DEF0)]
"""States whose hashes agree in the half that the table keeps, and in the place that the other half gives."""


def test_states_that_share_a_hash_for_all_the_table_knows_are_told_apart() -> None:
    hashes = np.zeros(len(ALIKE), np.uint64)
    kernel.hash_all(np.array(ALIKE, np.uint64).reshape(-1, 1), hashes)
    assert len({int(hashed) & 0xFFFF_FFFF for hashed in hashes}) == 1
    assert len({int(kernel._first_place(hashed, 4096)) for hashed in hashes}) == 1
    store = Store(Packing([2**63]), 1, 2**30, Workers(1), 0)
    store.add(np.array([[ALIKE[0]]], np.uint64))
    coming = [ALIKE[1], ALIKE[0], ALIKE[2], ALIKE[1], ALIKE[2]]
    found = np.array(coming, np.uint64).reshape(-1, 1)
    hashes, places = np.zeros((1, len(coming)), np.uint64), np.zeros((1, len(coming)), np.int64)
    kernel.hash_all(found, hashes[0])
    new = np.zeros((1, 1), np.int64)
    routes = np.arange(len(coming), dtype=np.uint32).reshape(1, -1)
    kernel.insert(0, 1, np.array([[0, len(coming)]]), routes, found, hashes, places, new, store.states, store.table)
    assert new[0, 0] == 2
    assert [place >= 0 for place in places[0]] == [True, False, True, False, False]


RECENTLY_ALIKE = [unhashed(hashed) for hashed in (0x1234_5678_9ABC_DEF0, 0x1234_5678_9ABD_1EF0)]
"""States whose hashes agree in all bits by which `insert` looks up recent next states: the upper half, and the rest of
a division by `RECENT`."""


def test_recent_states_that_share_a_hash_are_told_apart() -> None:
    """No part of a hash decides that two states are equal: every place that compares hashes compares all words too."""
    found = np.array([*RECENTLY_ALIKE, *RECENTLY_ALIKE], np.uint64).reshape(-1, 1)
    hashes, places = np.zeros((1, len(found)), np.uint64), np.zeros((1, len(found)), np.int64)
    kernel.hash_all(found, hashes[0])
    assert len({(hashed >> 32, hashed % int(kernel.RECENT)) for hashed in hashes[0].tolist()}) == 1
    store = Store(Packing([2**63]), 1, 2**30, Workers(1), 0)
    new = np.zeros((1, 1), np.int64)
    routes = np.arange(len(found), dtype=np.uint32).reshape(1, -1)
    kernel.insert(0, 0, np.array([[0, len(found)]]), routes, found, hashes, places, new, store.states, store.table)
    assert [place >= 0 for place in places[0]] == [True, True, False, False]


@attrs.frozen
class Lamps:
    on: tuple[int, ...] = component(default=(0, 0, 0), each="lamp")


@action(lamp=range(3))
def turn(state: Lamps, lamp: int) -> Iterator[Lamps]:
    yield attrs.evolve(state, on=(*state.on[:lamp], (state.on[lamp] + 1) % 3, *state.on[lamp + 1 :]))


@step_invariant("the first lamp is turned in every step")
def first_is_turned(before: Lamps, after: Lamps) -> bool:
    return before.on[0] != after.on[0]


@step_invariant("the first lamp is never turned")
def first_is_never_turned(before: Lamps, after: Lamps) -> bool:
    return before.on[0] == after.on[0]


@step_invariant("the second lamp is turned when the first one is at two")
def second_is_turned(before: Lamps, after: Lamps) -> bool:
    return before.on[0] != 2 or before.on[1] != after.on[1]


@step_witness("the last lamp is turned")
def last_is_turned(before: Lamps, after: Lamps) -> bool:
    return before.on[2] != after.on[2]


@pytest.mark.parametrize("keep_going", [False, True])
@pytest.mark.parametrize("traces", [1, 5])
def test_a_step_predicate_may_be_false_of_steps_that_touch_nothing_it_reads(traces: int, keep_going: bool) -> None:
    """One state has steps that touch what the predicate reads and steps that do not, with either verdict."""
    for item in (first_is_turned, first_is_never_turned, second_is_turned, last_is_turned):
        spec = Spec(name="lamps", initial_states=lambda _: [Lamps()], actions=[turn], properties=[item])
        assert_same_answers(spec, Limits(traces=traces, keep_going=keep_going))
        assert oracle.explore(spec, Limits(keep_going=keep_going)).properties[0].traces


def test_a_path_that_ends_in_two_ways_is_refused() -> None:
    forest = Forest(["action turn(lamp=0)"])
    forest.learn(0, {3: 1, 0: 2}, -1)
    forest.learn(0, {3: 1, 0: 2}, -1)
    with pytest.raises(SpecError, match=r"turn\(lamp=0\) is not deterministic"):
        forest.learn(0, {3: 1, 0: 2}, -2)
    assert forest.leaf(0, [2, 0, 0, 1]) == 0


@pytest.mark.parametrize("reads", [{3: 1}, {3: 1, 0: 2, 1: 0}, {3: 1, 1: 2}, {0: 1}, {}])
def test_a_path_that_reads_otherwise_after_the_same_values_is_refused(reads: dict[int, int]) -> None:
    forest = Forest(["action turn(lamp=0)"])
    forest.learn(0, {3: 1, 0: 2}, -1)
    with pytest.raises(SpecError, match="not deterministic"):
        forest.learn(0, reads, -1)


REMEMBERED: list[int] = []


@action()
def turn_by_memory(state: Lamps) -> Iterator[Lamps]:
    """Takes every step once, and another one later from states that agree in what it reads."""
    REMEMBERED.append(state.on[0])
    yield attrs.evolve(state, on=((state.on[0] + 1 + (len(REMEMBERED) > 2000)) % 3, *state.on[1:]))


@pytest.mark.parametrize("explore", [oracle.explore, learning.explore])
def test_an_action_that_remembers_is_refused(explore: Callable[[Spec[Lamps]], Result]) -> None:
    spec = Spec(name="lamps", initial_states=lambda _: [Lamps()], actions=[turn, turn_by_memory])
    REMEMBERED[:] = [0] * 1990  # another step from the tenth call on
    with pytest.raises(SpecError, match="turn_by_memory"):
        explore(spec)
    explore(spec)  # the same steps from the first call to the last: nobody can know


def test_nothing_is_left_to_compile_in_a_search() -> None:
    """Loops are compiled before the search for any number of threads, and do not count towards its limits."""
    warming.compiled_ahead(search._search_once, kernel.expand)
    dispatchers = {name: item for name, item in vars(kernel).items() if hasattr(item, "signatures")}
    compiled_before = {name: list(item.signatures) for name, item in dispatchers.items()}
    limits = Limits(keep_going=True, traces=3)
    for name, workers in (("atomic/hw-truncation", 1), ("atomic/kip-101", 2)):
        learning.explore(CATALOG[name], limits, settings=CompiledSettings(workers=workers, tuning=SMALL))
    assert {name: list(item.signatures) for name, item in dispatchers.items()} == compiled_before


def test_what_a_part_asked_for_is_a_job_once() -> None:
    """A part that is done keeps its rows: another round must not take them for calls, as they may be new arrays."""
    parts = chunks.BlockParts(0, 2, 2, 3, DEFAULT)
    parts.cursors[0, kernel.ASKED] = 1
    parts.unknown[0, 0], parts.rows[0, 0] = (0, 5, 0, 1), 0
    assert len(parts.jobs(9)) == 1
    assert parts.jobs(9) == []


def test_adjustments_that_change_nothing_do_not_begin_a_search_again() -> None:
    adjustments = Adjustments().after(NotRecorded(3))
    with pytest.raises(SpecError, match="is not deterministic"):
        adjustments.after(NotRecorded(3))
