"""Walks of specs, projected to what a recorder sees, and why actions are not possible."""

from __future__ import annotations

import random
from collections.abc import Iterator

import attrs
import pytest

from leadline.checker import Spec, SpecError, action
from leadline.checker.action import ActionInstance, Step
from leadline.checker.conformance import HIDDEN, Answer, Following, Visible, why_not
from leadline.checker.state import history, without_history


@attrs.frozen
class Lock:
    """A lock with a queue. `grants` records who had the lock, for properties."""

    holder: int | None
    queue: tuple[int, ...]
    grants: tuple[int, ...] = history(blank=())


@action("client {client} asks", client=range(3))
def ask(state: Lock, client: int) -> Iterator[Lock]:
    if client == state.holder or client in state.queue:
        return
    yield attrs.evolve(state, queue=(*state.queue, client))


@action("the server grants the lock")
def grant(state: Lock) -> Iterator[Lock]:
    if state.holder is not None:
        return
    if state.queue:
        first, *rest = state.queue
        yield Lock(first, tuple(rest), (*state.grants, first))


@action("client {client} releases the lock", client=range(3))
def release(state: Lock, client: int) -> Iterator[Lock]:
    if state.holder != client:  # only the holder can release the lock
        return
    yield attrs.evolve(state, holder=None)


LOCK: Spec[Lock] = Spec(
    name="lock", initial_states=lambda bounds: [Lock(None, (), ())], actions=[ask, grant, release], properties=[]
)
SEEN = Following(
    spec=LOCK,
    visible={
        "ask": Visible(shows=lambda before, after, client: "asked"),
        "grant": HIDDEN,
        "release": Visible(shows=lambda before, after, client: "released"),
    },
)


def walk(following: Following[Lock], length: int, rng: random.Random) -> list[Step[Lock]]:
    state, steps = following.spec.initials()[0], []
    for _ in range(length):
        instance, after = rng.choice(list(following.spec.successors(state)))
        steps.append(Step(state, instance, after))
        state = after
    return steps


def recorded(
    steps: list[Step[Lock]], rng: random.Random, wide: float
) -> list[tuple[float, float, ActionInstance[Lock], object]]:
    seen = [(time, step.instance, SEEN.seen(step)) for time, step in enumerate(steps)]
    events = [
        (time - rng.uniform(0, wide), time + rng.uniform(0, wide), instance, shown)
        for time, instance, shown in seen
        if shown is not None
    ]
    return sorted(events, key=lambda event: event[0])


def answer(events: list[tuple[float, float, ActionInstance[Lock], object]]) -> Answer:
    return SEEN.follow(SEEN.observation(i, shown, lo, hi) for lo, hi, i, shown in events).answer


@pytest.mark.parametrize("wide", [0, 0.4, 2.5])
def test_walks_conform(wide: float) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        assert answer(recorded(walk(SEEN, 60, rng), rng, wide)) is Answer.CONFORMS


def test_a_release_by_somebody_else_is_rejected() -> None:
    rejected = 0
    for seed in range(20):
        rng = random.Random(seed)
        events = recorded(walk(SEEN, 40, rng), rng, 0)
        places = [i for i, event in enumerate(events) if event[2].action is release]
        if not places:
            continue
        i = rng.choice(places)
        lo, hi, instance, shown = events[i]
        events[i] = lo, hi, ActionInstance(release, ((instance.values[0] + 1) % 3,)), shown
        rejected += answer(events) is Answer.REJECTED
    assert rejected >= 15


def test_every_action_needs_to_be_declared() -> None:
    with pytest.raises(SpecError, match="does not say what is visible of the action 'grant'"):
        Following(spec=LOCK, visible={name: each for name, each in SEEN.visible.items() if name != "grant"})
    with pytest.raises(SpecError, match="has no action 'steal'"):
        Following(spec=LOCK, visible={**SEEN.visible, "steal": HIDDEN})
    with pytest.raises(SpecError, match="grant is hidden"):
        SEEN.observation(ActionInstance(grant, ()), "granted", 0, 1)


def test_history_is_left_out() -> None:
    assert without_history(Lock(1, (2,), (1, 1, 0))) == Lock(1, (2,), ())
    state = Lock(1, (2,), ())
    assert without_history(state) is state


# --- why --------------------------------------------------------------------------------------------------------


def why(name: str, state: Lock, *values: object) -> str:
    found = next(action for action in LOCK.actions if action.name == name)
    return why_not(ActionInstance(found, values), state)


def test_the_guard_that_fails_is_told_with_its_values() -> None:
    assert why("ask", Lock(None, (), ()), 1) == ""
    assert why("ask", Lock(1, (), ()), 1) == "client == state.holder, where client = 1, state.holder = 1"
    assert why("ask", Lock(0, (2, 1), ()), 1) == "client in state.queue, where client = 1, state.queue = (2, 1)"
    assert why("grant", Lock(1, (2,), ())) == "state.holder is not None, where state.holder = 1"
    assert why("grant", Lock(None, (), ())) == "not state.queue, where state.queue = ()"


def test_words_beside_the_guard_come_first() -> None:
    told = "only the holder can release the lock (state.holder != client, where state.holder = 0, client = 2)"
    assert why("release", Lock(0, (), ()), 2) == told


def test_an_action_without_a_guard_is_told_as_it_is() -> None:
    @action()
    def never(state: Lock) -> Iterator[Lock]:
        yield from ()

    assert why_not(ActionInstance(never, ()), Lock(None, (), ())) == "never() yields no state"
