"""The command `leadline bugs`, which searches for known bugs in affected releases and in releases with the fix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from leadline.checker.support.messages import counted
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.diagnosis import Diagnosis, diagnose
from leadline.reports.document.terminal import blocks_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.bug_report import BugsReport, archive_table, bug_blocks, reasons, unreached_blocks
from leadline.reports.kafka.bugs import BugResult, BugSearch, read_archive
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.trace import show_traces


@click.command()
@click.argument("ticket", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the bugs without running anything.")
@format_options(FORMATS["bugs"])
def bugs(ticket: str | None, only_list: bool, **wanted: Path | None) -> int:
    """Search for the known bugs of Kafka's replication, transactions and consumer groups. With TICKET, search for that
    bug only and show its trace.

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
        console().print(blocks_view([archive_table(chosen, unreached)]))
        return AS_EXPECTED
    planned = [archive.runs(bug) for bug in chosen]
    files = Files(FORMATS["bugs"], wanted)
    outcomes: list[BugResult] = []
    diagnoses: dict[str, Diagnosis] = {}
    for runs in planned:
        with only_the_result_on_stdout(files.only_a_report):
            own = _searched(runs, len(outcomes), sum(map(len, planned)))
        outcomes += own
        if not files.only_a_report:
            console().print(blocks_view([*bug_blocks(own)]), "", sep="\n")
            if ticket is not None:
                show_traces(console(), own[0].result)
        if own[-1].interrupted:
            break
        if ticket is not None and (diagnosis := _diagnosed(own[0])) is not None:
            diagnoses[own[0].run.bug.ticket] = diagnosis
    report = BugsReport(outcomes, unreached, diagnoses)
    if not files.only_a_report:
        console().print(blocks_view([*unreached_blocks(unreached), *reasons(report)]))
        _summarize(console(), outcomes, sum(map(len, planned)))
    files.write(report)
    return _exit_code(outcomes)


def _searched(runs: Sequence[BugSearch], before: int, planned: int) -> list[BugResult]:
    """Run the searches for a bug, and return their results. Stop when a search is interrupted.

    Parameters:
        before: the number of searches that were run for other bugs.
        planned: the number of searches for all bugs.
    """
    outcomes: list[BugResult] = []
    for number, run in enumerate(runs, start=before + 1):
        with progress_line(f"search {number} of {planned}: {run.bug.ticket} {run.spec.name}") as progress:
            outcomes.append(run.searched(progress))
        if outcomes[-1].interrupted:
            break
    return outcomes


def _diagnosed(outcome: BugResult) -> Diagnosis | None:
    with progress_line("what decides it") as progress:
        return diagnose(outcome.result, progress=progress)


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
