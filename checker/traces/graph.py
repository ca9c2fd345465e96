"""State graphs in networkx, and the shortest traces in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import networkx as nx

from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")

StateGraph: TypeAlias = "nx.MultiDiGraph[Any]"
"""Nodes are states, edges hold the action instance as ``instance``."""

Arrivals = Mapping[S, list[tuple[S, ActionInstance[S]]]]
"""For each state found, the last steps of its shortest paths: (state before, action instance)."""


def state_graph(spec: Spec[S], states: Iterable[S]) -> StateGraph:
    """The state graph over some states: a node for each, an edge for each step between two of them.

    Parameters:
        spec: the spec.
        states: the states; for the whole graph of a small spec, all that are reachable.

    Returns:
        A graph whose nodes are states and whose edges hold the action instance as ``instance``.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from(states)
    for state in list(graph):
        for instance, successor in spec.successors(state):
            if successor in graph:
                graph.add_edge(state, successor, instance=instance)
    return graph


def neighbourhood(trace: Trace[S]) -> StateGraph:
    """The state graph around a trace: its states, and those that are one step from them. See `state_graph`."""
    near = {after: None for state in trace.states for _, after in trace.spec.successors(state)}
    return state_graph(trace.spec, {**dict.fromkeys(trace.states), **near})


def shortest_path_graph(arrivals: Arrivals[S], targets: Iterable[S]) -> StateGraph:
    """The part of a searched graph that matters for some states: all shortest paths to them.

    Parameters:
        arrivals: what a breadth-first search found.
        targets: the states to reach.

    Returns:
        An acyclic graph; its sources are initial states; edges hold the action instance as ``instance``.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    waiting = list(dict.fromkeys(targets))
    graph.add_nodes_from(waiting)
    for state in waiting:  # grows while it is walked: first come, first followed
        for before, instance in arrivals[state]:
            if before not in graph:
                waiting.append(before)
            graph.add_edge(before, state, key=instance, instance=instance)  # once, though it be yielded twice
    return graph


def shortest_traces(graph: StateGraph, target: S, spec: Spec[S]) -> Iterator[Trace[S]]:
    """Every shortest trace to a state, one by one.

    Parameters:
        graph: from `shortest_path_graph`.
        target: a state in it.
        spec: the spec the traces belong to.

    Yields:
        Traces that differ in at least one state or action instance.
    """
    for initial in [state for state, before in graph.in_degree() if not before]:
        if initial == target:
            yield Trace(spec, (target,), ())
        elif nx.has_path(graph, initial, target):
            for path in nx.all_shortest_paths(graph, initial, target):
                edges = [graph.get_edge_data(*pair).values() for pair in itertools.pairwise(path)]
                for choice in itertools.product(*edges):
                    yield Trace(spec, path, [edge["instance"] for edge in choice])
