"""A cluster whose processes reach each other only through a proxy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Node, Ports, free_ports
from leadline.brokers.proxy import Proxy
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease


@attrs.frozen
class ObservedCluster:
    """A cluster, the proxy that listens in front of each of its processes, and a client.

    Attributes:
        definitions: the definitions of the release's messages.
        proxy, cluster, client: the proxy, the cluster and the client.
    """

    definitions: Definitions
    proxy: Proxy
    cluster: Cluster
    client: Client

    def start(self, replicas: Sequence[int], controllers: Sequence[int]) -> None:
        """Start all processes.

        Parameters:
            replicas: the brokers that will have replicas.
            controllers: the brokers without replicas. With ZooKeeper, the first one is started before all other
                brokers, so that it becomes the controller.

        Raises:
            BrokerError: if a process does not start.
        """
        if controllers:
            self.cluster.start(["zookeeper", controllers[0]])
            self.cluster.start([*replicas, *controllers[1:]])
        else:
            self.cluster.start()


@contextmanager
def observed_cluster(
    release: BrokerRelease,
    folder: Path,
    brokers: int,
    settings: Mapping[str, str],
    recording: RecordingWriter | None = None,
    per_broker: Mapping[int, Mapping[str, str]] | None = None,
    *,
    log_dirs: int = 1,
) -> Iterator[ObservedCluster]:
    """Return a context manager for a cluster whose processes reach each other only through a proxy. The cluster is not
    started. At the end of the ``with`` block, all processes and threads are stopped.

    Parameters:
        release: the release of all processes.
        folder: an empty folder for the cluster.
        brokers: the number of brokers.
        settings: configuration properties for all brokers and the KRaft controller.
        recording: the recording to which all frames are written, or None.
        per_broker: additional configuration properties for individual brokers, keyed by broker id.
        log_dirs: the number of log directories of each broker.

    Raises:
        BrokerError: see `Cluster`.
    """
    definitions = definitions_of(release)
    with Proxy(definitions, recording) as proxy:
        ports = _listen(proxy, release, brokers)
        with Cluster(
            release, folder, brokers=brokers, ports=ports, settings=settings, per_broker=per_broker, log_dirs=log_dirs
        ) as cluster:
            proxy.attribute(cluster.pids)
            yield ObservedCluster(definitions, proxy, cluster, Client(definitions, ports.advertised))


def _listen(proxy: Proxy, release: BrokerRelease, brokers: int) -> Ports:
    nodes = nodes_of(release, brokers)
    real = free_ports(nodes)
    advertised: dict[Node, int] = {node: proxy.listen(node, real[node]) for node in nodes if node != "zookeeper"}
    zookeeper_for: dict[int, int] = {}
    if not release.kraft:
        zookeeper_for = {
            broker: proxy.listen("zookeeper", real["zookeeper"], client=broker) for broker in range(brokers)
        }
    return Ports(real, advertised, zookeeper_for)
