"""Functions for durable files, which have a checksum and are replaced atomically."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leadline.checker.errors import Damaged

_HEADER = re.compile(rb"leadline, CRC-32 ([0-9a-f]{8})\n")
_CHECKSUM = "checksum"


def sealed(data: bytes) -> bytes:
    """Prepend a line with a checksum to the data, and return the result."""
    return b"leadline, CRC-32 %08x\n" % zlib.crc32(data) + data


def unsealed(data: bytes, path: Path | str) -> bytes:
    """Verify the checksum in the content of a file, and return the data that was passed to `sealed`.

    Parameters:
        path: the path of the file, for the error message.

    Raises:
        Damaged: if the checksum is missing or does not match.
    """
    header = _HEADER.match(data)
    if header is None:
        raise Damaged(f"{path} is damaged: its first line does not contain a checksum")
    content = data[header.end() :]
    if zlib.crc32(content) != int(header[1], 16):
        raise Damaged(f"{path} is damaged: its checksum does not match")
    return content


def sealed_json(content: Mapping[str, object]) -> bytes:
    """Encode a mapping as JSON, with a checksum as an additional entry."""
    return json.dumps({**content, _CHECKSUM: _checksum(content)}, indent=1).encode() + b"\n"


def unsealed_json(data: bytes, path: Path | str) -> dict[str, Any]:
    """Decode JSON, verify its checksum, and return the mapping that was passed to `sealed_json`.

    Parameters:
        data: the content of a file.
        path: the path of the file, for the error message.

    Raises:
        Damaged: if the data is not JSON, or if the checksum is missing or does not match.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: it is not valid JSON") from error
    if not isinstance(content, dict) or content.pop(_CHECKSUM, None) != _checksum(content):
        raise Damaged(f"{path} is damaged: its checksum does not match")
    return content


def _checksum(content: Mapping[str, object]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically, and wait until the new file is stored on disk.

    If the path refers to a device or a pipe, for example ``/dev/null``, the data is written directly to it.

    Parameters:
        path: the path of the file. It does not have to exist.

    Raises:
        OSError: if the file cannot be written. The old file is then unchanged.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    written = path.with_name(f"{path.name}.new")
    try:
        with written.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    except OSError:
        written.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path | str) -> None:
    """Wait until the entries of a folder are stored on disk, if the file system supports this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
