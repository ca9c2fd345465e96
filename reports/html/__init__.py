"""The page: traces as one HTML file that needs nothing else, no network and no server.

Everything is in the file before a script runs: without one, all states are shown one below the other. The
script shows one at a time, and steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leadline.checker.drawing import Event
from leadline.checker.support.visible import visible
from leadline.checker.traces.itf import SUFFIX, encode_trace
from leadline.reports.html.changes import Change, changes
from leadline.reports.html.choices import Choice, Link, choices
from leadline.reports.html.diagram import Diagram, diagram_of
from leadline.reports.html.holdings import Holding, holdings
from leadline.reports.origin import Origin
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.story import Frame, Story

if TYPE_CHECKING:
    from leadline.reports.html.run import Run

MOST_EXPLORED = 60
"""States of a trace, counted from its end, of which the page says what else could have happened at each."""

_FOLDER = Path(__file__).parent


@attrs.frozen
class StateView:
    """One state of a trace, as the page has it.

    Attributes:
        name: what a link to it ends with.
        number: from 1.
        frame: the state and the step to it.
        changes: what the step changed.
        holdings: what each row holds now; empty if the spec does not say.
        turns: what makes it a turning point.
        explanations: why the step did what it did, where that decided the outcome.
        choices: what is enabled there; empty if that is not looked at.
    """

    name: str
    number: int
    frame: Frame
    changes: tuple[Change, ...]
    holdings: tuple[Holding, ...]
    turns: tuple[Event, ...]
    explanations: tuple[str, ...]
    choices: tuple[Choice, ...] = ()


@attrs.frozen
class Verdict:
    """What a property says of a state: its name, the verdict in words, and the verdict's class in the page's style."""

    name: str
    text: str
    looks: str


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
        files: what can be downloaded of it: the text of each file by its name.
    """

    name: str
    story: Story
    diagram: Diagram
    shown: tuple[StateView, ...]
    note: str = ""
    is_witness: bool = False
    files: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def start(self) -> StateView:
        """The state at which it opens: where the property is violated."""
        return self.shown[-1 if self.story.happened else 0]

    @property
    def turning_points(self) -> tuple[tuple[StateView, Event], ...]:
        """What decided the outcome, each with its state."""
        return tuple((self.shown[event.state], event) for event in self.story.happened)

    @property
    def heading(self) -> str:
        """What the trace is about, in a few words."""
        about = self.story.ending[0].partition(":")[0] if self.story.ending else self.story.title
        return f"{about}, {len(self.shown)} states"


def chapter(number: int, story: Story, note: str = "", is_witness: bool = False, link: Link | None = None) -> Chapter:
    """A trace for the page.

    Parameters:
        number: which of the page's traces it is, from 1.
        story: the trace.
        note: what else is to be said of it.
        is_witness: whether it shows what should be possible, and nothing that is wrong.
        link: where what else could happen at a state leads, if there is a server.
    """
    diagram, trace = story.diagram, story.trace
    explored = None if is_witness else trace
    first_explored = len(story.frames) - MOST_EXPLORED
    shown = tuple(
        StateView(
            name=f"t{number}-s{index + 1}",
            number=index + 1,
            frame=frame,
            changes=changes(story.frames[index - 1].rows, frame.rows) if index else (),
            holdings=holdings(frame.rows, diagram.rows[max(index - 1, 0)]) if diagram.has_pictures else (),
            turns=story.turns(index),
            explanations=story.explanations(index),
            choices=choices(explored, index, link) if explored is not None and index >= first_explored else (),
        )
        for index, frame in enumerate(story.frames)
    )
    return Chapter(f"t{number}", story, diagram_of(diagram), shown, note, is_witness, _files(story))


def _files(story: Story) -> dict[str, str]:
    files = {"trace.mmd": mermaid(story)}
    if story.trace is not None:
        files[f"trace{SUFFIX}"] = json.dumps(encode_trace(story.trace), indent=1)
    return files


def page(
    title: str,
    chapters: Sequence[Chapter],
    runs: Sequence[Run] = (),
    beside: int = 0,
    notes: Sequence[str] = (),
    above: Markup | None = None,
    origin: Origin | None = None,
    start: str = "",
    links: Sequence[tuple[str, str]] = (),
    verdicts: Sequence[Verdict] = (),
    grids: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page, as HTML.

    Parameters:
        title: what it is called.
        chapters: its traces. The page opens on the first one.
        runs: the runs that found them, if the page is of these too.
        beside: if not 0, the traces are shown side by side, the longest one first, at the state of this number.
        notes: what else is to be said of the whole page.
        above: what else is on the page, above the traces.
        origin: what made the results on it; None if that is not known.
        start: what a link to the state on which it opens ends with; by default the first trace decides.
        links: what else it leads to, as texts and addresses.
        verdicts: what each property says of the state on which it opens.
        grids: tables of the verdicts, shown in place of the list of runs.
    """
    files = {name: Markup((_FOLDER / f"page.{name}").read_text(encoding="utf-8")) for name in ("css", "js")}
    return rendered(
        "page.html",
        title=title,
        chapters=chapters,
        runs=runs,
        beside=beside,
        notes=notes,
        above=above,
        origin=origin,
        start=start,
        links=links,
        verdicts=verdicts,
        grids=grids,
        **files,
    )


def rendered(template: str, **values: Any) -> str:
    """A template of this folder, with values in it."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    return environment.get_template(template).render(**values)


def _visible(value: Any) -> Any:
    """What the template is about to write, before it escapes it; markup is ours and stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
