"""Two-phase commit in parts: the state and messages of each resource manager are one component."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, put


@frozen
class Bounds:
    rms: int = bound(3, "resource managers", at_least=1, at_most=9)


@frozen
class Manager:
    stage: str = "working"
    sent_prepared: bool = False
    heard: bool = False


@frozen
class State:
    rms: tuple[Manager, ...] = component(each="rm")
    decision: str | None = None


def initial_states(bounds: Bounds) -> list[State]:
    return [State((Manager(),) * bounds.rms)]


def rms(bounds: Bounds) -> range:
    return range(bounds.rms)


@action()
def tm_commits(state: State) -> Iterator[State]:
    if state.decision is None and all(rm.heard for rm in state.rms):
        yield evolve(state, decision="commit")


@action()
def tm_aborts(state: State) -> Iterator[State]:
    if state.decision is None:
        yield evolve(state, decision="abort")


@action(rm=rms)
def tm_receives_prepared(state: State, rm: int) -> Iterator[State]:
    if state.decision is None and state.rms[rm].sent_prepared:
        yield put(state, "rms", rm, "heard", True)


@action(rm=rms)
def rm_prepares(state: State, rm: int) -> Iterator[State]:
    if state.rms[rm].stage == "working":
        yield put(state, "rms", rm, evolve(state.rms[rm], stage="prepared", sent_prepared=True))


@action(rm=rms)
def rm_chooses_to_abort(state: State, rm: int) -> Iterator[State]:
    if state.rms[rm].stage == "working":
        yield put(state, "rms", rm, "stage", "aborted")


@action(rm=rms)
def rm_receives_commit(state: State, rm: int) -> Iterator[State]:
    if state.decision == "commit":
        yield put(state, "rms", rm, "stage", "committed")


@action(rm=rms)
def rm_receives_abort(state: State, rm: int) -> Iterator[State]:
    if state.decision == "abort":
        yield put(state, "rms", rm, "stage", "aborted")


@invariant("no resource manager has aborted while another has committed", source="Gray and Lamport, section 2")
def consistent(state: State) -> bool:
    stages = [rm.stage for rm in state.rms]
    return not ("aborted" in stages and "committed" in stages)


spec = Spec(
    name="two-phase-commit-parts",
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
