"""Single-decree Paxos in parts: the messages by ballot and acceptor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put


@frozen
class Bounds:
    acceptors: int = bound(3, "acceptors", at_least=1, at_most=5)
    values: int = bound(1, "values that may be proposed", at_least=1, at_most=3)
    max_ballot: int = bound(1, "the last ballot; the first is 0", at_least=0, at_most=5)


@frozen
class Vote:
    """A value accepted, and in which ballot."""

    ballot: int = -1
    value: int = -1


@frozen
class Acceptor:
    promised: int = -1
    accepted: Vote = Vote()


@frozen
class Ballot:
    """The messages sent in a ballot: 1a, 2a, and each acceptor's 1b and 2b."""

    prepared: bool = False
    proposed: int | None = None
    promises: tuple[Vote | None, ...] = component(each="promise", default=())
    votes: tuple[int | None, ...] = component(each="vote", default=())


@frozen
class State:
    acceptors: tuple[Acceptor, ...] = component(each="acceptor")
    ballots: tuple[Ballot, ...] = component(each="ballot")
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    none = (None,) * bounds.acceptors
    ballot = Ballot(promises=none, votes=none)
    return [State((Acceptor(),) * bounds.acceptors, (ballot,) * (bounds.max_ballot + 1), bounds)]


def acceptors(bounds: Bounds) -> range:
    return range(bounds.acceptors)


def values(bounds: Bounds) -> range:
    return range(bounds.values)


def ballots(bounds: Bounds) -> range:
    return range(bounds.max_ballot + 1)


def quorums(bounds: Bounds) -> Iterator[tuple[int, ...]]:
    return combinations(acceptors(bounds), bounds.acceptors // 2 + 1)


@action(ballot=ballots)
def phase1a(state: State, ballot: int) -> Iterator[State]:
    yield put(state, "ballots", ballot, "prepared", True)


@action(acceptor=acceptors, ballot=ballots)
def phase1b(state: State, acceptor: int, ballot: int) -> Iterator[State]:
    if state.ballots[ballot].prepared and ballot > state.acceptors[acceptor].promised:
        promised = put(state, "acceptors", acceptor, "promised", ballot)
        yield put(promised, "ballots", ballot, "promises", acceptor, state.acceptors[acceptor].accepted)


@action(ballot=ballots, value=values)
def phase2a(state: State, ballot: int, value: int) -> Iterator[State]:
    sent = state.ballots[ballot]
    if sent.proposed is None and any(_is_safe(sent, value, quorum) for quorum in quorums(state.bounds)):
        yield put(state, "ballots", ballot, "proposed", value)


def _is_safe(sent: Ballot, value: int, quorum: tuple[int, ...]) -> bool:
    """Whether a quorum has promised the ballot, and accepted nothing before, or this value last."""
    promises = [sent.promises[acceptor] for acceptor in quorum]
    if any(promise is None for promise in promises):
        return False
    last = max(promise.ballot for promise in promises if promise is not None)
    return last < 0 or any(promise == Vote(last, value) for promise in promises)


@action(acceptor=acceptors, ballot=ballots, value=values)
def phase2b(state: State, acceptor: int, ballot: int, value: int) -> Iterator[State]:
    if state.ballots[ballot].proposed == value and ballot >= state.acceptors[acceptor].promised:
        voted = put(state, "acceptors", acceptor, Acceptor(ballot, Vote(ballot, value)))
        yield put(voted, "ballots", ballot, "votes", acceptor, value)


@invariant("at most one value is chosen", source="Paxos Made Simple, section 2.1")
def agreement(state: State) -> bool:
    chosen = {
        value
        for ballot in state.ballots
        for value in values(state.bounds)
        for quorum in quorums(state.bounds)
        if all(ballot.votes[acceptor] == value for acceptor in quorum)
    }
    return len(chosen) <= 1


spec = Spec(
    name="paxos-parts",
    initial_states=initial_states,
    actions=[phase1a, phase1b, phase2a, phase2b],
    properties=[agreement],
    bounds=Bounds(),
)
