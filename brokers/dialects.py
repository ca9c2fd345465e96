"""The two protocols that a proxy can decode: Kafka's and ZooKeeper's."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from leadline.brokers.messages import zookeeper
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.requests import (
    RequestHeader,
    correlation_of,
    read_header,
    read_request,
    read_response,
)
from leadline.model.disk.wire import Malformed

PRODUCE = 0
LARGEST_KEY, LARGEST_VERSION = 1000, 100
"""Larger keys and versions in the first bytes of a frame mean that the bytes are not Kafka's protocol."""

_HEADER = struct.Struct(">hh")
_LEAST_CONNECT = 28


@attrs.frozen
class Reading:
    """The decoded part of a frame. The attributes have the same meaning as in `leadline.brokers.frame.Frame`."""

    api: str = "?"
    version: int = 0
    correlation: int = 0
    client_id: str | None = None
    answers: int | None = None
    body: Mapping[str, Any] | None = None
    undecoded: str | None = None


class Dialect(Protocol):
    """Reads the frames of one connection."""

    def begins_request(self, length: int, head: bytes) -> bool:
        """Return whether a length and the 4 bytes after it can be the beginning of a request."""

    def request(self, raw: bytes, number: int) -> Reading:
        """Decode a request.

        Parameters:
            raw: the bytes of the frame, without the length.
            number: the number of the frame. The response will refer to this number.
        """

    def response(self, raw: bytes) -> Reading:
        """Decode a response."""


class KafkaDialect:
    """Decodes Kafka's protocol on one connection. Responses are matched to requests by correlation id."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._asked: dict[int, tuple[int, RequestHeader]] = {}

    def begins_request(self, length: int, head: bytes) -> bool:
        key, version = _HEADER.unpack(head)
        return length >= 8 and 0 <= key <= LARGEST_KEY and 0 <= version <= LARGEST_VERSION

    def request(self, raw: bytes, number: int) -> Reading:
        header, body, undecoded = read_header(raw), None, None
        try:
            header, body = read_request(self._definitions, raw)
        except Malformed as error:
            undecoded = str(error)
        if header.key != PRODUCE or body is None or body["Acks"] != 0:  # acks=0 is not answered
            self._asked[header.correlation] = number, header
        return Reading(self._api(header.key), header.version, header.correlation, header.client, None, body, undecoded)

    def response(self, raw: bytes) -> Reading:
        try:
            correlation = correlation_of(raw)
            number, header = self._asked.pop(correlation)
        except (Malformed, KeyError):
            return Reading(undecoded="it answers no request of this connection")
        body = undecoded = None
        try:
            body = read_response(self._definitions, header, raw)
        except Malformed as error:
            undecoded = str(error)
        return Reading(self._api(header.key), header.version, correlation, header.client, number, body, undecoded)

    def _api(self, key: int) -> str:
        message = self._definitions.requests.get(key)
        return message.api if message else f"key {key}"


class ZooKeeperDialect:
    """Decodes ZooKeeper's protocol on one connection.

    Parameters:
        connected: a function that receives the session from the server's connect response.
    """

    def __init__(self, connected: Callable[[zookeeper.Session], None]) -> None:
        self._connected = connected
        self._asked: dict[int, tuple[int, str]] = {}
        self._connecting: int | None = None
        self._answered = False

    def begins_request(self, length: int, head: bytes) -> bool:
        return length >= (8 if self._connecting else _LEAST_CONNECT)

    def request(self, raw: bytes, number: int) -> Reading:
        try:
            if self._connecting is None:
                self._connecting = number
                return Reading("connect", body=zookeeper.read_connect_request(raw))
            xid, operation, body = zookeeper.read_request(raw)
        except Malformed as error:
            return Reading(undecoded=str(error))
        self._asked[xid] = number, operation
        return Reading(operation, correlation=xid, body=body)

    def response(self, raw: bytes) -> Reading:
        try:
            if not self._answered:
                self._answered = True
                body, session = zookeeper.read_connect_response(raw)
                self._connected(session)
                return Reading("connect", answers=self._connecting, body=body)
            xid = zookeeper.xid_of(raw)
            number, asked = self._asked.pop(xid, (None, None))
            operation, body = zookeeper.read_response(raw, asked)
        except Malformed as error:
            return Reading(undecoded=str(error))
        return Reading(operation, correlation=xid, answers=number, body=body)
