"""The command `leadline bugs`, which searches for known bugs in affected releases and in releases with the fix."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs
import click
from rich.console import Console

from leadline.checker.engines.learning.workers import usable_cores
from leadline.checker.result import Limits
from leadline.checker.support.messages import counted
from leadline.reports.cli.options import save_results_option
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.diagnosis import Diagnosis, diagnose
from leadline.reports.document.terminal import blocks_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.bug_report import BugsReport, archive_table, bug_blocks, reasons, unreached_blocks
from leadline.reports.kafka.bugs import BugResult, BugSearch, read_archive
from leadline.reports.kept_results import KeptResults
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import elapsed, progress_line, text_progress
from leadline.reports.terminal.trace import show_traces


@click.command()
@click.argument("ticket", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the bugs without running anything.")
@save_results_option
@format_options(FORMATS["bugs"])
def bugs(ticket: str | None, only_list: bool, saved: Path | None, **wanted: Path | None) -> int:
    """Search for the known bugs of Kafka's replication, transactions and consumer groups. With TICKET, search for that
    bug only and show its trace.

    A bug must be found in the releases that it affects. It must not be found in the release that fixed it or in later
    releases. If the old rule is restored in the release that fixed it, the bug must be found again. TICKET is, for
    example, KAFKA-13141 or KIP-101.

    \b
    leadline bugs
    leadline bugs KAFKA-13141
    leadline bugs --save results.jsonl --json bugs.json --html bugs.html

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
    kept, forecast = KeptResults(saved), Forecast(sum(map(len, planned)))
    for runs in planned:
        with only_the_result_on_stdout(files.only_a_report):
            own, is_interrupted = _searched(runs, kept, forecast)
        outcomes += own
        if not own:
            break
        if not files.only_a_report:
            console().print(blocks_view([*bug_blocks(own)]), "", sep="\n")
            if ticket is not None:
                show_traces(console(), own[0].result)
        if is_interrupted:
            break
        if ticket is not None and (diagnosis := _diagnosed(own[0])) is not None:
            diagnoses[own[0].run.bug.ticket] = diagnosis
    report = BugsReport(outcomes, unreached, diagnoses)
    if not files.only_a_report:
        console().print(blocks_view([*unreached_blocks(unreached), *reasons(report)]))
        _summarize(console(), outcomes, sum(map(len, planned)))
    files.write(report)
    return _exit_code(outcomes, sum(map(len, planned)))


@attrs.define
class Forecast:
    """Says how many searches were made, and how long the others will take if they are like those.

    Attributes:
        planned: the number of searches for all bugs.
        done: the number of those that were made.
    """

    planned: int
    done: int = 0
    _began: float = attrs.field(factory=lambda: time.monotonic())

    def text(self) -> str:
        """Return what to show while the next search runs."""
        left = (time.monotonic() - self._began) * (self.planned - self.done) / self.done if self.done else 0.0
        later = f", about {elapsed(left)} left" if left >= 1 else ""
        return f"search {self.done + 1} of {self.planned}{later}"


def _searched(runs: Sequence[BugSearch], kept: KeptResults, forecast: Forecast) -> tuple[list[BugResult], bool]:
    """Run the searches for a bug, on all cores. Return their results, and whether a search was interrupted."""
    first, workers = forecast.done, usable_cores()
    outcomes: list[BugResult] = []
    try:
        if workers > 1:
            searches = [(run.searched_spec, Limits(), partial(run.search, workers=1)) for run in runs]
            with text_progress(f"{runs[0].bug.ticket}, {workers} at a time") as show:
                show(forecast.text())
                for _ in kept.in_processes(searches, workers):
                    forecast.done += 1
                    show(forecast.text())
        for forecast.done, run in enumerate(runs, start=first):
            with progress_line(f"{forecast.text()}: {run.bug.ticket} {run.spec.name}") as progress:
                outcomes.append(run.searched(progress, kept))
            if outcomes[-1].interrupted:
                return outcomes, True
    except KeyboardInterrupt:
        return outcomes, True
    forecast.done = first + len(runs)
    return outcomes, False


def _diagnosed(outcome: BugResult) -> Diagnosis | None:
    with progress_line("what decides it") as progress:
        return diagnose(outcome.result, progress=progress)


def _summarize(out: Console, outcomes: Sequence[BugResult], planned: int) -> None:
    good = sum(outcome.as_expected for outcome in outcomes)
    if planned:
        bugs = len({outcome.run.bug.ticket for outcome in outcomes})
        text = f"{counted(bugs, 'bug')}: {good} of {counted(planned, 'run')} as expected"
        out.print(text, style="green" if good == planned else "bold red")


def _exit_code(outcomes: Sequence[BugResult], planned: int) -> int:
    finished = [outcome for outcome in outcomes if not outcome.interrupted]
    if not all(outcome.as_expected for outcome in finished):
        return VIOLATED
    return INCOMPLETE if len(finished) < planned else AS_EXPECTED
