"""The algorithm of "Teaching Concurrency" with regular registers.

Source: github.com/tlaplus/Examples, specifications/TeachingConcurrency/SimpleRegular.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, put


@frozen
class Bounds:
    n: int = bound(8, "processes", at_least=1, at_most=9)


@frozen
class Process:
    x: frozenset[int] = frozenset({0})
    y: int = 0
    pc: str = "a1"


@frozen
class State:
    procs: tuple[Process, ...] = component(each="process")


def processes(bounds: Bounds) -> range:
    return range(bounds.n)


@action("process {p} begins to write", p=processes)
def a1(state: State, p: int) -> Iterator[State]:
    if state.procs[p].pc == "a1":
        yield put(state, "procs", p, evolve(state.procs[p], x=frozenset({0, 1}), pc="a2"))


@action("process {p} ends its write", p=processes)
def a2(state: State, p: int) -> Iterator[State]:
    if state.procs[p].pc == "a2":
        yield put(state, "procs", p, evolve(state.procs[p], x=frozenset({1}), pc="b"))


@action("process {p} reads {value}", p=processes, value=range(2))
def b(state: State, p: int, value: int) -> Iterator[State]:
    if state.procs[p].pc == "b" and value in state.procs[p - 1].x:
        yield put(state, "procs", p, evolve(state.procs[p], y=value, pc="Done"))


def is_done(state: State) -> bool:
    return all(process.pc == "Done" for process in state.procs)


@invariant("when all are done, one has read 1")
def p_correct(state: State) -> bool:
    return not is_done(state) or any(process.y == 1 for process in state.procs)


@invariant("the types are right")
def type_ok(state: State) -> bool:
    return all(
        process.x and process.x <= {0, 1} and process.y in (0, 1) and process.pc in ("a1", "a2", "b", "Done")
        for process in state.procs
    )


@invariant("the inductive invariant")
def inv(state: State) -> bool:
    for process in state.procs:
        if process.pc in ("b", "Done") and process.x != frozenset({1}):
            return False
    return any(process.pc != "Done" for process in state.procs) or any(process.y == 1 for process in state.procs)


spec = Spec(
    name="simple_regular",
    initial_states=lambda bounds: [State((Process(),) * bounds.n)],
    actions=[a1, a2, b],
    properties=[p_correct, type_ok, inv],
    bounds=Bounds(),
    final=is_done,
)
