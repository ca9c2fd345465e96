"""The oracle against networkx, an independent one, on random graphs; and graphs of traces."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.checker import Limits, Result, Verdict
from leadline.checker.engines.oracle import OracleSearch, explore
from leadline.checker.trace import Trace
from leadline.checker.traces.graph import shortest_path_graph, shortest_traces, state_graph
from tests.specs.machines import (
    Edge,
    Graph,
    Walker,
    counters,
    good_node,
    no_bad_node,
    no_bad_step,
    path,
    route,
    values,
    walk_spec,
    walks,
)

NODES = range(7)
PATHS_COMPARED = 200

some_nodes = st.frozensets(st.sampled_from(NODES), max_size=2)
some_edge = st.tuples(st.sampled_from(NODES), st.sampled_from("xyz"), st.sampled_from(NODES))
drawn_graphs = st.builds(
    Graph,
    edges=st.lists(some_edge, min_size=5, max_size=25, unique=True).map(tuple),
    starts=st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True).map(tuple),
    bad=some_nodes,
    good=some_nodes,
    bad_steps=st.frozensets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=2),
)


def reference(drawn: Graph) -> nx.MultiDiGraph[Any]:
    """The drawn graph, as networkx knows it."""
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from([*NODES, *drawn.starts])
    graph.add_edges_from((source, target, label) for source, label, target in drawn.edges)  # type: ignore[misc]
    return graph


def distances(drawn: Graph) -> dict[Any, int]:
    """Steps from the nearest start to each reachable node."""
    graph, found = reference(drawn), dict[Any, int]()
    for start in drawn.starts:
        for node, distance in nx.single_source_shortest_path_length(graph, start).items():
            found[node] = min(distance, found.get(node, distance))
    return found


def nearest(drawn: Graph, nodes: Iterable[Any]) -> float:
    """Steps to the nearest of some nodes; infinite if none is reachable."""
    known = distances(drawn)
    return min((known[node] for node in nodes if node in known), default=math.inf)


def shown(result: Result, name: str) -> float:
    """Steps in the shortest trace about a property; infinite if there is none."""
    return min((len(trace) - 1 for trace in result.of(name).traces), default=math.inf)


@given(drawn_graphs)
def test_distinct_states_are_the_descendants_of_the_starts(drawn: Graph) -> None:
    graph = reference(drawn)
    reachable = set(drawn.starts).union(*(nx.descendants(graph, start) for start in drawn.starts))

    assert explore(walk_spec(drawn)).statistics.distinct == len(reachable)


@given(drawn_graphs)
def test_generated_states_and_out_degrees_are_those_of_the_reachable_subgraph(drawn: Graph) -> None:
    graph = reference(drawn)
    degrees = [graph.out_degree(node) for node in distances(drawn)]
    statistics = explore(walk_spec(drawn)).statistics

    assert statistics.generated == len(drawn.starts) + sum(degrees)
    assert (statistics.out_degree_min, statistics.out_degree_max) == (min(degrees), max(degrees))
    assert statistics.out_degree_mean == sum(degrees) / len(degrees)
    assert statistics.deadlocks == degrees.count(0)


@given(drawn_graphs)
def test_depth_is_the_greatest_distance_from_the_starts(drawn: Graph) -> None:
    assert explore(walk_spec(drawn)).statistics.depth == max(distances(drawn).values()) + 1


@given(drawn_graphs)
def test_depth_from_one_start_is_its_eccentricity(drawn: Graph) -> None:
    start = drawn.starts[0]
    graph = reference(drawn)
    reachable = graph.subgraph({start} | nx.descendants(graph, start))
    eccentricity: Any = nx.eccentricity(reachable, start, sp=dict(nx.all_pairs_shortest_path_length(reachable)))
    one = Graph(drawn.edges, (start,))

    assert explore(walk_spec(one)).statistics.depth == eccentricity + 1


@given(drawn_graphs)
def test_shortest_counterexample_is_as_long_as_the_shortest_path(drawn: Graph) -> None:
    result = explore(walk_spec(drawn, no_bad_node, good_node), Limits(keep_going=True))

    assert shown(result, "no_bad_node") == nearest(drawn, drawn.bad)
    assert shown(result, "good_node") == nearest(drawn, drawn.good)
    assert result.exhausted


@given(drawn_graphs)
def test_without_keep_going_the_same_shortest_counterexample_is_found(drawn: Graph) -> None:
    spec = walk_spec(drawn, no_bad_node)
    result = explore(spec)

    assert shown(result, "no_bad_node") == nearest(drawn, drawn.bad)
    assert (result.verdict is Verdict.VIOLATED) == (nearest(drawn, drawn.bad) < math.inf)


@given(drawn_graphs)
def test_shortest_bad_step_is_one_step_after_its_source(drawn: Graph) -> None:
    graph = reference(drawn)
    sources = [source for source, target in drawn.bad_steps if graph.has_edge(source, target)]

    assert shown(explore(walk_spec(drawn, no_bad_step)), "no_bad_step") == nearest(drawn, sources) + 1


@given(drawn_graphs)
def test_shortest_deadlock_is_the_nearest_sink(drawn: Graph) -> None:
    graph = reference(drawn)
    sinks = [node for node in graph if not graph.out_degree(node)]

    assert shown(explore(walk_spec(drawn, check_deadlock=True)), "deadlock") == nearest(drawn, sinks)


@given(drawn_graphs, st.sampled_from(NODES))
def test_traces_are_all_shortest_paths_to_a_state(drawn: Graph, target: int) -> None:
    graph, known = reference(drawn), distances(drawn)
    found = explore(
        walk_spec(Graph(drawn.edges, drawn.starts, bad=frozenset({target})), no_bad_node), Limits(traces=PATHS_COMPARED)
    )
    expected: Counter[tuple[Any, ...]] = Counter()
    for start in drawn.starts if target in known else ():
        if start == target:
            expected[start,] = 1
        elif nx.has_path(graph, start, target) and nx.shortest_path_length(graph, start, target) == known[target]:
            for nodes in nx.all_shortest_paths(nx.DiGraph(graph), start, target):
                expected[tuple(nodes)] = math.prod(graph.number_of_edges(*pair) for pair in itertools.pairwise(nodes))
    traces = found.of("no_bad_node").traces

    assert expected.total() <= PATHS_COMPARED
    assert Counter(tuple(state.node for state in trace.states) for trace in traces) == expected
    assert len({(trace.states, trace.instances) for trace in traces}) == len(traces)


@given(drawn_graphs)
def test_state_graph_is_the_reachable_subgraph(drawn: Graph) -> None:
    spec = walk_spec(drawn)
    search = OracleSearch(spec, Limits())
    search.run()
    graph: Any = state_graph(spec, search.arrivals)

    assert {state.node for state in graph} == set(distances(drawn))
    assert Counter(
        (before.node, instance.values[0], after.node) for before, after, instance in graph.edges(data="instance")
    ) == Counter(reachable_edges(drawn))


def reachable_edges(drawn: Graph) -> list[Edge]:
    """The edges that can be walked."""
    known = distances(drawn)
    return [edge for edge in drawn.edges if edge[0] in known]


# Graphs of traces.


def searched(words: str, **marks: str) -> OracleSearch[Walker]:
    """A finished search of a walk."""
    search = OracleSearch(walks(words, **marks), Limits())  # type: ignore[arg-type]
    search.run()
    return search


def at(search: OracleSearch[Walker], node: str) -> Walker:
    """The state at a node."""
    return next(state for state in search.arrivals if state.node == node)


def test_the_shortest_path_graph_leaves_out_longer_ways_and_other_states() -> None:
    search = searched("axb ayc bxd cxd axe exb dxf")
    graph = shortest_path_graph(search.arrivals, [at(search, "d")])

    assert sorted(before.node + after.node for before, after in graph.edges()) == ["ab", "ac", "bd", "cd"]
    assert nx.is_directed_acyclic_graph(graph)


def test_the_shortest_path_graph_of_several_states_has_every_start_as_a_source() -> None:
    search = searched("axc bxd cxe dxe", starts="ab")
    graph = shortest_path_graph(search.arrivals, [at(search, "e"), at(search, "c")])

    assert {state.node for state, degree in graph.in_degree() if not degree} == {"a", "b"}
    assert {state.node for state in graph} == set("abcde")


def test_the_shortest_path_graph_of_an_initial_state_is_that_state() -> None:
    search = searched("axb bxa")
    graph = shortest_path_graph(search.arrivals, [at(search, "a")])

    assert ([state.node for state in graph], graph.number_of_edges()) == (["a"], 0)


def test_shortest_traces_give_every_way_once() -> None:
    search = searched("axb ayb bxc ayd dxc")
    target = at(search, "c")
    graph = shortest_path_graph(search.arrivals, [target])
    traces: list[Trace[Walker]] = list(shortest_traces(graph, target, search.spec))

    assert sorted((path(trace), route(trace)) for trace in traces) == [("abc", "xx"), ("abc", "yx"), ("adc", "yx")]
    assert all(trace.about is None and trace.spec is search.spec for trace in traces)


def test_state_graph_of_some_states_leaves_out_the_others() -> None:
    spec = counters(limit=2)
    search = OracleSearch(spec, Limits())
    search.run()
    low = [state for state in search.arrivals if state.total <= 1]
    graph = state_graph(spec, low)

    assert {(values(before), values(after)) for before, after in graph.edges()} == {
        ((0, 0), (1, 0)),
        ((0, 0), (0, 1)),
    }


@pytest.mark.parametrize("words", ["axa", "axb byb bza"])
def test_state_graph_keeps_loops_and_names_instances(words: str) -> None:
    search = searched(words)
    graph: Any = state_graph(search.spec, search.arrivals)

    walked = [before.node + instance.values[0] + after.node for before, after, instance in graph.edges.data("instance")]

    assert sorted(walked) == words.split()
