"""A simple ZooKeeper client. It opens a new connection for each call, and does not retry failed calls.

It closes the sessions of brokers, so that a replay does not have to wait until the sessions expire. A client that knows
the id and the password of a session can take it over. When it closes the session, ZooKeeper removes the ephemeral nodes
of the broker. ZooKeeper's FAQ recommends this method for testing how a client handles an expired session.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from leadline.brokers.configuration import HOST
from leadline.brokers.messages.zookeeper import (
    NEW_SESSION,
    NO_NODE,
    Session,
    read_connect_response,
    read_response,
    write_close,
    write_connect,
    write_create,
    write_delete,
    write_get_data,
)

_TIMEOUT_MS = 30_000

SECONDS = 60.0
"""The time in seconds after which a response is no longer waited for."""

_LENGTH = struct.Struct(">i")
_NO_PASSWORD = bytes(16)


class ZooKeeperError(Exception):
    """Raised when ZooKeeper's response contains an error.

    Attributes:
        code: the error code, for example -110 if the node already exists.
    """

    def __init__(self, operation: str, path: str, code: int) -> None:
        super().__init__(f"{operation} of {path} was refused with error {code}")
        self.code = code


def close_session(port: int, session: Session) -> bool:
    """Take over a session, and close it.

    Parameters:
        port: the port of ZooKeeper itself.
        session: the session; see `leadline.brokers.proxy.Proxy.session`.

    Returns:
        True if the session was closed, False if it had already ended.

    Raises:
        OSError: if ZooKeeper does not respond in time.
    """
    with _connected(port, session) as connection:
        return connection.granted.id == session.id


def read(port: int, path: str) -> bytes | None:
    """Return the data of a node, or None if the node does not exist.

    Raises:
        OSError: if ZooKeeper does not respond in time.
        ZooKeeperError: if the response contains an error.
    """
    with _connected(port, Session(NEW_SESSION, _NO_PASSWORD)) as connection:
        body = connection.ask("getData", write_get_data(path))
    if body["error"] == NO_NODE:
        return None
    if body["error"]:
        raise ZooKeeperError("getData", path, body["error"])
    return body["data"] or b""


def read_json(port: int, path: str) -> Any:
    """Return the data of a node, decoded from JSON, or None if the node is empty or does not exist.

    Raises:
        OSError: if ZooKeeper does not respond in time.
        ZooKeeperError: if the response contains an error.
    """
    data = read(port, path)
    return json.loads(data) if data else None


def create(port: int, path: str, data: bytes) -> None:
    """Create a persistent node.

    Raises:
        OSError: if ZooKeeper does not respond in time.
        ZooKeeperError: if the response contains an error, for example because the node exists.
    """
    with _connected(port, Session(NEW_SESSION, _NO_PASSWORD)) as connection:
        body = connection.ask("create", write_create(path, data))
    if body["error"]:
        raise ZooKeeperError("create", path, body["error"])


def delete(port: int, path: str) -> None:
    """Delete a node.

    Raises:
        OSError: if ZooKeeper does not respond in time.
        ZooKeeperError: if the response contains an error, for example because the node does not exist.
    """
    with _connected(port, Session(NEW_SESSION, _NO_PASSWORD)) as connection:
        body = connection.ask("delete", write_delete(path))
    if body["error"]:
        raise ZooKeeperError("delete", path, body["error"])


@attrs.frozen
class _Connection:
    """A connection with a session."""

    socket: socket.socket
    granted: Session

    def ask(self, operation: str, request: bytes) -> dict[str, Any]:
        self.socket.sendall(request)
        return read_response(_receive(self.socket), operation)[1]


@contextmanager
def _connected(port: int, session: Session) -> Iterator[_Connection]:
    """Return a context manager that connects, and closes the session at the end of the ``with`` block."""
    with socket.create_connection((HOST, port), SECONDS) as connection:
        connection.settimeout(SECONDS)
        connection.sendall(write_connect(session, _TIMEOUT_MS))
        _, granted = read_connect_response(_receive(connection))
        yield _Connection(connection, granted)
        if granted.id:
            connection.sendall(write_close())
            _receive(connection)


def _receive(connection: socket.socket) -> bytes:
    """Read a frame."""
    (size,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError("ZooKeeper has closed the connection")
        data += chunk
    return data
