"""The commands `leadline trace` and `leadline replay`, which show and replay saved counterexamples.

A trace file is untrusted data. It may name a shipped spec, and is then compared with that spec. A Python file that it
names is run only if the user names the same file on the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import attrs
import click

from leadline.checker.errors import LeadlineError, SpecError, TraceError
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.itf import TraceFile, read_trace
from leadline.checker.traces.replay import replay as replay_trace
from leadline.reports.exit_codes import AS_EXPECTED, VIOLATED
from leadline.reports.formats.traces import TRACE_FORMATS
from leadline.reports.lines import say
from leadline.reports.loading import load_spec, names_a_file, shipped_spec
from leadline.reports.terminal.console import console, is_plain
from leadline.reports.terminal.trace import story_view
from leadline.reports.traces.story import Story, story_of, story_of_file

_file = click.argument("file", type=click.Path(path_type=Path))
_spec = click.option(
    "--spec",
    metavar="SPEC",
    help="The spec to use for the trace, if FILE does not name a shipped spec. If SPEC is a Python file "
    "(path/to/file.py:name), the file is run.",
)


_HELP = "text: human-readable text. " + " ".join(f"{name}: {form.help}." for name, form in TRACE_FORMATS.items())


@click.command()
@_file
@_spec
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", *TRACE_FORMATS]),
    default="text",
    show_default=True,
    help=_HELP,
)
def trace(file: Path, spec: str | None, form: str) -> int:
    """Show the trace in FILE (.itf.json) step by step, with each action and its changes.

    A trace of a shipped spec, or of the spec that --spec names, is re-executed. Any other trace is shown as recorded.
    A trace that the spec no longer allows is called stale. It is also shown as recorded.

    Exit code 0: the trace is shown; 1: the trace is stale; 2: usage error, or FILE is not a trace.
    """
    view = view_of(read_trace(file), spec, ["trace", str(file), *(["--format", form] if form != "text" else [])])
    if form == "text":
        out = console()
        out.print(story_view(view.story, plain=is_plain(out), width=out.width))
    elif (text := TRACE_FORMATS[form].text(view.story, view.trace)) is not None:
        say(text)
    else:
        raise TraceError(f"--format {form} requires a trace that can be replayed: {view.reason}")
    if view.note:
        note(view.note)
    return view.code


@attrs.frozen
class TraceView:
    """The contents of a trace file, replayed if possible.

    Attributes:
        story: the trace in the form that views show.
        trace: the replayed trace, or None if the trace was not replayed.
        reason: why the trace was not replayed. Empty if it was replayed. Hidden characters are escaped with `visible`.
        code: the exit code. It is `VIOLATED` if the trace is stale, which means that the spec no longer allows the
            trace.
    """

    story: Story
    trace: Trace[object] | None = None
    reason: str = attrs.field(default="", converter=visible)
    code: int = AS_EXPECTED

    @property
    def note(self) -> str:
        """A sentence to show with the trace if it was not replayed. Empty otherwise."""
        if not self.reason:
            return ""
        if self.code == VIOLATED:
            return f"the trace is stale, so it is shown as recorded: {self.reason}"
        return f"the trace is shown as recorded, not replayed: {self.reason}"


def view_of(recorded: TraceFile, spec: str | None, command: Sequence[str]) -> TraceView:
    """Return the view of a trace file. The trace is replayed if its spec may be run.

    Parameters:
        recorded: the contents of the file.
        spec: the spec that the user named, or None.
        command: the command line up to the option --spec, for messages.

    Raises:
        LeadlineError: if the spec that the user named does not exist.
    """
    try:
        followed = replay_trace(_chosen(recorded, spec, command), recorded)
        return TraceView(story_of(followed), followed)
    except TraceError as error:
        return TraceView(story_of_file(recorded), reason=str(error), code=VIOLATED)
    except LeadlineError as error:
        if spec is not None:
            raise
        return TraceView(story_of_file(recorded), reason=str(error))


@click.command()
@_file
@_spec
@click.option(
    "--on",
    metavar="VERSION",
    help="Also execute the steps on real brokers that run this release of Kafka, for example 2.8.0.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the brokers' logs, data directories and recording in this folder. Requires --on.",
)
def replay(file: Path, spec: str | None, on: str | None, keep: Path | None) -> int:
    """Re-execute every action of the trace in FILE on the model and, with --on, on real brokers.

    Each recorded state must be reached, and the last state must still violate the property. With --on, the brokers'
    logs, high watermarks, leader, ISR and messages in flight are compared with the model after each step.

    Exit code 0: the model allows the trace, and the brokers behave like the model; 1: the trace is stale, or the
    brokers behave differently, and the first difference is reported; 2: usage error, or the brokers cannot be started;
    3: the brokers did not execute a step.
    """
    if keep is not None and on is None:
        raise click.UsageError("--keep requires --on")
    recorded = read_trace(file)
    if on is not None and recorded.loop is not None:
        raise click.UsageError("--on cannot replay a trace with a loop: brokers cannot repeat it for ever")
    chosen = _chosen(recorded, spec, ["replay", str(file)])
    try:
        followed = replay_trace(chosen, recorded)
    except TraceError as error:
        say(f"stale: {visible(str(error))}")
        return VIOLATED
    about = (
        f", which {'shows' if followed.about.kind.is_witness else 'violates'} {followed.about.name}"
        if followed.about
        else ""
    )
    say(visible(f"as recorded: {chosen.name}, {counted(len(followed), 'state')}{about}"))
    if on is None:
        return AS_EXPECTED
    from leadline.reports.cli.reproduce import replay_on  # other commands do not import brokers

    return replay_on(followed, on, keep)


def _chosen(recorded: TraceFile, spec: str | None, command: Sequence[str]) -> Spec[object]:
    """Return the spec that the user named. If there is none, return the shipped spec that the trace file names, with
    the bounds in this file.
    """
    if spec is not None:
        return load_spec(spec).with_bounds(recorded.bounds)
    if recorded.spec is None:
        raise SpecError("the file does not name its spec: pass it with --spec")
    if names_a_file(recorded.spec):
        raise SpecError(
            f"{recorded.spec} is a Python file, and leadline runs such a file only if you pass it with --spec. "
            f"To replay the trace, type: {_line(command, recorded.spec)}"
        )
    try:
        shipped = shipped_spec(recorded.spec)
    except SpecError as error:
        raise SpecError(f"{error}; if the spec was renamed, pass its name with --spec") from error
    return shipped.with_bounds(recorded.bounds)


def _line(command: Sequence[str], spec: str) -> str:
    """Return the command line with the option --spec. If the spec's name has hidden characters, use a placeholder for
    the name.
    """
    typed = spec if visible(spec) == spec else "PATH:NAME"
    return shlex.join(["leadline", *command, "--spec", typed])


def note(text: str) -> None:
    """Print a note on standard error."""
    console(stderr=True).print(f"leadline: {text}", style="yellow", soft_wrap=True)  # one line, however long
