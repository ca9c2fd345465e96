"""Boyer and Moore's majority vote, for all sequences of bounded length.

Source: github.com/tlaplus/Examples, specifications/Majority/Majority.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant, one_of_each

VALUES = "ABC"


@frozen
class Bounds:
    longest: int = bound(5, "the length of the longest sequence", at_least=0, at_most=10)


@frozen
class State:
    seq: tuple[str, ...]
    cand: str
    i: int = 0
    cnt: int = 0


def initial_states(bounds: Bounds) -> Iterator[State]:
    for length in range(bounds.longest + 1):
        for seq in one_of_each([VALUES] * length):
            for cand in VALUES:
                yield State(seq, cand)


@action("the next value is counted")
def count(state: State) -> Iterator[State]:
    if state.i < len(state.seq):
        value = state.seq[state.i]
        if state.cnt == 0:
            yield evolve(state, i=state.i + 1, cand=value, cnt=1)
        elif state.cand == value:
            yield evolve(state, i=state.i + 1, cnt=state.cnt + 1)
        else:
            yield evolve(state, i=state.i + 1, cnt=state.cnt - 1)


@invariant("the types are right")
def type_ok(state: State) -> bool:
    return 0 <= state.i <= len(state.seq) and state.cand in VALUES and state.cnt >= 0


@invariant("only the candidate can have a majority")
def correct(state: State) -> bool:
    if state.i < len(state.seq):
        return True
    return all(2 * state.seq.count(value) <= len(state.seq) or value == state.cand for value in VALUES)


@invariant("the inductive invariant, for {value}", value=list(VALUES))
def inv(state: State, value: str) -> bool:
    before = state.seq[: state.i].count(value)
    if value == state.cand:
        return state.cnt <= before and 2 * (before - state.cnt) <= state.i - state.cnt
    return 2 * before <= state.i - state.cnt


spec = Spec(
    name="majority",
    initial_states=initial_states,
    actions=[count],
    properties=[type_ok, correct, inv],
    bounds=Bounds(),
)
