"""Searches that continue with what others have learned get the answers of searches that learn anew."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.checker import Limits, Spec, Verdict, action, constant, invariant
from leadline.checker.engines.learning.forest import Forest
from leadline.checker.engines.learning.kept import Kept
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.specs import learning
from tests.specs.agreement import SMALL, Board, answers, specs
from tests.specs.direct import same_by_direct_calls

ONE = {"records": 1, "max_epoch": 1, "crashes": 1, "isr_shrinks": 1}


def keeping(kept: Kept) -> CompiledSettings:
    return CompiledSettings(workers=1, kept=kept, tuning=SMALL)


def assert_answers_of_direct_calls(spec: Spec[Any], limits: Limits, kept: Kept) -> None:
    found = learning.explore(spec, limits, settings=keeping(kept))
    assert answers(found) == answers(same_by_direct_calls(spec, limits)[1])


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(specs(), st.booleans(), st.data())
def test_searches_of_some_properties_get_the_answers_of_direct_calls(
    spec: Spec[Board], keep_going: bool, data: st.DataObject
) -> None:
    limits, kept, names = Limits(keep_going=keep_going, max_states=500), Kept(), [each.name for each in spec.checks]
    for _ in range(3):
        some = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
        assert_answers_of_direct_calls(spec.with_properties(some), limits, kept)


@pytest.mark.parametrize("name", ["txn/2.6", "kafka/4.3"])
def test_searches_of_releases_get_the_same_answers(name: str) -> None:
    spec, kept = CATALOG[name], Kept()
    spec = spec.with_bounds({each: 1 for each in ONE if hasattr(spec.bounds, each)})
    names = [each.name for each in spec.checks if not each.kind.is_liveness]
    for some, limits in (
        (names[::2], Limits(keep_going=True, max_states=300)),
        (names, Limits(keep_going=True, max_states=600)),
        (names[::-3], Limits(max_states=500)),
    ):
        tried = spec.with_properties(some)
        assert answers(learning.explore(tried, limits, settings=keeping(kept))) == answers(
            learning.explore(tried, limits, settings=CompiledSettings(workers=1, tuning=SMALL))
        )


def test_nothing_is_learned_twice() -> None:
    spec, kept = CATALOG["kafka/4.3"].with_bounds(ONE), Kept()
    limits = Limits(keep_going=True, depth=8)
    first, again = (learning.explore(spec, limits, settings=keeping(kept)) for _ in range(2))
    assert first.statistics.calls > 500
    assert again.statistics.calls < first.statistics.calls / 50


# --- what must not be taken for the same ---


@frozen
class Counter:
    number: int = 0
    most: int = constant(default=3)


@action()
def up(state: Counter) -> Iterator[Counter]:
    if state.number < state.most:
        yield evolve(state, number=state.number + 1)


def below(state: Counter, limit: int) -> bool:
    return state.number < limit


def is_small(state: Counter) -> bool:
    return state.number < 2


def counting(limit: int, most: int = 3, **changes: Any) -> Spec[Counter]:
    judged = attrs.evolve(
        invariant("it is judged")(is_small), name="judged", function=functools.partial(below, limit=limit)
    )
    made: Spec[Counter] = Spec(
        name="counting", initial_states=lambda _: [Counter(most=most)], actions=[up], properties=[judged], **changes
    )
    return made


def searched(spec: Spec[Counter], kept: Kept) -> tuple[Verdict, int]:
    result = learning.explore(spec, Limits(keep_going=True), settings=keeping(kept))
    return result.verdict, result.statistics.distinct


def test_a_property_with_the_same_name_and_another_function_is_learned_anew() -> None:
    kept = Kept()
    assert searched(counting(9), kept)[0] is Verdict.HOLDS
    assert searched(counting(2), kept)[0] is Verdict.VIOLATED
    assert searched(counting(9), kept)[0] is Verdict.HOLDS


def test_constants_that_differ_are_not_the_same_initial_state() -> None:
    kept = Kept()
    assert searched(counting(9, most=3), kept)[1] == 4
    assert not kept.has(counting(9, most=7))
    assert searched(counting(9, most=7), kept)[1] == 8


def test_where_a_search_ends_is_learned_anew() -> None:
    kept = Kept()
    assert searched(counting(9), kept)[1] == 4
    assert searched(counting(9, within=is_small), kept)[1] == 2
    assert searched(counting(9), kept)[1] == 4


def test_a_search_with_a_constraint_of_steps_neither_keeps_nor_takes() -> None:
    kept = Kept()
    assert searched(counting(9), kept)[1] == 4
    limited = counting(9, within_step=lambda before, after: is_small(after))
    assert not kept.has(limited)
    assert searched(limited, kept)[1] == 2
    assert kept.has(counting(9))


@frozen
class Gathered:
    members: frozenset[int] = frozenset()


@action(number=range(1))
def gather(state: Gathered, number: int) -> Iterator[Gathered]:
    if all(member != number for member in state.members):
        yield Gathered(members=state.members | {number})


def gathering(most: int) -> Spec[Gathered]:
    @invariant("there are few")
    def few(state: Gathered) -> bool:
        return sum(1 for member in state.members) <= most

    return Spec(name="gathering", initial_states=lambda _: [Gathered()], actions=[gather], properties=[few])


def test_only_the_latest_are_kept() -> None:
    kept = Kept(most=2)
    for most in (3, 4, 5):
        searched(counting(9, most=most), kept)
    assert [kept.has(counting(9, most=most)) for most in (3, 4, 5)] == [False, True, True]


def test_a_forest_continues_with_the_trees_that_are_kept() -> None:
    forest = Forest(["a", "b", "c"])
    for tree in range(3):
        forest.learn(tree, {0: 1, 2: tree}, -1 - tree)
    following = forest.of_trees({0: 1, 2: 0}, ["c", "a"])
    assert following.leaf(0, [1, 0, 2]) == 2
    assert following.leaf(1, [1, 0, 0]) == 0
    assert following.leaf(0, [1, 0, 0]) is None
    following.learn(1, {0: 1, 2: 5}, -8)
    assert following.leaf(1, [1, 0, 5]) == 7


def test_trees_without_room_for_their_roots_are_learned_anew() -> None:
    forest = Forest(["a"])
    forest.learn(0, {0: 1}, -1)
    following = forest.of_trees({0: 0}, [str(number) for number in range(3000)])
    assert following.leaf(0, [1]) is None


def test_members_that_are_new_to_the_given_states_are_noted() -> None:
    spec = gathering(2)
    tables = TransitionTables(spec, spec.initials(), Adjustments(apart=frozenset({"members"})))
    row = tables.rows[0]
    call = tables.caller.make(0, (row,))
    leaf = tables.leaf_of(call)
    tables.note_members()
    tables.learn(0, (row,), call, leaf)
    assert tables.steps(0, row) is not None
    new = Gathered(members=frozenset({7}))
    following = TransitionTables(spec, [new], tables.adjustments, before=tables)
    assert following.steps(0, following.rows[0]) is None
