"""Raynal's non-blocking atomic commitment with a failure detector.

Messages as a set, of which each process has received some; an initial state for each vote and each guess of the failure
detectors; a step chooses several things at once.

Source: github.com/tlaplus/Examples, specifications/nbacc_ray97/nbacc_ray97.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, one_of_each, put, subsets

Message = tuple[int, str]


@frozen
class Bounds:
    n: int = bound(2, "processes", at_least=1, at_most=3)


@frozen
class Process:
    at: str
    suspects: bool
    received: frozenset[Message] = frozenset()


@frozen
class State:
    processes: tuple[Process, ...] = component(each="process")
    sent: frozenset[Message] = frozenset()


def processes(bounds: Bounds) -> range:
    return range(bounds.n)


def initial_states(bounds: Bounds) -> Iterator[State]:
    for each in one_of_each([one_of_each([("YES", "NO"), (False, True)])] * bounds.n):
        yield State(tuple(Process(str(at), bool(suspects)) for at, suspects in each))


def more(state: State, process: int) -> Iterator[frozenset[Message]]:
    """The sets of messages that a process can have received after its next step."""
    known = state.processes[process].received
    for new in subsets(sorted(state.sent - known)):
        yield known | new


@action("process {process} takes a step, and suspects a crash: {suspects}", process=processes, suspects=(False, True))
def step(state: State, process: int, suspects: bool) -> Iterator[State]:
    own = state.processes[process]
    for received in more(state, process):
        after = put(state, "processes", process, Process(own.at, suspects, received))
        yield after
        if own.at != "CRASH":
            yield put(after, "processes", process, "at", "CRASH")
        if own.at in ("YES", "NO"):
            yield evolve(put(after, "processes", process, "at", "SENT"), sent=state.sent | {(process, own.at)})
        if own.at == "SENT":
            if suspects:
                yield put(after, "processes", process, "at", "ABORT")
            if any(vote == "NO" for _, vote in own.received):
                yield put(after, "processes", process, "at", "ABORT")
            if not suspects and len({by for by, vote in received if vote == "YES"}) == len(state.processes):
                yield put(after, "processes", process, "at", "COMMIT")


@invariant("process {process} commits only if all have voted yes", process=processes)
def valid(state: State, process: int) -> bool:
    yes = sum(vote == "YES" for _, vote in state.sent)
    return state.processes[process].at != "COMMIT" or yes == len(state.processes)


spec = Spec(name="commitment", initial_states=initial_states, actions=[step], properties=[valid], bounds=Bounds())
