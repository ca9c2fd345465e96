"""The command `leadline advise`, which says what an upgrade changes for the known bugs."""

from __future__ import annotations

from pathlib import Path

import click

from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.document.terminal import document_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.advice import advice as upgrades
from leadline.reports.kafka.advice.advice import Advice, Group
from leadline.reports.kafka.advice.cluster import clusters
from leadline.reports.kafka.advice.decisions import Decider
from leadline.reports.kafka.advice.document import advice_document
from leadline.reports.kafka.advice.settings import MOST, read_settings
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.lines import say
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line

FILE = click.Path(path_type=Path)


@click.command()
@click.option(
    "--from",
    "before",
    required=True,
    metavar="RELEASE",
    help="The Kafka version that the cluster currently runs, e.g. 2.8.1.",
)
@click.option(
    "--to",
    "after",
    metavar="RELEASE",
    help="The Kafka version to upgrade to, e.g. 4.1. Without it, the known bugs of one release are shown.",
)
@click.option("--config", required=True, type=FILE, metavar="FILE", help="The server.properties file of a broker.")
@click.option(
    "--topic-config",
    type=FILE,
    metavar="FILE",
    help="A file with topic settings, which override the settings of the brokers.",
)
@click.option("--producer-config", type=FILE, metavar="FILE", help="A file with producer settings, such as acks.")
@click.option(
    "--replication-factor",
    type=click.IntRange(1, MOST),
    metavar="N",
    help="The replication factor of the topic. The default is the value of default.replication.factor. If that is not "
    "set either, the number of replicas is not restricted.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="The time limit for each search, in seconds.",
)
@format_options(FORMATS["advice"])
def advise(
    before: str,
    after: str | None,
    config: Path,
    topic_config: Path | None,
    producer_config: Path | None,
    replication_factor: int | None,
    max_seconds: float,
    **wanted: Path | None,
) -> int:
    """Show the known bugs in Kafka's replication that a release has, or that an upgrade fixes, introduces, or leaves
    unchanged.

    If the settings differ from those in the archive of known bugs, leadline searches for each bug with the given
    settings. Each bug is shown with the command that repeats its search. A RELEASE is one that `leadline specs` lists,
    with or without "kafka/". The settings zookeeper.connect and process.roles determine whether the cluster uses
    ZooKeeper or KRaft. Without --producer-config, acks has the default of the release: 1 before 3.0, and all since 3.0.

    \b
    leadline advise --from 3.6.1 --config server.properties
    leadline advise --from 2.8 --to 4.1 --config server.properties
    leadline advise --from 3.6-zk --to 3.9-zk --config server.properties --topic-config orders.properties
    leadline advise --from 3.5 --to 4.1 --config server.properties --producer-config producer.properties

    Exit code 0: every bug has a result; 2: usage error, such as a value that is not allowed; 3: there is no result for
    at least one bug, because of a time limit, an interrupt, or an inter.broker.protocol.version older than the
    release.
    """
    settings = read_settings(config, topic_config, producer_config, replication_factor)
    old, new = clusters(before, after or before, settings)
    files = Files(FORMATS["advice"], wanted)
    archive = read_archive()
    with only_the_result_on_stdout(files.only_a_report):
        advice = upgrades.advise(old, new, settings, archive, Decider(archive, max_seconds, progress_line))
    return _report(advice, files)


def _report(advice: Advice, files: Files) -> int:
    if not files.only_a_report:
        console().print(document_view(advice_document(advice)))
    files.write(advice)
    if advice.interrupted:
        say("leadline: interrupted", err=True)
    undecided = any(finding.group is Group.UNDECIDED for finding in advice.findings)
    return INCOMPLETE if undecided or advice.interrupted else AS_EXPECTED
