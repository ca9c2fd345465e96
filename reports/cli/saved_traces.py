"""Saved traces, which `leadline show` shows and `leadline replay` re-executes.

A trace file is untrusted data. It may name a shipped spec, and is then compared with that spec. A Python file that it
names is run only if the user names the same file on the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import attrs
import click

from leadline.checker.errors import LeadlineError, SpecError, TraceError
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.checker.traces.itf import TraceFile
from leadline.checker.traces.replay import replay as replay_trace
from leadline.reports.cli.completion import complete_spec
from leadline.reports.diagnosis import archived_bugs, lines
from leadline.reports.exit_codes import AS_EXPECTED, VIOLATED
from leadline.reports.loading import load_spec, names_a_file, shipped_spec
from leadline.reports.terminal.console import console
from leadline.reports.traces.looks import Look, looked_at
from leadline.reports.traces.story import Story, story_of, story_of_file

trace_spec_option = click.option(
    "--spec",
    metavar="SPEC",
    shell_complete=complete_spec(".py"),
    help="The spec to use for saved traces that do not name a shipped spec. If SPEC is a Python file "
    "(path/to/file.py:name), the file is run.",
)


@attrs.frozen
class TraceView:
    """The contents of a trace file, replayed if possible.

    Attributes:
        story: the trace in the form that views show.
        trace: the replayed trace, or None if the trace was not replayed.
        known: which archived bug the trace shows. Empty if none is known.
        about: the name of the property that the file names. Empty if it names none.
        reason: why the trace was not replayed. Empty if it was replayed. Hidden characters are escaped with `visible`.
        code: the exit code. It is `VIOLATED` if the trace is stale, which means that the spec no longer allows the
            trace.
    """

    story: Story
    trace: Trace[object] | None = None
    known: str = attrs.field(default="", converter=visible)
    about: str = attrs.field(default="", converter=visible)
    reason: str = attrs.field(default="", converter=visible)
    code: int = AS_EXPECTED

    @property
    def note(self) -> str:
        """A sentence to show with the trace: which bug it shows, or why it was not replayed. Empty if there is none."""
        if not self.reason:
            return self.known
        if self.code == VIOLATED:
            return f"the trace is stale, so it is shown as recorded: {self.reason}"
        return f"the trace is shown as recorded, not replayed: {self.reason}"


def view_of(recorded: TraceFile, spec: str | None, command: Sequence[str], looks: Sequence[Look] = ()) -> TraceView:
    """Return the view of a trace file. The trace is replayed if its spec may be run.

    Parameters:
        spec: the spec that the user named, or None.
        command: the command line up to the option --spec, for messages.
        looks: expressions whose values are shown with each state of a replayed trace.

    Raises:
        LeadlineError: if the spec that the user named does not exist, or if values of expressions are wanted of a trace
            whose spec may not be run.
    """
    about = recorded.about or ""
    try:
        followed = looked_at(replay_trace(spec_of_file(recorded, spec, command), recorded), looks)
        found = archived_bugs(followed)
        return TraceView(story_of(followed), followed, "; ".join(lines(found)) if found is not None else "", about)
    except TraceError as error:
        return TraceView(story_of_file(recorded), about=about, reason=str(error), code=VIOLATED)
    except LeadlineError as error:
        if spec is not None or looks:
            raise
        return TraceView(story_of_file(recorded), about=about, reason=str(error))


def spec_of_file(recorded: TraceFile, spec: str | None, command: Sequence[str]) -> Spec[object]:
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
