"""Paxos Commit in parts: the messages by instance, ballot and acceptor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put


@frozen
class Bounds:
    rms: int = bound(1, "resource managers", at_least=1, at_most=4)
    acceptors: int = bound(3, "acceptors", at_least=1, at_most=5)
    max_ballot: int = bound(1, "the last ballot; the first is 0", at_least=0, at_most=3)


@frozen
class Vote:
    """What an acceptor has accepted, and in which ballot."""

    bal: int = -1
    val: str = "none"


@frozen
class Acceptor:
    joined: int = 0
    vote: Vote = component(default=Vote())


@frozen
class Ballot:
    """The messages sent in a ballot of an instance: 1a, 2a, and each acceptor's 1b and 2b."""

    started: bool = False
    proposed: str | None = None
    answers: tuple[Vote | None, ...] = component(each="answer", default=())
    accepted: tuple[str | None, ...] = component(each="accepted", default=())


@frozen
class Instance:
    rm: str = "working"
    acceptors: tuple[Acceptor, ...] = component(each="acceptor", default=())
    ballots: tuple[Ballot, ...] = component(each="ballot", default=())


@frozen
class State:
    instances: tuple[Instance, ...] = component(each="rm")
    commit: bool = False
    abort: bool = False
    bounds: Bounds = constant(default=Bounds())


def initial_states(bounds: Bounds) -> list[State]:
    none = (None,) * bounds.acceptors
    ballot = Ballot(answers=none, accepted=none)
    instance = Instance("working", (Acceptor(),) * bounds.acceptors, (ballot,) * (bounds.max_ballot + 1))
    return [State((instance,) * bounds.rms, bounds=bounds)]


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


def proposed(state: State, rm: int, ballot: int, value: str) -> State:
    return put(state, "instances", rm, "ballots", ballot, "proposed", value)


@action(rm=rms)
def rm_prepares(state: State, rm: int) -> Iterator[State]:
    if state.instances[rm].rm == "working":
        yield put(proposed(state, rm, 0, "prepared"), "instances", rm, "rm", "prepared")


@action(rm=rms)
def rm_chooses_to_abort(state: State, rm: int) -> Iterator[State]:
    if state.instances[rm].rm == "working":
        yield put(proposed(state, rm, 0, "aborted"), "instances", rm, "rm", "aborted")


@action(rm=rms)
def rm_receives_commit(state: State, rm: int) -> Iterator[State]:
    if state.commit:
        yield put(state, "instances", rm, "rm", "committed")


@action(rm=rms)
def rm_receives_abort(state: State, rm: int) -> Iterator[State]:
    if state.abort:
        yield put(state, "instances", rm, "rm", "aborted")


@action(ballot=later_ballots, rm=rms)
def phase1a(state: State, ballot: int, rm: int) -> Iterator[State]:
    yield put(state, "instances", rm, "ballots", ballot, "started", True)


@action(acceptor=acceptors, ballot=later_ballots, rm=rms)
def phase1b(state: State, acceptor: int, ballot: int, rm: int) -> Iterator[State]:
    instance = state.instances[rm]
    at = instance.acceptors[acceptor]
    if instance.ballots[ballot].started and at.joined < ballot:
        joined = put(state, "instances", rm, "acceptors", acceptor, "joined", ballot)
        yield put(joined, "instances", rm, "ballots", ballot, "answers", acceptor, at.vote)


@action(ballot=later_ballots, rm=rms)
def phase2a(state: State, ballot: int, rm: int) -> Iterator[State]:
    sent = state.instances[rm].ballots[ballot]
    if sent.proposed is not None:
        return
    for majority in majorities(state.bounds):
        answers = [sent.answers[acceptor] for acceptor in majority]
        if None not in answers:
            last = max((vote for vote in answers if vote is not None), key=lambda vote: vote.bal)
            yield proposed(state, rm, ballot, "aborted" if last.bal == -1 else last.val)


@action(acceptor=acceptors, ballot=ballots, rm=rms)
def phase2b(state: State, acceptor: int, ballot: int, rm: int) -> Iterator[State]:
    instance = state.instances[rm]
    value = instance.ballots[ballot].proposed
    if value is not None and instance.acceptors[acceptor].joined <= ballot:
        accepted = put(state, "instances", rm, "acceptors", acceptor, Acceptor(ballot, Vote(ballot, value)))
        yield put(accepted, "instances", rm, "ballots", ballot, "accepted", acceptor, value)


def decided(state: State, rm: int, value: str) -> bool:
    return any(
        all(ballot.accepted[acceptor] == value for acceptor in majority)
        for ballot in state.instances[rm].ballots
        for majority in majorities(state.bounds)
    )


@action()
def decide(state: State) -> Iterator[State]:
    if all(decided(state, rm, "prepared") for rm in rms(state.bounds)):
        yield evolve(state, commit=True)
    if any(decided(state, rm, "aborted") for rm in rms(state.bounds)):
        yield evolve(state, abort=True)


@invariant("no resource manager has aborted while another has committed", source="Gray and Lamport, section 2")
def consistent(state: State) -> bool:
    stages = [instance.rm for instance in state.instances]
    return not ("aborted" in stages and "committed" in stages)


spec = Spec(
    name="paxos-commit-parts",
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
