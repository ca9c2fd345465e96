"""A decoder for Kafka's binary encoding of numbers, strings, arrays and tagged fields (KIP-482 and the record format).

Before memory is allocated, a declared length or count is compared with the number of remaining bytes, because a damaged
file can declare any length.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")

_INT8, _INT16, _INT32, _INT64 = (struct.Struct(form) for form in (">b", ">h", ">i", ">q"))


class Malformed(ValueError):
    """Raised when bytes do not match the format."""


class Wire:
    """Decodes values from bytes, one after another.

    Every method raises Malformed if too few bytes are left, or if the bytes do not have the expected format.

    Parameters:
        data: the bytes to decode.
    """

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """The number of bytes that have not been read yet."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """Read the next `count` bytes."""
        if not 0 <= count <= self.left:
            raise Malformed(f"{count} bytes are declared, but only {self.left} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def int8(self) -> int:
        """Read a signed byte."""
        return int(_INT8.unpack(self.take(1))[0])

    def int16(self) -> int:
        """Read a 16-bit integer."""
        return int(_INT16.unpack(self.take(2))[0])

    def int32(self) -> int:
        """Read a 32-bit integer."""
        return int(_INT32.unpack(self.take(4))[0])

    def int64(self) -> int:
        """Read a 64-bit integer."""
        return int(_INT64.unpack(self.take(8))[0])

    def boolean(self) -> bool:
        """Read a boolean."""
        return self.int8() != 0

    def uuid(self) -> UUID:
        """Read a UUID: the id of a topic or directory, or the incarnation id of a broker."""
        return UUID(bytes=self.take(16))

    def unsigned(self) -> int:
        """Read an unsigned variable-length integer of at most 10 bytes."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("a variable-length integer has more than 10 bytes")

    def signed(self) -> int:
        """Read a signed variable-length integer in zigzag encoding."""
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def string(self) -> str:
        """Read a compact string."""
        found = self.nullable_string()
        if found is None:
            raise Malformed("a string is null but must not be null")
        return found

    def nullable_string(self) -> str | None:
        """Read a nullable compact string. Return None for null."""
        length = self.unsigned()
        if not length:
            return None
        try:
            return self.take(length - 1).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Malformed("a string is not UTF-8") from error

    def sized(self) -> bytes | None:
        """Read the key or value of a record, which consists of a length followed by that number of bytes.

        Return None if the length is -1 (null).
        """
        length = self.signed()
        return None if length == -1 else self.take(length)

    def array(self, read: Callable[[], T]) -> list[T]:
        """Read a compact array.

        Parameters:
            read: a function that reads one element. An element must consist of at least one byte.
        """
        found = self.nullable_array(read)
        if found is None:
            raise Malformed("an array is null but must not be null")
        return found

    def nullable_array(self, read: Callable[[], T]) -> list[T] | None:
        """Read a nullable compact array. Return None for null. See `array`."""
        count = self.unsigned()
        if count - 1 > self.left:
            raise Malformed(f"{count - 1} elements are declared, but only {self.left} bytes are left")
        return [read() for _ in range(count - 1)] if count else None

    def tagged(self) -> Iterator[tuple[int, Wire]]:
        """Yield a (tag, decoder) pair for each tagged field at the end of a structure. The decoder reads the field."""
        for _ in range(self.unsigned()):
            tag, length = self.unsigned(), self.unsigned()
            yield tag, Wire(self.take(length))

    def skip_tagged(self) -> None:
        """Skip the tagged fields at the end of a structure."""
        for _ in self.tagged():
            pass


def uuid_of_text(text: str) -> UUID:
    """Decode a UUID from Kafka's notation, which consists of 22 characters of URL-safe Base64."""
    return UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


def text_of_uuid(value: UUID) -> str:
    """Convert a UUID to Kafka's notation. See `uuid_of_text`."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
