"""Sets, bags and nested tuples are learned member by member, with the results of the oracle."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import Spec, action, component, invariant, put
from leadline.checker.engines import oracle
from leadline.checker.observing import filters
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.specs.collection_constructs import CONSTRUCTS, spec_of
from tests.specs.going_wrong import ONLY_LEARNED, answer
from tests.suite.samples import EVERY, sampled


@functools.cache
def expected(name: str, guard: bool) -> Any:
    """The result of the oracle."""
    return answer(oracle.explore, spec_of(CONSTRUCTS[name], guard=guard))


TAKEN_APART = attrs.evolve(ONLY_LEARNED, many_values=3)
"""What takes a few values is taken apart."""


@pytest.mark.parametrize(
    ("name", "guard", "learns"),
    [
        *((name, place % 3 != 0, True) for place, name in enumerate(CONSTRUCTS) if EVERY or place % 4),
        *((name, place % 3 == 0, True) for place, name in enumerate(CONSTRUCTS) if EVERY),
        *((name, True, False) for name in sampled([*CONSTRUCTS], 8)),
    ],
)
def test_a_construct_is_exact_or_refused(name: str, guard: bool, learns: bool) -> None:
    spec = spec_of(CONSTRUCTS[name], guard=guard)
    tuning = TAKEN_APART if learns else attrs.evolve(TAKEN_APART, always=1)
    found = answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=tuning))
    assert found == "refused" or found == expected(name, guard)


@pytest.mark.parametrize("name", ["list that grows", "list in a tuple"])
def test_a_condition_is_not_evaluated_before_the_loop_if_a_value_in_it_may_change(name: str) -> None:
    spec, settings = spec_of(CONSTRUCTS[name], guard=False), CompiledSettings(workers=1, tuning=TAKEN_APART)
    assert answer(learning.explore, spec, settings=settings) == expected(name, guard=False) != "refused"
    with mock.patch.object(filters, "_is_fixed", return_value=True):
        assert answer(learning.explore, spec, settings=settings) != expected(name, guard=False)


# --- The order in which a set is looked through ---

BLOCKER = next((number,) for number in range(100) if hash((number,)) % 8 == 7)
"""Where it is in a small set, 7 and 15 are in another order there."""


@attrs.frozen
class Shelves:
    """What is asked for, and how much is on two shelves, of which 7 asks for the first, and 15 for the second."""

    asked: frozenset[Any]
    amounts: tuple[int, ...] = component()
    given: int = 0


@action(what=(7, 15))
def ask(state: Shelves, what: int) -> Iterator[Shelves]:
    yield attrs.evolve(state, asked=state.asked | {what})


@action()
def unblock(state: Shelves) -> Iterator[Shelves]:
    yield attrs.evolve(state, asked=state.asked - {BLOCKER})


@action(shelf=(0, 1))
def fill(state: Shelves, shelf: int) -> Iterator[Shelves]:
    if BLOCKER not in state.asked and state.amounts[shelf] < 3:
        yield put(state, "amounts", shelf, state.amounts[shelf] + 1)


@action()
def give(state: Shelves) -> Iterator[Shelves]:
    """The items on a shelf are read in the order of the set."""
    for what in state.asked:
        if isinstance(what, int):
            yield attrs.evolve(state, given=state.amounts[what // 8])


@invariant("nothing is given beyond what there is")
def is_there(state: Shelves) -> bool:
    for what in state.asked:
        if isinstance(what, int):
            amount = state.amounts[what // 8]
            if amount >= state.given:
                return True
    return not state.given


def test_reads_in_the_order_of_a_set_are_learned() -> None:
    """As another member changes the order, a tree meets the same reads in two orders."""
    assert [*frozenset([7, 15])] != [what for what in frozenset([BLOCKER, 7, 15]) if what in (7, 15)]
    spec = Spec(
        name="shelves",
        initial_states=lambda _: [Shelves(frozenset([BLOCKER]), (0, 0))],
        actions=[ask, unblock, fill, give],
        properties=[is_there],
    )
    tuning = attrs.evolve(TAKEN_APART, many_values=2)
    expected = answer(oracle.explore, spec)
    assert expected != "refused"
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=tuning)) == expected


@attrs.frozen
class Room:
    """Someone may bring a key."""

    number: int
    things: frozenset[str]
    tries: int = 0


@action()
def bring_a_key(state: Room) -> Iterator[Room]:
    if state.number == 17 and not state.tries:
        yield attrs.evolve(state, things=state.things | {"key"})


@action()
def leave(state: Room) -> Iterator[Room]:
    id(state)  # so that the action is given the state itself
    if "key" in state.things:
        yield attrs.evolve(state, number=-1)


@action()
def try_the_door(state: Room) -> Iterator[Room]:
    if state.tries < 3 and state.number != 17:
        yield attrs.evolve(state, tries=state.tries + 1)


@invariant("nobody leaves")
def nobody_leaves(state: Room) -> bool:
    return state.number != -1


def test_a_call_that_is_given_the_state_reads_members_that_came_after_its_row() -> None:
    """The rows of some calls are made at once, before the first of them adds a member."""
    spec = Spec(
        name="rooms",
        initial_states=lambda _: [Room(number, frozenset({f"thing {number % 40}"})) for number in range(1000)],
        actions=[bring_a_key, leave, try_the_door],
        properties=[nobody_leaves],
    )
    expected = answer(oracle.explore, spec)
    assert expected != "refused"
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1)) == expected


@attrs.frozen
class Desk:
    """Papers arrive until the desk is cleared."""

    day: int
    papers: frozenset[int]
    is_cleared: bool = False


@action()
def wait_a_day(state: Desk) -> Iterator[Desk]:
    if state.day < 6:
        yield attrs.evolve(state, day=state.day + 1)


@action()
def bring_a_paper(state: Desk) -> Iterator[Desk]:
    if state.day == 6 and not state.is_cleared:
        yield attrs.evolve(state, papers=state.papers | {9})


@action()
def clear(state: Desk) -> Iterator[Desk]:
    yield attrs.evolve(state, papers=frozenset(), is_cleared=True)


@invariant("a cleared desk is empty")
def cleared_is_empty(state: Desk) -> bool:
    return not state.is_cleared or not state.papers


def test_a_step_that_replaces_a_set_removes_a_member_that_is_found_later() -> None:
    """The action reads nothing of the set, and still has to be called again once the set can have another member."""
    spec = Spec(
        name="desks",
        initial_states=lambda _: [Desk(0, frozenset({number})) for number in range(4)],
        actions=[wait_a_day, bring_a_paper, clear],
        properties=[cleared_is_empty],
    )
    expected = answer(oracle.explore, spec)
    assert expected != "refused"
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=TAKEN_APART)) == expected


@attrs.frozen
class Drawer:
    """The papers may be stored in a field that is read as a whole."""

    papers: frozenset[int]
    stored: frozenset[int] | None = None


@action(paper=range(4))
def take_or_return(state: Drawer, paper: int) -> Iterator[Drawer]:
    yield attrs.evolve(state, papers=state.papers ^ {paper})


@action()
def store(state: Drawer) -> Iterator[Drawer]:
    yield attrs.evolve(state, stored=state.papers)


@invariant("at most three papers are stored")
def few_are_stored(state: Drawer) -> bool:
    return state.stored is None or len(state.stored) <= 3


def test_a_set_that_is_written_to_a_field_is_read() -> None:
    spec = Spec(
        name="drawers",
        initial_states=lambda _: [Drawer(frozenset())],
        actions=[take_or_return, store],
        properties=[few_are_stored],
    )
    expected = answer(oracle.explore, spec)
    assert expected != "refused"
    assert answer(learning.explore, spec, settings=CompiledSettings(workers=1, tuning=TAKEN_APART)) == expected


@attrs.frozen
class Pick:
    """A member of a set is chosen, in an order that depends on a flag, and marked once."""

    box: frozenset[int]
    is_reversed: bool
    chosen: int | None = None


def _in_either_order(state: Pick) -> list[int]:
    return sorted(state.box, reverse=state.is_reversed)


@action(member=_in_either_order)
def choose(state: Pick, member: int) -> Iterator[Pick]:
    if state.chosen is None:
        yield attrs.evolve(state, chosen=member)


@action()
def forget_first(state: Pick) -> Iterator[Pick]:
    if state.chosen == 0:
        yield attrs.evolve(state, chosen=2)


@action()
def forget_second(state: Pick) -> Iterator[Pick]:
    if state.chosen == 1:
        yield attrs.evolve(state, chosen=2)


def test_steps_keep_the_order_of_the_values_that_they_draw() -> None:
    """Two steps lead to the same new state, from the states that the two values lead to: the earlier one is counted."""
    initials = [Pick(frozenset(box), is_reversed) for is_reversed in (False, True) for box in ((0,), (1,), (0, 1))]
    spec = Spec(
        name="pick",
        initial_states=lambda _: initials,
        actions=[choose, forget_first, forget_second],
        properties=[],
    )
    found = learning.explore(spec, settings=CompiledSettings(workers=1, tuning=TAKEN_APART)).statistics
    assert found.calls
    assert found.actions == oracle.explore(spec).statistics.actions
    assert [found.actions[name].distinct for name in ("forget_first", "forget_second")] == [3, 3]
