"""Single-decree Paxos, with every message ever sent in one set: Lamport, "Paxos Made Simple" (2001), section 2.

Its size is that of the TLA+ example PaxosHowToWinATuringAward.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put


@frozen
class Bounds:
    acceptors: int = bound(3, "acceptors", at_least=1, at_most=5)
    values: int = bound(1, "values that may be proposed", at_least=1, at_most=3)
    max_ballot: int = bound(1, "the last ballot; the first is 0", at_least=0, at_most=5)


@frozen
class State:
    max_bal: tuple[int, ...]
    max_v_bal: tuple[int, ...]
    max_val: tuple[int, ...]
    msgs: frozenset[tuple[Any, ...]]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    none = (-1,) * bounds.acceptors
    return [State(none, none, none, frozenset(), bounds)]


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
    yield evolve(state, msgs=state.msgs | {("1a", ballot)})


@action(acceptor=acceptors, ballot=ballots)
def phase1b(state: State, acceptor: int, ballot: int) -> Iterator[State]:
    if ("1a", ballot) in state.msgs and ballot > state.max_bal[acceptor]:
        promise = ("1b", acceptor, ballot, state.max_v_bal[acceptor], state.max_val[acceptor])
        yield evolve(state, max_bal=put(state.max_bal, acceptor, ballot), msgs=state.msgs | {promise})


@action(ballot=ballots, value=values)
def phase2a(state: State, ballot: int, value: int) -> Iterator[State]:
    if any(m[0] == "2a" and m[1] == ballot for m in state.msgs):
        return
    if any(_is_safe(state, ballot, value, quorum) for quorum in quorums(state.bounds)):
        yield evolve(state, msgs=state.msgs | {("2a", ballot, value)})


def _is_safe(state: State, ballot: int, value: int, quorum: tuple[int, ...]) -> bool:
    """Whether a quorum has promised the ballot, and accepted nothing before, or this value last."""
    promises = [m for m in state.msgs if m[0] == "1b" and m[1] in quorum and m[2] == ballot]
    if not all(any(m[1] == acceptor for m in promises) for acceptor in quorum):
        return False
    accepted = [m for m in promises if m[3] >= 0]
    return not accepted or any(m[4] == value and all(m[3] >= other[3] for other in accepted) for m in accepted)


@action(acceptor=acceptors, ballot=ballots, value=values)
def phase2b(state: State, acceptor: int, ballot: int, value: int) -> Iterator[State]:
    if ("2a", ballot, value) in state.msgs and ballot >= state.max_bal[acceptor]:
        yield evolve(
            state,
            max_bal=put(state.max_bal, acceptor, ballot),
            max_v_bal=put(state.max_v_bal, acceptor, ballot),
            max_val=put(state.max_val, acceptor, value),
            msgs=state.msgs | {("2b", acceptor, ballot, value)},
        )


@invariant("at most one value is chosen", source="Paxos Made Simple, section 2.1")
def agreement(state: State) -> bool:
    chosen = {
        value
        for value in values(state.bounds)
        for ballot in ballots(state.bounds)
        for quorum in quorums(state.bounds)
        if all(("2b", acceptor, ballot, value) in state.msgs for acceptor in quorum)
    }
    return len(chosen) <= 1


spec = Spec(
    name="paxos",
    initial_states=initial_states,
    actions=[phase1a, phase1b, phase2a, phase2b],
    properties=[agreement],
    bounds=Bounds(),
)
