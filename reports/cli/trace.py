"""`leadline trace` and `leadline replay`: saved counterexamples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import click

from checker.errors import LeadlineError, SpecError, TraceError
from checker.graph import neighbourhood
from checker.itf import TraceFile, encode_trace, read_trace
from checker.names import counted
from checker.replay import replay as replay_trace
from checker.spec import Spec
from checker.trace import Trace
from reports.dot import dot
from reports.exit_codes import AS_EXPECTED, VIOLATED
from reports.json_report import story_object
from reports.loading import load_spec
from reports.mermaid import mermaid
from reports.shiviz import shiviz
from reports.story import Story, story_of, story_of_file
from reports.terminal import console, is_plain, story_view

_file = click.argument("file", type=click.Path(path_type=Path))
_spec = click.option("--spec", metavar="SPEC", help="The spec, if it is not where the file says.")


FORMATS = ("text", "mermaid", "dot", "shiviz", "itf", "json")


@click.command(short_help="Show a saved trace, step by step, or in a format for other tools.")
@_file
@_spec
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="mermaid: a sequence diagram for Markdown. dot: the trace among the states next to it, for Graphviz. "
    "shiviz: a log with vector clocks. itf: the Informal Trace Format. json: what the text shows.",
)
def trace(file: Path, spec: str | None, form: str) -> int:
    """Show the trace in FILE (.itf.json) step by step: each action, and what it changed.

    If the spec is at hand, the trace is re-executed on it; if not, the file is shown as it is written, and
    so is a trace that is stale: the model does not go there any more. That ends with exit code 1.
    """
    told = tell(read_trace(file), spec)
    if told.note:
        _note(told.note)
    out = console()
    match form:
        case "text":
            out.print(story_view(told.story, plain=is_plain(out), width=out.width))
        case "mermaid":
            click.echo(mermaid(told.story), nl=False)
        case "shiviz":
            click.echo(shiviz(told.story), nl=False)
        case "json":
            click.echo(json.dumps(story_object(told.story), indent=1))
        case _ if told.trace is None:
            raise TraceError(f"--format {form} needs the model, which does not follow {file}: {told.note}")
        case "dot":
            click.echo(dot(neighbourhood(told.trace), told.trace.spec.initials(), told.trace), nl=False)
        case "itf":
            click.echo(json.dumps(encode_trace(told.trace), indent=1))
    return told.code


@attrs.frozen
class Told:
    """What can be shown of a trace file.

    Attributes:
        story: the trace as views show it.
        trace: the trace re-executed; None if the model does not follow it, or is not at hand.
        note: why it was not re-executed; empty if it was.
        code: the exit code: `VIOLATED` if it is stale.
    """

    story: Story
    trace: Trace[Any] | None = None
    note: str = ""
    code: int = AS_EXPECTED


def tell(recorded: TraceFile, spec: str | None = None) -> Told:
    """Re-execute a trace file if its spec is at hand, else take it as it is written.

    Parameters:
        recorded: what the file says.
        spec: the spec, if it is not the one that the file names.

    Raises:
        LeadlineError: the spec that was named is not there.
    """
    try:
        followed = replay_trace(_chosen(recorded, spec), recorded)
        return Told(story_of(followed), followed)
    except TraceError as error:
        return Told(story_of_file(recorded), note=f"stale, so shown as recorded: {error}", code=VIOLATED)
    except LeadlineError as error:
        if spec is not None:
            raise
        return Told(story_of_file(recorded), note=f"shown as recorded, not replayed: {error}")


@click.command(short_help="Re-execute a saved trace on the model, and say where it departs.")
@_file
@_spec
def replay(file: Path, spec: str | None) -> int:
    """Re-execute every action of the trace in FILE on the model.

    Checks each recorded state, and that the end still violates the property. Exit code 0: all is as
    recorded; 1: the trace is stale, and a line says at which step and how.
    """
    recorded = read_trace(file)
    chosen = _chosen(recorded, spec)
    try:
        followed = replay_trace(chosen, recorded)
    except TraceError as error:
        click.echo(f"stale: {error}")
        return VIOLATED
    about = (
        f", which {'shows' if followed.about.kind.is_witness else 'violates'} {followed.about.name}"
        if followed.about
        else ""
    )
    click.echo(f"as recorded: {chosen.name}, {counted(len(followed), 'state')}{about}")
    return AS_EXPECTED


def _chosen(recorded: TraceFile, spec: str | None) -> Spec[Any]:
    """The spec that is named, else the one that the file names, with the file's bounds."""
    if spec is None and recorded.spec is None:
        raise SpecError("the file does not say which spec it is of: name it with --spec")
    try:
        found = load_spec(spec or recorded.spec or "")
    except LeadlineError as error:
        if spec is not None:
            raise
        raise SpecError(f"{error}; if the spec is elsewhere now, name it with --spec") from error
    return found.with_bounds(recorded.bounds)


def _note(text: str) -> None:
    console(stderr=True).print(f"leadline: {text}", style="yellow", soft_wrap=True)  # one line, however long
