"""EWD 998 in parts: each node a component, with the messages in transit to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put

BOOLEANS, COLOURS = (False, True), ("white", "black")


@frozen
class Bounds:
    nodes: int = bound(2, "nodes on the ring", at_least=2, at_most=5)
    most: int = bound(3, "largest counter, and most messages to a node", at_least=0, at_most=3)


@frozen
class Node:
    active: bool
    color: str
    counter: int = 0
    pending: int = 0


@frozen
class Token:
    at: int
    q: int = 0
    color: str = "black"


@frozen
class State:
    nodes: tuple[Node, ...] = component(each="node")
    token: Token = component()
    bounds: Bounds = constant()


def nodes(bounds: Bounds) -> range:
    return range(bounds.nodes)


def initial_states(bounds: Bounds) -> Iterator[State]:
    each = [Node(active, color) for active, color in product(BOOLEANS, COLOURS)]
    for ring, at in product(product(each, repeat=bounds.nodes), range(bounds.nodes)):
        yield State(ring, Token(at), bounds)


@action()
def initiate_probe(state: State) -> Iterator[State]:
    token, first = state.token, state.nodes[0]
    if token.at == 0 and ("black" in (token.color, first.color) or first.counter + token.q > 0):
        last = Token(state.bounds.nodes - 1, 0, "white")
        yield put(evolve(state, token=last), "nodes", 0, "color", "white")


@action(node=nodes)
def pass_token(state: State, node: int) -> Iterator[State]:
    token, holder = state.token, state.nodes[node]
    if node == 0 or token.at != node or holder.active:
        return
    color = "black" if holder.color == "black" else token.color
    passed = Token(node - 1, token.q + holder.counter, color)
    yield put(evolve(state, token=passed), "nodes", node, "color", "white")


@action(sender=nodes, receiver=nodes)
def send(state: State, sender: int, receiver: int) -> Iterator[State]:
    if state.nodes[sender].active and sender != receiver:
        counter, pending = state.nodes[sender].counter, state.nodes[receiver].pending
        yield put(put(state, "nodes", sender, "counter", counter + 1), "nodes", receiver, "pending", pending + 1)


@action(node=nodes)
def receive(state: State, node: int) -> Iterator[State]:
    at = state.nodes[node]
    if at.pending > 0:
        yield put(state, "nodes", node, Node(True, "black", at.counter - 1, at.pending - 1))


@action(node=nodes)
def deactivate(state: State, node: int) -> Iterator[State]:
    if state.nodes[node].active:
        yield put(state, "nodes", node, "active", False)


def within(state: State) -> bool:
    most = state.bounds.most
    return state.token.q <= 3 * most and all(node.counter <= most and node.pending <= most for node in state.nodes)


@invariant("when termination is detected, no node is active and no message in transit", source="EWD 998")
def termination_detection(state: State) -> bool:
    token, first = state.token, state.nodes[0]
    detected = (
        token.at == 0 and token.color == first.color == "white" and token.q + first.counter == 0 and not first.active
    )
    return not detected or not any(node.active or node.pending for node in state.nodes)


spec = Spec(
    name="ewd998-parts",
    initial_states=initial_states,
    actions=[initiate_probe, pass_token, send, receive, deactivate],
    properties=[termination_detection],
    bounds=Bounds(),
    within=within,
)
