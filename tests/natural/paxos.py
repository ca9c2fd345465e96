"""Lamport's Paxos: leaders of ballots and acceptors exchange messages, which are never removed. It refines `voting`.

Source: github.com/tlaplus/Examples, specifications/PaxosHowToWinATuringAward/Paxos.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, component, put, refines
from tests.natural import voting
from tests.natural.consensus import VALUES
from tests.natural.voting import ACCEPTORS, QUORUMS, Bounds, Voting, ballots


@frozen
class Prepare:
    """A 1a message."""

    ballot: int


@frozen
class Promise:
    """A 1b message: the last vote of the acceptor is `(voted, value)`."""

    acceptor: int
    ballot: int
    voted: int
    value: str


@frozen
class Propose:
    """A 2a message."""

    ballot: int
    value: str


@frozen
class Vote:
    """A 2b message."""

    acceptor: int
    ballot: int
    value: str


@frozen
class Acceptor:
    ballot: int = -1
    voted: int = -1
    value: str = ""


@frozen
class State:
    acceptors: tuple[Acceptor, ...] = component(each="acceptor")
    prepares: frozenset[Prepare] = frozenset()
    promises: frozenset[Promise] = frozenset()
    proposals: frozenset[Propose] = frozenset()
    votes: frozenset[Vote] = frozenset()


@action("the leader of ballot {ballot} begins", ballot=ballots)
def prepare(state: State, ballot: int) -> Iterator[State]:
    yield evolve(state, prepares=state.prepares | {Prepare(ballot)})


@action("acceptor {acceptor} joins ballot {ballot}", acceptor=ACCEPTORS, ballot=ballots)
def promise(state: State, acceptor: int, ballot: int) -> Iterator[State]:
    own = state.acceptors[acceptor]
    if Prepare(ballot) in state.prepares and ballot > own.ballot:
        sent = Promise(acceptor, ballot, own.voted, own.value)
        yield evolve(put(state, "acceptors", acceptor, "ballot", ballot), promises=state.promises | {sent})


@action("the leader of ballot {ballot} proposes {value}", ballot=ballots, value=VALUES)
def propose(state: State, ballot: int, value: str) -> Iterator[State]:
    if all(each.ballot != ballot for each in state.proposals) and any(
        may_propose([each for each in state.promises if each.ballot == ballot and each.acceptor in quorum], value)
        for quorum in QUORUMS
    ):
        yield evolve(state, proposals=state.proposals | {Propose(ballot, value)})


def may_propose(promises: list[Promise], value: str) -> bool:
    """Both members of a quorum have answered, and the last of their votes, if there is one, is for the value."""
    last = max((each.voted for each in promises), default=-1)
    if len({each.acceptor for each in promises}) < 2:
        return False
    return last < 0 or any(each.voted == last and each.value == value for each in promises)


@action("acceptor {acceptor} accepts {value} in ballot {ballot}", acceptor=ACCEPTORS, ballot=ballots, value=VALUES)
def accept(state: State, acceptor: int, ballot: int, value: str) -> Iterator[State]:
    if Propose(ballot, value) in state.proposals and ballot >= state.acceptors[acceptor].ballot:
        after = put(state, "acceptors", acceptor, Acceptor(ballot, ballot, value))
        yield evolve(after, votes=state.votes | {Vote(acceptor, ballot, value)})


def votes_of(state: State) -> Voting:
    """The votes that acceptors have sent."""
    return Voting(
        tuple(
            voting.Acceptor(
                acceptor.ballot, frozenset((each.ballot, each.value) for each in state.votes if each.acceptor == number)
            )
            for number, acceptor in enumerate(state.acceptors)
        )
    )


spec = Spec(
    name="paxos",
    initial_states=lambda bounds: [State((Acceptor(),) * len(ACCEPTORS))],
    actions=[prepare, promise, propose, accept],
    properties=refines(voting.spec, votes_of),
    bounds=Bounds(),
)
