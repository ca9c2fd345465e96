"""Consensus on a graph of vertices, as in Sailfish: every vertex refers to vertices of the round before, and the graph
only grows. Hardly any two states have the same graph, and most actions are disabled in most states.

Source: arxiv.org/abs/2405.05117. Only the growth of the graph, and the votes for leaders, are modelled; a
leader always votes for the leader before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, frozen

from leadline.checker import Map, Spec, action, bound, invariant, subsets

Vertex = tuple[int, int]
Edge = tuple[Vertex, Vertex]

NODES = (0, 1, 2)
QUORUM = 2


@frozen
class Bounds:
    rounds: int = bound(3, "the number of rounds")


@frozen
class Graph:
    vertices: frozenset[Vertex] = frozenset()
    edges: frozenset[Edge] = frozenset()
    committed: Map[int, tuple[Vertex, ...]] = Map((node, ()) for node in NODES)


def leader(number: int) -> Vertex:
    return (number % len(NODES), number)


def reached(graph: Graph, start: Vertex) -> set[Vertex]:
    found, new = {start}, {start}
    while new:
        new = {target for source, target in graph.edges if source in new} - found
        found |= new
    return found


def rounds(bounds: Bounds) -> range:
    return range(bounds.rounds)


@action("node {node} adds its vertex of round {number}", node=NODES, number=rounds)
def add(graph: Graph, node: int, number: int) -> Iterator[Graph]:
    vertex = (node, number)
    if vertex in graph.vertices or (number and (node, number - 1) not in graph.vertices):
        return
    before = sorted(each for each in graph.vertices if each[1] == number - 1)
    for targets in subsets(before):
        if vertex == leader(number) and number and leader(number - 1) not in targets:
            continue
        if len(targets) >= QUORUM or not number:
            edges = graph.edges | {(vertex, target) for target in targets}
            yield evolve(graph, vertices=graph.vertices | {vertex}, edges=edges)


@action("node {node} commits the leader of round {number}", node=NODES, number=rounds)
def commit(graph: Graph, node: int, number: int) -> Iterator[Graph]:
    chosen, log = leader(number), graph.committed[node]
    votes = {source for source, target in graph.edges if target == chosen}
    if len(votes) < QUORUM or (log and log[-1][1] >= number):
        return
    earlier = tuple(leader(before) for before in range(number) if leader(before) in reached(graph, chosen))
    yield evolve(graph, committed=graph.committed.put(node, (*earlier, chosen)))


@invariant("edges lead to the round before")
def type_ok(graph: Graph) -> bool:
    return all(
        source in graph.vertices and target in graph.vertices and target[1] == source[1] - 1
        for source, target in graph.edges
    )


@invariant("what one node has committed, others have committed before what follows")
def agreement(graph: Graph) -> bool:
    logs = graph.committed.values()
    return all(one[: len(other)] == other[: len(one)] for one, other in combinations(logs, 2))


spec = Spec(
    name="vertices",
    initial_states=lambda _: [Graph()],
    actions=[add, commit],
    properties=[type_ok, agreement],
    bounds=Bounds(),
)
