"""Results, traces and graphs in a notebook.

A result or a trace that is the value of a cell is shown as its page, for which importing `leadline` is enough. `graph`
draws a state graph, and `bar` shows the progress of a search. Only notebooks import this module; the package does not
depend on IPython.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import graphviz
from IPython.display import HTML, display

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Result, Statistics
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.reports.html import chapter, page
from leadline.reports.html.run import run_page, title_of, with_traces
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.terminal.progress import estimated_total, progress_lines
from leadline.reports.traces.dot import MOST_DRAWN, dot_of_all
from leadline.reports.traces.story import story_of

HEIGHT = 640
"""The height of a page in a notebook, in pixels."""


def page_of(shown: Result | Trace[Any]) -> str:
    """Return the page of a result, with its traces, or of a trace, as HTML for a cell."""
    if isinstance(shown, Trace):
        story = story_of(shown)
        return _framed(page(story.title, [chapter(1, story)]))
    view = view_of_result(shown)
    return _framed(run_page(title_of(view), [with_traces(shown, view)]))


def _framed(content: str) -> str:
    """Return a page in a frame of its own, so that it shares no styles or names with the notebook or other pages."""
    return (
        f'<iframe srcdoc="{html.escape(content)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
    )


def graph(spec: Spec[Any], most: int = MOST_DRAWN) -> graphviz.Source:
    """Return the state graph of a spec, which draws itself in a notebook if Graphviz is installed.

    Parameters:
        most: the maximum number of states.

    Raises:
        LeadlineError: if the spec has more states.
    """
    if (drawn := dot_of_all(spec, most)) is None:
        raise LeadlineError(f"{spec.name} has more than {most:,} states: use smaller bounds or a larger `most`")
    return graphviz.Source(drawn)


@contextmanager
def bar(what: str = "") -> Iterator[Callable[[Statistics], None]]:
    """Show the progress of a search in the output of a cell.

    Parameters:
        what: the name of the search.

    Returns:
        A context manager. It provides a function to pass as ``progress`` to a search.
    """
    shown = display(HTML(""), display_id=True)

    def show(statistics: Statistics) -> None:
        total = estimated_total(statistics.levels)
        share = "" if total is None else f' value="{statistics.distinct / total:.3f}"'
        lines = "<br>".join(map(html.escape, filter(None, [what, *progress_lines(statistics)])))
        shown.update(HTML(f"<progress{share}></progress> {lines}"))

    try:
        yield show
    finally:  # also after an error, since a bar that stays looks like a search that is still running
        shown.update(HTML(""))
