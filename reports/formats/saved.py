"""The formats for saved traces and saved results."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from leadline.reports.formats import Format
from leadline.reports.html import Chapter, page
from leadline.reports.html.run import RunWithTraces, run_page


@attrs.frozen(eq=False)
class Saved:
    """Saved traces, or a saved result with its traces.

    Attributes:
        title: the title of the page.
        chapters: the traces, if there is no result.
        run: the result, or None if there are only traces.
        notes: a line for each trace that is not on the page.
    """

    title: str
    chapters: Sequence[Chapter] = ()
    run: RunWithTraces | None = None
    notes: Sequence[str] = ()


def _saved_page(saved: Saved) -> str:
    if saved.run is None:
        return page(saved.title, saved.chapters, notes=saved.notes)
    return run_page(saved.title, [saved.run], notes=saved.notes)


SAVED_FORMATS: dict[str, Format[Saved]] = {
    "html": Format(Saved, _saved_page, "Write a page of everything that is shown, instead of text."),
}
"""The formats for saved traces and saved results."""
