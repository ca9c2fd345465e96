"""A cluster whose processes reach each other only through a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.ports import Node, Ports, free_ports
from leadline.brokers.proxy import Proxy
from leadline.brokers.releases import BrokerRelease


def cluster_behind(
    proxy: Proxy,
    release: BrokerRelease,
    folder: Path,
    brokers: int,
    settings: Mapping[str, str],
    per_broker: Mapping[int, Mapping[str, str]] | None = None,
    *,
    log_dirs: int = 1,
) -> Cluster:
    """Return a cluster behind a proxy that listens in front of each process. The cluster is not started.

    Parameters:
        proxy: the proxy.
        release: the release of all processes.
        folder: an empty folder for the cluster.
        brokers: the number of brokers.
        settings: configuration properties for all brokers and the KRaft controller.
        per_broker: additional configuration properties for individual brokers, keyed by broker id.
        log_dirs: the number of log directories of each broker.

    Raises:
        BrokerError: see `Cluster`.
    """
    nodes = nodes_of(release, brokers)
    real = free_ports(nodes)
    advertised: dict[Node, int] = {node: proxy.listen(node, real[node]) for node in nodes if node != "zookeeper"}
    zookeeper_for: dict[int, int] = {}
    if not release.kraft:
        zookeeper_for = {
            broker: proxy.listen("zookeeper", real["zookeeper"], client=broker) for broker in range(brokers)
        }
    ports = Ports(real, advertised, zookeeper_for)
    cluster = Cluster(
        release, folder, brokers=brokers, ports=ports, settings=settings, per_broker=per_broker, log_dirs=log_dirs
    )
    proxy.attribute(cluster.pids)
    return cluster
