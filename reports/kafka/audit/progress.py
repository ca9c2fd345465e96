"""Show the progress of an audit on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn

from leadline.checker.engines import memory
from leadline.checker.support.messages import counted
from leadline.invariants.audit.cluster import Done
from leadline.invariants.audit.cluster import Progress as Tell
from leadline.reports.terminal.console import console, is_plain


@contextmanager
def searching() -> Iterator[Callable[[str], None]]:
    """Show the name of the current search on one line, which is updated in place. Show nothing if standard error is not
    a terminal.
    """
    out = console(stderr=True)
    if not out.is_terminal or is_plain(out):
        yield lambda title: None
        return
    line = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task("searching for known bugs that match")
        yield lambda title: progress.update(task, description=f"searching for known bugs that match: {title}")


@contextmanager
def audit_progress() -> Iterator[Tell | None]:
    """Show the progress of an audit on one line, which is updated in place. Show nothing if standard error is not a
    terminal.
    """
    out = console(stderr=True)
    if not out.is_terminal or is_plain(out):
        yield None
        return
    line = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task("looking for partitions")

        def show(done: Done) -> None:
            rate = done.size / done.seconds if done.seconds else 0.0
            text = (
                f"{done.partitions:,} of {counted(done.planned, 'partition')}  {done.batches:,} batches  "
                f"{memory.described(done.size)}  {memory.described(rate)}/s  {counted(done.errors, 'error')}"
            )
            progress.update(task, description=text)

        yield show
