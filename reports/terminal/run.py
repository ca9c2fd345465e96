"""Show the result of a run on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from rich.console import RenderableType
from rich.text import Text

from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.reports.document.terminal import blocks_view
from leadline.reports.lines import stated_bounds
from leadline.reports.runs.document import run_document
from leadline.reports.runs.phrases import engine_text
from leadline.reports.runs.run_view import RunView
from leadline.reports.terminal.console import WrappedBounds


def heading(spec: Spec[object], engine: str, settings: Mapping[str, object]) -> WrappedBounds:
    """Return the heading of a run, with the spec, its bounds, the engine, and the settings of the engine."""
    text = Text(visible(spec.name), style="bold")
    text.append(f"  {visible(stated_bounds(attrs.asdict(spec.bounds)) or spec.named_bounds)}", style="")
    text.append(f"  {engine_text(engine, settings)}", style="dim")
    return WrappedBounds(text)


def result_view(run: RunView) -> RenderableType:
    """Return the view of a result, with the verdicts on the properties and on the run, and the counts."""
    document = run_document(run)
    return blocks_view((*document.blocks, *document.conclusion))
