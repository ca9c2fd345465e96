"""The shipped notebook runs, and its cells show pages, a graph and progress."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from leadline.checker.errors import LeadlineError
from leadline.invariants.catalog import CATALOG
from leadline.reports.notebook import graph

NOTEBOOK = Path(__file__).parents[2] / "reports" / "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, Any]]:
    """What each cell of code of the shipped notebook displays, by its type."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [each for cell in cells for each in cell.outputs if each.output_type == "stream"], "nothing is only text"
    return [{kind: text for each in cell.outputs for kind, text in each.get("data", {}).items()} for cell in cells]


def test_a_result_and_a_trace_show_their_pages(outputs: list[dict[str, Any]]) -> None:
    result, trace, _, lamp = (each.get("text/html", "") for each in outputs)
    assert all(text.startswith("<iframe srcdoc=") for text in (result, trace, lamp))
    assert "violated: strong_isr - atomic/hw-truncation" in result
    assert "along the trace" in trace
    assert "state == before" in trace
    assert "shines is violated" in lamp, "a spec that was written in a cell is searched"
    assert all('sandbox="allow-scripts' in text for text in (result, trace, lamp))


def test_the_progress_is_gone_when_the_search_has_ended(outputs: list[dict[str, Any]]) -> None:
    assert not [text for each in outputs for text in each.values() if "<progress" in text]


@pytest.mark.skipif(shutil.which("dot") is None, reason="there is no dot here: apt-get install graphviz")
def test_a_state_graph_is_drawn(outputs: list[dict[str, Any]]) -> None:
    drawn = outputs[2]["image/svg+xml"]
    assert len(re.findall("<g id=.node", drawn)) == 3
    assert "press()" in drawn


def test_a_graph_that_is_too_large_is_refused() -> None:
    with pytest.raises(LeadlineError, match="atomic/kip-101 has more than 20 states: use smaller bounds"):
        graph(CATALOG["atomic/kip-101"], most=20)


def test_the_shipped_notebook_has_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not [cell for cell in notebook.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
