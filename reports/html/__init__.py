"""Write the HTML page of traces. It is a single file that needs neither a network nor a server.

Without JavaScript, the page shows all states one below the other. With JavaScript, it shows one state at a time, with
buttons and keys to move between states.

Read the modules in this order: this module makes the page of traces from `page.html`. `diagram` and `labels` make the
space-time diagram, `holdings` makes the logs, and `changes` and `choices` make the lists of changes and enabled steps.
`run` makes the page of runs, and `plots` draws. The other pages are documents (`leadline.reports.document`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leadline.checker.drawing import Event
from leadline.checker.support.escapes import visible
from leadline.checker.traces.itf import SUFFIX, encode_trace
from leadline.reports.html.changes import Change, changes
from leadline.reports.html.choices import Choice, Link, choices
from leadline.reports.html.diagram import Diagram, diagram_of
from leadline.reports.html.holdings import Holding, holdings
from leadline.reports.origin import Origin
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.source import StepSource, source_of
from leadline.reports.traces.story import Frame, Story

if TYPE_CHECKING:
    from leadline.reports.html.run import RunSection

MOST_EXPLORED = 60
"""The maximum number of states for which the page lists all enabled steps, and the source of the step before. These are
the last states of the trace.
"""

_FOLDER = Path(__file__).parent


@attrs.frozen
class StateView:
    """A state of a trace, in the form that the page template needs.

    Attributes:
        name: the URL fragment that identifies the state.
        number: the number of the state, from 1.
        frame: the state, with the preceding step.
        changes: the cells that the step changed.
        holdings: the cells and marks of each row. Empty if the spec does not draw cells and marks.
        turns: the events that happened in this state and decided the outcome of the trace.
        explanations: how the preceding step decided the outcome of the trace. Empty if it did not.
        choices: the steps that are enabled in the state. Empty if they were not computed.
        source: the lines of the action that ran in the preceding step, or None if they are not known.
    """

    name: str
    number: int
    frame: Frame
    changes: tuple[Change, ...]
    holdings: tuple[Holding, ...]
    turns: tuple[Event, ...]
    explanations: tuple[str, ...]
    choices: tuple[Choice, ...] = ()
    source: StepSource | None = None


@attrs.frozen
class StateVerdict:
    """The verdict of a property on one state.

    Attributes:
        looks: the CSS class of the verdict.
    """

    name: str
    text: str
    looks: str


@attrs.frozen
class Chapter:
    """A trace, in the form that the page template needs.

    Attributes:
        name: the URL fragment that identifies the trace.
        diagram: the space-time diagram of the trace.
        is_witness: true if the trace shows a witness and is not a counterexample.
        files: the contents of the files that the page offers for download, keyed by file name.
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
        """The state that the page shows first: the last state if the trace is about a property, otherwise the first."""
        return self.shown[-1 if self.story.happened else 0]

    @property
    def turning_points(self) -> tuple[tuple[StateView, Event], ...]:
        """The events that decided the outcome of the trace, each with the state in which it happened."""
        return tuple((self.shown[event.state], event) for event in self.story.happened)

    @property
    def heading(self) -> str:
        """A short heading: the subject of the trace and the number of its states."""
        about = self.story.ending[0].partition(":")[0] if self.story.ending else self.story.title.partition("  ")[0]
        return f"{about}, {len(self.shown)} states"


def chapter(number: int, story: Story, note: str = "", is_witness: bool = False, link: Link | None = None) -> Chapter:
    """Prepare a trace for the page template.

    Parameters:
        number: the number of the trace on the page, from 1.
        is_witness: true if the trace shows a witness and is not a counterexample.
        link: a function that returns the address of the page that shows the state after a step, or None if there is no
            server.
    """
    diagram, trace = story.diagram, story.trace
    explored = None if is_witness else trace
    first_explored = len(story.frames) - MOST_EXPLORED
    steps = [None, *trace.steps] if trace is not None else [None] * len(story.frames)
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
            source=source_of(step) if step is not None and index >= first_explored else None,
        )
        for index, (frame, step) in enumerate(zip(story.frames, steps, strict=True))
    )
    return Chapter(f"t{number}", story, diagram_of(diagram, story.loop), shown, note, is_witness, _files(story))


def _files(story: Story) -> dict[str, str]:
    files = {"trace.mmd": mermaid(story)}
    if story.trace is not None:
        files[f"trace{SUFFIX}"] = json.dumps(encode_trace(story.trace), indent=1)
    return files


def page(
    title: str,
    chapters: Sequence[Chapter],
    runs: Sequence[RunSection] = (),
    beside: int = 0,
    notes: Sequence[str] = (),
    above: Markup | None = None,
    origin: Origin | None = None,
    start: str = "",
    links: Sequence[tuple[str, str]] = (),
    verdicts: Sequence[StateVerdict] = (),
) -> str:
    """Return the HTML page of traces.

    Parameters:
        chapters: the traces. The page opens on the first trace.
        runs: the runs that found the traces. Empty if the page shows only traces.
        beside: the number of the state from which the page shows the traces side by side, or 0 to show one trace at a
            time.
        above: HTML that the page shows above the traces.
        origin: the version and command that produced the results, or None if they are not known.
        start: the URL fragment of the state that the page shows first. By default, the `start` of the first trace.
        links: further links. Each is a (link text, address) pair.
        verdicts: the verdict of each property on the state that the page shows first.
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
        **files,
    )


def page_script_hash() -> str:
    """Return the hash of the script in `page`, as a content security policy names it."""
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    digest = hashlib.sha256(f"\n{script}\n".encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def rendered(template: str, **values: object) -> str:
    """Render a template from this module's folder, and return the result.

    Parameters:
        values: the values of the variables in the template, keyed by name.
    """
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    return environment.get_template(template).render(**values)


def _visible(value: object) -> object:
    """Replace the invisible characters in a string. The template then escapes the string. Return other values
    unchanged.
    """
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
