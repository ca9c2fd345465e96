"""Lamport's mutual exclusion in parts: each process a component, with the queues of messages to it."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put

Message = tuple[str, int]


@frozen
class Bounds:
    processes: int = bound(3, "processes", at_least=2, at_most=4)
    max_clock: int = bound(2, "the largest clock", at_least=1, at_most=9)


@frozen
class Process:
    """A process; `known` are the requests it knows of by process, `inbox` the messages to it by sender."""

    clock: int = 1
    critical: bool = False
    known: tuple[int, ...] = component(each="known", default=())
    acknowledged: tuple[bool, ...] = component(each="acknowledged", default=())
    inbox: tuple[tuple[Message, ...], ...] = component(each="from", default=())


@frozen
class State:
    processes: tuple[Process, ...] = component(each="process")
    bounds: Bounds = constant()


def processes(bounds: Bounds) -> range:
    return range(bounds.processes)


def initial_states(bounds: Bounds) -> list[State]:
    n = bounds.processes
    return [State((Process(known=(0,) * n, acknowledged=(False,) * n, inbox=((),) * n),) * n, bounds)]


def sent(state: State, sender: int, receiver: int, message: Message) -> State:
    return put(state, "processes", receiver, "inbox", sender, (*state.processes[receiver].inbox[sender], message))


def broadcast(state: State, sender: int, message: Message) -> State:
    for receiver in processes(state.bounds):
        if receiver != sender:
            state = sent(state, sender, receiver, message)
    return state


def has(state: State, sender: int, receiver: int, kind: str) -> bool:
    channel = state.processes[receiver].inbox[sender]
    return bool(channel) and channel[0][0] == kind


def received(state: State, sender: int, receiver: int) -> State:
    return put(state, "processes", receiver, "inbox", sender, state.processes[receiver].inbox[sender][1:])


@action(process=processes)
def request(state: State, process: int) -> Iterator[State]:
    if state.processes[process].known[process] == 0:
        clock = state.processes[process].clock
        own = tuple(other == process for other in processes(state.bounds))
        asked = evolve(state.processes[process], acknowledged=own)
        noted = put(put(state, "processes", process, asked), "processes", process, "known", process, clock)
        yield broadcast(noted, process, ("req", clock))


@action(process=processes, sender=processes)
def receive_request(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "req"):
        theirs = state.processes[process].inbox[sender][0][1]
        clock = max(theirs, state.processes[process].clock) + 1
        noted = put(put(state, "processes", process, "clock", clock), "processes", process, "known", sender, theirs)
        yield sent(received(noted, sender, process), process, sender, ("ack", 0))


@action(process=processes, sender=processes)
def receive_acknowledgement(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "ack"):
        yield received(put(state, "processes", process, "acknowledged", sender, True), sender, process)


@action(process=processes)
def enter(state: State, process: int) -> Iterator[State]:
    at = state.processes[process]
    if not all(at.acknowledged):
        return
    own = at.known[process]
    if all(
        other == process or at.known[other] == 0 or (own, process) < (at.known[other], other)
        for other in processes(state.bounds)
    ):
        yield put(state, "processes", process, "critical", True)


@action(process=processes)
def leave(state: State, process: int) -> Iterator[State]:
    if state.processes[process].critical:
        nobody = (False,) * state.bounds.processes
        left = evolve(state.processes[process], critical=False, acknowledged=nobody)
        noted = put(put(state, "processes", process, left), "processes", process, "known", process, 0)
        yield broadcast(noted, process, ("rel", 0))


@action(process=processes, sender=processes)
def receive_release(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "rel"):
        yield received(put(state, "processes", process, "known", sender, 0), sender, process)


def within(state: State) -> bool:
    return all(process.clock <= state.bounds.max_clock for process in state.processes)


@invariant("at most one process is in its critical section")
def mutual_exclusion(state: State) -> bool:
    return sum(process.critical for process in state.processes) <= 1


spec = Spec(
    name="lamport-mutex-parts",
    initial_states=initial_states,
    actions=[request, receive_request, receive_acknowledgement, enter, leave, receive_release],
    properties=[mutual_exclusion],
    bounds=Bounds(),
    within=within,
)
