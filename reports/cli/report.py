"""`leadline report`: saved traces as a page."""

from __future__ import annotations

from pathlib import Path

import click

from checker.errors import TraceError
from checker.itf import SUFFIX, read_trace
from checker.names import counted
from reports.cli.options import writing
from reports.cli.trace import tell
from reports.html import chapter, page


@click.command(short_help="Make a page of saved traces, to look at in a browser.")
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--html", "out", required=True, metavar="OUT", type=click.Path(path_type=Path), help="The page's file.")
@click.option("--spec", metavar="SPEC", help="The spec, if it is not where the files say.")
def report(path: Path, out: Path, spec: str | None) -> int:
    """Make one HTML file of the trace in FILE, or of every .itf.json file in DIR.

    The file needs nothing else, and no network: it opens from a CI system's artifacts. Exit code 1: a trace
    is stale, and shown as it was recorded.

    \b
    leadline report traces --html traces.html
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise TraceError(f"there is no {SUFFIX} file in {path}")
    told = [tell(read_trace(file), spec) for file in files]
    chapters = [chapter(number, each.story, each.note) for number, each in enumerate(told, start=1)]
    with writing(out):
        out.write_text(page(f"leadline: {path.name or path.resolve().name}", chapters), encoding="utf-8")
    click.echo(f"saved {out}: {counted(len(chapters), 'trace')}")
    return max(each.code for each in told)
