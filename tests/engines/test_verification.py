"""Verification: throughout a search, a random share of the learned results is compared with calls on real states."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, SpecError, action, fuzz, invariant, step_invariant
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import search
from leadline.checker.engines.learning.calls import Call, Caller, NotRecorded
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.properties import Property
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.settings import CompiledSettings, RandomSettings, Tuning
from tests.specs.going_wrong import ONLY_LEARNED

SIZE = 40
NET_ONLY = attrs.evolve(ONLY_LEARNED, verify=None, block=1000)
"""What was learned is compared at random only."""


@attrs.frozen
class Grid:
    x: int = 0
    y: int = 0


@action(by=(1, 2, 3))
def right(state: Grid, by: int) -> Iterator[Grid]:
    if state.x + by < SIZE:
        yield attrs.evolve(state, x=state.x + by)


@action(by=(1, 2, 3))
def up(state: Grid, by: int) -> Iterator[Grid]:
    if state.y + by < SIZE:
        yield attrs.evolve(state, y=state.y + by)


@action()
def meet(state: Grid) -> Iterator[Grid]:
    if state.x * 7 + state.y == 300:
        yield Grid(0, 0)


@invariant("the grid ends")
def inside(state: Grid) -> bool:
    return state.x < SIZE


@step_invariant("only one coordinate grows at a time")
def one_grows(before: Grid, after: Grid) -> bool:
    return not (after.x > before.x and after.y > before.y)


SPEC = Spec(name="grid", initial_states=lambda _: [Grid()], actions=[right, up, meet], properties=[inside, one_grows])


class Seeded:
    """Makes recorded calls of one tree wrong where these read given values. Calls that read whole states are right.

    Attributes:
        noticed: how often a search found that something was learned wrong.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tree: int, values: tuple[int, ...], gave: Any) -> None:
        self.noticed = 0
        make, after = Caller.make, Adjustments.after

        def made(caller: Caller[Any], made_of: int, rows: tuple[Any, ...]) -> Call:
            call = make(caller, made_of, rows)
            domains = caller.layout.domains
            read = tuple(domains[slot].values[number] for slot, number in sorted(call.reads.items()) if slot < 2)
            is_wrong = made_of == tree and read == values and made_of not in given_states
            return attrs.evolve(call, gave=gave) if is_wrong else call

        def noticed(adjustments: Adjustments, change: Any) -> Adjustments:
            assert isinstance(change, NotRecorded)
            self.noticed += 1
            given_states.add(change.tree)
            return after(adjustments, change)

        given_states = set[int]()
        monkeypatch.setattr(Caller, "make", made)
        monkeypatch.setattr(Adjustments, "after", noticed)


@functools.cache
def expected() -> Result:
    """The correct results for the spec."""
    return oracle.explore(SPEC)


def searched(tuning: Tuning, verify: float | None = None) -> Result:
    return search.explore(SPEC, settings=CompiledSettings(workers=1, tuning=tuning, verify=verify))


def test_without_the_net_a_seeded_error_is_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the other tests can fail."""
    seeded = Seeded(monkeypatch, 0, (7,), [])
    assert searched(ONLY_LEARNED).statistics.generated < expected().statistics.generated
    assert not seeded.noticed


@pytest.mark.parametrize("seed", range(10))
def test_an_error_in_one_application_of_a_thousand_is_found_by_default(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path of one coordinate's value is taken by 40 of 12,800 applications, or by some more: three in a thousand."""
    drawn = random.Random(seed)
    seeded = Seeded(monkeypatch, drawn.randrange(6), (drawn.randrange(SIZE - 3),), [])
    found = searched(NET_ONLY)
    assert seeded.noticed == 1
    assert found.statistics.generated == expected().statistics.generated


@pytest.mark.parametrize("seed", range(5))
def test_an_error_in_a_single_application_is_found_if_all_are_verified(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(seed)
    seeded = Seeded(monkeypatch, 6, (drawn.randrange(SIZE), drawn.randrange(SIZE)), [{0: 0, 1: 0}])
    found = searched(NET_ONLY, verify=1.0)
    assert seeded.noticed == 1
    assert found.statistics.generated == expected().statistics.generated


def test_a_share_of_all_verifies_every_application() -> None:
    found = searched(ONLY_LEARNED, verify=1.0).statistics
    assert found.verified is not None
    steps = found.generated - 1
    applications = found.expanded * len(SPEC.instances) + found.distinct + steps
    assert (found.verified.checked, found.verified.drawn) == (applications, applications)
    assert found.verified.made == applications


def test_a_share_of_none_verifies_nothing() -> None:
    found = searched(ONLY_LEARNED, verify=0.0).statistics
    assert found.verified is not None
    assert found.verified.checked == 0


def test_which_applications_are_verified_depends_on_the_seed_only() -> None:
    counts = {searched(ONLY_LEARNED, verify=0.1).statistics.verified for _ in range(3)}
    assert len(counts) == 1
    other = search.explore(
        SPEC, settings=CompiledSettings(workers=1, tuning=attrs.evolve(ONLY_LEARNED, verify_seed=1), verify=0.1)
    )
    assert other.statistics.verified not in counts


@pytest.mark.parametrize("item", [inside, one_grows], ids=lambda item: item.name)
def test_a_violation_that_does_not_replay_is_never_reported(item: Property, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = len(SPEC.instances) + [inside, one_grows].index(item)
    value = (9,) if item is inside else (9, 9)
    seeded = Seeded(monkeypatch, tree, value, True)
    found = searched(ONLY_LEARNED)
    assert seeded.noticed == 1 or item is one_grows
    assert {item.verdict for item in found.properties} == {Verdict.HOLDS}


def test_a_step_that_is_not_one_is_never_part_of_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step leads to a state that violates an invariant, but no call of the action leads there."""

    @invariant("y stays small while x is 0")
    def slow(state: Grid) -> bool:
        return state.x > 0 or state.y < SIZE - 1

    seeded = Seeded(monkeypatch, 0, (5,), [{0: 0}])
    spec = attrs.evolve(SPEC, properties=[slow])
    found = search.explore(spec, settings=CompiledSettings(workers=1, tuning=ONLY_LEARNED))
    truth = oracle.explore(spec)
    assert [len(item.traces[0]) for item in found.properties] == [len(item.traces[0]) for item in truth.properties]
    assert seeded.noticed <= 1


def test_an_error_that_stays_is_refused_and_names_the_action() -> None:
    change = NotRecorded(3, "action right(by=1)")
    with pytest.raises(SpecError, match=r"^action right\(by=1\) is not deterministic: calls differ from what"):
        Adjustments().after(change).after(change)


def test_random_search_verifies_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded = Seeded(monkeypatch, len(SPEC.instances), (7,), True)
    found = fuzz(SPEC, Limits(), settings=RandomSettings(examples=200, steps=40, workers=1))
    assert seeded.noticed == 1
    assert {item.verdict for item in found.properties} == {Verdict.INCOMPLETE}
