"""The page: traces as one HTML file that needs nothing else, no network and no server.

Everything is in the file before a script runs: without one, all states are shown one below the other. The
script shows one at a time, and steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from checker.visible import visible
from reports.html.changes import Change, changes
from reports.html.diagram import Diagram, diagram_of
from reports.html.holdings import Holding, holdings
from reports.story import Frame, Story

if TYPE_CHECKING:
    from reports.html.run import Run

_FOLDER = Path(__file__).parent


@attrs.frozen
class Shown:
    """One state of a trace, as the page has it.

    Attributes:
        name: what a link to it ends with.
        number: from 1.
        frame: the state and the step to it.
        changes: what the step changed.
        holdings: what each row holds now; empty if the spec does not say.
    """

    name: str
    number: int
    frame: Frame
    changes: tuple[Change, ...]
    holdings: tuple[Holding, ...]


@attrs.frozen
class Chapter:
    """One trace, as the page has it.

    Attributes:
        name: what a link to it ends with.
        story: the trace.
        diagram: its steps in space and time.
        shown: its states.
        note: what else is to be said of it.
        is_witness: whether it shows what should be possible, and nothing that is wrong.
    """

    name: str
    story: Story
    diagram: Diagram
    shown: tuple[Shown, ...]
    note: str = ""
    is_witness: bool = False

    @property
    def heading(self) -> str:
        """What the trace is about, in a few words."""
        about = self.story.ending[0].partition(":")[0] if self.story.ending else self.story.title
        return f"{about}, {len(self.shown)} states"


def chapter(number: int, story: Story, note: str = "", is_witness: bool = False) -> Chapter:
    """A trace for the page.

    Parameters:
        number: which of the page's traces it is, from 1.
        story: the trace.
        note: what else is to be said of it.
        is_witness: whether it shows what should be possible, and nothing that is wrong.
    """
    pictures = story.diagram.pictures
    shown = tuple(
        Shown(
            name=f"t{number}-s{index + 1}",
            number=index + 1,
            frame=frame,
            changes=changes(story.frames[index - 1].lanes, frame.lanes) if index else (),
            holdings=holdings(pictures[index], pictures[max(index - 1, 0)]),
        )
        for index, frame in enumerate(story.frames)
    )
    return Chapter(f"t{number}", story, diagram_of(story.diagram), shown, note, is_witness)


def page(
    title: str,
    chapters: Sequence[Chapter],
    runs: Sequence[Run] = (),
    beside: int = 0,
    notes: Sequence[str] = (),
    grids: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page, as HTML.

    Parameters:
        title: what it is called.
        chapters: its traces. The page opens on the first one.
        runs: the runs that found them, if the page is of these too.
        beside: if not 0, the traces are shown side by side, the longest one first, at the state of this number.
        notes: what else is to be said of the whole page.
        grids: tables of the verdicts, shown in place of the list of runs.
    """
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    files = {name: Markup((_FOLDER / f"page.{name}").read_text(encoding="utf-8")) for name in ("css", "js")}
    return environment.get_template("page.html").render(
        title=title, chapters=chapters, runs=runs, beside=beside, notes=notes, grids=grids, **files
    )


def _visible(value: Any) -> Any:
    """What the template is about to write, before it escapes it; markup is ours and stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
