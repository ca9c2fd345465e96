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
"""The nodes are states. Each edge has its action instance as the attribute ``instance``."""

Arrivals = Mapping[S, list[tuple[S, ActionInstance[S]]]]
"""For each state found, the last steps of its shortest paths, as pairs of the state before and the action instance."""


def state_graph(spec: Spec[S], states: Iterable[S]) -> StateGraph:
    """Build the state graph of some states, with a node for each state and an edge for each step between two of them.

    Parameters:
        spec: the spec.
        states: the states. Pass all reachable states of a small spec to get its complete graph.

    Returns:
        The graph, see `StateGraph`.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from(states)
    for state in list(graph):
        for instance, successor in spec.successors(state):
            if successor in graph:
                graph.add_edge(state, successor, instance=instance)
    return graph


def neighbourhood(trace: Trace[S]) -> StateGraph:
    """The state graph around a trace: the states of the trace and their next states. See `state_graph`."""
    near = {after: None for state in trace.states for _, after in trace.spec.successors(state)}
    return state_graph(trace.spec, {**dict.fromkeys(trace.states), **near})


def shortest_path_graph(arrivals: Arrivals[S], targets: Iterable[S]) -> StateGraph:
    """Build the subgraph of all shortest paths to some states.

    Parameters:
        arrivals: the result of a breadth-first search.
        targets: the states at the ends of the paths.

    Returns:
        An acyclic graph whose sources are initial states; see `StateGraph`.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    waiting = list(dict.fromkeys(targets))
    graph.add_nodes_from(waiting)
    for state in waiting:  # a queue that grows during the loop
        for before, instance in arrivals[state]:
            if before not in graph:
                waiting.append(before)
            graph.add_edge(before, state, key=instance, instance=instance)  # once, even if yielded twice
    return graph


def shortest_traces(graph: StateGraph, target: S, spec: Spec[S]) -> Iterator[Trace[S]]:
    """Generate every shortest trace to a state.

    Parameters:
        graph: a result of `shortest_path_graph`.
        target: a state in the graph.
        spec: the spec that the traces belong to.

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
