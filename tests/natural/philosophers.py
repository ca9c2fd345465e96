"""Dining philosophers with clean and dirty forks (Chandy and Misra).

Each philosopher is fair as a whole: a group of actions with a condition for each value of their parameter.

Source: github.com/tlaplus/Examples, specifications/DiningPhilosophers/DiningPhilosophers.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, always_eventually, bound, component, constant, invariant, put


@frozen
class Bounds:
    n: int = bound(5, "philosophers", at_least=2)


@frozen
class Fork:
    holder: int
    clean: bool = False


@frozen
class Philosopher:
    pc: str = "Loop"
    hungry: bool = True


@frozen
class State:
    bounds: Bounds = constant()
    philosophers: tuple[Philosopher, ...] = component(each="philosopher")
    forks: tuple[Fork, ...] = component(each="fork")


def all_of(bounds: Bounds) -> range:
    return range(bounds.n)


def initial_states(bounds: Bounds) -> list[State]:
    return [State(bounds, (Philosopher(),) * bounds.n, tuple(Fork(0 if f == 1 else f) for f in range(bounds.n)))]


def can_eat(state: State, p: int) -> bool:
    forks = (state.forks[p], state.forks[(p + 1) % state.bounds.n])
    return all(f.holder == p and f.clean for f in forks)


@action("{p} loops", p=all_of)
def loop(state: State, p: int) -> Iterator[State]:
    n, me = state.bounds.n, state.philosophers[p]
    if me.pc != "Loop":
        return
    right, after = (p + 1) % n, state
    if state.forks[p].holder == p and not state.forks[p].clean:
        after = put(state, "forks", p, Fork((p - 1) % n, True))
    elif state.forks[right].holder == p and not state.forks[right].clean:
        after = put(state, "forks", right, Fork((p + 1) % n, True))
    pc = ("Eat" if can_eat(state, p) else "Loop") if me.hungry else "Think"
    yield put(after, "philosophers", p, "pc", pc)


@action("{p} thinks", p=all_of)
def think(state: State, p: int) -> Iterator[State]:
    if state.philosophers[p].pc == "Think":
        yield put(state, "philosophers", p, Philosopher("Loop", True))


@action("{p} eats", p=all_of)
def eat(state: State, p: int) -> Iterator[State]:
    if state.philosophers[p].pc == "Eat":
        after = put(state, "forks", p, "clean", False)
        after = put(after, "forks", (p + 1) % state.bounds.n, "clean", False)
        yield put(after, "philosophers", p, Philosopher("Loop", False))


@invariant("neighbours do not eat at the same time")
def exclusive(state: State) -> bool:
    n = state.bounds.n
    return not any(state.philosophers[p].pc == "Eat" == state.philosophers[(p + 1) % n].pc for p in range(n))


@always_eventually("{p} eats again and again", p=all_of)
def fed(state: State, p: int) -> bool:
    return not state.philosophers[p].hungry


spec = Spec(
    name="dining",
    initial_states=initial_states,
    actions=[loop, think, eat],
    properties=[exclusive, fed],
    bounds=Bounds(),
    fairness={("loop", "think", "eat"): "weak each p"},
)
