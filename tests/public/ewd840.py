"""Termination detection on a ring: Dijkstra, Feijen and van Gasteren, EWD 840 (1983)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put

BOOLEANS, COLOURS = (False, True), ("white", "black")


@frozen
class Bounds:
    nodes: int = bound(3, "nodes on the ring", at_least=2, at_most=8)


@frozen
class State:
    active: tuple[bool, ...]
    color: tuple[str, ...]
    token_at: int
    token_color: str
    bounds: Bounds = constant()


def nodes(bounds: Bounds) -> range:
    return range(bounds.nodes)


def initial_states(bounds: Bounds) -> Iterator[State]:
    n = bounds.nodes
    for active, color, at in product(product(BOOLEANS, repeat=n), product(COLOURS, repeat=n), range(n)):
        yield State(active, color, at, "black", bounds)


@action()
def initiate_probe(state: State) -> Iterator[State]:
    if state.token_at == 0 and "black" in (state.token_color, state.color[0]):
        last = state.bounds.nodes - 1
        yield evolve(state, token_at=last, token_color="white", color=put(state.color, 0, "white"))


@action(node=nodes)
def pass_token(state: State, node: int) -> Iterator[State]:
    if node == 0 or state.token_at != node:
        return
    if not state.active[node] or "black" in (state.color[node], state.token_color):
        token = "black" if state.color[node] == "black" else state.token_color
        yield evolve(state, token_at=node - 1, token_color=token, color=put(state.color, node, "white"))


@action(sender=nodes, receiver=nodes)
def send(state: State, sender: int, receiver: int) -> Iterator[State]:
    if state.active[sender] and sender != receiver:
        color = put(state.color, sender, "black") if receiver > sender else state.color
        yield evolve(state, active=put(state.active, receiver, True), color=color)


@action(node=nodes)
def deactivate(state: State, node: int) -> Iterator[State]:
    if state.active[node]:
        yield evolve(state, active=put(state.active, node, False))


@invariant("when termination is detected, no node is active", source="EWD 840")
def termination_detection(state: State) -> bool:
    detected = state.token_at == 0 and state.token_color == state.color[0] == "white" and not state.active[0]
    return not (detected and any(state.active))


spec = Spec(
    name="ewd840",
    initial_states=initial_states,
    actions=[initiate_probe, pass_token, send, deactivate],
    properties=[termination_detection],
    bounds=Bounds(),
)
