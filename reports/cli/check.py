"""`leadline check`: run a suite, as CI does."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from checker.names import counted
from checker.result import Verdict
from reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from reports.suite import SHIPPED, Outcome, find_suite, read_suite
from reports.terminal import STYLES, console, progress_line, show_traces


@click.command(short_help="Run a suite of checks, as CI does.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def check(file: Path | None) -> int:
    """Run the checks of a suite and compare each with what is expected of it.

    FILE is a TOML file; without it, leadline.toml or [tool.leadline] in pyproject.toml of this folder;
    without these, the shipped suite, which checks every shipped protocol.

    \b
    [[check]]
    spec = "atomic/kip-101"
    bounds = { max_epoch = 2 }
    expect = "violated"
    violates = "strong_isr"

    The trace of the first violation is shown, and of the first that was not expected. Exit code 0: all
    as expected; 1: something is not; 2: a mistake in the suite; 3: something was incomplete.
    """
    out = console()
    path = file or find_suite(Path())
    if path is None:
        out.print("no leadline.toml and no [tool.leadline] here: running the shipped suite", style="dim")
    checks = read_suite(path or SHIPPED)
    width = max(len(prepared.title) for prepared in checks)
    shown, codes = set[bool](), []
    for prepared in checks:
        with progress_line(prepared.title) as progress:
            outcome = prepared.run(progress)
        codes.append(outcome.exit_code)
        out.print(_line(outcome, width), soft_wrap=True)
        expected = not outcome.failure
        if outcome.result.verdict is Verdict.VIOLATED and (not shown or (not expected and False not in shown)):
            shown.add(expected)
            _show_trace(out, outcome)
        if outcome.result.reason == "interrupted":
            break
    return _summary(out, codes, len(checks))


def _line(outcome: Outcome, width: int) -> Text:
    result, good = outcome.result, not outcome.failure
    line = Text("ok    " if good else "FAIL  ", style="green" if good else "bold red")
    line.append(f"{outcome.prepared.title:<{width}}  ", style="default not bold")
    line.append(result.verdict.value, style=STYLES[result.verdict])
    lengths = [len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    size = f"trace of {min(lengths)}" if lengths else counted(result.statistics.distinct, "state")
    line.append(f", {size}", style="default not bold")
    line.append(f"  {result.statistics.seconds:.1f} s", style="dim not bold")
    if not good:
        line.append(f"\n      {outcome.failure}", style="default not bold")
    return line


def _show_trace(out: Console, outcome: Outcome) -> None:
    out.print()
    show_traces(out, outcome.result, only=1)


def _summary(out: Console, codes: list[int], planned: int) -> int:
    worst = next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)
    as_expected = codes.count(AS_EXPECTED)
    left = f", {planned - len(codes)} not run" if len(codes) < planned else ""
    style = "green" if worst == AS_EXPECTED and not left else "bold red"
    out.print(f"{as_expected} of {planned} checks as expected{left}", style=style)
    return worst or (INCOMPLETE if left else AS_EXPECTED)
