"""The command `leadline audit`, which checks the invariants on the disks of real brokers."""

from __future__ import annotations

from pathlib import Path

import click

from leadline.invariants.audit.cluster import audit as audit_directories
from leadline.invariants.audit.cluster import compare
from leadline.invariants.audit.spark import audit_on_spark
from leadline.reports.cli.explore import spark_settings
from leadline.reports.cli.options import EngineCommand, EngineOption, conf_option, master_option, verbose_option
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.document.terminal import blocks_view
from leadline.reports.exit_codes import OF_VERDICT
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.audit.counterexamples import Counterexample, with_counterexamples
from leadline.reports.kafka.audit.document import ON_A_TERMINAL, audit_document
from leadline.reports.kafka.audit.findings import AuditReport
from leadline.reports.kafka.audit.progress import audit_progress, searching
from leadline.reports.terminal.console import console


@click.command(cls=EngineCommand)
@click.argument("directories", metavar="DIR...", nargs=-1)
@click.option(
    "--before",
    multiple=True,
    metavar="DIR",
    help="An earlier copy of a data directory of the same cluster (can be repeated).",
)
@click.option(
    "--after",
    multiple=True,
    metavar="DIR",
    help="A later copy of a data directory, compared with the earlier copies (can be repeated). With --before, "
    "directories passed as DIR also count as later copies.",
)
@format_options(FORMATS["audit"])
@click.option(
    "--stopped",
    is_flag=True,
    help="Declare that no broker was running when the directories were copied. The copies are then treated as made at "
    "the same time, even if brokers had crashed.",
)
@click.option("--no-traces", is_flag=True, help="Do not search for known bugs that match a finding.")
@click.option("--no-checksums", is_flag=True, help="Do not verify the checksums of batches.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="local: use processes on this machine. spark: use a Spark cluster, in which each machine reads its own disks. "
    "Directories given as URIs, such as s3://bucket/directory, are divided among the machines.",
)
@master_option
@conf_option
@verbose_option
@click.option(
    "--workers",
    cls=EngineOption,
    engines=["local"],
    type=click.IntRange(1, 256),
    metavar="N",
    help="Use N processes. The default is one process per core.",
)
def audit(
    directories: tuple[str, ...],
    before: tuple[str, ...],
    after: tuple[str, ...],
    stopped: bool,
    no_traces: bool,
    no_checksums: bool,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    verbose: bool | None,
    workers: int | None,
    **wanted: Path | None,
) -> int:
    """Check the data directories of brokers.

    Each log is checked. The replicas of a partition are compared with each other and with the metadata log.

    DIR is the data directory (log.dirs) of a broker, or a directory that contains the data directories of several
    brokers. The directories are only read. The directories of running brokers cannot all be copied at the same time.
    Therefore, checks that compare brokers at a single point in time are incomplete, unless all brokers were stopped
    cleanly or --stopped is given. With --before, records that were committed in the earlier copy must be present in the
    later copy.

    \b
    leadline audit /var/lib/kafka/broker-1 /var/lib/kafka/broker-2 /var/lib/kafka/broker-3
    leadline audit backup --json audit.json
    leadline audit --before monday --after tuesday
    leadline audit --engine spark --master spark://host:7077 /var/lib/kafka/data

    Exit code 0: no errors were found; 1: errors were found; 2: usage error; 3: the audit is incomplete and has found no
    errors so far.
    """
    now = (*directories, *after)
    if before and not now:
        raise click.UsageError("--before needs directories that were copied later: pass them with --after")
    if not now:
        raise click.UsageError(
            "no data directory was given: run leadline audit DIR... with the data directories of brokers"
        )
    if "" in (*now, *before):
        raise click.UsageError("a directory has an empty name: check that every shell variable in the command is set")
    files = Files(FORMATS["audit"], wanted)
    if engine == "spark" and before:
        raise click.UsageError("--before cannot be used with --engine spark")
    checksums = not no_checksums
    with audit_progress() as progress:
        if engine == "spark":
            result = audit_on_spark(
                now,
                checksums=checksums,
                stopped=stopped,
                master=master,
                conf=spark_settings(conf),
                verbose=bool(verbose),
                progress=progress,
            )
        elif before:
            result = compare(before, now, checksums=checksums, stopped=stopped, workers=workers, progress=progress)
        else:
            result = audit_directories(now, checksums=checksums, stopped=stopped, workers=workers, progress=progress)
    examples: list[Counterexample] = []
    if not no_traces:
        with searching() as tell:
            result, examples = with_counterexamples(result, tell)
    if not files.only_a_report:
        document = audit_document("", result, examples, ON_A_TERMINAL)
        console().print(blocks_view((*document.blocks, *document.conclusion)))
    files.write(AuditReport(" ".join(now), result, examples))
    return OF_VERDICT[result.verdict.value]
