"""Reads files that the user names. Only regular files of limited size are read."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from pathlib import Path

from leadline.checker.errors import LeadlineError

MOST_BYTES = 256 * 2**20
"""The maximum size of a file in bytes."""


def file_text(path: Path) -> str:
    """Return the text of a regular file that is encoded in UTF-8, without a byte-order mark.

    Devices and pipes are rejected, because reading them may never end.

    Raises:
        OSError: if the file cannot be read, is not a regular file, or has more than `MOST_BYTES` bytes.
        UnicodeDecodeError: if the file is not UTF-8 text.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # O_NONBLOCK: opening a pipe must not block
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 2**20} MiB", path)
    return data.decode("utf-8-sig")


def read_toml(path: Path) -> dict[str, object]:
    """Return the content of a TOML file.

    Raises:
        LeadlineError: if the file cannot be read or is not valid TOML.
    """
    try:
        return tomllib.loads(file_text(path))
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # not TOML, not UTF-8, or a number of thousands of digits
        raise LeadlineError(f"{path} is not valid TOML: {error}") from error


def short_path(path: Path) -> str:
    """Return a path for people: from the working directory if the file is below it, otherwise its last three parts."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else "/".join(path.parts[-3:])
