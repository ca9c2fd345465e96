"""EWD 840 in parts: each node a component."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, put

BOOLEANS, COLOURS = (False, True), ("white", "black")


@frozen
class Bounds:
    nodes: int = bound(3, "nodes on the ring", at_least=2, at_most=8)


@frozen
class Node:
    active: bool
    color: str


@frozen
class State:
    nodes: tuple[Node, ...] = component(each="node")
    token_at: int = 0
    token_color: str = "black"


def nodes(bounds: Bounds) -> range:
    return range(bounds.nodes)


def initial_states(bounds: Bounds) -> Iterator[State]:
    each = [Node(active, color) for active, color in product(BOOLEANS, COLOURS)]
    for ring, at in product(product(each, repeat=bounds.nodes), range(bounds.nodes)):
        yield State(ring, at)


@action()
def initiate_probe(state: State) -> Iterator[State]:
    if state.token_at == 0 and "black" in (state.token_color, state.nodes[0].color):
        moved = evolve(state, token_at=len(state.nodes) - 1, token_color="white")
        yield put(moved, "nodes", 0, "color", "white")


@action(node=nodes)
def pass_token(state: State, node: int) -> Iterator[State]:
    if node == 0 or state.token_at != node:
        return
    holder = state.nodes[node]
    if not holder.active or "black" in (holder.color, state.token_color):
        token = "black" if holder.color == "black" else state.token_color
        yield put(evolve(state, token_at=node - 1, token_color=token), "nodes", node, "color", "white")


@action(sender=nodes, receiver=nodes)
def send(state: State, sender: int, receiver: int) -> Iterator[State]:
    if state.nodes[sender].active and sender != receiver:
        after = put(state, "nodes", receiver, "active", True)
        yield put(after, "nodes", sender, "color", "black") if receiver > sender else after


@action(node=nodes)
def deactivate(state: State, node: int) -> Iterator[State]:
    if state.nodes[node].active:
        yield put(state, "nodes", node, "active", False)


@invariant("when termination is detected, no node is active", source="EWD 840")
def termination_detection(state: State) -> bool:
    first = state.nodes[0]
    detected = state.token_at == 0 and state.token_color == first.color == "white" and not first.active
    return not (detected and any(node.active for node in state.nodes))


spec = Spec(
    name="ewd840-parts",
    initial_states=initial_states,
    actions=[initiate_probe, pass_token, send, deactivate],
    properties=[termination_detection],
    bounds=Bounds(),
)
