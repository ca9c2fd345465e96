"""The command `leadline hunt`, which searches for all causes of violations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from leadline.checker.errors import LeadlineError
from leadline.checker.settings import MOST_WORKERS
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.explore import spark_settings
from leadline.reports.cli.options import EngineCommand, EngineOption, conf_option, master_option
from leadline.reports.cli.outputs import Attempts, Files, check_output, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.document.terminal import document_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.hunt.cures import base_spec
from leadline.reports.hunt.document import hunt_document
from leadline.reports.hunt.engines import on_spark, on_this_machine
from leadline.reports.hunt.hunt import Hunt, Watch, digest_of, prepared, renewed
from leadline.reports.hunt.plan import Plan, read_plan, shipped_plan
from leadline.reports.hunt.report import Cause, HuntReport, read_hunt, save_hunt
from leadline.reports.kafka import HUNTED
from leadline.reports.lines import say
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import labelled, progress_line


@click.command(cls=EngineCommand)
@click.argument("specs", nargs=-1, metavar="[SPEC]...", shell_complete=complete_spec(".py"))
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the searches from this TOML file. By default, Kafka's releases use the shipped plan, and your own specs "
    "are searched once with their default bounds.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=50.0,
    show_default=True,
    metavar="N",
    help="Stop after N minutes. Each spec gets an equal share of the time.",
)
@click.option(
    "--save",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save the results to FILE after each search. If FILE exists, resume the hunt that is saved there "
    "without repeating its searches. Those of a spec that has changed since, or that reads files, are made again.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed for the random searches.")
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    metavar="N",
    help="Use N threads for each search. The default is one for each core.",
)
@click.option(
    "--engine",
    type=click.Choice(["compiled", "spark"]),
    default="compiled",
    show_default=True,
    help="The engine for the exhaustive searches. With spark, a search begins on this machine, and is distributed once "
    "its levels are large: the searches of the shipped plans are too small to gain from it.",
)
@master_option
@click.option(
    "--work-dir",
    cls=EngineOption,
    engines=["spark"],
    metavar="DIR",
    help="A directory or URI for Spark's files. All machines of a cluster must be able to access it. The files of "
    "incomplete searches are kept.",
)
@conf_option
@format_options(FORMATS["hunt"])
def hunt(
    specs: tuple[str, ...],
    plan_file: Path | None,
    minutes: float,
    saved: Path | None,
    seed: int,
    workers: int | None,
    engine: str,
    master: str | None,
    work_dir: str | None,
    conf: tuple[str, ...],
    **wanted: Path | None,
) -> int:
    """Search for all causes of violations, first with few failures, then with more.

    SPEC is a release of Kafka or a spec of your own; by default, kafka/4.1 and kafka/4.3 are searched. Each search
    visits every state within its bounds. If it does not finish in time, it continues with random behaviours. When a
    property is violated, the hunt finds the rules that cause the violation. A cause with a ticket in the archive of
    known bugs is recognised. The rule is then changed and the search is repeated, so that one cause does not hide the
    next.

    \b
    leadline hunt kafka/4.3 --minutes 10
    leadline hunt --save hunt.json --html hunt.html
    leadline hunt spec.py --plan plan.toml

    Exit code 0: all searches are complete, and every cause has a ticket or is by design; 1: a cause is not known; 2:
    usage error; 3: searches are incomplete, or the command was interrupted.
    """
    references = specs or HUNTED
    if plan_file is not None:
        plan, name = read_plan(plan_file), str(plan_file)
    else:
        shipped = {shipped_plan(base_spec(each)) for each in references}
        if len(shipped) > 1:
            raise LeadlineError(
                "each shipped plan is for one family of releases: pass --plan, or hunt each family separately"
            )
        (path,) = shipped
        plan, name = (Plan(), "default bounds") if path is None else (read_plan(path), "the shipped plan")
    files = Files(FORMATS["hunt"], wanted)
    report = _report(plan, name, references, saved)
    started, before = time.monotonic(), report.seconds
    properties = spark_settings(conf)

    unsaved = False

    def save() -> None:
        nonlocal unsaved
        report.seconds = round(before + time.monotonic() - started, 1)
        if saved is not None:
            try:
                save_hunt(report, saved)
            except OSError as error:  # what was found must not be lost with the file
                if not unsaved:
                    say(f"leadline: cannot write {saved}: {error.strerror}; the hunt continues", err=True)
                unsaved = True
            else:
                unsaved = False

    report.interrupted = False
    with ExitStack() as stack:
        stack.enter_context(only_the_result_on_stdout(files.only_a_report))
        watch = stack.enter_context(_watched())
        try:
            if engine == "spark":
                explore = stack.enter_context(on_spark(master, properties, work_dir))
            else:
                explore = on_this_machine(workers)
            Hunt(
                plan=plan,
                report=report,
                until=started + 60 * minutes,
                watch=watch,
                save=save,
                explore=explore,
                found=_found,
                seed=seed,
                workers=workers,
                clock=time.monotonic if engine == "spark" else time.process_time,
            ).run()
        except KeyboardInterrupt:  # the causes found so far must not be lost
            report.interrupted = True
    save()
    attempt = Attempts()
    files.save(report, attempt)
    with attempt:
        files.print(report)
        if not files.only_a_report:
            console().print(document_view(hunt_document(report)))
    with attempt:
        if unsaved:
            raise LeadlineError(f"the hunt is not saved to {saved}, which cannot be written")
    attempt.raise_failures()
    if report.interrupted:
        say("leadline: interrupted", err=True)
        return INCOMPLETE
    if not report.is_as_expected:
        return VIOLATED
    return AS_EXPECTED if report.is_complete else INCOMPLETE


def _found(reference: str, cause: Cause) -> None:
    """Show a cause as soon as it is found: a hunt can take hours."""
    what = f"{cause.violates} in {counted(cause.length, 'state')}: {cause.kind}, {cause.name}"
    say(f"leadline: found in {visible(f'{reference}: {what}')}", err=True)


def _report(plan: Plan, name: str, references: tuple[str, ...], saved: Path | None) -> HuntReport:
    """Return an empty report for a new hunt, or the report of a saved hunt to resume."""
    own, digest = prepared(plan, references), digest_of(plan, references)
    if saved is None:
        return HuntReport(plan=name, digest=digest, specs=own)
    if not saved.exists():
        check_output(saved)
        return HuntReport(plan=name, digest=digest, specs=own)
    report = read_hunt(saved)
    if report.digest != digest:
        raise LeadlineError(f"{saved} contains a hunt with other specs or another plan: pass another file to --save")
    for why in renewed(report, own).values():
        say(f"leadline: {visible(f'{why} since {saved} was written')}: all its searches are made again", err=True)
    return report


@contextmanager
def _watched() -> Iterator[Watch]:
    """Show the progress of all searches in one line."""
    with progress_line("hunt") as show:
        yield lambda label: labelled(show, lambda: label)
