"""Lamport's consensus by voting: acceptors vote for values in ballots, without messages. It refines `consensus`.

Source: github.com/tlaplus/Examples, specifications/PaxosHowToWinATuringAward/Voting.tla.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, put, refines
from tests.natural import consensus
from tests.natural.consensus import VALUES, Consensus

ACCEPTORS = range(3)
QUORUMS = tuple(combinations(ACCEPTORS, 2))


@frozen
class Bounds:
    ballots: int = bound(2, "ballots", at_least=1, at_most=3)


@frozen
class Acceptor:
    ballot: int = -1
    votes: frozenset[tuple[int, str]] = frozenset()


@frozen
class Voting:
    acceptors: tuple[Acceptor, ...] = component(each="acceptor")


def ballots(bounds: Bounds) -> range:
    return range(bounds.ballots)


def voted(acceptor: Acceptor, ballot: int) -> bool:
    return any(number == ballot for number, _ in acceptor.votes)


def shows_safe(state: Voting, quorum: tuple[int, ...], ballot: int, value: str) -> bool:
    """The members have joined the ballot, and in the last earlier ballot in which one of them voted, for the value."""
    members = [state.acceptors[each] for each in quorum]
    if any(member.ballot < ballot for member in members):
        return False
    for earlier in reversed(range(ballot)):
        if any((earlier, value) in member.votes for member in members):
            return True
        if any(voted(member, earlier) for member in members):
            return False
    return True


@action("acceptor {acceptor} joins ballot {ballot}", acceptor=ACCEPTORS, ballot=ballots)
def join(state: Voting, acceptor: int, ballot: int) -> Iterator[Voting]:
    if ballot > state.acceptors[acceptor].ballot:
        yield put(state, "acceptors", acceptor, "ballot", ballot)


@action("acceptor {acceptor} votes for {value} in ballot {ballot}", acceptor=ACCEPTORS, ballot=ballots, value=VALUES)
def vote(state: Voting, acceptor: int, ballot: int, value: str) -> Iterator[Voting]:
    own = state.acceptors[acceptor]
    if own.ballot > ballot or voted(own, ballot):
        return
    if any((ballot, other) in each.votes for each in state.acceptors for other in VALUES if other != value):
        return
    if any(shows_safe(state, quorum, ballot, value) for quorum in QUORUMS):
        after = evolve(own, ballot=ballot, votes=own.votes | {(ballot, value)})
        yield put(state, "acceptors", acceptor, after)


def chosen(state: Voting) -> Consensus:
    """What a quorum has voted for in one ballot is chosen."""
    return Consensus(
        frozenset(
            value
            for quorum in QUORUMS
            for ballot, value in state.acceptors[quorum[0]].votes
            if all((ballot, value) in state.acceptors[each].votes for each in quorum)
        )
    )


@invariant("all votes in a ballot are for one value")
def one_value_per_ballot(state: Voting) -> bool:
    votes = frozenset(vote for acceptor in state.acceptors for vote in acceptor.votes)
    return len({ballot for ballot, _ in votes}) == len(votes)


spec = Spec(
    name="voting",
    initial_states=lambda bounds: [Voting((Acceptor(),) * len(ACCEPTORS))],
    actions=[join, vote],
    properties=[one_value_per_ballot, *refines(consensus.spec, chosen)],
    bounds=Bounds(),
)
