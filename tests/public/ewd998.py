"""Safra's termination detection on a ring: Dijkstra, EWD 998 (1987).

Messages in transit are counted by receiver. As in the TLA+ example of that name, states are searched in which no node's
counter or pending messages exceed 3, nor the token's sum 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put

BOOLEANS, COLOURS = (False, True), ("white", "black")


@frozen
class Bounds:
    nodes: int = bound(2, "nodes on the ring", at_least=2, at_most=5)
    most: int = bound(3, "largest counter, and most messages to a node", at_least=0, at_most=3)


@frozen
class Token:
    at: int
    q: int
    color: str


@frozen
class State:
    active: tuple[bool, ...]
    color: tuple[str, ...]
    counter: tuple[int, ...]
    pending: tuple[int, ...]
    token: Token
    bounds: Bounds = constant()


def nodes(bounds: Bounds) -> range:
    return range(bounds.nodes)


def initial_states(bounds: Bounds) -> Iterator[State]:
    n = bounds.nodes
    for active, color, at in product(product(BOOLEANS, repeat=n), product(COLOURS, repeat=n), range(n)):
        yield State(active, color, (0,) * n, (0,) * n, Token(at, 0, "black"), bounds)


@action()
def initiate_probe(state: State) -> Iterator[State]:
    token = state.token
    if token.at != 0:
        return
    if "black" in (token.color, state.color[0]) or state.counter[0] + token.q > 0:
        yield evolve(state, token=Token(state.bounds.nodes - 1, 0, "white"), color=put(state.color, 0, "white"))


@action(node=nodes)
def pass_token(state: State, node: int) -> Iterator[State]:
    token = state.token
    if node == 0 or token.at != node or state.active[node]:
        return
    color = "black" if state.color[node] == "black" else token.color
    passed = Token(node - 1, token.q + state.counter[node], color)
    yield evolve(state, token=passed, color=put(state.color, node, "white"))


@action(sender=nodes, receiver=nodes)
def send(state: State, sender: int, receiver: int) -> Iterator[State]:
    if state.active[sender] and sender != receiver:
        counter = put(state.counter, sender, state.counter[sender] + 1)
        yield evolve(state, counter=counter, pending=put(state.pending, receiver, state.pending[receiver] + 1))


@action(node=nodes)
def receive(state: State, node: int) -> Iterator[State]:
    if state.pending[node] > 0:
        yield evolve(
            state,
            pending=put(state.pending, node, state.pending[node] - 1),
            counter=put(state.counter, node, state.counter[node] - 1),
            color=put(state.color, node, "black"),
            active=put(state.active, node, True),
        )


@action(node=nodes)
def deactivate(state: State, node: int) -> Iterator[State]:
    if state.active[node]:
        yield evolve(state, active=put(state.active, node, False))


def within(state: State) -> bool:
    most = state.bounds.most
    return max(state.counter) <= most and max(state.pending) <= most and state.token.q <= 3 * most


@invariant("when termination is detected, no node is active and no message in transit", source="EWD 998")
def termination_detection(state: State) -> bool:
    token = state.token
    detected = (
        token.at == 0
        and token.color == state.color[0] == "white"
        and token.q + state.counter[0] == 0
        and not state.active[0]
    )
    return not detected or not (any(state.active) or sum(state.pending) > 0)


spec = Spec(
    name="ewd998",
    initial_states=initial_states,
    actions=[initiate_probe, pass_token, send, receive, deactivate],
    properties=[termination_detection],
    bounds=Bounds(),
    within=within,
)
