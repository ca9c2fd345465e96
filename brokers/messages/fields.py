"""Decode and encode the bodies of messages according to their definitions.

A body is a dict of field names and values: int, float, bool, str, bytes, `uuid.UUID`, None, lists, and dicts for
structs. Unknown tagged fields are kept under the key `UNKNOWN_TAGS`, as bytes keyed by tag, and are encoded again.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from leadline.brokers.messages.definitions import Field, Fields, Message
from leadline.model.disk.wire import Malformed, Wire

UNKNOWN_TAGS = "unknown tags"

_NUMBERS = {
    name: struct.Struct(f">{form}")
    for name, form in {
        "bool": "?",
        "int8": "b",
        "int16": "h",
        "uint16": "H",
        "int32": "i",
        "uint32": "I",
        "int64": "q",
        "float64": "d",
    }.items()
}
_SHORT, _LONG = _NUMBERS["int16"], _NUMBERS["int32"]
_ABSENT, _PRESENT = b"\xff", b"\x01"


def decode(message: Message, version: int, wire: Wire) -> dict[str, Any]:
    """Decode a body.

    Parameters:
        wire: the bytes of the body. No bytes may follow the body.

    Raises:
        Malformed: if the version is not defined, or the bytes are not a valid body.
    """
    if version not in message.versions:
        raise Malformed(f"version {version} of {message.name} is not defined")
    body = _Decoder(version, version in message.flexible).struct(wire, message.fields)
    if wire.left:
        raise Malformed(f"{message.name} version {version} is followed by {wire.left} unexpected bytes")
    return body


class _Decoder:
    """Decodes the values of a message in the given version."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version, self.flexible = version, flexible

    def struct(self, wire: Wire, fields: Fields) -> dict[str, Any]:
        ordered, tagged = fields.of_version(self.version)
        body = {field.name: self.value(wire, field) for field in ordered}
        if self.flexible:
            for tag, content in wire.tagged():
                if tag in tagged:
                    body[tagged[tag].name] = self.value(content, tagged[tag])
                else:
                    body.setdefault(UNKNOWN_TAGS, {})[tag] = content.take(content.left)
        return body

    def value(self, wire: Wire, field: Field) -> Any:
        compact = self.flexible and self.version in field.flexible
        if not field.array:
            return self.single(wire, field, compact, self.version in field.nullable)
        count = _length(wire, compact, _LONG)
        if count < 0:
            return _null(field, self.version)
        if count > wire.left:
            raise Malformed(f"{field.name} declares {count} elements, but only {wire.left} bytes are left")
        return [self.single(wire, field, compact, False) for _ in range(count)]

    def single(self, wire: Wire, field: Field, compact: bool, nullable: bool) -> Any:
        if number := _NUMBERS.get(field.type):
            return number.unpack(wire.take(number.size))[0]
        if field.type == "uuid":
            return wire.uuid()
        if field.fields is not None:
            if nullable and wire.take(1) == _ABSENT:
                return None
            return self.struct(wire, field.fields)
        length = _length(wire, compact, _SHORT if field.type == "string" else _LONG)
        if length < 0:
            return _null(field, self.version)
        return _text(wire.take(length)) if field.type == "string" else wire.take(length)


def _length(wire: Wire, compact: bool, number: struct.Struct) -> int:
    return wire.unsigned() - 1 if compact else int(number.unpack(wire.take(number.size))[0])


def _null(field: Field, version: int) -> None:
    if version not in field.nullable:
        raise Malformed(f"{field.name} is null but must not be null")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("a string is not UTF-8") from error


def encode(message: Message, version: int, body: Mapping[str, Any]) -> bytes:
    """Encode a body. A missing field gets its default value.

    Parameters:
        body: the values, keyed by the name of the field.

    Raises:
        ValueError: if the version is not defined, or a value cannot be encoded in it.
    """
    if version not in message.versions:
        raise ValueError(f"version {version} of {message.name} is not defined")
    try:
        return _Encoder(version, version in message.flexible).struct(body, message.fields)
    except struct.error as error:
        raise ValueError(f"a number in {message.name} is out of range: {error}") from error


class _Encoder:
    """Encodes the values of a message in the given version."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version, self.flexible = version, flexible

    def struct(self, body: Mapping[str, Any], fields: Fields) -> bytes:
        ordered, tagged = fields.of_version(self.version)
        self.check(body, fields)
        parts = [self.value(body.get(field.name, default_of(field)), field) for field in ordered]
        if self.flexible:
            tags = dict(body.get(UNKNOWN_TAGS, {}))
            for tag, field in tagged.items():
                if field.name in body and body[field.name] != default_of(field):
                    tags[tag] = self.value(body[field.name], field)
            parts.append(unsigned(len(tags)))
            parts += [unsigned(tag) + unsigned(len(tags[tag])) + tags[tag] for tag in sorted(tags)]
        return b"".join(parts)

    def check(self, body: Mapping[str, Any], fields: Fields) -> None:
        if unknown := body.keys() - fields.names - {UNKNOWN_TAGS}:
            raise ValueError(f"unknown field {min(unknown)}: the fields are {', '.join(sorted(fields.names))}")
        for field in fields.all:
            default = default_of(field)
            absent = self.version not in field.versions and not field.ignorable
            if absent and body.get(field.name, default) != default:
                raise ValueError(f"{field.name}={body[field.name]!r} cannot be encoded in version {self.version}")

    def value(self, value: Any, field: Field) -> bytes:
        compact = self.flexible and self.version in field.flexible
        if value is None and self.version not in field.nullable:
            raise ValueError(f"{field.name} must not be null")
        if not field.array:
            return self.single(value, field, compact, self.version in field.nullable)
        if value is None:
            return _put_length(-1, compact, _LONG)
        elements = [self.single(element, field, compact, False) for element in value]
        return _put_length(len(elements), compact, _LONG) + b"".join(elements)

    def single(self, value: Any, field: Field, compact: bool, nullable: bool) -> bytes:
        if number := _NUMBERS.get(field.type):
            return number.pack(value)
        if field.type == "uuid":
            return bytes(value.bytes)
        if field.fields is not None:
            if value is None:
                return _ABSENT
            return (_PRESENT if nullable else b"") + self.struct(value, field.fields)
        number = _SHORT if field.type == "string" else _LONG
        if value is None:
            return _put_length(-1, compact, number)
        data = value.encode("utf-8") if field.type == "string" else bytes(value)
        return _put_length(len(data), compact, number) + data


def unsigned(value: int) -> bytes:
    """Encode an unsigned variable-length integer. This is the inverse of `Wire.unsigned`."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def signed(value: int) -> bytes:
    """Encode a signed integer of at most 64 bits as a zigzag variable-length integer. This is the inverse of
    `Wire.signed`.
    """
    return unsigned((value << 1 ^ value >> 63) & (1 << 64) - 1)


def _put_length(length: int, compact: bool, number: struct.Struct) -> bytes:
    return unsigned(length + 1) if compact else number.pack(length)


def default_of(field: Field) -> Any:
    """Return the default value of a field."""
    given = field.default
    if given == "null":
        return None
    if field.array:
        return []
    if field.type == "bool":
        return given in (True, "true")
    if field.type == "float64":
        return float(given or 0)
    if field.type in _NUMBERS:
        return int(str(given or 0), 0)
    return {"uuid": UUID(int=0), "string": given or "", "struct": {}}.get(field.type, b"")
