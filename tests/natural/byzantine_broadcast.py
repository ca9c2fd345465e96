"""Reliable broadcast with Byzantine processes: sets of messages, in all assignments of faulty processes.

Source: github.com/tlaplus/Examples, specifications/bcastByz/bcastByz.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, bounds, component, invariant, one_of_each, put, subsets


@frozen
class Bounds:
    n: int = bound(4, "processes", at_least=1, at_most=6)
    t: int = bound(1, "the most faulty processes that are tolerated", at_least=0, at_most=2)
    f: int = bound(1, "faulty processes", at_least=0, at_most=2)

    @bounds.check("n > 3 * t and t >= f")
    def resilience(self) -> bool:
        return self.n > 3 * self.t and self.t >= self.f


@frozen
class Process:
    pc: str = "V0"
    received: frozenset[int] = frozenset()


@frozen
class State:
    procs: tuple[Process, ...] = component(each="process")
    correct: frozenset[int] = frozenset()
    sent: frozenset[int] = frozenset()


def initial_states(bounds: Bounds) -> Iterator[State]:
    everyone = range(bounds.n)
    for correct in subsets(everyone, at_least=bounds.n - bounds.f, at_most=bounds.n - bounds.f):
        for values in one_of_each([("V0", "V1")] * bounds.n):
            yield State(tuple(map(Process, values)), correct)


def processes(bounds: Bounds) -> range:
    return range(bounds.n)


def tolerated(bounds: Bounds) -> list[int]:
    return [bounds.t]


@action("process {p} takes a step", p=processes, t=tolerated)
def step(state: State, p: int, t: int) -> Iterator[State]:
    if p not in state.correct:
        return
    own, count = state.procs[p], len(state.procs)
    faulty = frozenset(range(count)) - state.correct
    for new in subsets(state.sent | faulty):
        received = own.received | new
        echoed, size = state.sent | {p}, len(received)
        if own.pc == "V1":
            yield evolve(put(state, "procs", p, Process("SE", received)), sent=echoed)
        if own.pc in ("V0", "V1") and count - 2 * t <= size < count - t:
            yield evolve(put(state, "procs", p, Process("SE", received)), sent=echoed)
        if own.pc in ("V0", "V1") and size >= count - t:
            yield evolve(put(state, "procs", p, Process("AC", received)), sent=echoed)
        if own.pc == "SE" and size >= count - t:
            yield put(state, "procs", p, Process("AC", received))


@invariant("the types are right")
def type_ok(state: State) -> bool:
    everyone = frozenset(range(len(state.procs)))
    return state.sent <= state.correct <= everyone and all(
        process.pc in ("V0", "V1", "SE", "AC") and process.received <= state.sent | (everyone - state.correct)
        for process in state.procs
    )


spec = Spec(
    name="byzantine_broadcast",
    initial_states=initial_states,
    actions=[step],
    properties=[type_ok],
    bounds=Bounds(),
)
