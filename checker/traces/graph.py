"""State graphs, represented as networkx graphs, and the shortest traces in them."""

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
"""A graph whose nodes are states and whose edges are steps. The attribute ``instance`` is the action instance."""

Arrivals = Mapping[S, list[tuple[S, ActionInstance[S]]]]
"""For each state that was found, the last steps of its shortest paths: pairs of a previous state and an action
instance."""


def state_graph(spec: Spec[S], states: Iterable[S]) -> StateGraph:
    """Return the graph of the given states, with an edge for each step between two of them.

    Parameters:
        states: the states, for example all reachable states of a small spec.

    Returns:
        A graph as described in `StateGraph`.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from(states)
    for state in list(graph):
        for instance, successor in spec.successors(state):
            if successor in graph:
                graph.add_edge(state, successor, instance=instance)
    return graph


def neighbourhood(trace: Trace[S]) -> StateGraph:
    """Return a graph that contains the states of a trace and all their next states, as described in `StateGraph`."""
    near = {after: None for state in trace.states for _, after in trace.spec.successors(state)}
    return state_graph(trace.spec, {**dict.fromkeys(trace.states), **near})


def shortest_path_graph(arrivals: Arrivals[S], targets: Iterable[S]) -> StateGraph:
    """Return the graph of all shortest paths from initial states to the given states.

    Parameters:
        arrivals: for each state, the last steps of the shortest paths to it, as recorded by a breadth-first search.

    Returns:
        A graph as described in `StateGraph`. It does not have cycles.
    """
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    waiting = list(dict.fromkeys(targets))
    graph.add_nodes_from(waiting)
    for state in waiting:  # a queue that grows during the loop
        for before, instance in arrivals[state]:
            if before not in graph:
                waiting.append(before)
            # because of `key`, a step that an action yields twice is a single edge
            graph.add_edge(before, state, key=instance, instance=instance)
    return graph


def shortest_traces(graph: StateGraph, target: S, spec: Spec[S]) -> Iterator[Trace[S]]:
    """Yield every shortest trace to a state.

    Parameters:
        graph: a graph that `shortest_path_graph` returned.
        target: the state, which must be in the graph.

    Yields:
        The traces. Any two of them differ in at least one state or action instance.
    """
    for initial in [state for state, before in graph.in_degree() if not before]:
        if initial == target:
            yield Trace(spec, (target,), ())
        elif nx.has_path(graph, initial, target):
            for path in nx.all_shortest_paths(graph, initial, target):
                edges = [graph.get_edge_data(*pair).values() for pair in itertools.pairwise(path)]
                for choice in itertools.product(*edges):
                    yield Trace(spec, path, [edge["instance"] for edge in choice])
