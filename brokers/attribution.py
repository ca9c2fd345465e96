"""Find out which process of a cluster opened a connection to a proxy.

A frame does not reliably identify its sender. In Kafka 0.10.2, the client id of a fetch request names the leader, and
ZooKeeper's frames do not contain a client id. If all processes run on one machine, the source port of the connection
identifies the process. For processes on other machines, the requests that followers and controllers send identify them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leadline.brokers.frame import Party
from leadline.brokers.ports import Node

_FETCHER = re.compile(r"broker-(\d+)-fetcher-\d+")
"""The client id of a follower since 0.11 (`ReplicaFetcherThread` in Kafka's code)."""

_SENDERS = {
    "AlterPartition": "BrokerId",
    "BrokerHeartbeat": "BrokerId",
    "BrokerRegistration": "BrokerId",
    "ControlledShutdown": "BrokerId",
    "Fetch": "ReplicaId",
    "LeaderAndIsr": "ControllerId",
    "OffsetForLeaderEpoch": "ReplicaId",
    "StopReplica": "ControllerId",
    "UpdateMetadata": "ControllerId",
}
"""The field of a request that names its sender, by the name of the request."""


def sender_of(api: str, client_id: str | None, body: Mapping[str, Any] | None) -> int | None:
    """Return the broker that sent a request, or None if the request does not identify its sender."""
    if body is None or api not in _SENDERS:
        return None
    named = body.get("ReplicaState", body).get(_SENDERS[api], -1)  # since version 15, a fetch has a ReplicaState
    if named >= 0:
        return int(named)
    fetcher = _FETCHER.fullmatch(client_id or "")
    return int(fetcher[1]) if api == "OffsetForLeaderEpoch" and fetcher else None


def dialler_of(port: int, proxy_port: int, pids: Mapping[int, Node]) -> Party:
    """Return the process that opened a connection from a local port to a proxy on this machine.

    Parameters:
        pids: the processes of the cluster, keyed by process id.

    Returns:
        The process, or "client" if it is the current process, or "unknown" if it is outside the cluster.
    """
    inode = _inode(port, proxy_port)
    known: dict[int, Party] = {os.getpid(): "client", **pids}
    return next((party for pid, party in known.items() if inode is not None and _has_socket(pid, inode)), "unknown")


def _inode(port: int, other: int) -> str | None:
    """Return the inode of the socket that connects a local port to another port, or None if there is no such socket.

    The kernel's table of sockets (see proc(5)) is read once for all processes. `psutil` reads it again for each
    process, which takes several times as long.
    """
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # no IPv6
            continue
        for line in lines:
            fields = line.split()
            if [int(address.rpartition(":")[2], 16) for address in fields[1:3]] == [port, other]:
                return fields[9]
    return None


def _has_socket(pid: int, inode: str) -> bool:
    folder, wanted = f"/proc/{pid}/fd", f"socket:[{inode}]"
    try:
        opened = os.listdir(folder)
    except OSError:  # the process has ended
        return False
    for each in opened:
        try:
            if os.readlink(f"{folder}/{each}") == wanted:
                return True
        except OSError:  # the file is closed now
            continue
    return False
