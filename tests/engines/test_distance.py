"""The distance that guides a random search: learned distances equal those of the function."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from leadline.checker import Spec, SpecError, action, fuzz, invariant
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.result import Limits, Verdict
from leadline.checker.settings import RandomSettings
from leadline.invariants.catalog import CATALOG
from leadline.reports.loading import load_spec
from tests.specs.going_wrong import ONLY_LEARNED
from tests.suite.samples import sampled


@attrs.frozen
class Dials:
    numbers: tuple[int, ...] = (0,) * 5


@action(place=range(5), number=range(1, 10))
def turn(state: Dials, place: int, number: int) -> Iterator[Dials]:
    yield attrs.evolve(state, numbers=(*state.numbers[:place], number, *state.numbers[place + 1 :]))


CODE = (3, 1, 4, 1, 5)


@invariant("the safe is shut")
def shut(state: Dials) -> bool:
    return state.numbers != CODE


SAFE = Spec(name="safe", initial_states=lambda _: [Dials()], actions=[turn], properties=[shut])


def wrong(state: Dials) -> int:
    """How many dials are wrong."""
    return sum(number != right for number, right in zip(state.numbers, CODE, strict=True))


def test_a_distance_leads_to_a_violation_that_chance_does_not() -> None:
    """A space of 10 ** 5 states, one of which violates the property."""
    settings = RandomSettings(examples=10, steps=20, seed=1)
    guided, by_chance = fuzz(attrs.evolve(SAFE, distance=wrong), settings=settings), fuzz(SAFE, settings=settings)

    assert (guided.verdict, by_chance.verdict) == (Verdict.VIOLATED, Verdict.INCOMPLETE)
    assert len(guided.of("shut").traces[0]) == 6
    assert guided.statistics.generated < by_chance.statistics.generated


# What is learned of a distance.


@attrs.frozen
class Bag:
    """Numbers in a set, which grows: a search meets new members all the time; and one that may be of two types."""

    has: frozenset[int] = frozenset()
    last: object = 0


@action(number=range(1, 9))
def put_in(state: Bag, number: int) -> Iterator[Bag]:
    if number not in state.has and (number < 3 or number - 2 in state.has):
        yield Bag(state.has | {number}, number if number % 2 else float(number))


BAG = Spec(name="bag", initial_states=lambda _: [Bag()], actions=[put_in])


def greatest(state: Bag) -> int:
    return 10 - max(state.has, default=0)


def any_that_is_even(state: Bag) -> float:
    return 0.5 if any(number % 2 == 0 for number in state.has) else 2


def type_of_last(state: Bag) -> int:
    return len(type(state.last).__name__)


def whole(state: Any) -> int:
    return len(str(state))


def hash_of_members(state: Bag) -> int:
    return hash(state.has) % 97


def messages_sent(state: Any) -> float:
    return 100.0 - len(state.msgs)


def promises(state: Any) -> int:
    return sum(message[0] == "1b" for message in state.msgs)


def log_ends(state: Any) -> float:
    return float(abs(state.replicas[0].log.end_offset - state.replicas[1].log.end_offset))


PAXOS = load_spec("tests/public/paxos.py")

MEASURED = [
    (SAFE, wrong),
    (BAG, greatest),
    (BAG, any_that_is_even),
    (BAG, type_of_last),
    (BAG, whole),
    (BAG, hash_of_members),
    (PAXOS, messages_sent),
    (PAXOS, promises),
    (PAXOS, whole),
    (CATALOG["rpc/kip-101"], CATALOG["rpc/kip-101"].distance),
    (CATALOG["kafka/4.1"], CATALOG["kafka/4.1"].distance),
    (CATALOG["atomic/kip-101"], log_ends),
]


@pytest.mark.parametrize(
    ("spec", "distance"), sampled(MEASURED, 2), ids=lambda given: getattr(given, "name", None) or given.__name__
)
def test_what_was_learned_of_a_distance_is_what_it_returns(
    spec: Spec[Any], distance: Callable[[Any], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that can be learned is, and nothing else compares it with calls."""
    compared = 0

    def compare(walks: Walks[Any], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        nonlocal compared
        found = distances(walks, indices)
        assert found.tolist() == [measured.distance_of(walks.expander.state(index)) for index in indices.tolist()]
        compared += len(indices)
        return found

    distances, measured = Walks._distances, attrs.evolve(spec, distance=distance)
    monkeypatch.setattr(Walks, "_distances", compare)
    watch = Watch(Budget(Limits()), Workers(1))
    walks = Walks(measured, 10, 20, 0, watch, Purity(spec), tuning=ONLY_LEARNED)
    while walks.round():
        pass

    tables = walks.expander.tables
    assert compared >= 20
    assert 0 < tables.effort.learned[tables.caller.distance_tree] < compared or distance in (whole, type_of_last)
    assert tables.effort.called[tables.caller.distance_tree] == 0


@pytest.mark.parametrize("spec", [BAG, PAXOS, CATALOG["atomic/kip-101"]], ids=lambda spec: spec.name)
def test_whether_a_distance_is_learned_makes_no_difference(spec: Spec[Any]) -> None:
    measured = attrs.evolve(spec, distance=spec.distance or whole)
    learned, called = (_counts(measured, always) for always in (10**9, -(10**9)))

    assert learned == called


def _counts(spec: Spec[Any], always: int) -> Any:
    tuning = attrs.evolve(ONLY_LEARNED, always=always)
    result = fuzz(spec, settings=RandomSettings(examples=10, steps=20, tuning=tuning))
    counts = result.statistics
    lengths = [[len(trace) for trace in item.traces] for item in result.properties]
    return counts.distinct, counts.generated, counts.depth, counts.actions, counts.walked, lengths


# What a distance may do wrong.


def test_a_distance_that_fails_late_is_an_error_in_one_line() -> None:
    def fails_late(state: Dials) -> float:
        return 1 / (9 - state.numbers[4])

    with pytest.raises(SpecError, match=r"^distance raised ZeroDivisionError: division by zero \(test_distance.py"):
        fuzz(attrs.evolve(SAFE, distance=fails_late), settings=RandomSettings(examples=10, steps=20))


@pytest.mark.parametrize(
    "returned", ["near", True, -1, float("nan"), float("inf"), None, pytest.param(10**5000, id="huge")]
)
def test_a_distance_that_is_no_number_from_0_on_is_refused(returned: Any) -> None:
    with pytest.raises(SpecError, match=r"^distance must return a finite number that is at least 0, not "):
        fuzz(attrs.evolve(SAFE, distance=lambda state: returned), settings=RandomSettings(examples=10, steps=20))


def test_a_distance_that_remembers_earlier_calls_is_refused() -> None:
    calls = itertools.count()

    def differs(state: Dials) -> int:
        return state.numbers[0] * 0 + next(calls)

    with pytest.raises(SpecError, match=r"^distance is not deterministic: the same state gave different values$"):
        fuzz(attrs.evolve(SAFE, distance=differs), settings=RandomSettings(examples=10, steps=20))


def test_a_distance_that_looks_at_identity_is_refused() -> None:
    def names_object(state: Dials) -> int:
        return id(state)

    with pytest.raises(SpecError, match=r"^distance is not deterministic: "):
        fuzz(attrs.evolve(SAFE, distance=names_object), settings=RandomSettings(examples=10, steps=20))


def test_a_distance_that_changes_the_state_is_refused() -> None:
    def changes(state: Dials) -> int:
        object.__setattr__(state, "numbers", (1, *state.numbers[1:]))
        return 1

    with pytest.raises(SpecError, match=r"^distance changed the state that it was given: it must not change states$"):
        fuzz(attrs.evolve(SAFE, distance=changes), settings=RandomSettings(examples=10, steps=20))


def test_a_distance_is_not_asked_of_states_outside() -> None:
    """Of next states outside; they are not expanded."""

    def some_turned(state: Dials) -> int:
        if sum(state.numbers) > 12:
            raise ValueError(state)
        return 12 - sum(state.numbers)

    bounded = attrs.evolve(SAFE, properties=[], distance=some_turned, within=lambda state: sum(state.numbers) <= 12)
    assert fuzz(bounded, settings=RandomSettings(examples=30, steps=20)).verdict is Verdict.INCOMPLETE


@attrs.frozen
class Asking:
    """A set, and a number that decides which members the distance reads."""

    has: frozenset[int] = frozenset()
    number: int = 0


@action(member=range(20))
def put_into(state: Asking, member: int) -> Iterator[Asking]:
    if len(state.has) < 3:
        yield Asking(state.has | {member}, 7 * state.number + member)


def test_another_seed_may_follow_on_a_distance_that_met_new_members() -> None:
    def asks_for_others(state: Asking) -> int:
        return sum(100 + 3 * state.number + place in state.has for place in range(3))

    spec = Spec(name="asking", initial_states=lambda _: [Asking()], actions=[put_into], distance=asks_for_others)
    walks = Walks(spec, 10, 20, 0, Watch(Budget(Limits()), Workers(1)), Purity(spec))
    for rounds in (1, 2, 1):
        for _ in range(rounds):
            walks.round()
        assert walks.begun > 0
        walks.begin(0, uniform=False)
