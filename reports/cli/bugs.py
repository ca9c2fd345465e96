"""The command `leadline bugs`, which searches for known bugs in affected releases and in releases with the fix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leadline.checker.bounds import bounds_text
from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.bug_report import BugsReport, comparison, described, later_text, release_text, size_text
from leadline.reports.bugs import Bug, BugResult, BugSearch, UnmodelledBug, read_archive
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.diagnosis import Diagnosis, diagnose, lines
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.narrative import told
from leadline.reports.terminal.console import STYLES, WrappedBounds, console
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.trace import show_traces


@click.command()
@click.argument("ticket", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the bugs without running anything.")
@format_options(FORMATS["bugs"])
def bugs(ticket: str | None, only_list: bool, **wanted: Path | None) -> int:
    """Search for the known bugs of Kafka's replication and transactions. With TICKET, search for that bug only and show
    its trace.

    A bug must be found in the releases that it affects. It must not be found in the release that fixed it or in later
    releases. If the old rule is restored in the release that fixed it, the bug must be found again. TICKET is, for
    example, KAFKA-13141 or KIP-101.

    \b
    leadline bugs
    leadline bugs KAFKA-13141
    leadline bugs --json bugs.json --html bugs.html

    Exit code 0: every search is as expected; 1: a search is not as expected; 2: usage error; 3: the command was
    interrupted.
    """
    archive = read_archive()
    chosen, unreached = archive.about(ticket)
    if only_list:
        console().print(_list(chosen, unreached))
        return AS_EXPECTED
    planned = [archive.runs(bug) for bug in chosen]
    files = Files(FORMATS["bugs"], wanted)
    outcomes: list[BugResult] = []
    diagnoses: dict[str, Diagnosis] = {}
    for runs in planned:
        with only_the_result_on_stdout(files.only_a_report):
            own = _searched(runs)
        outcomes += own
        if not files.only_a_report:
            _show(console(), own, with_trace=ticket is not None)
        if own[-1].interrupted:
            break
        if ticket is not None and (diagnosis := _diagnosed(own[0])) is not None:
            diagnoses[own[0].run.bug.ticket] = diagnosis
    report = BugsReport(outcomes, unreached, diagnoses)
    if not files.only_a_report:
        for other in unreached:
            _show_unreached(console(), other)
        _show_reasons(console(), report)
        _summarize(console(), outcomes, sum(map(len, planned)))
    files.write(report)
    return _exit_code(outcomes)


def _searched(runs: Sequence[BugSearch]) -> list[BugResult]:
    """Run the searches for a bug, and return their results. Stop when a search is interrupted."""
    outcomes: list[BugResult] = []
    for run in runs:
        with progress_line(f"{run.bug.ticket} {run.spec.name}") as progress:
            outcomes.append(run.searched(progress))
        if outcomes[-1].interrupted:
            break
    return outcomes


def _show(out: Console, outcomes: Sequence[BugResult], *, with_trace: bool) -> None:
    """Print a bug and the results of its searches. If the user named the bug's ticket, also print a trace."""
    bug = outcomes[0].run.bug
    out.print(_heading(bug))
    bounds = Text(f"{bug.property}  -b {bounds_text(bug.bounds)}", style="dim")
    out.print(Padding(WrappedBounds(bounds), (0, 2)))
    if with_trace and bug.note:
        out.print(Padding(Text(bug.note), (0, 2)))
    if with_trace and (about := told(outcomes[0])) is not None:
        parts = Table.grid(padding=(0, 2))
        for name, text in about.lines.items():
            parts.add_row(Text(name, style="bold"), Text(visible(text)))
        out.print(Padding(parts, (1, 2)))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for outcome in described(outcomes):
        table.add_row(*_row(outcome))
    if (later := later_text(outcomes)) is not None:
        table.add_row(Text("holds", style=STYLES[Verdict.HOLDS]), *later)
    out.print(Padding(table, (0, 2)))
    out.print()
    if with_trace:
        show_traces(out, outcomes[0].result)


def _diagnosed(outcome: BugResult) -> Diagnosis | None:
    with progress_line("what decides it") as progress:
        return diagnose(outcome.result, progress=progress)


def _show_reasons(out: Console, report: BugsReport) -> None:
    """Print the diagnosis of each bug that was diagnosed, and the command that compares the releases."""
    for bug, own in report.by_bug:
        if (diagnosis := report.diagnoses.get(bug.ticket)) is not None:
            for line in lines(diagnosis):
                out.print(Text(visible(line)))
            if command := comparison(own):
                out.print(f"side by side: {command}\n", soft_wrap=True)


def _heading(bug: Bug | UnmodelledBug) -> Text:
    heading = Text(bug.ticket, style="bold")
    also = f" ({', '.join(bug.also)})" if bug.also else ""
    return heading.append(f"{also}  {bug.sentence}", style="default not bold")


def _row(outcome: BugResult) -> tuple[Text, str, str]:
    result = outcome.result
    verdict = Text(result.verdict.value, style=STYLES[result.verdict])
    if not outcome.as_expected:
        verdict.append(f", expected {outcome.run.expected}", style="bold red")
    return verdict, release_text(outcome), size_text(outcome)


def _show_unreached(out: Console, bug: UnmodelledBug) -> None:
    out.print(_heading(bug))
    out.print(Padding(Text(f"not reached: {bug.reason}", style="yellow"), (0, 2)))


def _list(bugs: Sequence[Bug], unreached: Sequence[UnmodelledBug]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for bug in bugs:
        releases = f"{', '.join(bug.affected)} → {', '.join(bug.fixed) or 'by design'}"
        table.add_row(Text(bug.ticket, style="bold"), f"{bug.sentence}\n{releases}")
    for other in unreached:
        table.add_row(Text(other.ticket, style="bold"), f"{other.sentence}\nnot reached: {other.reason}")
    return table


def _summarize(out: Console, outcomes: Sequence[BugResult], planned: int) -> None:
    good = sum(outcome.as_expected for outcome in outcomes)
    if planned:
        bugs = len({outcome.run.bug.ticket for outcome in outcomes})
        text = f"{counted(bugs, 'bug')}: {good} of {counted(planned, 'run')} as expected"
        out.print(text, style="green" if good == planned else "bold red")


def _exit_code(outcomes: Sequence[BugResult]) -> int:
    if any(not outcome.as_expected and not outcome.interrupted for outcome in outcomes):
        return VIOLATED
    return INCOMPLETE if any(outcome.interrupted for outcome in outcomes) else AS_EXPECTED
