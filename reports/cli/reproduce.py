"""The command `leadline reproduce`, which replays the counterexample of a known bug on real brokers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from leadline.brokers.errors import NotExecutable
from leadline.brokers.folder import run_folder
from leadline.brokers.releases import broker_release, mixed_release, releases
from leadline.brokers.reproduction import Judgement
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.reports.cli.options import refuse_options
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.document.terminal import blocks_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.kafka.broker_releases import BROKERS, list_releases, try_release
from leadline.reports.kafka.broker_runs.counterexamples import counterexample
from leadline.reports.kafka.broker_runs.disks import audited
from leadline.reports.kafka.broker_runs.live import LiveReplay, evidence, judged_blocks
from leadline.reports.kafka.broker_runs.objects import ReproductionReport
from leadline.reports.kafka.broker_runs.reproduce import about_bug, run
from leadline.reports.kafka.broker_runs.reproduce import reproduce as reproduce_on_brokers
from leadline.reports.kafka.broker_runs.schedules import (
    Schedules,
    affected_release,
    bug_of,
    fixed_release,
    plan_on,
    schedules_of,
)
from leadline.reports.lines import say
from leadline.reports.terminal.console import console


@click.command()
@click.argument("ticket", required=False)
@click.option(
    "--release", metavar="VERSION", help="The affected release to use. The default is the last affected release."
)
@click.option(
    "--against", metavar="VERSION", help="The fixed release to use. The default is the first release with the fix."
)
@click.option("--plan", "only_plan", is_flag=True, help="Print the plan of each replay without starting brokers.")
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the brokers' logs, data directories and recordings in this folder.",
)
@click.option(
    "--releases",
    "only_list",
    is_flag=True,
    help="Instead of a TICKET: list the releases of Kafka that can be started on this machine, each with its spec, the "
    "supported versions of Java, and the state of its jars.",
)
@click.option(
    "--try",
    "tried",
    metavar="VERSION",
    help=f"Instead of a TICKET: start a controller and {BROKERS} brokers of this release, show how long this takes, "
    "and stop them.",
)
@format_options(FORMATS["reproduction"])
def reproduce(
    ticket: str | None,
    release: str | None,
    against: str | None,
    only_plan: bool,
    keep: Path | None,
    only_list: bool,
    tried: str | None,
    **wanted: Path | None,
) -> int:
    """Replay the counterexample of a known bug on real brokers of an affected release, and of a release with the fix.

    TICKET is a ticket or KIP that `leadline bugs --list` shows. Brokers are started on this machine behind proxies,
    which hold all replication traffic and release the messages of one step of the model at a time. After each step, the
    logs, high watermarks, ISR, leader and messages in flight are compared with the model. For a bug in transactions,
    the producer's requests are held instead, and the command compares logs, last stable offsets, the records that a
    read_committed consumer reads, and the state of the coordinator. For a bug in KRaft's quorum, no broker is started:
    the KafkaRaftClients of a release run in one Java process, for which a JDK is needed. This command requires Linux,
    Java, and pip install 'leadline[brokers]'. The first start of a release downloads its jars from a Maven repository,
    and saves a class-data archive that makes later starts faster. A release is a version such as 2.8.0, or 3.6.2-zk to
    use ZooKeeper instead of KRaft.

    \b
    leadline reproduce --releases
    leadline reproduce --try 4.1.1
    leadline reproduce KIP-101
    leadline reproduce KAFKA-15495 --release 4.0.0 --against 4.1.1 --html page.html

    Exit code 0: the bug occurs on the affected release and is absent on the release with the fix; 1: the bug is absent
    on the affected release, or occurs on the other release; 2: usage error, or the brokers cannot be started; 3: the
    brokers did not execute a step, or the command was interrupted.
    """
    if sum([ticket is not None, only_list, tried is not None]) != 1:
        raise click.UsageError("pass a TICKET that `leadline bugs --list` shows, or --releases, or --try VERSION")
    if ticket is None:
        of_replays = {"against": against, "plan": only_plan, **wanted}
        refuse_options(of_replays | ({"keep": keep} if only_list else {"release": release}), "requires a TICKET")
        if tried is not None:
            try_release(broker_release(tried), keep)
        else:
            list_releases(releases() if release is None else [broker_release(release)])
        return AS_EXPECTED
    archive, files = archive_with_causes(), Files(FORMATS["reproduction"], wanted)
    bug = bug_of(archive, ticket)
    affected = affected_release(bug, release)
    fixed = fixed_release(bug, affected, against)
    with only_the_result_on_stdout(files.only_a_report):
        try:
            schedules = schedules_of(archive, bug, affected, fixed, counterexample)
        except NotExecutable as error:
            say(f"{bug.ticket}: {visible(str(error))}")
            return INCOMPLETE
        if only_plan:
            _print_plan(schedules)
            return AS_EXPECTED
        with run_folder(keep) as folder:
            report = _reproduced(schedules, folder, quiet=files.only_a_report)
    files.write(report)
    return exit_code(report.reproduction.judgements)


def _reproduced(schedules: Schedules, folder: Path, *, quiet: bool) -> ReproductionReport:
    out = console(stderr=True) if quiet else console()
    for line in about_bug(schedules):
        out.print(Text(visible(line), style="bold"))
    return reproduce_on_brokers(
        schedules,
        folder,
        lambda plan: LiveReplay(out, plan, plan.trace.spec.name),
        lambda judged, audit: out.print("", blocks_view(judged_blocks(judged, audit)), sep="\n"),
    )


def _print_plan(schedules: Schedules) -> None:
    both = ((schedules.affected, schedules.plan), (schedules.control, schedules.control_plan))
    for release, plan in both:
        say(f"Kafka {release.name}, replicas {', '.join(map(str, plan.replicas))}")
        for line in plan.lines:
            say(f"  {visible(line)}")
        if plan.refused is not None:
            say(f"  {plan.refused.number}. must not be possible: {visible(plan.refused.sentence)}")


def replay_on(trace: Trace[Any], name: str, keep: Path | None) -> tuple[int, str]:
    """Replay a trace on real brokers, and print each step.

    Parameters:
        trace: a trace that the model allows.
        name: the name of the Kafka release to run, or of a mix.
        keep: the folder for the files of the brokers, or None to remove the files.

    Returns:
        The exit code, and what the brokers did, in words.

    Raises:
        LeadlineError: if the spec of the trace is not a Kafka release or a mix, if only one of the spec and `name` is a
            mix, or if they have different kinds of controllers.
    """
    release = mixed_release(name)
    try:
        plan = plan_on(trace, release)
    except NotExecutable as error:
        say(visible(str(error)))
        return INCOMPLETE, str(error)
    out = console()
    with run_folder(keep) as folder:
        replayed = run(plan, release, folder / release.name, LiveReplay(out, plan, trace.spec.name))
        audit = audited(folder / release.name)
    for line in (*evidence(replayed), audit):
        out.print(Text(f"  {visible(line)}"))
    verdict = replayed.not_made or replayed.difference or f"the brokers did what {trace.spec.name} says"
    say(visible(f"Kafka {release.name}, {replayed.seconds:.0f} s: {verdict}"))
    return INCOMPLETE if replayed.not_made else VIOLATED if replayed.difference else AS_EXPECTED, verdict


def exit_code(judgements: Sequence[Judgement]) -> int:
    """Return the exit code for the given conclusions, one from each replay."""
    if Judgement.OTHERWISE in judgements:
        return VIOLATED
    return INCOMPLETE if Judgement.NOT_MADE in judgements else AS_EXPECTED
