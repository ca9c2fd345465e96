"""The command `leadline report`, which writes an HTML page of saved results and traces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import click

from leadline.checker.errors import LeadlineError, TraceError
from leadline.checker.support.escapes import visible
from leadline.checker.support.files import file_text
from leadline.checker.support.messages import counted
from leadline.checker.traces.itf import SUFFIX, TraceFile, read_trace
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.cli.trace import TraceView, note, view_of
from leadline.reports.exit_codes import AS_EXPECTED, USAGE
from leadline.reports.formats.saved import SAVED_FORMATS, Saved
from leadline.reports.html import chapter
from leadline.reports.html.run import RunWithTraces, title_of
from leadline.reports.lines import say
from leadline.reports.loading import is_shipped
from leadline.reports.runs.json_report import read_run

MOST_STATES = 3_000
"""The maximum number of states of a trace on a page. The time to write a page grows with the square of their number."""


@click.command()
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@format_options(SAVED_FORMATS)
@click.option(
    "--spec",
    metavar="SPEC",
    help="The spec to use for the trace. If DIR is given, SPEC is used for all traces that do not name a shipped spec. "
    "If SPEC is a Python file (path/to/file.py:name), the file is run.",
)
def report(path: Path, spec: str | None, **wanted: Path) -> int:
    """Write an HTML page that shows the trace in FILE, or the traces in all .itf.json files in DIR.

    FILE can also be a result written with --json. The page then shows the run. It also shows the traces that were saved
    with --trace-out if they are in the folder of FILE or below it. The page is self-contained, so it can be stored as
    an artifact of a CI system. If the spec of a trace is neither shipped nor named with --spec, the trace is shown as
    recorded.

    Exit code 0: the page shows all traces; 1: a trace is stale, because the model no longer allows it; 2: a trace could
    not be read, and the page shows the remaining traces.

    \b
    leadline report traces --html traces.html
    leadline report traces --html traces.html --spec my_protocol.py:spec
    leadline report result.json --html result.html
    """
    title = f"leadline: {path.name or path.resolve().name}"
    files = Files(SAVED_FORMATS, wanted)
    command = ["report", str(path), "--html", str(wanted["html"])]
    about = None if path.is_dir() or path.name.endswith(SUFFIX) else _result(path)
    if about is None:
        views, left_out = _views_of(path, spec, command)
        chapters = [chapter(number, view.story, view.note) for number, view in enumerate(views, start=1)]
        if len(chapters) == 1:
            title = f"{chapters[0].heading} - {views[0].story.title.partition('  ')[0]}"
        saved = Saved(title, chapters=chapters, notes=left_out)
    else:
        by_property, left_out = _views_of_result(path, about, spec, command)
        views = [view for those in by_property.values() for view in those]
        stories = {name: [(view.story, view.note) for view in those] for name, those in by_property.items()}
        with _as_this_version_writes(path):
            run = read_run(about)
        saved = Saved(title_of(run), run=RunWithTraces(run.spec, run, stories), notes=left_out)
    files.save(saved, attempt := Attempts())
    attempt.raise_failures()
    for line in dict.fromkeys([*(view.note for view in views if view.note), *left_out]):
        note(line)
    for written in files.saved:
        say(f"saved {visible(str(written))}: {counted(len(views), 'trace')}")
    return USAGE if left_out else max((view.code for view in views), default=AS_EXPECTED)


def _views_of(path: Path, spec: str | None, command: list[str]) -> tuple[list[TraceView], list[str]]:
    """Return the trace in a file or all traces in a folder. Also return a message for each file that cannot be read."""
    if not path.is_dir():
        return [view_of(_short_enough(path), spec, command)], []
    files = [file for file in sorted(path.glob(f"*{SUFFIX}")) if file.is_file()]
    if not files:
        raise TraceError(f"there is no {SUFFIX} file in {path}")
    recorded, left_out = _read(files)
    return [view_of(each, None if is_shipped(each.spec) else spec, command) for each in recorded], left_out


def _views_of_result(
    path: Path, about: dict[str, Any], spec: str | None, command: list[str]
) -> tuple[dict[str, list[TraceView]], list[str]]:
    """Return the traces for each property in a result, and a message for each trace file that cannot be read."""
    with _as_this_version_writes(path):
        named = {item["name"]: [str(file) for file in item["trace_files"]] for item in about["properties"]}
    views, left_out = dict[str, list[TraceView]](), list[str]()
    for name, files in named.items():
        found = {file: _beside(path, file) for file in files}
        recorded, torn = _read(file for file in found.values() if file is not None)
        views[name] = [view_of(each, spec, command) for each in recorded]
        missing = [file for file, place in found.items() if place is None]
        left_out += [*torn, *(_left_out(f"{file} is not in the folder of {path} or below it") for file in missing)]
    return views, left_out


def _read(files: Iterable[Path]) -> tuple[list[TraceFile], list[str]]:
    """Read trace files. Return the traces, and a message for each file that cannot be read."""
    recorded, left_out = list[TraceFile](), list[str]()
    for file in files:
        try:
            recorded.append(_short_enough(file))
        except TraceError as error:
            left_out.append(_left_out(str(error)))
    return recorded, left_out


def _short_enough(file: Path) -> TraceFile:
    """Read the trace in a file. Raise TraceError if the trace cannot be read, or is too long for a page."""
    recorded = read_trace(file)
    if len(recorded.states) > MOST_STATES:
        raise TraceError(
            f"{file} has {len(recorded.states):,} states, but a page can show at most {MOST_STATES:,}: "
            "use `leadline trace`"
        )
    return recorded


def _left_out(why: str) -> str:
    return visible(f"not on the page: {why}")


def _result(path: Path) -> dict[str, Any] | None:
    """Read a result from a file. Return its JSON object, or None if the file does not contain a result."""
    try:
        content = json.loads(file_text(path))
    except (OSError, ValueError, RecursionError):
        return None  # it is then read as a trace, and an error says what is wrong
    return content if isinstance(content, dict) and "distinct_states" in content else None


@contextmanager
def _as_this_version_writes(path: Path) -> Iterator[None]:
    """Convert any error that occurs while a result is read into a LeadlineError that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LeadlineError(
            f"{path} was not written by this version of leadline: create it again with --json"
        ) from error


def _beside(result: Path, named: str) -> Path | None:
    """Return the path of a trace file that a result names. Return None if there is no such file in or below the
    result's folder.

    The result may have been moved together with its traces, or written from a different working directory. Therefore
    the function looks for the longest suffix of the path that exists in the result's folder. No file outside that
    folder is read.
    """
    parts = [part for part in PurePath(named).parts if part not in ("..", PurePath(named).anchor)]
    places = (result.parent.joinpath(*parts[start:]) for start in range(len(parts)))
    return next((place for place in places if os.path.isfile(place)), None)  # False for a name that no file can have
