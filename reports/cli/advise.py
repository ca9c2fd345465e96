"""The command `leadline advise`, which says what an upgrade changes for the known bugs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from leadline.reports.cli.options import refuse_options
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.document import Document
from leadline.reports.document.terminal import document_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.advice import advice as upgrades
from leadline.reports.kafka.advice.advice import Advice, Group
from leadline.reports.kafka.advice.cluster import clusters
from leadline.reports.kafka.advice.decisions import Decider
from leadline.reports.kafka.advice.document import advice_document
from leadline.reports.kafka.advice.groups import ConsumerGroup, GroupAdvice, advise_group, group_document, read_group
from leadline.reports.kafka.advice.settings import MOST, read_settings
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.lines import say
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line

FILE = click.Path(path_type=Path)

A = TypeVar("A", Advice, GroupAdvice)


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
@click.option(
    "--config",
    type=FILE,
    metavar="FILE",
    help="The server.properties file of a broker. Without it, settings have their defaults.",
)
@click.option(
    "--consumer-config",
    type=FILE,
    metavar="FILE",
    help="A file with the settings of the consumers of a group: the advice is about the group. With --config, some "
    "settings of brokers are read, too.",
)
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
    config: Path | None,
    consumer_config: Path | None,
    topic_config: Path | None,
    producer_config: Path | None,
    replication_factor: int | None,
    max_seconds: float,
    **wanted: Path | None,
) -> int:
    """Show the known bugs in Kafka's replication, or of a consumer group, that a release has, or that an upgrade fixes,
    introduces, or leaves unchanged.

    If the settings differ from those in the archive of known bugs, leadline searches for each bug with the given
    settings. Each bug is shown with the command that repeats its search. A RELEASE is one that `leadline specs` lists,
    with or without "kafka/". The settings zookeeper.connect and process.roles determine whether the cluster uses
    ZooKeeper or KRaft. Without --producer-config, acks has the default of the release: 1 before 3.0, and all since 3.0.
    The settings controller.quorum.voters and controller.quorum.bootstrap.servers tell how many controllers there are:
    searches then say by what their metadata log loses a committed record, and what this costs partitions.
    With --consumer-config, the settings partition.assignment.strategy and group.instance.id determine by which known
    bugs a group gets stuck, or reads records twice; with --config, also group.consumer.assignors and, from 3.7 to 3.9,
    which coordinator the brokers have.

    \b
    leadline advise --from 3.6.1 --config server.properties
    leadline advise --from 2.8 --to 4.1 --config server.properties
    leadline advise --from 3.6-zk --to 3.9-zk --config server.properties --topic-config orders.properties
    leadline advise --from 3.5 --to 4.1 --config server.properties --producer-config producer.properties
    leadline advise --from 2.8.0 --consumer-config consumer.properties

    Exit code 0: every bug has a result; 2: usage error, such as a value that is not allowed; 3: there is no result for
    at least one bug, because of a time limit, an interrupt, or an inter.broker.protocol.version older than the
    release.
    """
    archive = read_archive()
    decider = Decider(archive, max_seconds, progress_line)
    if consumer_config is not None:
        given = {"topic-config": topic_config, "producer-config": producer_config}
        refuse_options(given | {"replication-factor": replication_factor}, "cannot be used with --consumer-config")
        return _of_group(before, after or before, read_group(consumer_config, config), decider, wanted)
    settings = read_settings(config, topic_config, producer_config, replication_factor)
    old, new = clusters(before, after or before, settings)
    files = Files(FORMATS["advice"], wanted)
    with only_the_result_on_stdout(files.only_a_report):
        advice = upgrades.advise(old, new, settings, archive, decider)
    undecided = any(finding.group is Group.UNDECIDED for finding in advice.findings)
    undecided = undecided or (advice.quorum is not None and advice.quorum.is_undecided)
    return _report(advice, advice_document, files, undecided)


def _of_group(
    before: str, after: str, group: ConsumerGroup, decider: Decider, wanted: Mapping[str, Path | None]
) -> int:
    files = Files(FORMATS["advice on a group"], wanted)
    with only_the_result_on_stdout(files.only_a_report):
        advice = advise_group(before, after, group, decider.archive, decider)
    return _report(advice, group_document, files, advice.is_undecided)


def _report(advice: A, document: Callable[[A], Document], files: Files, undecided: bool) -> int:
    if not files.only_a_report:
        console().print(document_view(document(advice)))
    files.write(advice)
    if advice.interrupted:
        say("leadline: interrupted", err=True)
    return INCOMPLETE if undecided or advice.interrupted else AS_EXPECTED
