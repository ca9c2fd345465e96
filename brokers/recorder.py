"""Record an existing cluster through proxies in front of its brokers, controllers and ZooKeeper."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs

from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.shutdown import asks_to_stop
from leadline.brokers.node_releases import NodeReleases
from leadline.brokers.ports import Node
from leadline.brokers.proxy import Proxy
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.redaction import Redaction
from leadline.brokers.releases import BrokerRelease

POLL_SECONDS = 0.2
CONNECT_SECONDS = 2.0


@attrs.frozen
class Address:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@attrs.frozen
class Listener:
    """A process of the cluster, and the port of the proxy in front of it.

    Attributes:
        number: the id of the broker or controller, or None for ZooKeeper.
        client: the broker that uses the port, or None if every process may use it.
    """

    node: Node
    number: int | None
    real: Address
    port: int
    client: int | None = None


class _ClusterRecording(RecordingWriter):
    """A recording that detects when brokers authenticate, register or shut down."""

    def __init__(self, path: Path, **about: Any) -> None:
        super().__init__(path, **about)
        self.sasl: Node | None = None
        self.frames = self.undecoded = 0
        self.registered: set[int] = set()
        self.stopping: set[int] = set()
        self._registering: dict[int, int] = {}
        self.releases: NodeReleases | None = None

    def write_frame(self, frame: Frame, definitions: Definitions) -> None:
        self.frames += 1
        self.undecoded += frame.undecoded is not None
        if frame.request and frame.api in ("SaslHandshake", "SaslAuthenticate") and frame.target != "zookeeper":
            self.sasl = frame.target  # type: ignore[assignment]
        if isinstance(frame.source, int) and frame.request and frame.body is not None:
            if asks_to_stop(frame.api, frame.body):
                self.stopping.add(frame.source)
            elif frame.api == "BrokerRegistration" or _registers(frame.source, frame.body):
                self._registering[frame.number] = frame.source
        elif frame.answers in self._registering:
            self.registered.add(self._registering.pop(frame.answers))
        if self.releases is not None:
            self.releases.see(frame)
        super().write_frame(frame, definitions)


def _registers(broker: int, body: Mapping[str, Any]) -> bool:
    return any(each.get("path") == f"/brokers/ids/{broker}" for each in body.get("operations", [body]))


class Recorder:
    """Records the traffic between the processes of an existing cluster.

    A recorder is a context manager. At the end of the ``with`` block, the recording is complete.

    Parameters:
        host: the address on which the proxies listen.
        hides_records: whether to replace records by hashes, and to omit data that `leadline conform` does not read.
        about: additional fields for the first line of the recording.

    Raises:
        RecordingError: if the file cannot be created.
    """

    def __init__(
        self, definitions: Definitions, path: Path, *, host: str, hides_records: bool = True, **about: Any
    ) -> None:
        self._host = host
        hides = Redaction() if hides_records else None
        self._recording = _ClusterRecording(path, hides=hides, hashed=hides_records, **about)
        self._proxy = Proxy(definitions, self._recording)
        self._up: set[int] = set()
        self._down: set[int] = set()
        self.listeners: list[Listener] = []

    @property
    def frames(self) -> int:
        """The number of recorded frames."""
        return self._recording.frames

    @property
    def undecoded(self) -> int:
        """The number of recorded frames that could not be decoded."""
        return self._recording.undecoded

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._proxy.close()
        failed = kind is not None and not issubclass(kind, KeyboardInterrupt)
        self._recording.close(interrupted_by=kind.__name__ if failed and kind else None)

    def listen(
        self,
        brokers: Sequence[tuple[int, Address]],
        controllers: Sequence[tuple[int, Address]],
        zookeeper: Address | None,
        first_port: int = 0,
    ) -> None:
        """Listen on a port for each process. For ZooKeeper, listen on a port for each broker, because ZooKeeper's
        frames do not name the broker.

        Parameters:
            brokers: the id and address of each broker.
            controllers: the id and address of each KRaft controller.
            zookeeper: the address of ZooKeeper, or None.
            first_port: the first of a range of consecutive ports, or 0 to choose free ports.

        Raises:
            BrokerError: if a port cannot be used.
        """
        wanted: list[tuple[Node, int | None, Address, int | None]] = [
            *((broker, broker, address, None) for broker, address in brokers),
            *(("controller", controller, address, None) for controller, address in controllers),
        ]
        if zookeeper is not None:
            wanted += [("zookeeper", None, zookeeper, broker) for broker in dict.fromkeys(each for each, _ in brokers)]
        for place, (node, number, real, client) in enumerate(wanted):
            port = first_port + place if first_port else 0
            try:
                port = self._proxy.listen(
                    node, real.port, client=client, real_host=real.host, host=self._host, port=port
                )
            except OSError as error:
                raise BrokerError(f"cannot listen on {self._host}:{port}: {error.strerror or error}") from error
            self.listeners.append(Listener(node, number, real, port, client))

    def follow_upgrade(self, release: BrokerRelease, told: Path | None = None) -> None:
        """Record which node runs which release of a mix. Call it after `listen`.

        Parameters:
            told: the file that says it, one line for each change, if nodes do not say it themselves.

        Raises:
            BrokerError: see `NodeReleases`; also if the file cannot be read.
        """
        controllers = sum(each.node == "controller" for each in self.listeners)
        brokers = [broker for broker, _ in self._brokers()]
        self._recording.releases = NodeReleases(release, brokers, controllers, self._proxy.note, told)

    def run(self, seconds: float | None = None) -> None:
        """Record until the time limit is reached or Ctrl-C is pressed. Starts and ends of brokers are detected by
        connecting to their ports.

        Raises:
            BrokerError: if a connection cannot be decoded, because it uses TLS or SASL, for example, or if a node says
                that it runs no release of the upgrade.
        """
        end = float("inf") if seconds is None else time.monotonic() + seconds
        while time.monotonic() < end:
            for broker, addresses in self._brokers():
                self._watch(broker, addresses)
            self._check()
            time.sleep(max(0.0, min(POLL_SECONDS, end - time.monotonic())))
        self._check()

    def _brokers(self) -> Iterator[tuple[int, list[Address]]]:
        found: dict[int, list[Address]] = {}
        for each in self.listeners:
            if isinstance(each.node, int):
                found.setdefault(each.node, []).append(each.real)
        yield from found.items()

    def _watch(self, broker: int, addresses: list[Address]) -> None:
        """Record that a broker has ended when none of its ports accepts connections. Record that it has started when a
        port accepts connections again and the broker has registered.
        """
        accepts = any(map(_accepts, addresses))
        if broker not in self._up and accepts and broker not in self._down:
            self._up.add(broker)
        elif broker in self._up and not accepts:
            self._up.discard(broker)
            self._down.add(broker)
            stopped = broker in self._recording.stopping
            self._recording.registered.discard(broker)
            self._recording.stopping.discard(broker)
            self._proxy.note("terminated" if stopped else "killed", node=broker)
        elif broker in self._down and accepts and broker in self._recording.registered:
            self._down.discard(broker)
            self._up.add(broker)
            self._proxy.note("started", node=broker)

    def _check(self) -> None:
        if self._recording.releases is not None:
            self._recording.releases.check()
        if self._proxy.plain is not None:
            raise BrokerError(
                f"a connection cannot be decoded, for example because it uses TLS ({self._proxy.plain}): record "
                f"only PLAINTEXT listeners"
            )
        if self._recording.sasl is not None:
            raise BrokerError(
                f"a client of {_name(self._recording.sasl)} authenticates with SASL, which cannot be recorded: record "
                f"only PLAINTEXT listeners"
            )


def _accepts(address: Address) -> bool:
    """Return whether a process listens on an address. Only a refused connection shows that no process listens."""
    try:
        with socket.create_connection((address.host, address.port), CONNECT_SECONDS):
            return True
    except OSError as error:
        return error.errno != errno.ECONNREFUSED


def _name(node: Node) -> str:
    return f"broker {node}" if isinstance(node, int) else f"the {node}"


def settings(listeners: Sequence[Listener], host: str) -> Iterator[str]:
    """Yield the settings that route all connections of a cluster through the proxies.

    Parameters:
        host: the name under which the processes reach the proxies.
    """
    voters = [f"{each.number}@{host}:{each.port}" for each in listeners if each.node == "controller"]
    for each in listeners:
        if isinstance(each.node, int):
            yield f"broker {each.node} at {each.real}:"
            yield f"  advertised.listeners=PLAINTEXT://{host}:{each.port}"
            for zookeeper in listeners:
                if zookeeper.node == "zookeeper" and zookeeper.client == each.node:
                    yield f"  zookeeper.connect={host}:{zookeeper.port}"
            if voters:
                yield f"  controller.quorum.voters={','.join(voters)}"
        elif each.node == "controller":
            yield f"controller {each.number} at {each.real}, since Kafka 3.9:"
            yield f"  advertised.listeners=CONTROLLER://{host}:{each.port}"
