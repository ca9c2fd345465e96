"""Decompress the records of batches.

The codecs are those of Kafka's `CompressionType`. Snappy data is in the format of the library snappy-java: a header,
followed by blocks that each begin with their size. Some clients send a single block without a header.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam

_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = len(_XERIAL) + 8  # followed by two versions
_SIZE = struct.Struct(">i")
GZIP = 1
"""The number of gzip in the attributes of a batch."""
GZIP_FORMAT = 16 + zlib.MAX_WBITS


class Undecodable(ValueError):
    """Raised when compressed data cannot be decompressed."""


def decompress(data: bytes, codec: int) -> bytes:
    """Return the decompressed data.

    Parameters:
        codec: the number of the codec in the attributes of a batch; 0 means that the data is not compressed.

    Raises:
        Undecodable: if there is no such codec, or the data is not valid.
    """
    if codec == 0:
        return data
    known: dict[int, Callable[[bytes], bytes]] = {GZIP: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
    if codec not in known:
        raise Undecodable(f"there is no compression codec {codec}")
    try:
        return known[codec](data)
    except (zlib.error, struct.error, cramjam.DecompressionError) as error:
        raise Undecodable(f"the data is not valid for compression codec {codec}: {error}") from error


def _gzip(data: bytes) -> bytes:
    return zlib.decompress(data, GZIP_FORMAT)


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(data))
    found, at = bytearray(), _XERIAL_HEADER
    while at < len(data):
        (size,) = _SIZE.unpack_from(data, at)
        at += _SIZE.size
        found += bytes(cramjam.snappy.decompress_raw(data[at : at + size]))
        at += size
    return bytes(found)


def _lz4(data: bytes) -> bytes:
    return bytes(cramjam.lz4.decompress(data))


def _zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.decompress(data))
