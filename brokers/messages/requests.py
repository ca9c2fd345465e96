"""Read and write whole frames: the header of a request or response, and its body.

On the wire, a frame is preceded by its length. Here, a frame does not include the length. The headers are defined in
Kafka's `RequestHeader.json` and `ResponseHeader.json`, and their versions in `ApiMessageType`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import attrs

from leadline.brokers.messages.batches import read_batches
from leadline.brokers.messages.definitions import Definitions, Message
from leadline.brokers.messages.fields import decode, encode
from leadline.model.disk.wire import Malformed, Wire

API_VERSIONS, CONTROLLED_SHUTDOWN = 18, 7
UNSUPPORTED_VERSION = 35

_HEADER = struct.Struct(">hhi")
_ERROR = struct.Struct(">h")


@attrs.frozen
class RequestHeader:
    """The header of a request.

    Attributes:
        key: the API key, for example 1 for Fetch.
        correlation: the correlation id, which the response repeats.
    """

    key: int
    version: int
    correlation: int
    client: str | None = None


def read_header(frame: bytes) -> RequestHeader:
    """Read the part of a request's header that is common to all versions. This part does not include the client id.

    Raises:
        Malformed: if the frame is too short.
    """
    if len(frame) < _HEADER.size:
        raise Malformed(f"a frame of {len(frame)} bytes is too short for a header")
    return RequestHeader(*_HEADER.unpack_from(frame))


def correlation_of(response: bytes) -> int:
    """Return the correlation id of a response.

    Raises:
        Malformed: if the frame is too short.
    """
    return Wire(response).int32()


def read_request(definitions: Definitions, frame: bytes) -> tuple[RequestHeader, dict[str, Any]]:
    """Decode the header and the body of a request.

    Raises:
        Malformed: if the frame is not a valid request.
    """
    header = read_header(frame)
    message = _message(definitions.requests, header.key, "request")
    if header.version not in message.versions:
        raise Malformed(f"version {header.version} of {message.name} is not defined")
    wire = Wire(frame)
    wire.take(_HEADER.size)
    if header.key != CONTROLLED_SHUTDOWN or header.version > 0:
        header = attrs.evolve(header, client=_client(wire))
    if header.version in message.flexible:
        wire.skip_tagged()
    return header, decode(message, header.version, wire)


def read_response(definitions: Definitions, request: RequestHeader, frame: bytes) -> dict[str, Any]:
    """Decode the body of a response.

    Parameters:
        request: the header of the request. A response contains neither its API key nor its version.

    Raises:
        Malformed: if the frame is not a valid response.
    """
    message = _message(definitions.responses, request.key, "response")
    wire, version = Wire(frame), request.version
    wire.take(4)
    if request.key == API_VERSIONS:
        # KIP-511: the header is always of version 0, and the body too if the broker lacks the request's version.
        if len(frame) >= 6 and _ERROR.unpack_from(frame, 4)[0] == UNSUPPORTED_VERSION:
            version = 0
    elif version in message.flexible:
        wire.skip_tagged()
    return decode(message, version, wire)


def write_request(definitions: Definitions, header: RequestHeader, body: Mapping[str, Any]) -> bytes:
    """Encode a request, prefixed with its length.

    Parameters:
        body: the values, keyed by the name of the field; see `leadline.brokers.messages.fields.encode`.

    Raises:
        ValueError: if the values cannot be encoded in this version.
    """
    message = definitions.requests[header.key]
    client = b"\xff\xff" if header.client is None else _ERROR.pack(len(header.client)) + header.client.encode()
    tags = b"\0" if header.version in message.flexible else b""
    frame = _HEADER.pack(header.key, header.version, header.correlation) + client + tags
    frame += encode(message, header.version, body)
    return struct.pack(">i", len(frame)) + frame


def _message(messages: Mapping[int, Message], key: int, kind: str) -> Message:
    if key not in messages:
        raise Malformed(f"no {kind} with key {key} is defined")
    return messages[key]


def _client(wire: Wire) -> str | None:
    length = wire.int16()
    try:
        return None if length < 0 else wire.take(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("a client id is not UTF-8") from error


def read_record(definitions: Definitions, value: bytes) -> tuple[str, int, dict[str, Any]]:
    """Decode a record of KRaft's metadata log.

    Parameters:
        definitions: the definitions, which must include those in the jar of kafka-metadata.
        value: the value of the record: the frame version, the key and version of the record, and the body.

    Returns:
        The name of the record, for example "PartitionChangeRecord", its version, and its body.

    Raises:
        Malformed: if the value is not a valid record.
    """
    wire = Wire(value)
    wire.unsigned()
    message = _message(definitions.records, wire.unsigned(), "record")
    version = wire.unsigned()
    return message.name, version, decode(message, version, wire)


def read_metadata(definitions: Definitions, data: bytes) -> list[tuple[int, str, dict[str, Any]]]:
    """Decode batches of KRaft's metadata log, for example the "Records" in a Fetch response from the controller.

    Returns:
        The offset, the name and the body of each record, without control records.

    Raises:
        Malformed: if the data does not consist of valid batches.
    """
    batches = [batch for batch in read_batches(data) if not batch.control]
    records = [record for batch in batches for record in batch.records or ()]
    found = [(record.offset, read_record(definitions, record.value)) for record in records if record.value is not None]
    return [(offset, name, body) for offset, (name, _, body) in found]
