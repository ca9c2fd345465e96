"""A request that was sent on its own connection, and its response."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from leadline.model.disk.wire import Malformed

LENGTH = struct.Struct(">i")
"""The length field before every request and response: the number of bytes."""

T = TypeVar("T")


class Unanswered(Exception):
    """Raised when a request gets no response in time. It is not known whether the request took effect."""


class Refused(Exception):
    """Raised when the response to a request contains an error.

    Attributes:
        code: the error code of Kafka's protocol.
    """

    def __init__(self, api: str, code: int, message: str | None = None) -> None:
        super().__init__(f"{api} was refused with error {code}{f': {message}' if message else ''}")
        self.code = code


class Pending(Generic[T]):
    """A request that has been sent, but whose response has not been read yet.

    Parameters:
        connection: the socket. It is closed when the response has arrived or is late.
        read: a function that converts the frame of the response to the result.
        what: a description of the request, for error messages.
    """

    def __init__(self, connection: socket.socket, read: Callable[[bytes], T], what: str) -> None:
        self._connection, self._read, self._what = connection, read, what

    @property
    def arrived(self) -> bool:
        """Whether a response has arrived, or the connection was closed."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def result(self, timeout: float) -> T:
        """Wait for the response, and return the result.

        Parameters:
            timeout: the timeout in seconds.

        Raises:
            Unanswered: if there is no valid response in time. In this case, the connection is closed.
            Refused: if the response contains an error.
        """
        with self._connection as connection:
            end = time.monotonic() + timeout
            try:
                (size,) = LENGTH.unpack(_receive(connection, LENGTH.size, end))
                frame = _receive(connection, size, end)
            except OSError as error:
                raise Unanswered(f"{self._what} was not answered: {error}") from error
        try:
            return self._read(frame)
        except Malformed as error:
            raise Unanswered(f"the response to {self._what} is invalid: {error}") from error


def _receive(connection: socket.socket, count: int, end: float) -> bytes:
    data = bytearray()
    while len(data) < count:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        chunk = connection.recv(min(count - len(data), 2**20))
        if not chunk:
            raise ConnectionError("the connection was closed")
        data += chunk
    return bytes(data)
