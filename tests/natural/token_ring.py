"""Dijkstra's stabilizing token ring. Every state is an initial state.

Source: github.com/tlaplus/Examples, specifications/ewd426/TokenRing.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, bound, component, invariant, one_of_each, product, put


@frozen
class Bounds:
    nodes: int = bound(6, "nodes", at_least=2, at_most=8)
    values: int = bound(6, "values of a counter", at_least=1, at_most=8)


@frozen
class Ring:
    c: tuple[int, ...] = component(each="node")


def nodes(bounds: Bounds) -> range:
    return range(1, bounds.nodes)


@action("node 0 creates a token", values=lambda bounds: [bounds.values])
def create_token(ring: Ring, values: int) -> Iterator[Ring]:
    if ring.c[0] == ring.c[-1]:
        yield put(ring, "c", 0, (ring.c[-1] + 1) % values)


@action("node {node} passes the token", node=nodes)
def pass_token(ring: Ring, node: int) -> Iterator[Ring]:
    if ring.c[node] != ring.c[node - 1]:
        yield put(ring, "c", node, ring.c[node - 1])


@invariant("the counters are in range")
def type_ok(ring: Ring) -> bool:
    return all(0 <= value < 8 for value in ring.c)


spec = Spec(
    name="token_ring",
    initial_states=product(Ring, c=lambda bounds: one_of_each([range(bounds.values)] * bounds.nodes)),
    actions=[create_token, pass_token],
    properties=[type_ok],
    bounds=Bounds(),
)
