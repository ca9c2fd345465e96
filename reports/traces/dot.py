"""Write state graphs in the DOT language, which Graphviz draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from graphviz import Digraph, escape

from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.properties import Kind
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.checker.traces.graph import StateGraph, state_graph
from leadline.reports.traces.rows import rows_of

S = TypeVar("S")

VIOLATING = "#f6c5c0"
"""The colour of states that violate an invariant, and of the last state of a counterexample."""

MOST_DRAWN = 200
"""The default number of states up to which a whole state graph is drawn. Graphviz takes minutes for larger ones."""


def dot(spec: Spec[S], graph: StateGraph, trace: Trace[S] | None = None) -> str:
    """Return a state graph in the DOT language.

    Initial states have a double border. A trace in the graph is drawn in bold, and its last state is filled. Without a
    trace, every state that violates an invariant is filled.

    Parameters:
        graph: a graph that `leadline.checker.traces.graph` created. Its nodes are states, and its edges have an
            attribute ``instance``.
        trace: a trace in the graph, or None.

    Raises:
        SpecError: if the code of the spec raises an error while it draws or checks a state.
    """
    drawing = Digraph(node_attr={"shape": "box", "fontname": "monospace"}, edge_attr={"fontname": "sans-serif"})
    names = {state: f"s{number}" for number, state in enumerate(graph)}
    first = set(spec.initials())
    path = list(trace.steps) if trace is not None else []
    steps = {(step.before, step.instance, step.after) for step in path}
    on_path = set(trace.states) if trace is not None else set()
    for state, name in names.items():
        filled = _violates(spec, state) if trace is None else state == trace.states[-1]
        looks = {"peripheries": "2"} if state in first else {}
        looks |= {"penwidth": "3"} if state in on_path else {}
        looks |= {"style": "filled", "fillcolor": VIOLATING} if filled else {}
        drawing.node(name, "".join(f"{escape(line)}\\l" for line in _lines(spec, state)), **looks)
    for before, after, step in graph.edges(data=True):
        instance = step["instance"]
        looks = {"penwidth": "3"} if (before, instance, after) in steps else {}
        drawing.edge(names[before], names[after], escape(visible(repr(instance))), **looks)
    return str(drawing.source).expandtabs(4)


def dot_of_all(spec: Spec[S], most: int) -> str | None:
    """Return the graph of all reachable states in the DOT language, or None if there are more than `most` states.

    Raises:
        KeyboardInterrupt: if the user interrupts the search: not only the search is to end.
        SpecError: see `dot`.
    """
    # without properties: a search that does not decide one of them is incomplete even if it has found all states
    search = OracleSearch(spec.with_properties([]), Limits(max_states=most, keep_going=True))
    result = search.run()
    if result.interrupted:
        raise KeyboardInterrupt
    return dot(spec, state_graph(spec, search.arrivals)) if result.exhausted else None


def _violates(spec: Spec[S], state: S) -> bool:
    return any(spec.complaint(item, state) is not None for item in spec.checks_of(Kind.INVARIANT))


def _lines(spec: Spec[S], state: S) -> Iterator[str]:
    for name, row in rows_of(spec, state).items():
        if texts := "  ".join(f"{column} {text}" for column, text in row.columns.items() if text):
            yield f"{name}: {texts}"
    for message in spec.messages(state):
        yield f"{message.source} → {message.target}: {message.whole}"
