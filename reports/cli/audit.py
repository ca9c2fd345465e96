"""`leadline audit`: the same invariants on the disks of real brokers."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leadline.checker.support.visible import visible
from leadline.invariants.audit.cluster import audit as audit_directories
from leadline.invariants.audit.cluster import compare
from leadline.invariants.audit.result import AuditResult
from leadline.invariants.audit.spark import audit_on_spark
from leadline.reports.audit.counterexamples import Counterexample, with_counterexamples
from leadline.reports.audit.findings import audit_findings, audit_markdown
from leadline.reports.audit.json_audit import audit_object
from leadline.reports.audit.page import audit_page
from leadline.reports.audit.terminal import audit_progress, audit_view, searching
from leadline.reports.ci.junit import junit as junit_xml
from leadline.reports.ci.sarif import sarif as sarif_log
from leadline.reports.cli.explore import spark_settings
from leadline.reports.cli.outputs import check_output, write_output, writing
from leadline.reports.exit_codes import OF_VERDICT
from leadline.reports.terminal.run import console, is_plain

_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1)
@click.option("--before", multiple=True, metavar="DIR", help="A directory of an earlier moment of the same cluster.")
@click.option("--after", multiple=True, metavar="DIR", help="A directory of the later moment; the same as DIR.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    help="Write the result to a file as a JSON object. With -, write it to standard output, and nothing else.",
)
@click.option("--html", metavar="FILE", type=_file, help="Write an HTML page.")
@click.option("--junit", metavar="FILE", type=_file, help="Write JUnit XML: a test case for each violation.")
@click.option("--sarif", metavar="FILE", type=_file, help="Write SARIF, for code scanning.")
@click.option("--markdown", metavar="FILE", type=_file, help="Append a Markdown summary, for $GITHUB_STEP_SUMMARY.")
@click.option(
    "--stopped",
    is_flag=True,
    help="No broker was running when its directory was copied: take the directories as of one moment even if "
    "brokers crashed.",
)
@click.option("--no-traces", is_flag=True, help="Do not search for known counterexamples that match a finding.")
@click.option("--no-checksums", is_flag=True, help="Do not compute the batches' checksums.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="local: processes on this machine. spark: each machine of a Spark cluster reads its own disks; directories "
    "named by URIs, such as s3://bucket/directory, are shared among all machines.",
)
@click.option("--master", metavar="URL", help="Spark's master; by default all cores of this machine. (spark)")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="Set one of Spark's settings. (spark)")
@click.option("--verbose", is_flag=True, help="Show Spark's log and progress bar. (spark)")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Share the work among N processes; by default one per core.",
)
def audit(
    directories: tuple[str, ...],
    before: tuple[str, ...],
    after: tuple[str, ...],
    json_file: str | None,
    html: Path | None,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    stopped: bool,
    no_traces: bool,
    no_checksums: bool,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    verbose: bool,
    workers: int | None,
) -> int:
    """Check the data directories of brokers: each log, replicas against each other, and all against the metadata log.

    DIR is a broker's data directory (log.dirs), or a directory that contains those of several brokers. Nothing is
    written there. Directories copied from running brokers are not of one moment, and checks that need one moment
    are incomplete. With --before, what was committed at the earlier moment must be there at the later one.

    \b
    leadline audit /var/lib/kafka/broker-1 /var/lib/kafka/broker-2 /var/lib/kafka/broker-3
    leadline audit backup --json audit.json
    leadline audit --before monday --after tuesday
    leadline audit --engine spark --master spark://host:7077 /var/lib/kafka/data

    Exit code 0: nothing is wrong; 1: something is wrong; 2: a usage error; 3: incomplete, nothing wrong so far.
    """
    now = (*directories, *after)
    if not now:
        raise click.UsageError("name the data directories of the brokers: leadline audit DIR...")
    if "" in (*now, *before):
        raise click.UsageError("a directory has an empty name, as from a variable that is not set")
    outputs = [path for path in (html, junit, sarif, markdown) if path is not None]
    outputs += [Path(json_file)] if json_file is not None and json_file != "-" else []
    for path in outputs:
        check_output(path)
    for option, given in {"--master": master, "--conf": conf, "--verbose": verbose}.items():
        if given and engine != "spark":
            raise click.UsageError(f"{option} is for the spark engine, not for the {engine}")
    if engine == "spark" and (workers or before):
        raise click.UsageError(f"{'--workers' if workers else '--before'} is not for the spark engine")
    checksums = not no_checksums
    with _terminated_as_interrupted(), audit_progress() as progress:
        if engine == "spark":
            result = audit_on_spark(
                now,
                checksums=checksums,
                stopped=stopped,
                master=master,
                conf=spark_settings(conf),
                verbose=verbose,
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
    if json_file != "-":
        out = console()
        out.print(audit_view(result, examples, plain=is_plain(out), width=out.width))
    else:
        sys.stdout.write(_json(result))
    if json_file is not None and json_file != "-":
        write_output(Path(json_file), _json(result))
    if html is not None:
        write_output(html, audit_page(f"leadline audit {visible(' '.join(now))}", result, examples))
    if junit is not None:
        write_output(junit, junit_xml("audit", audit_findings(result)))
    if sarif is not None:
        write_output(sarif, sarif_log(audit_findings(result)))
    if markdown is not None:
        _append(markdown, audit_markdown(result, examples))
    return OF_VERDICT[result.verdict.value]


def _json(result: AuditResult) -> str:
    return json.dumps(audit_object(result), indent=2) + "\n"


def _append(path: Path, text: str) -> None:
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """While an audit runs, handle SIGTERM like Ctrl-C: the audit ends with a report of what was found."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
