"""Atomic commitment that does not block, with a reliable broadcast (Babaoglu and Toueg).

Participants and the coordinator are groups of actions, of which one has to be taken. A decision is for ever: a formula
in a formula.

Source: github.com/tlaplus/Examples, specifications/acp/ACP_NB.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import (
    Formula,
    Spec,
    action,
    always,
    bound,
    component,
    constant,
    eventually,
    implies,
    invariant,
    now,
    one_of_each,
    put,
    step_invariant,
    temporal,
    witness,
)


@frozen
class Bounds:
    participants: int = bound(2, "participants", at_least=2)


@frozen
class Participant:
    vote: str
    alive: bool = True
    decision: str = "undecided"
    faulty: bool = False
    vote_sent: bool = False
    forward: tuple[str, ...] = ()


@frozen
class State:
    request: tuple[bool, ...]
    votes: tuple[str, ...]
    broadcast: tuple[str, ...]
    bounds: Bounds = constant()
    participants: tuple[Participant, ...] = component(each="participant")
    decision: str = "undecided"
    alive: bool = True
    faulty: bool = False


def all_of(bounds: Bounds) -> range:
    return range(bounds.participants)


def initial_states(bounds: Bounds) -> Iterator[State]:
    n = bounds.participants
    for votes in one_of_each([("yes", "no")] * n):
        yield State(
            bounds=bounds,
            participants=tuple(Participant(vote, forward=("notsent",) * n) for vote in votes),
            request=(False,) * n,
            votes=("waiting",) * n,
            broadcast=("notsent",) * n,
        )


# The coordinator


@action("the coordinator requests the vote of {i}", i=all_of)
def request(state: State, i: int) -> Iterator[State]:
    if state.alive and not state.request[i]:
        yield put(state, "request", i, True)


def waits(state: State, i: int) -> bool:
    return state.alive and state.decision == "undecided" and all(state.request) and state.votes[i] == "waiting"


@action("the coordinator gets the vote of {i}", i=all_of)
def get_vote(state: State, i: int) -> Iterator[State]:
    if waits(state, i) and state.participants[i].vote_sent:
        yield put(state, "votes", i, state.participants[i].vote)


@action("the coordinator detects that {i} is dead", i=all_of)
def detect_fault(state: State, i: int) -> Iterator[State]:
    if waits(state, i) and not state.participants[i].alive and not state.participants[i].vote_sent:
        yield evolve(state, decision="abort")


@action("the coordinator decides")
def make_decision(state: State) -> Iterator[State]:
    if state.alive and state.decision == "undecided" and all(vote in ("yes", "no") for vote in state.votes):
        yield evolve(state, decision="commit" if all(vote == "yes" for vote in state.votes) else "abort")


@action("the coordinator tells {i}", i=all_of)
def broadcast(state: State, i: int) -> Iterator[State]:
    if state.alive and state.decision != "undecided" and state.broadcast[i] == "notsent":
        yield put(state, "broadcast", i, state.decision)


@action("the coordinator dies", effect="perturbing")
def coordinator_dies(state: State) -> Iterator[State]:
    if state.alive:
        yield evolve(state, alive=False, faulty=True)


# Participants


@action("{i} sends its vote", i=all_of)
def send_vote(state: State, i: int) -> Iterator[State]:
    if state.participants[i].alive and state.request[i]:
        yield put(state, "participants", i, "vote_sent", True)


@action("{i} aborts, because it votes no", i=all_of)
def abort_on_vote(state: State, i: int) -> Iterator[State]:
    p = state.participants[i]
    if p.alive and p.decision == "undecided" and p.vote_sent and p.vote == "no":
        yield put(state, "participants", i, "decision", "abort")


@action("{i} aborts, because the coordinator died before it asked", i=all_of)
def abort_on_timeout_request(state: State, i: int) -> Iterator[State]:
    p = state.participants[i]
    if p.alive and p.decision == "undecided" and not state.alive and not state.request[i]:
        yield put(state, "participants", i, "decision", "abort")


@action("{i} forwards its decision to {j}", i=all_of, j=all_of)
def forward(state: State, i: int, j: int) -> Iterator[State]:
    p = state.participants[i]
    if i != j and p.alive and p.forward[i] != "notsent" and p.forward[j] == "notsent":
        yield put(state, "participants", i, "forward", j, p.forward[i])


@action("{i} receives what {j} forwarded", i=all_of, j=all_of)
def pre_decide_on_forward(state: State, i: int, j: int) -> Iterator[State]:
    p, q = state.participants[i], state.participants[j]
    if i != j and p.alive and p.forward[i] == "notsent" and q.forward[i] != "notsent":
        yield put(state, "participants", i, "forward", i, q.forward[i])


@action("{i} receives the decision of the coordinator", i=all_of)
def pre_decide(state: State, i: int) -> Iterator[State]:
    p = state.participants[i]
    if p.alive and p.forward[i] == "notsent" and state.broadcast[i] != "notsent":
        yield put(state, "participants", i, "forward", i, state.broadcast[i])


@action("{i} decides", i=all_of)
def decide(state: State, i: int) -> Iterator[State]:
    p = state.participants[i]
    if p.alive and all(each != "notsent" for each in p.forward):
        yield put(state, "participants", i, "decision", p.forward[i])


@action("{i} aborts, because nobody who lives can know of a decision", i=all_of)
def abort_on_timeout(state: State, i: int) -> Iterator[State]:
    p = state.participants[i]
    living = [j for j, each in enumerate(state.participants) if each.alive]
    dead = [each for each in state.participants if not each.alive]
    if p.alive and p.decision == "undecided" and not state.alive:
        told = any(
            state.broadcast[j] != "notsent" or any(each.forward[j] != "notsent" for each in dead) for j in living
        )
        if not told:
            yield put(state, "participants", i, "decision", "abort")


@action("{i} dies", i=all_of, effect="perturbing")
def participant_dies(state: State, i: int) -> Iterator[State]:
    if state.participants[i].alive:
        yield put(put(state, "participants", i, "alive", False), "participants", i, "faulty", True)


# Properties


@invariant("nobody commits where another aborts")
def agreement(state: State) -> bool:
    return len({p.decision for p in state.participants} - {"undecided"}) < 2


@invariant("who commits knows that all voted yes")
def commit_needs_yes(state: State) -> bool:
    return all(p.decision != "commit" for p in state.participants) or all(p.vote == "yes" for p in state.participants)


def no_or_faulty(state: State) -> bool:
    return state.faulty or any(p.vote == "no" or p.faulty for p in state.participants)


@invariant("who aborts has a reason")
def abort_has_reason(state: State) -> bool:
    return all(p.decision != "abort" for p in state.participants) or no_or_faulty(state)


@step_invariant("nobody changes a decision")
def decides_once(before: State, after: State) -> bool:
    return all(
        b.decision in ("undecided", a.decision) for b, a in zip(before.participants, after.participants, strict=True)
    )


@temporal("a decision of {i} is for ever", i=all_of)
def decided_for_ever(i: int) -> Formula:
    def is_(what: str) -> Formula:
        return now(lambda state: state.participants[i].decision == what)

    return always(implies(is_("commit"), always(is_("commit"))) & implies(is_("abort"), always(is_("abort"))))


@temporal("all decide, or something is faulty")
def decide_without_faults() -> Formula:
    def good(state: State) -> bool:
        decided = all(p.decision != "undecided" for p in state.participants)
        return decided or state.faulty or any(p.faulty for p in state.participants)

    return eventually(good)


@temporal("all decide, or are faulty")
def termination() -> Formula:
    return eventually(lambda state: all(p.decision != "undecided" or p.faulty for p in state.participants))


@temporal("{i} is faulty for ever", i=all_of)
def faulty_stable(i: int) -> Formula:
    faulty = now(lambda state: state.participants[i].faulty)
    return always(implies(faulty, always(faulty)))


@temporal("{i} never changes its vote", i=all_of)
def vote_stable(i: int) -> Formula:
    return always(lambda s: s.participants[i].vote == "yes") | always(lambda s: s.participants[i].vote == "no")


@invariant("who is faulty is dead")
def no_recovery(state: State) -> bool:
    return state.alive != state.faulty and all(p.alive != p.faulty for p in state.participants)


@witness("a transaction is committed")
def committed(state: State) -> bool:
    return any(p.decision == "commit" for p in state.participants)


program = ("send_vote", "abort_on_vote", "abort_on_timeout_request", "forward", "pre_decide_on_forward", "pre_decide",
           "decide", "abort_on_timeout")  # fmt: skip
coordinator = ("make_decision", "request", "get_vote", "detect_fault", "broadcast")

spec = Spec(
    name="non-blocking commit",
    initial_states=initial_states,
    actions=[request, get_vote, detect_fault, make_decision, broadcast, coordinator_dies, send_vote, abort_on_vote,
             abort_on_timeout_request, forward, pre_decide_on_forward, pre_decide, decide, abort_on_timeout,
             participant_dies],
    properties=[agreement, commit_needs_yes, abort_has_reason, decides_once, decided_for_ever, decide_without_faults,
                termination, faulty_stable, vote_stable, no_recovery, committed],
    bounds=Bounds(),
    fairness={program: "weak each i", coordinator: "weak"},
)  # fmt: skip
