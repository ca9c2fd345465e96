"""`leadline trace` and `leadline replay`: saved counterexamples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.errors import LeadlineError, SpecError, TraceError
from checker.itf import TraceFile, read_trace
from checker.names import counted
from checker.replay import replay as replay_trace
from checker.spec import Spec
from reports.exit_codes import AS_EXPECTED, VIOLATED
from reports.loading import load_spec
from reports.story import story_of, story_of_file
from reports.terminal import console, is_plain, story_view

_file = click.argument("file", type=click.Path(path_type=Path))
_spec = click.option("--spec", metavar="SPEC", help="The spec, if it is not where the file says.")


@click.command(short_help="Show a saved trace, step by step.")
@_file
@_spec
def trace(file: Path, spec: str | None) -> int:
    """Show the trace in FILE (.itf.json) step by step: each action, and what it changed.

    If the spec is at hand, the trace is re-executed on it; if not, the file is shown as it is written, and
    so is a trace that is stale: the model does not go there any more. That ends with exit code 1.
    """
    recorded = read_trace(file)
    out, code = console(), AS_EXPECTED
    try:
        chosen = _chosen(recorded, spec)
        story = story_of(replay_trace(chosen, recorded))
    except TraceError as error:
        story, code = story_of_file(recorded), VIOLATED
        _note(f"stale, so shown as recorded: {error}")
    except LeadlineError as error:
        if spec is not None:
            raise
        story = story_of_file(recorded)
        _note(f"shown as recorded, not replayed: {error}")
    out.print(story_view(story, plain=is_plain(out), width=out.width))
    return code


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
