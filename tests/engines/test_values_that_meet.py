"""Values that are equal but not the same: every engine refuses them where they meet, and keeps them apart elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import attrs
import pytest

from leadline.checker import (
    Limits,
    Spec,
    Verdict,
    action,
    component,
    constant,
    explore,
    fuzz,
    invariant,
    put,
    subsets,
    witness,
)
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings, RandomSettings, Tuning
from tests.language.test_values import Epoch, Ordered, Slots, Version, Word
from tests.specs import learning
from tests.specs.refusals import refused

Engine = Callable[[Spec[Any]], Any]


def learned(spec: Spec[Any], limits: Limits | None = None) -> Any:
    """Parts with three values or more are split if they can be."""
    return learning.explore(spec, limits, settings=CompiledSettings(tuning=Tuning(many_values=3, pure_states=1)))


def at_random(spec: Spec[Any]) -> Any:
    return fuzz(spec, settings=RandomSettings(examples=50, steps=20))


ENGINES = [oracle.explore, explore, learned, at_random]


@pytest.fixture(params=ENGINES, ids=["oracle", "default", "learned", "random"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param  # type: ignore[no-any-return]


@attrs.frozen
class Member:
    term: int = 0
    name: Any = constant(default="")


@attrs.frozen
class State:
    count: int = 0
    held: Any = None
    members: tuple[Any, ...] = component(default=())
    limit: Any = constant(default=4)


@action()
def counts(state: State) -> Iterator[State]:
    if state.count < 6:
        yield attrs.evolve(state, count=state.count + 1)


def spec_of(*actions: Any, start: State | None = None, properties: Any = ()) -> Spec[State]:
    begins = start or State()
    return Spec(name="meet", initial_states=lambda _: [begins], actions=[counts, *actions], properties=properties)


def holds_in_turn(values: list[Any]) -> Any:
    @action(index=range(len(values)))
    def holds(state: State, index: int) -> Iterator[State]:
        if state.count > index:
            yield attrs.evolve(state, held=values[index])

    return holds


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (1, True, "State.held holds both 1 and True"),
        (0.0, -0.0, "State.held holds both 0.0 and -0.0"),
        (Decimal("1.0"), Decimal("1.00"), "State.held holds both Decimal('1.0') and Decimal('1.00')"),
        (Member(1, "ann"), Member(1, "bob"), "(name: 'ann' and 'bob')"),
        (
            (1, frozenset([Member(1, 0)])),
            (1, frozenset([Member(1, False)])),
            "State.held[1].name holds both 0 and False",
        ),
        (Slots(1, 0), Slots(1, 2), "(shown: 0 and 2)"),
        (Ordered([(1, 0), (2, 0)]), Ordered([(2, 0), (1, 0)]), "State.held holds both {1: 0, 2: 0} and {2: 0, 1: 0}"),
        ("low", Word.LOW, "State.held holds both 'low' and"),
        (1, Epoch(1), "State.held holds both 1 (int) and 1 (Epoch)"),
    ],
)
def test_values_that_meet_in_a_field_are_refused(engine: Engine, one: Any, other: Any, said: str) -> None:
    with refused(said, "which are equal but not the same", "use only one of the two"):
        engine(spec_of(holds_in_turn([one, other])))


def test_a_constant_that_changes_to_an_equal_value_is_refused(engine: Engine) -> None:
    @action()
    def divides(state: State) -> Iterator[State]:
        yield attrs.evolve(state, limit=state.limit / 1)

    with refused("constant State.limit is not the same in every state"):
        engine(spec_of(divides))


def test_the_constant_of_an_element_that_leaves_and_returns_is_the_same(engine: Engine) -> None:
    @action(name=[0, 1])
    def turns(state: State, name: int) -> Iterator[State]:
        yield put(state, "members", 0, None if state.members[0] else Member(0, name))

    with refused("constant Member.name is not the same in every state"):
        engine(spec_of(turns, start=State(members=(None,))))


def test_a_value_that_is_no_component_may_have_other_constants_than_the_one_before(engine: Engine) -> None:
    values = [Member(number, ("ann", "bob")[number % 2]) for number in range(6)]

    @witness("the last value is held")
    def last(state: State) -> bool:
        return bool(state.held == values[-1] and state.held.name == "bob")

    @witness("a value with the other constant is held")
    def mixed(state: State) -> bool:
        return bool(state.held and state.held.term == 5 and state.held.name == "ann")

    result = engine(spec_of(holds_in_turn(values), properties=[last, mixed]))
    assert [bool(item.traces) for item in result.properties] == [True, False]


def test_initial_states_that_are_equal_but_not_the_same_are_refused(engine: Engine) -> None:
    starts = [State(held=(1,)), State(held=(True,))]
    with refused("State.held[0] holds both 1 and True"):
        engine(Spec(name="meet", initial_states=lambda _: starts, actions=[counts]))
    again = Spec(name="meet", initial_states=lambda _: [State(held=1), State(held=1)], actions=[counts])
    assert len(again.initials()) == 1


def test_values_of_a_domain_that_are_equal_but_not_the_same_are_refused(engine: Engine) -> None:
    def drawn(state: State) -> list[Any]:
        return [2, 1, True][: 1 + state.count]

    for domain in (drawn, [0, 1, True]):

        @action(value=domain)
        def holds(state: State, value: Any) -> Iterator[State]:
            yield attrs.evolve(state, held=(repr(value), state.count))

        with refused("action holds: the domain of 'value' holds both 1 and True"):
            engine(spec_of(holds))
    with refused("the argument of subsets holds both 1 and True"):
        subsets([1, True])


def test_a_tuple_with_a_constructor_of_its_own(engine: Engine) -> None:
    @action()
    def releases(state: State) -> Iterator[State]:
        major, minor = state.held
        yield attrs.evolve(state, held=Version(major, minor + 1) if minor < 3 else Version(major + 1, 0))

    @invariant("there is no second version")
    def first(state: State) -> bool:
        return bool(state.held < (2, 0))

    result = engine(spec_of(releases, start=State(held=Version(0, 0)), properties=[first]))
    assert result.verdict is Verdict.VIOLATED
    trace = result.properties[0].traces[0]
    assert trace.states[-1].held == (2, 0)
    assert type(trace.states[-1].held) is Version


def test_a_constant_that_a_function_changes_in_place_is_noticed(engine: Engine) -> None:
    @action()
    def notes(state: State) -> Iterator[State]:
        if state.count < 3:
            state.limit.append(state.count)
            yield attrs.evolve(state, count=state.count + 1)

    with refused("must not change states"):
        engine(spec_of(notes, start=State(limit=[])))


# Values that meet only inside of values that are not equal are kept apart, also where the search splits the values.


def same_as_the_oracle(spec: Spec[Any]) -> None:
    limits = Limits(keep_going=True)
    expected, result = oracle.explore(spec, limits), learned(spec, limits)
    assert result.statistics.distinct == expected.statistics.distinct
    assert [each.verdict for each in result.properties] == [each.verdict for each in expected.properties]


@invariant("True is never held with seven others")
def never_true(state: State) -> bool:
    return not any(each is True for each in map(_itself, state.held)) or len(state.held) < 7


def _itself(value: Any) -> Any:
    return value.name if isinstance(value, Member) else value


@pytest.mark.parametrize("kind", ["set", "members", "tuple", "constants"])
def test_values_that_meet_inside_of_others_are_kept_apart(kind: str) -> None:
    """A set with True has "t" too, so no two sets are equal and not the same. The search splits such sets."""

    @action(value=[*range(1, 7), "t"])
    def adds(state: State, value: Any) -> Iterator[State]:
        if kind == "set":
            one = True if "t" in state.held else 1
            if value != "t" or 1 not in state.held:
                yield attrs.evolve(state, held=state.held | {one if value == 1 else value})
        elif kind == "members":
            name = "t" in {each.term for each in state.held}
            if value != "t" or not state.held:
                yield attrs.evolve(state, held=state.held | {Member(value, name or 0)})
        elif kind == "tuple" and value != "t":
            yield attrs.evolve(state, held=(True if value > 3 else 1, value, *range(5)))
        elif kind == "constants" and value != "t":
            yield attrs.evolve(state, held=(Member(value, value > 3 or 0), *range(6)))

    first = 1 if kind == "tuple" else Member(0, 0)
    empty: Any = frozenset() if kind in ("set", "members") else (first, *[0] * 6)
    same_as_the_oracle(spec_of(adds, start=State(held=empty), properties=[never_true]))
