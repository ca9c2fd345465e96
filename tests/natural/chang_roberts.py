"""Chang and Roberts' election of a leader on a ring.

Messages of each node in a frozenset of its own, drawn by the action that handles one; which nodes begin is a product of
initial states; liveness with fairness of each process.

Source: github.com/tlaplus/Examples, specifications/chang_roberts/ChangRoberts.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action, bound, component, invariant, leads_to, one_of_each, put


@frozen
class Bounds:
    n: int = bound(3, "nodes", at_least=1, at_most=7)


@frozen
class Node:
    initiator: bool
    state: str
    started: bool = False
    received: frozenset[int] = frozenset()


@frozen
class Ring:
    nodes: tuple[Node, ...] = component(each="node")

    def with_message(self, node: int, message: int) -> Ring:
        after = (node + 1) % len(self.nodes)
        return put(self, "nodes", after, "received", self.nodes[after].received | {message})


def nodes(bounds: Bounds) -> range:
    return range(bounds.n)


def initial_states(bounds: Bounds) -> Iterator[Ring]:
    for initiators in one_of_each([(False, True)] * bounds.n):
        yield Ring(tuple(Node(each, "candidate" if each else "lost") for each in initiators))


@action("node {node} begins", node=nodes, fair="weak each")
def begin(ring: Ring, node: int) -> Iterator[Ring]:
    if not ring.nodes[node].started:
        begun = put(ring, "nodes", node, "started", True)
        yield begun.with_message(node, node) if ring.nodes[node].initiator else begun


@action("node {node} handles a message", node=nodes, fair="weak each")
def handle(ring: Ring, node: int) -> Iterator[Ring]:
    own = ring.nodes[node]
    for message in own.received if own.started else ():
        taken = put(ring, "nodes", node, "received", own.received - {message})
        if own.state == "lost":
            yield taken.with_message(node, message)
        elif message < node:
            yield put(taken, "nodes", node, "state", "lost").with_message(node, message)
        elif message == node:
            yield put(taken, "nodes", node, "state", "won")
        else:
            yield taken


@invariant("node {node} wins only if it began with the smallest number, and all others have lost", node=nodes)
def correct(ring: Ring, node: int) -> bool:
    if ring.nodes[node].state != "won":
        return True
    others = [each for each in range(len(ring.nodes)) if each != node]
    return ring.nodes[node].initiator and all(
        ring.nodes[each].state == "lost" and (not ring.nodes[each].initiator or each > node) for each in others
    )


def has_candidate(ring: Ring) -> bool:
    return any(node.state == "candidate" for node in ring.nodes)


@leads_to("a node wins once there is a candidate", after=has_candidate)
def someone_wins(ring: Ring) -> bool:
    return any(node.state == "won" for node in ring.nodes)


spec = Spec(
    name="chang-roberts",
    initial_states=initial_states,
    actions=[begin, handle],
    properties=[correct, someone_wins],
    bounds=Bounds(),
)
