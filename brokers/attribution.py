"""Find the process of a cluster that has connected to a proxy.

A frame does not tell its sender reliably: in 0.10.2 the client id of a fetcher names the leader, and ZooKeeper's frames
name no client. On one machine, the port of the connection leads to the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import psutil

from leadline.brokers.frame import Party
from leadline.brokers.ports import Node


def dialler_of(port: int, proxy_port: int, pids: Mapping[int, Node]) -> Party:
    """Return the process that has a connection from a port to a proxy, both on this machine.

    Parameters:
        port: the port from which the connection comes.
        proxy_port: the port of the proxy.
        pids: the processes of the cluster by pid.

    Returns:
        The process; "client" for this process; "unknown" for all others.
    """
    known: dict[int, Party] = {os.getpid(): "client", **pids}
    for pid, party in known.items():
        try:
            connections = psutil.Process(pid).net_connections(kind="tcp")
        except psutil.Error:  # it has ended
            continue
        if any(c.laddr and c.raddr and (c.laddr.port, c.raddr.port) == (port, proxy_port) for c in connections):
            return party
    return "unknown"
