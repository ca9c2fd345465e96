"""Mutual exclusion by logical clocks: Lamport, "Time, Clocks, and the Ordering of Events" (1978).

Between two processes is a queue of messages. States in which a clock exceeds its bound are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put

Message = tuple[str, int]


@frozen
class Bounds:
    processes: int = bound(3, "processes", at_least=2, at_most=4)
    max_clock: int = bound(2, "the largest clock", at_least=1, at_most=9)


@frozen
class State:
    clock: tuple[int, ...]
    req: tuple[tuple[int, ...], ...]
    ack: tuple[frozenset[int], ...]
    network: tuple[tuple[tuple[Message, ...], ...], ...]
    crit: frozenset[int]
    bounds: Bounds = constant()


def processes(bounds: Bounds) -> range:
    return range(bounds.processes)


def initial_states(bounds: Bounds) -> list[State]:
    n = bounds.processes
    return [State((1,) * n, ((0,) * n,) * n, (frozenset(),) * n, (((),) * n,) * n, frozenset(), bounds)]


def sent(state: State, sender: int, receiver: int, message: Message) -> State:
    return put(state, "network", sender, receiver, (*state.network[sender][receiver], message))


def broadcast(state: State, sender: int, message: Message) -> State:
    for receiver in processes(state.bounds):
        if receiver != sender:
            state = sent(state, sender, receiver, message)
    return state


def has(state: State, sender: int, receiver: int, kind: str) -> bool:
    """Whether the next message between two processes is of a kind."""
    channel = state.network[sender][receiver]
    return bool(channel) and channel[0][0] == kind


def received(state: State, sender: int, receiver: int) -> State:
    return put(state, "network", sender, receiver, state.network[sender][receiver][1:])


@action(process=processes)
def request(state: State, process: int) -> Iterator[State]:
    if state.req[process][process] == 0:
        clock = state.clock[process]
        asked = put(put(state, "req", process, process, clock), "ack", process, frozenset({process}))
        yield broadcast(asked, process, ("req", clock))


@action(process=processes, sender=processes)
def receive_request(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "req"):
        theirs = state.network[sender][process][0][1]
        clock = max(theirs, state.clock[process]) + 1
        noted = put(put(state, "req", process, sender, theirs), "clock", process, clock)
        yield sent(received(noted, sender, process), process, sender, ("ack", 0))


@action(process=processes, sender=processes)
def receive_acknowledgement(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "ack"):
        yield received(put(state, "ack", process, state.ack[process] | {sender}), sender, process)


@action(process=processes)
def enter(state: State, process: int) -> Iterator[State]:
    everybody = frozenset(processes(state.bounds))
    if state.ack[process] != everybody:
        return
    if all(_beats(state, process, other) for other in everybody if other != process):
        yield evolve(state, crit=state.crit | {process})


def _beats(state: State, process: int, other: int) -> bool:
    own, theirs = state.req[process][process], state.req[process][other]
    return theirs == 0 or (own, process) < (theirs, other)


@action(process=processes)
def leave(state: State, process: int) -> Iterator[State]:
    if process in state.crit:
        left = put(put(state, "req", process, process, 0), "ack", process, frozenset())
        yield broadcast(evolve(left, crit=state.crit - {process}), process, ("rel", 0))


@action(process=processes, sender=processes)
def receive_release(state: State, process: int, sender: int) -> Iterator[State]:
    if has(state, sender, process, "rel"):
        yield received(put(state, "req", process, sender, 0), sender, process)


def within(state: State) -> bool:
    return all(clock <= state.bounds.max_clock for clock in state.clock)


@invariant("at most one process is in its critical section")
def mutual_exclusion(state: State) -> bool:
    return len(state.crit) <= 1


spec = Spec(
    name="lamport-mutex",
    initial_states=initial_states,
    actions=[request, receive_request, receive_acknowledgement, enter, leave, receive_release],
    properties=[mutual_exclusion],
    bounds=Bounds(),
    within=within,
)
