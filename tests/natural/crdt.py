"""A counter that each node increments, and that nodes learn of by gossip.

The least count is subtracted from all, so that counts stay small. That only gossip happens from some time on is no
fairness condition, so it is the left side of the property.

Source: github.com/tlaplus/Examples, specifications/FiniteMonotonic/CRDT.tla and MCCRDT.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import (
    Formula,
    Spec,
    action,
    always,
    bound,
    constant,
    eventually,
    implies,
    invariant,
    step,
    temporal,
)


@frozen
class Bounds:
    nodes: int = bound(3, "nodes", at_least=1)
    most: int = bound(2, "states in which a node has counted further are not expanded", at_least=1)


@frozen
class State:
    bounds: Bounds = constant()
    counter: tuple[tuple[int, ...], ...] = ()


def nodes(bounds: Bounds) -> range:
    return range(bounds.nodes)


def reduced(state: State) -> State:
    least = min(map(min, state.counter))
    return State(state.bounds, tuple(tuple(each - least for each in row) for row in state.counter))


def incremented(state: State, n: int) -> State:
    return State(
        state.bounds,
        tuple(tuple(each + (n == i == j) for j, each in enumerate(row)) for i, row in enumerate(state.counter)),
    )


def gossiped(state: State, n: int, o: int) -> State:
    return State(
        state.bounds,
        tuple(tuple(map(max, state.counter[n], row)) if i == o else row for i, row in enumerate(state.counter)),
    )


@action("{n} counts", n=nodes)
def increment(state: State, n: int) -> Iterator[State]:
    yield incremented(state, n)
    yield reduced(incremented(state, n))


@action("{n} gossips to {o}", n=nodes, o=nodes, fair="weak each")
def gossip(state: State, n: int, o: int) -> Iterator[State]:
    yield gossiped(state, n, o)


@action("{n} gossips to {o}, reduced", n=nodes, o=nodes)
def gossip_and_reduce(state: State, n: int, o: int) -> Iterator[State]:
    yield reduced(gossiped(state, n, o))


@invariant("nobody knows more of a node than itself")
def safety(state: State) -> bool:
    return all(state.counter[n][n] >= row[n] for row in state.counter for n in nodes(state.bounds))


def by_gossip(before: State, after: State) -> bool:
    return any(gossiped(before, n, o) == after for n in nodes(before.bounds) for o in nodes(before.bounds))


@temporal("if there is only gossip from some time on, all agree again and again")
def convergence() -> Formula:
    return implies(eventually(always(step(by_gossip))), always(eventually(lambda state: len(set(state.counter)) == 1)))


spec = Spec(
    name="crdt",
    initial_states=lambda bounds: [State(bounds, ((0,) * bounds.nodes,) * bounds.nodes)],
    actions=[increment, gossip, gossip_and_reduce],
    properties=[safety, convergence],
    bounds=Bounds(),
    within=lambda state: all(state.counter[n][n] <= state.bounds.most for n in nodes(state.bounds)),
)
