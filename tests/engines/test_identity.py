"""Specs that compare objects by identity: they must not distinguish equal states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, SpecError, Verdict, action, component, invariant, put
from leadline.checker.engines import oracle
from leadline.checker.engines.learning import calls
from leadline.checker.settings import CompiledSettings, Tuning
from tests.specs import learning


@attrs.frozen
class Owner:
    name: str


NOBODY = Owner("nobody")


@attrs.frozen
class Lock:
    owners: tuple[Owner, ...] = component()
    turn: int = 0


@action()
def goes_on(lock: Lock) -> Iterator[Lock]:
    if lock.turn < 5:
        yield attrs.evolve(lock, turn=lock.turn + 1)


@action()
def is_released(lock: Lock) -> Iterator[Lock]:
    if lock.turn == 4 and lock.owners[0] != NOBODY:
        yield put(lock, "owners", 0, NOBODY)


@invariant("the lock is held, as its owner is another object")
def held(lock: Lock) -> bool:
    return lock.owners[0] is not NOBODY


@invariant("the lock is held")
def held_by_value(lock: Lock) -> bool:
    return lock.owners[0] != NOBODY


def spec_of(item: Any) -> Spec[Lock]:
    start = Lock((Owner("ann"), Owner("bob")))
    return Spec(name="lock", initial_states=lambda _: [start], actions=[goes_on, is_released], properties=[item])


@pytest.mark.parametrize("explore", [oracle.explore, learning.explore])
def test_equal_objects_that_are_told_apart_are_refused(explore: Callable[..., Any]) -> None:
    with pytest.raises(SpecError, match=r"invariant held is not deterministic.*==.*`is`"):
        explore(spec_of(held), Limits(keep_going=True))
    assert explore(spec_of(held_by_value)).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("compared", [True, False])
def test_what_is_not_noticed_is_as_the_oracle_has_it(compared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """States consist of the objects that the spec's functions returned, if these are distinguishable."""
    again = 1000 if compared else 1
    monkeypatch.setattr(calls, "MADE_AGAIN", again)
    monkeypatch.setattr(calls, "MADE_AGAIN_LATER", 10**9)
    tuning = Tuning(pure_states=1)
    assert oracle.explore(spec_of(held), tuning=tuning).verdict is Verdict.VIOLATED
    if compared:
        with pytest.raises(SpecError, match="invariant held"):
            learning.explore(spec_of(held), settings=CompiledSettings(tuning=tuning))
    else:
        assert learning.explore(spec_of(held), settings=CompiledSettings(tuning=tuning)).verdict is Verdict.VIOLATED
