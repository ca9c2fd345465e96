"""`leadline report`: saved results and traces as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from checker.errors import LeadlineError, TraceError
from checker.itf import SUFFIX, read_trace
from checker.names import counted
from reports.cli.options import writing
from reports.cli.trace import Told, tell
from reports.exit_codes import AS_EXPECTED
from reports.html import chapter, page
from reports.html.run import Found, run_page


@click.command(short_help="Make a page of saved results and traces, to look at in a browser.")
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--html", "out", required=True, metavar="OUT", type=click.Path(path_type=Path), help="The page's file.")
@click.option("--spec", metavar="SPEC", help="The spec, if it is not where the files say.")
def report(path: Path, out: Path, spec: str | None) -> int:
    """Make one HTML file of the trace in FILE, or of every .itf.json file in DIR.

    FILE may also be a result that --json wrote: then the page is of the run, with the traces that --trace-out
    saved. The page needs nothing else, and no network: it opens from a CI system's artifacts. Exit code 1: a
    trace is stale, and shown as it was recorded.

    \b
    leadline report traces --html traces.html
    leadline report result.json --html result.html
    """
    title = f"leadline: {path.name or path.resolve().name}"
    about = None if path.is_dir() or path.name.endswith(SUFFIX) else _result(path)
    text, told = _traces_page(title, path, spec) if about is None else _result_page(title, path, about, spec)
    with writing(out):
        out.write_text(text, encoding="utf-8")
    click.echo(f"saved {out}: {counted(len(told), 'trace')}")
    return max((each.code for each in told), default=AS_EXPECTED)


def _traces_page(title: str, path: Path, spec: str | None) -> tuple[str, list[Told]]:
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise TraceError(f"there is no {SUFFIX} file in {path}")
    told = [tell(read_trace(file), spec) for file in files]
    return page(title, [chapter(number, each.story, each.note) for number, each in enumerate(told, start=1)]), told


def _result(path: Path) -> dict[str, Any] | None:
    """What a file says of a result; None if it is about something else, or about nothing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # who reads it as a trace says what is wrong with it
    return content if isinstance(content, dict) and "distinct_states" in content else None


def _result_page(title: str, path: Path, about: dict[str, Any], spec: str | None) -> tuple[str, list[Told]]:
    with _as_this_version_writes(path):
        files = {item["name"]: [Path(file) for file in item["trace_files"]] for item in about["properties"]}
    told = {name: [tell(read_trace(_at_hand(file, path)), spec) for file in those] for name, those in files.items()}
    stories = {name: [(each.story, each.note) for each in traces] for name, traces in told.items()}
    with _as_this_version_writes(path):
        text = run_page(title, [Found(about["spec"], about, stories)])
    return text, [each for traces in told.values() for each in traces]


@contextmanager
def _as_this_version_writes(path: Path) -> Iterator[None]:
    """While a result is read. Raises LeadlineError: it is not as `result_object` makes it; names its file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LeadlineError(f"{path} is not a result as this version writes it: make it anew with --json") from error


def _at_hand(file: Path, result: Path) -> Path:
    """A trace file where the result says that it is, or beside the result, if they were moved together."""
    beside = result.parent / file.name
    return beside if beside.is_file() and not file.is_file() else file
