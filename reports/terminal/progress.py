"""Show the progress of a run on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import attrs
import click
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Column

from leadline.checker.engines import memory
from leadline.checker.result import Statistics
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.lines import say
from leadline.reports.terminal.console import console, is_plain

LINE_SECONDS = 60.0
"""The time in seconds between two lines of progress of a search of mutants if standard error is not a terminal."""

FORESEEN = 3600.0
"""The time in seconds before memory is used up from which on progress says so."""

ENOUGH = 1_000_000
"""The number of states from which on their memory is about proportional to it."""

PLAIN_SECONDS = 10.0
"""The time in seconds between two lines of progress on a terminal on which no line is updated in place."""


def progress_lines(statistics: Statistics) -> list[str]:
    """Return lines with the counts of a run so far. Each line has about 80 columns."""
    if statistics.activity:
        found = [f"{statistics.distinct:,} distinct  depth {statistics.depth}"] if statistics.distinct else []
        return [f"{elapsed(statistics.seconds)}  {visible(statistics.activity)}", *found]
    rate = statistics.distinct / statistics.seconds if statistics.seconds else 0.0
    counts = f"{statistics.distinct:,} distinct  {statistics.generated:,} generated  {rate:,.0f}/s"
    share = "" if statistics.level_done is None else f", {statistics.level_done:.0%} of this level"
    queue = "" if statistics.queue is None else f"  queue {statistics.queue:,}"
    tables = f"  {memory.described(statistics.memory)}  {statistics.calls:,} calls" if statistics.calls else ""
    total = estimated_total(statistics.levels)
    estimate = "" if total is None else f"  about {statistics.distinct / total:.0%} of an estimated {total:,} states"
    lines = [f"{elapsed(statistics.seconds)}  {counts}", f"depth {statistics.depth}{share}{queue}{tables}{estimate}"]
    if statistics.shards:
        spilled = memory.described(statistics.spilled)
        lines.append(f"{counted(statistics.shards, 'shard')}  skew {statistics.skew:.0%}  {spilled} spilled to files")
    if statistics.free is not None and statistics.distinct >= ENOUGH and not statistics.spilled:
        most = int(statistics.distinct * (1 + statistics.free / statistics.memory))
        left = (most - statistics.distinct) / rate if rate else FORESEEN
        if left < FORESEEN and (total is None or total > most):
            lines.append(
                f"memory is enough for about {round(most, 2 - len(str(most))):,} states, which takes another "
                f"{elapsed(left)}; `--disk DIR` has room for more"
            )
    return lines


def estimated_total(levels: Sequence[int]) -> int | None:
    """Estimate the total number of states once the levels of a search have begun to shrink.

    The sizes of levels usually follow a bell curve. The estimate assumes that the remaining levels shrink by the
    ratio of the last two complete levels.

    Parameters:
        levels: the number of distinct states at each depth. The last level may be incomplete.

    Returns:
        The estimate, or None if the levels are not shrinking yet.
    """
    if len(levels) < 4 or not levels[-4] > levels[-3] > levels[-2] > 0:
        return None
    ratio = levels[-2] / levels[-3]
    return max(round(sum(levels[:-1]) + levels[-2] * ratio / (1 - ratio)), sum(levels))


def elapsed(seconds: float) -> str:
    """Return a duration as text, such as ``1:02`` or ``1:00:02``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress_line(what: str, every: float = 60.0) -> Iterator[Callable[[Statistics], None]]:
    """Show the progress of a run on standard error.

    On a terminal, the lines are updated in place. Otherwise, and with ``NO_COLOR``, a line is added from time to time.

    Parameters:
        what: the name of the run.
        every: the minimum time in seconds between two lines if standard error is not a terminal. A shorter run prints
            no line.

    Returns:
        A context manager. It provides a function that shows the counts so far.
    """
    out, what = console(stderr=True, live=True), visible(what)
    if not out.is_terminal or is_plain(out):
        yield _in_lines(what, min(every, PLAIN_SECONDS) if out.is_terminal else every)
        return
    line = TextColumn("{task.description}", markup=False, table_column=Column())  # which wraps long lines
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task(what)

        def show(statistics: Statistics) -> None:
            progress.update(task, description="\n".join(filter(None, [what, *progress_lines(statistics)])))

        yield show


def labelled(show: Callable[[Statistics], None], label: Callable[[], str]) -> Callable[[Statistics], None]:
    """Return a function that shows counts with a label, such as which search of how many they are from.

    Parameters:
        show: shows the counts of a run; see `progress_line`.
        label: returns the label, which may change.
    """

    def shown(statistics: Statistics) -> None:
        show(attrs.evolve(statistics, activity=": ".join(filter(None, [label(), statistics.activity]))))

    return shown


def _in_lines(what: str, every: float) -> Callable[[Statistics], None]:
    """Return a function that prints the counts so far, at most once every `every` seconds."""
    out, due = console(stderr=True), time.monotonic() + every

    def show(statistics: Statistics) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + every
            out.print("  ".join(filter(None, [what, *progress_lines(statistics)])), soft_wrap=True)

    return show


@contextmanager
def text_progress(name: str) -> Iterator[Callable[[str], None]]:
    """Show a line of text about searches in other processes on standard error.

    On a terminal, one line is updated in place. Otherwise, a line is added every `LINE_SECONDS`. No thread is used,
    because processes are forked at the same time.

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
