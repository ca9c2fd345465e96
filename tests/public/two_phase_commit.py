"""Two-phase commit, with the messages as a set: Gray and Lamport, "Consensus on Transaction Commit" (2004), section 3.

Messages are never lost and never taken from the set, so each can be received again and again.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put


@frozen
class Bounds:
    rms: int = bound(3, "resource managers", at_least=1, at_most=9)


@frozen
class State:
    rm: tuple[str, ...]
    tm: str
    tm_prepared: frozenset[int]
    msgs: frozenset[tuple[str, ...] | tuple[str, int]]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    return [State(("working",) * bounds.rms, "init", frozenset(), frozenset(), bounds)]


def rms(bounds: Bounds) -> range:
    return range(bounds.rms)


@action()
def tm_commits(state: State) -> Iterator[State]:
    if state.tm == "init" and state.tm_prepared == frozenset(rms(state.bounds)):
        yield evolve(state, tm="committed", msgs=state.msgs | {("commit",)})


@action()
def tm_aborts(state: State) -> Iterator[State]:
    if state.tm == "init":
        yield evolve(state, tm="aborted", msgs=state.msgs | {("abort",)})


@action(rm=rms)
def tm_receives_prepared(state: State, rm: int) -> Iterator[State]:
    if state.tm == "init" and ("prepared", rm) in state.msgs:
        yield evolve(state, tm_prepared=state.tm_prepared | {rm})


@action(rm=rms)
def rm_prepares(state: State, rm: int) -> Iterator[State]:
    if state.rm[rm] == "working":
        yield evolve(state, rm=put(state.rm, rm, "prepared"), msgs=state.msgs | {("prepared", rm)})


@action(rm=rms)
def rm_chooses_to_abort(state: State, rm: int) -> Iterator[State]:
    if state.rm[rm] == "working":
        yield evolve(state, rm=put(state.rm, rm, "aborted"))


@action(rm=rms)
def rm_receives_commit(state: State, rm: int) -> Iterator[State]:
    if ("commit",) in state.msgs:
        yield evolve(state, rm=put(state.rm, rm, "committed"))


@action(rm=rms)
def rm_receives_abort(state: State, rm: int) -> Iterator[State]:
    if ("abort",) in state.msgs:
        yield evolve(state, rm=put(state.rm, rm, "aborted"))


@invariant("no resource manager has aborted while another has committed", source="Gray and Lamport, section 2")
def consistent(state: State) -> bool:
    return not ("aborted" in state.rm and "committed" in state.rm)


spec = Spec(
    name="two-phase-commit",
    initial_states=initial_states,
    actions=[
        tm_commits,
        tm_aborts,
        tm_receives_prepared,
        rm_prepares,
        rm_chooses_to_abort,
        rm_receives_commit,
        rm_receives_abort,
    ],
    properties=[consistent],
    bounds=Bounds(),
)
