"""A cluster of real brokers on this machine, with ZooKeeper or one KRaft controller."""

from __future__ import annotations

import base64
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import TracebackType

from leadline.brokers.artifacts import class_path
from leadline.brokers.class_data import class_archive, reading, writing
from leadline.brokers.configuration import (
    HOST,
    at_level,
    broker_properties,
    controller_properties,
    logging_options,
    meta_properties,
    with_controller,
    with_zookeeper,
    write_properties,
    zookeeper_properties,
)
from leadline.brokers.errors import BrokerError
from leadline.brokers.java import java_for
from leadline.brokers.ports import Node, Ports, is_free, user_of
from leadline.brokers.power_loss import cut_log
from leadline.brokers.processes import OwnedProcess
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.timeout_scale import timeout_scale
from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles
from leadline.model.disk.metadata import Metadata, PartitionState, read_metadata
from leadline.model.kafka.mixes import STAGES
from leadline.model.kafka.rolls import NEW_LEVEL, NEW_RELEASE

START_SECONDS = 120.0
"""The time in which a process must be ready. A broker needs 2 to 7 seconds on an idle machine."""

_METADATA_LOG = "__cluster_metadata-0"
_METADATA = "metadata"
_FORMATTED = "meta.properties"
_METADATA_SECONDS = 5.0
"""The time in which the controller must have written a batch of its log completely."""

_JAVA_OPTIONS = (
    "-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    "-Dzookeeper.sasl.client=false",
    "-Dzookeeper.jmx.log4j.disable=true",  # it needs a class of Log4j that reload4j's MBeans do not have
    "-Dzookeeper.admin.enableServer=false",
)  # fmt: skip

_STARTED = r"(, started|\] started|Kafka Server started) \(kafka\.server\."
_UNFENCED = r"The broker has been unfenced"


class Cluster:
    """A cluster of brokers, with a ZooKeeper server or a KRaft controller. Each member runs in its own process.

    A cluster is a context manager. At the end of the ``with`` block, all processes are killed. If the current process
    ends or is killed, they end too.

    Parameters:
        release: the Kafka release that the processes run.
        folder: an empty folder for data directories, configuration and logs. Each process gets a subfolder.
        brokers: the number of brokers. Broker ids begin at 0.
        settings: configuration properties for all brokers and the KRaft controller. They override the defaults.
        per_broker: additional configuration properties for individual brokers, keyed by broker id.
        log_dirs: the number of log directories of each broker. If there are several, the metadata log has a directory
            of its own.
        stages: the first value of the attribute.

    Attributes:
        stages: how far each node is upgraded when it is next started, as an index into
            `leadline.model.kafka.mixes.STAGES`. A node without an entry runs `release`.
        note: writes an event to the recording, if there is one.

    Raises:
        BrokerError: if the system is not Linux, or if Java does not accept the name of the folder.
    """

    def __init__(
        self,
        release: BrokerRelease,
        folder: Path,
        *,
        brokers: int,
        ports: Ports,
        settings: Mapping[str, str] | None = None,
        per_broker: Mapping[int, Mapping[str, str]] | None = None,
        log_dirs: int = 1,
        stages: Mapping[Node, int] | None = None,
    ) -> None:
        if sys.platform != "linux":
            raise BrokerError(f"real brokers can run only on Linux, not on {sys.platform}")
        self.release, self.folder, self.ports = release, folder.absolute(), ports
        if "," in str(self.folder):
            raise BrokerError(
                f"the path {self.folder} must not contain a comma, because commas separate data directories in log.dirs"
            )
        self._brokers, self._settings, self._per_broker = range(brokers), settings or {}, per_broker or {}
        self._log_dirs = {node: _directories(log_dirs) for node in self._brokers} if log_dirs > 1 else {}
        self._cluster_id = _random_id()
        self._processes: dict[Node, OwnedProcess] = {}
        self._starts: dict[Node, int] = {}
        self.stages = dict(stages or {})
        self.note: Callable[..., None] = lambda event, **more: None
        self._writing: list[str] = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill all processes."""
        for process in self._processes.values():
            process.kill()

    def release_of(self, node: Node) -> BrokerRelease:
        """Return the release that a node runs."""
        return self._release_at(self.stages.get(node, 0), NEW_RELEASE)

    def _level_of(self, node: Node) -> BrokerRelease:
        """Return the release to whose level a node is set."""
        return self._release_at(self.stages.get(node, 0), NEW_LEVEL)

    def _release_at(self, stage: int, newer_from: int) -> BrokerRelease:
        return self.release if self.release.newer is None or stage < newer_from else self.release.newer

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All processes of the cluster, in an order in which they can be started."""
        return nodes_of(self.release, len(self._brokers))

    def begin_next_upgrade(self) -> None:
        """Go on with the next upgrade of a chain. All nodes must have finished the one before it."""
        assert self.release.newer is not None
        self.release = self.release.newer
        self.stages.clear()
        self.note("upgrade", node="client", stage=STAGES[0])

    def start(self, nodes: Sequence[Node] | None = None) -> None:
        """Start processes, and wait until they are ready. A broker is ready when it is registered and not fenced.

        Parameters:
            nodes: the processes to start; by default, all of them. ZooKeeper or the controller is started before the
                brokers.

        Raises:
            BrokerError: if a process does not start. The message gives the reason.
        """
        wanted = self.nodes if nodes is None else nodes
        for node in sorted(wanted, key=lambda node: isinstance(node, int)):
            self._spawn(node)
            if node == "zookeeper":  # brokers end if they do not reach it soon; with KRaft they wait
                self.wait(node)
        for node in wanted:
            self.wait(node)

    def start_broker(self, broker: int) -> None:
        """Start a broker for the first time, or after it was killed.

        In ZooKeeper mode, the ZooKeeper session of a killed broker must have ended, because a broker cannot start while
        its id is registered.

        Raises:
            BrokerError: if the broker does not start. The message gives the reason.
        """
        self._spawn(broker)
        self.wait(broker)

    def wait(self, node: Node) -> None:
        """Wait until a started process is ready.

        Raises:
            BrokerError: if the process does not become ready. The message gives the reason.
        """
        process, port = self._process(node), self.ports.real[node]
        ready = [] if node == "zookeeper" else [_STARTED]
        if self.release.kraft and isinstance(node, int):
            ready.append(_UNFENCED)
        process.wait(
            lambda: all(map(process.logged, ready)) and process.listens_on(port), START_SECONDS * timeout_scale()
        )

    def kill(self, node: Node) -> None:
        """Kill a process with SIGKILL, and wait until it has ended."""
        self._process(node).kill()

    def stop(self, node: Node, seconds: float = START_SECONDS) -> None:
        """Shut down a process with SIGTERM. For a broker, this is a controlled shutdown.

        Raises:
            BrokerError: if the process is still running after the given number of seconds.
        """
        if not self._process(node).stop(seconds):
            raise BrokerError(f"{self._name(node)} did not shut down within {seconds:.0f} seconds")

    def archive_classes(self, broker: int) -> None:
        """Write the class-data archive of the release, so that processes start faster.

        The given broker must be running. It is shut down, started again, and shut down again.

        Raises:
            BrokerError: if the broker does not start or shut down, or if the archive is not written.
        """
        java = java_for(self.release)
        archive = class_archive(self.release, java)
        new = self._folder(broker) / "classes.jsa"
        self.stop(broker)
        self._writing = writing(new)
        try:
            self.start_broker(broker)
            self.stop(broker)
        finally:
            self._writing = []
        try:
            archive.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=archive.parent, delete=False) as copy:
                copy.write(new.read_bytes())
            Path(copy.name).rename(archive)
        except OSError as error:
            raise BrokerError(f"cannot write the class-data archive {archive}: {error.strerror or error}") from error

    def pause(self, node: Node) -> None:
        """Pause a process with SIGSTOP until `resume` is called."""
        self._process(node).pause()

    def resume(self, node: Node) -> None:
        """Continue a paused process."""
        self._process(node).resume()

    def cut_log(self, broker: int, topic: str, partition: int, to_offset: int) -> None:
        """Truncate a log of a killed broker, as a power loss would; see `leadline.brokers.power_loss.cut_log`.

        Raises:
            BrokerError: if the broker is running, or a power loss cannot truncate the log at this offset.
        """
        if self.pid(broker) is not None:
            raise BrokerError(f"{self._name(broker)} is running: kill it before truncating its log")
        cut_log(self.data_directory(broker), topic, partition, to_offset)

    def data_directory(self, node: Node) -> Path:
        """Return the data directory of a process. If a broker has several log directories, return the first."""
        return self.data_directories(node)[0]

    def data_directories(self, node: Node) -> list[Path]:
        """Return the log directories in the configuration of a process."""
        names = self._log_dirs.get(node, _directories(1)) if isinstance(node, int) else _directories(1)
        return [self._folder(node) / name for name in names]

    def remove_data_directory(self, broker: int, directory: Path) -> None:
        """Remove a log directory of a stopped broker from its configuration. The files remain.

        Raises:
            BrokerError: if the broker has only one log directory.
        """
        if len(self._log_dirs.get(broker, ())) < 2:
            raise BrokerError(f"{self._name(broker)} has only one log directory, which cannot be removed")
        self._log_dirs[broker].remove(directory.name)

    def log_file(self, node: Node) -> Path:
        """Return the log file of a process. It contains the output since the last start."""
        return self._folder(node) / f"start-{self._starts.get(node, 0)}.log"

    def pid(self, node: Node) -> int | None:
        """Return the process id of a node, or None if it is not running."""
        process = self._processes.get(node)
        return process.pid if process is not None and process.is_running else None

    def pids(self) -> dict[int, Node]:
        """Return the running nodes, keyed by process id."""
        found = {node: self.pid(node) for node in self.nodes}
        return {pid: node for node, pid in found.items() if pid is not None}

    def controller_state(self, topic: str, partition: int) -> PartitionState | None:
        """Return the last state of a partition in the KRaft controller's log, or None if there is no such partition.

        Raises:
            BrokerError: see `controller_metadata`.
        """
        metadata = self.controller_metadata()
        topic_id = metadata.topic_id(topic)
        return None if topic_id is None else metadata.state(topic_id, partition)

    def controller_metadata(self) -> Metadata:
        """Return the content of the metadata log on the KRaft controller's disk.

        Raises:
            BrokerError: if the cluster uses ZooKeeper, or if the log cannot be read.
        """
        if not self.release.kraft:
            raise BrokerError(f"Kafka {self.release.name} has no metadata log: its controller uses ZooKeeper")
        directory = str(self.data_directory("controller") / _METADATA_LOG)
        end = time.monotonic() + _METADATA_SECONDS
        while True:
            metadata = read_metadata(LocalFiles(), read_log_directory(LocalFiles(), directory))
            if not metadata.problems:
                return metadata
            if time.monotonic() > end:
                raise BrokerError(metadata.problems[0])
            time.sleep(0.01)  # the controller is writing a batch

    def _folder(self, node: Node) -> Path:
        return self.folder / (f"broker-{node}" if isinstance(node, int) else node)

    def _name(self, node: Node) -> str:
        return f"broker {node}" if isinstance(node, int) else f"the {node}" if node == "controller" else "ZooKeeper"

    def _process(self, node: Node) -> OwnedProcess:
        if node not in self._processes:
            raise BrokerError(f"{self._name(node)} has not been started")
        return self._processes[node]

    def _spawn(self, node: Node) -> None:
        if self.pid(node) is not None:
            raise BrokerError(f"{self._name(node)} is already running")
        port = self.ports.real[node]
        if not is_free(port):
            raise BrokerError(f"{self._name(node)} cannot use port {port} on {HOST}: it is in use by {user_of(port)}")
        self._starts[node] = self._starts.get(node, 0) + 1
        properties = self._folder(node) / "server.properties"
        properties.parent.mkdir(parents=True, exist_ok=True)
        write_properties(properties, self._properties(node))
        if self.release.kraft:
            self._format(node)
        if self.release.newer is not None and node != "zookeeper":
            self.note("runs", node=node, stage=STAGES[self.stages.get(node, 0)])
        main = "org.apache.zookeeper.server.ZooKeeperServerMain" if node == "zookeeper" else "kafka.Kafka"
        self._processes[node] = self._run(node, self.log_file(node), main, str(properties))

    def _run(self, node: Node, log: Path, main: str, *arguments: str) -> OwnedProcess:
        release = self.release_of(node)
        java = java_for(release)
        archive = self._writing or reading(class_archive(release, java))
        options = [
            *_JAVA_OPTIONS,
            *archive,
            "-cp",
            ":".join(map(str, class_path(release))),
            *logging_options(release, self._folder(node)),
        ]
        name = f"{self._name(node)} of Kafka {release.number}"
        return OwnedProcess(name, [str(java.path), *options, main, *arguments], log, self._folder(node))

    def _properties(self, node: Node) -> dict[str, str]:
        data, real, release = self.data_directory(node), self.ports.real[node], self.release_of(node)
        if node == "zookeeper":
            return zookeeper_properties(data, real)
        if node == "controller":
            return controller_properties(release, data, real, self.ports.advertised[node]) | dict(self._settings)
        broker = int(node)
        properties = broker_properties(release, broker, data, real, self.ports.advertised[node])
        if broker in self._log_dirs:
            properties["log.dirs"] = ",".join(map(str, self.data_directories(broker)))
            properties["metadata.log.dir"] = str(self._folder(broker) / _METADATA)
        if self.release.kraft:
            properties |= with_controller(self.ports.advertised["controller"])
        else:
            properties |= with_zookeeper(self.ports.zookeeper_for[broker])
            if self.release.newer is not None:
                properties |= at_level(self._level_of(node))
        return properties | dict(self._settings) | dict(self._per_broker.get(broker, {}))

    def _format(self, node: Node) -> None:
        """Format the data directories of a KRaft node, unless they are already formatted. A broker's directory needs
        only one file, so it is formatted without starting a JVM.
        """
        if isinstance(node, int):
            metadata = [self._folder(node) / _METADATA] if node in self._log_dirs else []
            for data in (*self.data_directories(node), *metadata):
                data.mkdir(exist_ok=True)
                if not (data / _FORMATTED).exists():
                    write_properties(data / _FORMATTED, meta_properties(self._cluster_id, node))
        if isinstance(node, int) or (self.data_directory(node) / _FORMATTED).exists():
            return
        level = [] if self.release.newer is None else [f"--release-version={self._level_of(node).level}"]
        folder = self._folder(node)
        arguments = [
            "format",
            f"--cluster-id={self._cluster_id}",
            f"--config={folder / 'server.properties'}",
            *level,
        ]
        process = self._run(node, folder / "format.log", "kafka.tools.StorageTool", *arguments)
        try:
            process.wait(lambda: process.status == 0, START_SECONDS * timeout_scale())
        finally:
            process.kill()


def nodes_of(release: BrokerRelease, brokers: int) -> tuple[Node, ...]:
    """Return the nodes of a cluster with the given release and number of brokers."""
    return ("controller" if release.kraft else "zookeeper", *range(brokers))


def _directories(count: int) -> list[str]:
    """Return the names of the log directories. The first name is ``data``."""
    return ["data", *(f"data-{number}" for number in range(2, count + 1))]


def _random_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
