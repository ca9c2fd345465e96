"""Paxos Commit, with the messages as one set: Gray and Lamport, "Consensus on Transaction Commit" (2004), section 4.

For each resource manager the acceptors agree on whether it is prepared, in an instance of Paxos of its own, whose
ballot 0 belongs to the manager.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put


@frozen
class Bounds:
    rms: int = bound(1, "resource managers", at_least=1, at_most=4)
    acceptors: int = bound(3, "acceptors", at_least=1, at_most=5)
    max_ballot: int = bound(1, "the last ballot; the first is 0", at_least=0, at_most=3)


@frozen
class Acceptor:
    """The state of an acceptor in one instance: the ballot it has joined, and the last ballot and value it accepted."""

    mbal: int = 0
    bal: int = -1
    val: str = "none"


@frozen
class Phase1a:
    ins: int
    bal: int


@frozen
class Phase1b:
    ins: int
    mbal: int
    bal: int
    val: str
    acc: int


@frozen
class Phase2a:
    ins: int
    bal: int
    val: str


@frozen
class Phase2b:
    ins: int
    bal: int
    val: str
    acc: int


@frozen
class Decision:
    outcome: str


Message = Phase1a | Phase1b | Phase2a | Phase2b | Decision


@frozen
class State:
    """`acceptor` is by instance, then by acceptor."""

    rm: tuple[str, ...]
    acceptor: tuple[tuple[Acceptor, ...], ...]
    msgs: frozenset[Message]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    acceptor = ((Acceptor(),) * bounds.acceptors,) * bounds.rms
    return [State(("working",) * bounds.rms, acceptor, frozenset(), bounds)]


def rms(bounds: Bounds) -> range:
    return range(bounds.rms)


def acceptors(bounds: Bounds) -> range:
    return range(bounds.acceptors)


def ballots(bounds: Bounds) -> range:
    return range(bounds.max_ballot + 1)


def later_ballots(bounds: Bounds) -> range:
    return range(1, bounds.max_ballot + 1)


def majorities(bounds: Bounds) -> Iterator[tuple[int, ...]]:
    return combinations(acceptors(bounds), bounds.acceptors // 2 + 1)


def send(state: State, message: Message) -> State:
    return evolve(state, msgs=state.msgs | {message})


@action(rm=rms)
def rm_prepares(state: State, rm: int) -> Iterator[State]:
    if state.rm[rm] == "working":
        yield put(send(state, Phase2a(rm, 0, "prepared")), "rm", rm, "prepared")


@action(rm=rms)
def rm_chooses_to_abort(state: State, rm: int) -> Iterator[State]:
    if state.rm[rm] == "working":
        yield put(send(state, Phase2a(rm, 0, "aborted")), "rm", rm, "aborted")


@action(rm=rms)
def rm_receives_commit(state: State, rm: int) -> Iterator[State]:
    if Decision("commit") in state.msgs:
        yield put(state, "rm", rm, "committed")


@action(rm=rms)
def rm_receives_abort(state: State, rm: int) -> Iterator[State]:
    if Decision("abort") in state.msgs:
        yield put(state, "rm", rm, "aborted")


@action(ballot=later_ballots, rm=rms)
def phase1a(state: State, ballot: int, rm: int) -> Iterator[State]:
    yield send(state, Phase1a(rm, ballot))


@action(acceptor=acceptors)
def phase1b(state: State, acceptor: int) -> Iterator[State]:
    for m in state.msgs:
        if isinstance(m, Phase1a) and state.acceptor[m.ins][acceptor].mbal < m.bal:
            at = state.acceptor[m.ins][acceptor]
            joined = send(state, Phase1b(m.ins, m.bal, at.bal, at.val, acceptor))
            yield put(joined, "acceptor", m.ins, acceptor, "mbal", m.bal)


@action(ballot=later_ballots, rm=rms)
def phase2a(state: State, ballot: int, rm: int) -> Iterator[State]:
    if any(isinstance(m, Phase2a) and m.ins == rm and m.bal == ballot for m in state.msgs):
        return
    for majority in majorities(state.bounds):
        answers = [
            m for m in state.msgs if isinstance(m, Phase1b) and m.ins == rm and m.mbal == ballot and m.acc in majority
        ]
        if {m.acc for m in answers} == set(majority):
            last = max(m.bal for m in answers)
            value = "aborted" if last == -1 else next(m.val for m in answers if m.bal == last)
            yield send(state, Phase2a(rm, ballot, value))


@action(acceptor=acceptors)
def phase2b(state: State, acceptor: int) -> Iterator[State]:
    for m in state.msgs:
        if isinstance(m, Phase2a) and state.acceptor[m.ins][acceptor].mbal <= m.bal:
            accepted = put(state, "acceptor", m.ins, acceptor, Acceptor(m.bal, m.bal, m.val))
            yield send(accepted, Phase2b(m.ins, m.bal, m.val, acceptor))


def decided(state: State, rm: int, value: str) -> bool:
    return any(
        all(Phase2b(rm, ballot, value, acceptor) in state.msgs for acceptor in majority)
        for ballot in ballots(state.bounds)
        for majority in majorities(state.bounds)
    )


@action()
def decide(state: State) -> Iterator[State]:
    if all(decided(state, rm, "prepared") for rm in rms(state.bounds)):
        yield send(state, Decision("commit"))
    if any(decided(state, rm, "aborted") for rm in rms(state.bounds)):
        yield send(state, Decision("abort"))


@invariant("no resource manager has aborted while another has committed", source="Gray and Lamport, section 2")
def consistent(state: State) -> bool:
    return not ("aborted" in state.rm and "committed" in state.rm)


spec = Spec(
    name="paxos-commit",
    initial_states=initial_states,
    actions=[
        rm_prepares,
        rm_chooses_to_abort,
        rm_receives_commit,
        rm_receives_abort,
        phase1a,
        phase1b,
        phase2a,
        phase2b,
        decide,
    ],
    properties=[consistent],
    bounds=Bounds(),
)
