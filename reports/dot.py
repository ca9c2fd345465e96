"""DOT: a state graph for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from graphviz import Digraph, escape

from checker.graph import StateGraph
from checker.trace import Trace
from checker.visible import visible
from reports.lanes import Lanes, lanes_of


def dot(graph: StateGraph, initial: Iterable[Any], trace: Trace[Any] | None = None) -> str:
    """A state graph in the DOT language.

    Initial states have a double border; a trace in the graph is drawn in bold, and its last state is filled.

    Parameters:
        graph: from `checker.graph`: nodes are states, edges hold the action instance as ``instance``.
        initial: the spec's initial states.
        trace: a trace in the graph.
    """
    drawing = Digraph(node_attr={"shape": "box", "fontname": "monospace"}, edge_attr={"fontname": "sans-serif"})
    names = {state: f"s{number}" for number, state in enumerate(graph)}
    first = set(initial)
    path = list(trace.steps) if trace is not None else []
    steps = {(step.before, step.instance, step.after) for step in path}
    on_path = {trace.states[0], *trace.states} if trace is not None else set()
    for state, name in names.items():
        looks = {"peripheries": "2"} if state in first else {}
        looks |= {"penwidth": "3"} if state in on_path else {}
        looks |= {"style": "filled", "fillcolor": "#f6c5c0"} if trace is not None and state == trace.states[-1] else {}
        drawing.node(name, _label(lanes_of(state)), **looks)
    for before, after, step in graph.edges(data=True):
        instance = step["instance"]
        looks = {"penwidth": "3"} if (before, instance, after) in steps else {}
        drawing.edge(names[before], names[after], escape(visible(repr(instance))), **looks)
    return str(drawing.source).expandtabs(4)


def _label(lanes: Lanes) -> str:
    return "".join(f"{escape(line)}\\l" for line in _lines(lanes))


def _lines(lanes: Lanes) -> Iterator[str]:
    for row, cells in lanes.items():
        said = "  ".join(f"{column} {text}" for column, text in cells.items() if text)
        yield f"{row}: {said}"
