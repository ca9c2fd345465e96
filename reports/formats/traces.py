"""The formats for a trace."""

from __future__ import annotations

from leadline.checker.trace import Trace
from leadline.checker.traces.graph import neighbourhood
from leadline.checker.traces.itf import encode_trace
from leadline.reports.formats import Format
from leadline.reports.lines import json_text
from leadline.reports.runs.json_report import story_object
from leadline.reports.traces.dot import dot
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.shiviz import shiviz
from leadline.reports.traces.story import Story


def _graph_around(trace: Trace[object]) -> str:
    return dot(trace.spec, neighbourhood(trace), trace)


TRACE_FORMATS: dict[str, Format[Story] | Format[Trace[object]]] = {
    "mermaid": Format(Story, mermaid, "a sequence diagram for Markdown"),
    "dot": Format(Trace, _graph_around, "a graph of the trace and its neighbouring states, for Graphviz"),
    "shiviz": Format(Story, shiviz, "a log with vector clocks, for ShiViz"),
    "itf": Format(Trace, lambda trace: json_text(encode_trace(trace), indent=1), "the Informal Trace Format"),
    "json": Format(
        Story, lambda story: json_text(story_object(story), indent=1), "the same content as text, as a JSON object"
    ),
}
"""Formats of a trace. Formats that need a `Trace` are only available if the spec of the trace can be loaded."""
