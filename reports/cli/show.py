"""The command `leadline show`, which shows saved traces and results, and draws state graphs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import attrs
import click

from leadline.checker.engines import searched
from leadline.checker.errors import LeadlineError, TraceError
from leadline.checker.result import Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.files import file_text
from leadline.checker.support.messages import counted
from leadline.checker.traces.graph import neighbourhood
from leadline.checker.traces.itf import SUFFIX, TraceFile, read_trace
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.options import (
    bounds_option,
    chosen_spec,
    invariant_option,
    look_option,
    no_invariants_option,
    refuse_options,
)
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.saved_traces import TraceView, note, trace_spec_option, view_of
from leadline.reports.exit_codes import AS_EXPECTED, USAGE
from leadline.reports.formats import FORMATS
from leadline.reports.html import chapter, page
from leadline.reports.html.run import RunWithTraces, run_page, title_of
from leadline.reports.lines import say
from leadline.reports.loading import is_shipped, names_a_file
from leadline.reports.runs.json_report import read_run, result_object, story_object
from leadline.reports.runs.run_view import RunView
from leadline.reports.terminal.console import console, is_plain
from leadline.reports.terminal.run import result_view
from leadline.reports.terminal.trace import story_view
from leadline.reports.traces.dot import MOST_DRAWN, dot, dot_of_all
from leadline.reports.traces.looks import Look

MOST_STATES = 3_000
"""The maximum number of states of a trace on a page. The time to write a page grows with the square of their number."""


_HELP = "text: human-readable text. " + " ".join(f"{name}: {form.help}." for name, form in FORMATS["trace"].items())


@click.command()
@click.argument("what", metavar="FILE|DIR|SPEC", shell_complete=complete_spec(".py", ".json"))
@click.option("--format", "form", type=click.Choice(["text", *FORMATS["trace"]]), help=f"{_HELP} The default is text.")
@format_options(FORMATS["saved"])
@look_option
@trace_spec_option
@bounds_option
@invariant_option
@no_invariants_option
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    help="If SPEC has more than N states, draw only the first counterexample and its neighbouring states. The default "
    f"is {MOST_DRAWN}.",
)
def show(
    what: str,
    form: str | None,
    looks: tuple[str, ...],
    spec: str | None,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    max_states: int | None,
    **wanted: Path | None,
) -> int:
    """Show what was saved: a trace, a folder of traces, or a result. With a SPEC, draw its state graph.

    FILE is a trace (.itf.json), or a result that --json wrote, with the traces that --trace-out saved in its folder or
    below it. DIR contains traces. Each trace is shown step by step, with each action and its changes. --html writes a
    self-contained page instead, --json an object with all traces, and --format converts a trace for other tools.

    A trace of a shipped spec, or of the spec that --spec names, is re-executed. Any other trace is shown as recorded. A
    trace that the spec no longer allows is called stale. It is also shown as recorded.

    The state graph of SPEC is written to standard output in the DOT language. If it has too many states, only the first
    counterexample and the states that are one step away from it are drawn.

    \b
    leadline show trace.itf.json
    leadline show trace.itf.json --format mermaid
    leadline show traces --html traces.html --spec my_protocol.py:spec
    leadline show result.json --html result.html
    leadline show my_protocol.py -b nodes=2 | dot -Tsvg > graph.svg

    Exit code 0: everything is shown; 1: a trace is stale; 2: usage error, or a trace cannot be read, and the remaining
    ones are shown; 3: the command was interrupted.
    """
    html = wanted["html"]
    drawn = {"bounds": bounds, "invariant": names, "no-invariants": no_invariants, "max-states": max_states}
    if is_shipped(what) or names_a_file(what) or not (os.path.exists(what) or what.endswith(".json")):
        refuse_options(
            {"format": form, **wanted, "look": looks, "spec": spec}, "is for saved traces and results, not for a spec"
        )
        return _draw(chosen_spec(what, bounds, names, no_invariants), max_states or MOST_DRAWN)
    refuse_options(drawn, "is for a spec, not for what was saved")
    if any(wanted.values()):
        refuse_options({"format": form}, "cannot be used with --html or --json")
    files = Files(FORMATS["saved"], wanted)
    given = [("--format", form), ("--html", html and str(html)), *(("--look", look) for look in looks)]
    command = ["show", what, *(word for name, value in given if value for word in (name, value))]
    view = functools.partial(view_of, command=command, looks=list(map(Look.of, looks)))
    content = _read(Path(what), spec, view, MOST_STATES if html is not None else None)
    if any(wanted.values()):
        files.write(content, f": {counted(len(content.views), 'trace')}")
    else:
        _print(content, form or "text")
    for line in dict.fromkeys([*(view.note for view in content.views if view.note), *content.left_out]):
        note(line)
    return USAGE if content.left_out else max((view.code for view in content.views), default=AS_EXPECTED)


@attrs.frozen
class _Content:
    """What a file or a folder contains.

    Attributes:
        by_property: the traces, keyed by the name of the property in a result. Otherwise the only key is empty.
        left_out: a message for each trace that cannot be read.
        run: the result, or None if there are only traces.
    """

    path: Path
    by_property: Mapping[str, list[TraceView]]
    left_out: list[str]
    run: RunView | None = None

    @property
    def views(self) -> list[TraceView]:
        """All traces."""
        return [view for those in self.by_property.values() for view in those]

    @property
    def page(self) -> str:
        """The HTML page."""
        if self.run is not None:
            stories = {name: [(view.story, view.note) for view in those] for name, those in self.by_property.items()}
            found = RunWithTraces(self.run.spec, self.run, stories)
            return run_page(title_of(self.run), [found], notes=self.left_out)
        title = f"leadline: {self.path.name or self.path.resolve().name}"
        chapters = [chapter(number, view.story, view.note) for number, view in enumerate(self.views, start=1)]
        if len(chapters) == 1:
            title = f"{chapters[0].heading} - {self.views[0].story.title.partition('  ')[0]}"
        return page(title, chapters, notes=self.left_out)

    @property
    def object(self) -> dict[str, object]:
        """The object for `json.dumps`."""
        traces = [
            {"property": name or view.about or None, "note": view.note or None, **story_object(view.story)}
            for name, those in self.by_property.items()
            for view in those
        ]
        result = None if self.run is None else result_object(self.run, {})
        return {"traces": traces, "left_out": self.left_out, "result": result}


def _print(content: _Content, form: str) -> None:
    """Print traces, and the result if there is one, in a format."""
    if form == "text":
        out = console()
        for view in content.views:
            out.print(story_view(view.story, plain=is_plain(out), width=out.width))
        if content.run is not None:
            out.print(result_view(content.run))
        return
    if len(content.views) != 1:
        raise LeadlineError(f"--format {form} converts one trace, but there are {len(content.views)}: pass its file")
    (view,) = content.views
    chosen = FORMATS["trace"][form]
    if chosen.needs_trace and view.trace is None:
        raise TraceError(f"--format {form} requires a trace that can be replayed: {view.reason}")
    say(chosen.write(view.trace if chosen.needs_trace else view.story))


def _draw(spec: Spec[object], max_states: int) -> int:
    """Print the state graph of a spec or, if it has more than `max_states` states, its first counterexample."""
    if (whole := dot_of_all(spec, max_states)) is not None:
        say(whole)
        return AS_EXPECTED
    found = searched(spec).properties
    traces = [trace for item in found if item.verdict is Verdict.VIOLATED for trace in item.traces]
    if not traces:
        raise LeadlineError(
            f"{spec.name} has more than {max_states:,} states, and no counterexample to draw: "
            "use smaller bounds or a larger --max-states"
        )
    say(dot(spec, neighbourhood(traces[0]), traces[0]))
    return AS_EXPECTED


def _read(path: Path, spec: str | None, view: Callable[..., TraceView], most: int | None) -> _Content:
    """Read what a file or folder contains.

    Parameters:
        spec: the spec that the user named, or None.
        view: a function that returns the view of a trace file, given the file and the spec that the user named.
        most: the maximum number of states of a trace, or None for any number.
    """
    about = None if path.is_dir() or path.name.endswith(SUFFIX) else _result(path)
    if about is not None:
        with _as_this_version_writes(path):
            run = read_run(about)
            named = {item["name"]: [str(file) for file in item["trace_files"]] for item in about["properties"]}
        by_property, left_out = dict[str, list[TraceView]](), list[str]()
        for name, files in named.items():
            found = {file: _beside(path, file) for file in files}
            recorded, torn = _traces((file for file in found.values() if file is not None), most)
            by_property[name] = [view(each, spec) for each in recorded]
            missing = [file for file, place in found.items() if place is None]
            left_out += [*torn, *(_left_out(f"{file} is not in the folder of {path} or below it") for file in missing)]
        return _Content(path, by_property, left_out, run)
    if not path.is_dir():
        return _Content(path, {"": [view(_short_enough(path, most), spec)]}, [])
    files_in_it = [file for file in sorted(path.glob(f"*{SUFFIX}")) if file.is_file()]
    if not files_in_it:
        raise TraceError(f"there is no {SUFFIX} file in {path}")
    recorded, left_out = _traces(files_in_it, most)
    views = [view(each, None if is_shipped(each.spec) else spec) for each in recorded]
    return _Content(path, {"": views}, left_out)


def _traces(files: Iterable[Path], most: int | None) -> tuple[list[TraceFile], list[str]]:
    """Read trace files. Return the traces, and a message for each file that cannot be read."""
    recorded, left_out = list[TraceFile](), list[str]()
    for file in files:
        try:
            recorded.append(_short_enough(file, most))
        except TraceError as error:
            left_out.append(_left_out(str(error)))
    return recorded, left_out


def _short_enough(file: Path, most: int | None) -> TraceFile:
    """Read the trace in a file. Raise TraceError if the trace cannot be read, or is too long for a page."""
    recorded = read_trace(file)
    if most is not None and len(recorded.states) > most:
        raise TraceError(
            f"{file} has {len(recorded.states):,} states, but a page can show at most {most:,}: leave out --html"
        )
    return recorded


def _left_out(why: str) -> str:
    return visible(f"not shown: {why}")


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
    """Return the path of a trace file that a result names, or None if the result's folder does not contain it.

    The result may have been moved together with its traces, or written from a different working directory. Therefore
    the function looks for the longest suffix of the path that exists in the result's folder. No file outside that
    folder is read.
    """
    parts = [part for part in PurePath(named).parts if part not in ("..", PurePath(named).anchor)]
    places = (result.parent.joinpath(*parts[start:]) for start in range(len(parts)))
    return next((place for place in places if os.path.isfile(place)), None)  # False for a name that no file can have
