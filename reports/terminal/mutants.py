"""Print the report on a spec's mutants on a terminal, and show the progress of searching them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.table import Table
from rich.text import Text

from leadline.checker.mutation.run import Fate
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.lines import say
from leadline.reports.mutation import EXPLAINED, INTERRUPTED, Report, place, reason
from leadline.reports.terminal.console import console

LINE_SECONDS = 60.0
"""The time in seconds between two lines of progress if standard error is not a terminal."""
COUNTED = ("kills", "shortest trace")
"""The headings of the columns in the table of properties that contain numbers."""
INDENT = 14
"""The width in characters of the column with the fates of mutants, to the left of their names."""
MOST_NAMES = 6
"""The maximum number of mutants that the table names for a property."""
STYLES = {Fate.KILLED: "green", Fate.ERROR: "green", Fate.SURVIVED: "bold red", Fate.INCOMPLETE: "yellow"}


@contextmanager
def mutants_progress(name: str, count: int) -> Iterator[Callable[[str], None]]:
    """Show the progress of searching mutants on standard error.

    On a terminal, one line is updated in place. Otherwise, a line is added every `LINE_SECONDS`. No thread is used,
    because processes are forked at the same time.

    Parameters:
        name: the name of the spec.
        count: the number of mutants.

    Returns:
        A context manager. It provides a function that shows a line of text.
    """
    out = console(stderr=True)
    due = time.monotonic() + LINE_SECONDS

    def show(text: str) -> None:
        nonlocal due
        line = visible(f"{name}: {text}")
        if out.is_terminal:
            click.echo(f"\r\x1b[K{line[: out.width - 1]}", nl=False, err=True)
        elif time.monotonic() >= due:
            due = time.monotonic() + LINE_SECONDS
            say(f"leadline: {line}", err=True)

    try:
        yield show
    finally:
        if out.is_terminal:
            click.echo("\r\x1b[K", nl=False, err=True)


def show_mutants(report: Report) -> None:
    """Print the report on the mutants of a spec."""
    out = console()
    head = Text(visible(report.spec), style="bold")
    head.append(f"  {report.way.engine}, {report.extent}", style="dim not bold")
    out.print(head)
    for each in report.originals:
        where = f" with {each.changes}" if each.changes else ""
        out.print(Text(visible(f"original{where}: {counted(each.distinct, 'state')}"), style="dim"))
    for note in report.notes:
        out.print(Text(visible(note), style="yellow"))
    mutations = {each.name: each for each in report.mutations}
    rows = Table.grid()
    rows.add_column(width=INDENT, no_wrap=True)
    rows.add_column(overflow="fold")
    for outcome in report.shown:
        style, fate = STYLES.get(outcome.fate, "dim"), outcome.fate.value
        if report.is_explained(outcome):
            style, fate = "dim", EXPLAINED
        name = Text(visible(outcome.name)).append(place(mutations[outcome.name]), style="dim")
        rows.add_row(Text(f"  {fate}", style=style), name)
        why = reason(outcome, report.explained)
        searched = f"{counted(outcome.distinct, 'state')} searched" if outcome.violated else ""
        for details in filter(None, (mutations[outcome.name].text, "; ".join(filter(None, [why, searched])))):
            rows.add_row("", Text(visible(details), style="dim"))
    for function, cause in report.refused:
        rows.add_row(Text("  not mutated", style="dim"), Text(f"{visible(function)}: {visible(cause)}", style="dim"))
    if rows.row_count:
        out.print(rows)
    if report.outcomes:
        out.print(_killers_table(report))
    for sentence in _closing(report):
        out.print(Text(visible(sentence)))


def _killers_table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("property", *COUNTED, *(["kills alone"] if report.way.all_properties else [])):
        table.add_column(title, header_style="dim", justify="right" if title in COUNTED else "left", overflow="fold")
    for each in report.killers:
        alone = [] if each.alone is None else ["\n".join(_shortened([*map(visible, each.alone)]))]
        shortest = "" if each.shortest is None else str(each.shortest)
        table.add_row(visible(each.name), str(len(each.kills)), shortest, *alone)
    return table


def _shortened(names: list[str]) -> list[str]:
    """Return text that lists the first `MOST_NAMES` names and says how many more there are."""
    left_out = len(names) - MOST_NAMES
    return [*names[:MOST_NAMES], f"and {left_out:,} more (see --json or --html)"] if left_out > 1 else names


def _closing(report: Report) -> Iterator[str]:
    yield from report.outdated
    if report.stopped:
        left = len(report.mutations) - len(report.outcomes)
        yield f"incomplete: {report.stopped}" + (f", {left:,} not judged" if report.stopped == INTERRUPTED else "")
    yield report.counts
    yield from report.advice
