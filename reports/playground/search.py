"""The part of the playground that runs in the browser: search a spec with the oracle, and return its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leadline.checker.bounds import parse_bounds
from leadline.checker.engines.oracle import explore
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Statistics
from leadline.reports.html.run import run_page, title_of, with_traces
from leadline.reports.loading import load_spec
from leadline.reports.runs.run_view import view_of_result

MOST_STATES = 100_000
"""The maximum number of states of a search. A browser finds a few thousand in a second, and has no way to measure the
memory that they use.
"""

FILE = "spec.py"


def search(source: str, reference: str, bounds: str, progress: Callable[[str], None]) -> tuple[str, str]:
    """Search a spec.

    Parameters:
        source: the source code of the user's spec. Empty if a shipped spec is searched.
        reference: the name of a shipped spec. Empty if the user's spec is searched.
        bounds: changes of bounds, as in ``brokers=3,max_epoch=2``.
        progress: a function that is called with a line of text while the search is running.

    Returns:
        A line with the verdict, and the HTML page. The page is empty if the spec is wrong; the line then says why.
    """

    def show(statistics: Statistics) -> None:
        progress(f"{statistics.distinct:,} distinct states, depth {statistics.depth}")

    try:
        if source:
            Path(FILE).write_text(source, encoding="utf-8")
        spec = load_spec(reference or FILE).with_bounds(parse_bounds(bounds))
        result = explore(spec, Limits(max_states=MOST_STATES), show)
    except LeadlineError as error:
        return str(error), ""
    result.statistics.levels, result.statistics.samples = (), ()  # plots need matplotlib, which takes long to load
    view = view_of_result(result)
    return title_of(view), run_page(title_of(view), [with_traces(result, view)])
