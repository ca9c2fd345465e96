"""`leadline trace` and `leadline replay`: saved counterexamples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.errors import LeadlineError, TraceError
from checker.itf import TraceFile, read_trace
from checker.replay import replay as replay_trace
from checker.trace import Trace
from reports.exit_codes import AS_EXPECTED, VIOLATED
from reports.loading import load_spec
from reports.story import story_of, story_of_file
from reports.terminal import console, is_plain, story_view

_file = click.argument("file", type=click.Path(path_type=Path))
_spec = click.option("--spec", metavar="SPEC", help="The spec, if it is not where the file says.")


@click.command(short_help="Show a saved trace, step by step.")
@_file
@_spec
def trace(file: Path, spec: str | None) -> None:
    """Show the trace in FILE (.itf.json) step by step: each action, and what it changed.

    If the spec is at hand, the trace is re-executed on it; if not, the file is shown as it is written.
    """
    recorded = read_trace(file)
    out = console()
    try:
        story = story_of(_replayed(recorded, spec))
    except LeadlineError as error:
        if spec is not None:
            raise
        note = f"leadline: shown as recorded, not replayed: {error}"
        console(stderr=True).print(note, style="yellow", soft_wrap=True)  # one line, however long
        story = story_of_file(recorded)
    out.print(story_view(story, plain=is_plain(out)))


@click.command(short_help="Re-execute a saved trace on the model, and say where it departs.")
@_file
@_spec
def replay(file: Path, spec: str | None) -> int:
    """Re-execute every action of the trace in FILE on the model.

    Checks each recorded state, and that the end still violates the property. Exit code 0: all is as
    recorded; 1: the trace is stale, and a line says at which step and how.
    """
    recorded = read_trace(file)
    reference = _reference(recorded, spec)
    chosen = load_spec(reference).with_bounds(recorded.bounds)
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
    click.echo(f"as recorded: {chosen.name}, {len(followed)} states{about}")
    return AS_EXPECTED


def _replayed(recorded: TraceFile, spec: str | None) -> Trace[Any]:
    return replay_trace(load_spec(_reference(recorded, spec)).with_bounds(recorded.bounds), recorded)


def _reference(recorded: TraceFile, spec: str | None) -> str:
    if spec is None and recorded.spec is None:
        raise TraceError("the file does not say which spec it is of: name it with --spec")
    return spec or recorded.spec or ""
