"""The command `leadline bugs`, which searches for known bugs in the affected and in the fixed releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leadline.checker.bounds import bounds_text
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.bugs import Bug, BugResult, BugSearch, BugsReport, UnmodelledBug, read_archive
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.diagnosis import diagnose, lines
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats.bugs import BUGS_FORMATS
from leadline.reports.terminal.console import STYLES, WrappedBounds, console
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.trace import show_traces


@click.command()
@click.argument("ticket", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the bugs without running anything.")
@format_options(BUGS_FORMATS)
def bugs(ticket: str | None, only_list: bool, **wanted: Path | None) -> int:
    """Search for the known bugs of Kafka's replication. With TICKET, search for that bug only and show its trace.

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
    files = Files(BUGS_FORMATS, wanted)
    outcomes: list[BugResult] = []
    for runs in planned:
        with only_the_result_on_stdout(files.only_json):
            own = _searched(runs)
        outcomes += own
        if not files.only_json:
            _show(console(), own, with_trace=ticket is not None)
        if own[-1].interrupted:
            break
    if not files.only_json:
        for other in unreached:
            _show_unreached(console(), other)
        _summarize(console(), outcomes, sum(map(len, planned)))
    report, attempt = BugsReport(outcomes, unreached), Attempts()
    with attempt:
        files.print(report)
    files.save(report, attempt)
    attempt.raise_failures()
    return _exit_code(outcomes)


def _searched(runs: Sequence[BugSearch]) -> list[BugResult]:
    """Run the searches for a bug, and return their results. Stop if a search is interrupted."""
    outcomes: list[BugResult] = []
    for run in runs:
        with progress_line(f"{run.bug.ticket} {run.spec.name}") as progress:
            outcomes.append(run.searched(progress))
        if outcomes[-1].interrupted:
            break
    return outcomes


def _show(out: Console, outcomes: Sequence[BugResult], *, with_trace: bool) -> None:
    """Print a bug and the results of its searches, with its trace if the user named its ticket."""
    bug = outcomes[0].run.bug
    out.print(_heading(bug))
    bounds = Text(f"{bug.property}  -b {bounds_text(bug.bounds)}", style="dim")
    out.print(Padding(WrappedBounds(bounds), (0, 2)))
    if with_trace and bug.note:
        out.print(Padding(Text(bug.note), (0, 2)))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for outcome in outcomes:
        if outcome.run.part != "later" or not outcome.as_expected:
            table.add_row(*_row(outcome))
    later = [outcome for outcome in outcomes if outcome.run.part == "later" and outcome.as_expected]
    if later:
        table.add_row(Text("holds", style=STYLES[later[0].result.verdict]), *_later(later))
    out.print(Padding(table, (0, 2)))
    out.print()
    if with_trace:
        show_traces(out, outcomes[0].result)
        with progress_line("what decides it") as progress:
            diagnosis = diagnose(outcomes[0].result, progress=progress)
        for line in lines(diagnosis) if diagnosis is not None else ():
            out.print(Text(visible(line)))
        out.print(_comparison(outcomes), soft_wrap=True)


def _comparison(outcomes: Sequence[BugResult]) -> str:
    """Return the command that compares the last affected release with the fixed one, or "" if that was not searched."""
    last = {outcome.run.part: outcome.run for outcome in outcomes}
    if "fixed" not in last:
        return ""
    bug, names = outcomes[0].run.bug, f"{last['affected'].spec.name} {last['fixed'].spec.name}"
    return f"side by side: leadline diff {names} -b {bounds_text(bug.bounds)} -i {bug.property}\n"


def _heading(bug: Bug | UnmodelledBug) -> Text:
    heading = Text(bug.ticket, style="bold")
    also = f" ({', '.join(bug.also)})" if bug.also else ""
    return heading.append(f"{also}  {bug.sentence}", style="default not bold")


def _row(outcome: BugResult) -> tuple[Text, str, str]:
    result = outcome.result
    words = {"affected": "", "fixed": ", which fixed it", "put back": ", with the old rule", "later": ""}[
        outcome.run.part
    ]
    verdict = Text(result.verdict.value, style=STYLES[result.verdict])
    if not outcome.as_expected:
        verdict.append(f", expected {outcome.run.expected}", style="bold red")
    found = f"trace of {outcome.trace_length}" if outcome.trace_length else counted(result.statistics.distinct, "state")
    name = outcome.run.spec.name
    if outcome.run.part == "put back" and outcome.run.bug.defaults:
        name, words = f"{name} -b {bounds_text(outcome.run.bug.defaults)}", ", the old default"
    return verdict, f"{name}{words}", found


def _later(later: Sequence[BugResult]) -> tuple[str, str]:
    """Return phrases for the later releases in which the property holds and for their numbers of states."""
    states = sorted(outcome.result.statistics.distinct for outcome in later)
    sizes = f"{states[0]:,} to {states[-1]:,} states" if states[0] != states[-1] else counted(states[0], "state")
    first, last = later[0].run.spec.name, later[-1].run.spec.name
    named = first if len(later) == 1 else f"{first} to {last}, {len(later)} releases"
    return named, sizes


def _show_unreached(out: Console, bug: UnmodelledBug) -> None:
    out.print(_heading(bug))
    out.print(Padding(Text(f"not reached: {bug.reason}", style="yellow"), (0, 2)))


def _list(bugs: Sequence[Bug], unreached: Sequence[UnmodelledBug]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for bug in bugs:
        releases = f"{', '.join(bug.affected)} → {', '.join(bug.fixed)}"
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
