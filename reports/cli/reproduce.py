"""The command `leadline reproduce`, which replays the counterexample of a known bug on real brokers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from leadline.brokers.driver.plan import plan_of
from leadline.brokers.errors import Unmakeable
from leadline.brokers.releases import broker_release
from leadline.brokers.reproduction import Judgement
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.model.kafka.releases import column_of
from leadline.reports.bugs import Bug, BugSearch, read_archive
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats.reproductions import REPRODUCTION_FORMATS
from leadline.reports.lines import say
from leadline.reports.reality.disks import audited
from leadline.reports.reality.live import LiveReplay, evidence, show_judged
from leadline.reports.reality.objects import ReproductionReport
from leadline.reports.reality.reproduce import reproduce as reproduce_on_brokers
from leadline.reports.reality.reproduce import run
from leadline.reports.reality.schedules import (
    Schedules,
    affected_release,
    bug_of,
    controller_of,
    mended_release,
    schedules_of,
)
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line


@click.command()
@click.argument("ticket")
@click.option("--release", metavar="VERSION", help="The release of Kafka with the bug. By default, the last one.")
@click.option("--against", metavar="VERSION", help="The release that mended the bug. By default, the first one.")
@click.option("--plan", "only_plan", is_flag=True, help="Print what will be done for each step, and start nothing.")
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the logs, data directories and recordings of the brokers in this folder.",
)
@format_options(REPRODUCTION_FORMATS)
def reproduce(
    ticket: str, release: str | None, against: str | None, only_plan: bool, keep: Path | None, **wanted: Path | None
) -> int:
    """Replay the counterexample of a known bug on real brokers: a release with the bug, and the one that mended it.

    TICKET is a ticket or KIP of `leadline bugs --list`. Brokers are started on this machine, behind proxies that hold
    all replication traffic and let one step of the model through at a time. After each step, the logs, high watermarks,
    ISR, leader and messages in flight are compared with the model. Brokers are downloaded from a Maven registry. This
    needs Linux, Java, and pip install 'leadline[brokers]'.

    \b
    leadline reproduce KIP-101
    leadline reproduce KAFKA-15495 --release 4.0.0 --against 4.1.1 --html page.html

    Exit code 0: the bug is reproduced on the one release and absent on the other; 1: it is not; 2: usage error, or
    brokers that cannot be started; 3: a step could not be made.
    """
    archive, files = read_archive(), Files(REPRODUCTION_FORMATS, wanted)
    bug = bug_of(archive, ticket)
    affected = affected_release(bug, release)
    mended = mended_release(bug, affected, against)
    with only_the_result_on_stdout(files.only_json):
        try:
            schedules = schedules_of(archive, bug, affected, mended, _search)
        except Unmakeable as error:
            say(f"{bug.ticket}: {visible(str(error))}")
            return INCOMPLETE
        if only_plan:
            _print_plan(schedules)
            return AS_EXPECTED
        with _folder(keep) as folder:
            report = _reproduced(bug, schedules, folder, quiet=files.only_json)
    attempt = Attempts()
    with attempt:
        files.print(report)
    files.save(report, attempt)
    attempt.raise_failures()
    return exit_code(report.reproduction.judgements)


def _search(run: BugSearch) -> Trace[Any]:
    with progress_line(f"{run.bug.ticket} {run.spec.name}") as progress:
        result = run.searched(progress).result
    if result.verdict is not Verdict.VIOLATED:
        raise LeadlineError(f"{run.spec.name} has no counterexample for {run.bug.ticket}")
    return result.properties[0].traces[0]


def _reproduced(bug: Bug, schedules: Schedules, folder: Path, *, quiet: bool) -> ReproductionReport:
    out = console(stderr=True) if quiet else console()
    out.print(Text(f"{bug.ticket}  {bug.sentence}", style="bold"))
    if schedules.left_out:
        kind = controller_of(schedules.affected)
        out.print(Text(f"no release with {kind} mended it; the control leaves out: {schedules.left_out}", style="dim"))
    return reproduce_on_brokers(
        schedules,
        folder,
        lambda plan: LiveReplay(out, plan, plan.trace.spec.name),
        lambda judged, audit: show_judged(out, judged, audit),
    )


def _print_plan(schedules: Schedules) -> None:
    both = ((schedules.affected, schedules.plan), (schedules.control, schedules.control_plan))
    for release, plan in both:
        say(f"Kafka {release.name}, replicas {', '.join(map(str, plan.replicas))}")
        for line in plan.lines:
            say(f"  {visible(line)}")
        if plan.refused is not None:
            say(f"  {plan.refused.number}. must not be possible: {visible(plan.refused.sentence)}")


def replay_on(trace: Trace[Any], name: str, keep: Path | None) -> int:
    """Replay a trace on real brokers, and print what they do.

    Parameters:
        trace: the trace, as the model executes it.
        name: the name of a release of Kafka.
        keep: the folder for what the brokers write, or None to remove it.

    Returns:
        The exit code.

    Raises:
        LeadlineError: the trace is not one of a release, or the release has another kind of controller.
    """
    release, column = broker_release(name), column_of(trace.spec.name.partition("+")[0])
    if column is None or not column.controller:
        raise LeadlineError(f"{trace.spec.name} is not a release: --on replays traces of the kafka/... specs only")
    if column.controller != controller_of(release):
        kinds = f"{column.controller} in {trace.spec.name}, {controller_of(release)} in Kafka {release.name}"
        raise LeadlineError(f"the controllers differ: {kinds}")
    try:
        plan = plan_of(trace, column.controller)
    except Unmakeable as error:
        say(visible(str(error)))
        return INCOMPLETE
    out = console()
    with _folder(keep) as folder:
        replayed = run(plan, release, folder / release.name, LiveReplay(out, plan, trace.spec.name))
        audit = audited(folder / release.name)
    for line in (*evidence(replayed), audit):
        out.print(Text(f"  {visible(line)}"))
    verdict = replayed.not_made or replayed.difference or f"the brokers did what {trace.spec.name} says"
    say(visible(f"Kafka {release.name}, {replayed.seconds:.0f} s: {verdict}"))
    return INCOMPLETE if replayed.not_made else VIOLATED if replayed.difference else AS_EXPECTED


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yield the folder for the brokers, which is removed at the end unless the user wants to keep it."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="leadline-") as name:
            yield Path(name)
        return
    if keep.exists() and any(keep.iterdir()):
        raise LeadlineError(f"{keep} is not empty: pass --keep a new folder")
    yield keep.absolute()


def exit_code(judgements: Sequence[Judgement]) -> int:
    """Return the exit code for what replays show of a bug."""
    if Judgement.OTHERWISE in judgements:
        return VIOLATED
    return INCOMPLETE if Judgement.NOT_MADE in judgements else AS_EXPECTED
