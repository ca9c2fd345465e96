"""A cluster whose processes reach each other only through a proxy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from leadline.brokers import zookeeper
from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.driver.waiting import StepFailed, until
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Rule
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Node, Ports, free_ports
from leadline.brokers.proxy import Proxy
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.timeout_scale import timeout_scale

CONTROLLER_PATH = "/controller"
"""The ZooKeeper node that names the controller."""

READY_SECONDS = 60.0


class ObservedCluster:
    """A cluster whose processes reach each other only through a proxy, and a client. It is not started.

    It is a context manager. At the end of the ``with`` block, all its processes and threads are stopped.

    Parameters:
        folder: an empty folder for the cluster.
        brokers: the number of brokers.
        settings: configuration properties for all brokers and the KRaft controller.
        recording: the recording to which all frames are written, or None.
        per_broker: additional configuration properties for individual brokers, keyed by broker id.
        log_dirs: the number of log directories of each broker.
        stages: how far nodes are upgraded from `release`; see `Cluster`.

    Raises:
        BrokerError: see `Cluster`.
    """

    def __init__(
        self,
        release: BrokerRelease,
        folder: Path,
        brokers: int,
        settings: Mapping[str, str],
        recording: RecordingWriter | None = None,
        per_broker: Mapping[int, Mapping[str, str]] | None = None,
        *,
        log_dirs: int = 1,
        stages: Mapping[Node, int] | None = None,
    ) -> None:
        self.release, self.timeout_scale = release, timeout_scale()
        self.definitions = definitions_of(release)
        with ExitStack() as stack:
            self.proxy = stack.enter_context(Proxy(self.definitions, recording))
            ports = _listen(self.proxy, release, brokers)
            cluster = Cluster(
                release,
                folder,
                brokers=brokers,
                ports=ports,
                settings=settings,
                per_broker=per_broker,
                log_dirs=log_dirs,
                stages=stages,
            )
            self.cluster = stack.enter_context(cluster)
            self.cluster.note = self.proxy.note
            self.proxy.attribute(self.cluster.pids)
            self.client = Client(self.definitions, ports.advertised)
            self.close = stack.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def start_processes(self, replicas: Sequence[int], controllers: Sequence[int]) -> None:
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

    def upgrade(self, node: Node, stage: int) -> None:
        """Let a node run another release or have another level when it is next started; see `Cluster.stages`."""
        self.cluster.stages[node] = stage
        self.client.forget(node)

    def move_controller(self, old: int, following: int, others: Sequence[int]) -> None:
        """Kill the controller (with ZooKeeper), and let another broker take over.

        Parameters:
            others: all other brokers. They are notified only after the new controller is elected.

        Raises:
            BrokerError: if the broker does not become the controller.
        """
        port = self.cluster.ports.real["zookeeper"]
        deaf = [self.proxy.hold(Rule("zookeeper", broker)) for broker in others]
        try:
            self.cluster.kill(old)
            session = self.proxy.session(old)
            if session is not None:
                zookeeper.close_session(port, session)
            self.until(f"broker {following} is not the controller", lambda: self._controller_is(following))
        finally:
            for hold in deaf:
                hold.end()

    def _controller_is(self, broker: int) -> bool:
        holder = zookeeper.read_json(self.cluster.ports.real["zookeeper"], CONTROLLER_PATH)
        return holder is not None and holder["brokerid"] == broker

    def until(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait until a function returns true. Raise BrokerError, which says what is not so, if this takes too long."""
        seconds = READY_SECONDS * self.timeout_scale
        try:
            until(is_so, seconds, f"{what} after {seconds:.0f} seconds")
        except StepFailed as error:
            raise BrokerError(str(error)) from error


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
