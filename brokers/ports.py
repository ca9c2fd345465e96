"""Find free ports on the loopback interface."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

import attrs
import psutil

from leadline.brokers.configuration import HOST
from leadline.brokers.errors import BrokerError

Node = int | Literal["controller", "zookeeper"]
"""A process of a cluster: the id of a broker, the KRaft controller, or ZooKeeper."""

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 15_000
_TRIES = 1_000


@attrs.frozen
class Ports:
    """The ports of the processes of a cluster, on 127.0.0.1.

    Attributes:
        real: the port on which each process listens.
        advertised: the port that clients and brokers connect to: the port of the proxy, or the real port if there is no
            proxy.
        zookeeper_for: the port through which each broker reaches ZooKeeper. Empty with a KRaft controller.
    """

    real: Mapping[Node, int]
    advertised: Mapping[Node, int]
    zookeeper_for: Mapping[int, int] = attrs.field(factory=dict)

    @classmethod
    def without_proxy(cls, nodes: Iterable[Node]) -> Ports:
        """Return free ports for processes that connect to each other without a proxy."""
        real = free_ports(nodes)
        brokers = [node for node in real if isinstance(node, int)]
        return cls(real, real, dict.fromkeys(brokers, real["zookeeper"]) if "zookeeper" in real else {})


def free_ports(nodes: Iterable[Node]) -> dict[Node, int]:
    """Return a free port for each process.

    The ports are below the range for outgoing connections. Otherwise, an outgoing connection could take the port of a
    broker while the broker is down.

    Raises:
        BrokerError: if there are not enough free ports.
    """
    highest = int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 32_768
    chosen: dict[Node, int] = {}
    for node in nodes:
        for _ in range(_TRIES):
            port = _LOWEST + secrets.randbelow(max(highest - _LOWEST, 1_000))
            if port not in chosen.values() and is_free(port):
                chosen[node] = port
                break
        else:
            raise BrokerError(f"no free port on {HOST} between {_LOWEST} and {highest}")
    return chosen


def is_free(port: int) -> bool:
    """Return whether a Java process can listen on a port."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a killed broker may linger
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return False
    return True


def user_of(port: int) -> str:
    """Describe the process that listens on a port, for an error message."""
    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr[1:] == (port,) and each.pid is not None:
                return f"process {each.pid} ({psutil.Process(each.pid).name()})"
    except psutil.Error:
        pass
    return "another process"
