"""Functions and classes that open files safely, even in a directory with malicious content.

Only regular files are opened. They are opened in read-only mode without following links, and are read in pieces of
limited size. Files are not mapped into memory, because a process is killed when it reads from a mapped file that a
broker has truncated.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

import attrs

MOST_TEXT = 256 * 2**20
"""The size of the largest text file that is read, in bytes.

A checkpoint of about a million partitions is this large.
"""

MOST_ENTRIES = 4_000_000
"""The largest number of entries of a directory that can be listed."""

Kind = Literal["file", "directory", "other"]


class Unreadable(Exception):
    """Raised when a file or directory cannot be read. The message is one line with the path and the reason."""


@attrs.frozen
class Entry:
    """A directory entry: its name and kind. The kind of a link is ``other``."""

    name: str
    kind: Kind


class Source(Protocol):
    """An open file."""

    @property
    def size(self) -> int:
        """The size of the file in bytes when it was opened."""

    def read_into(self, buffer: memoryview, at: int) -> int:
        """Fill a buffer with the bytes of the file that begin at position `at`.

        Returns:
            The number of bytes read, which is less than the buffer's length only at the end of the file.

        Raises:
            Unreadable: if the file cannot be read.
        """


class Files(Protocol):
    """A read-only file system."""

    def listed(self, path: str) -> list[Entry]:
        """Return the entries of a directory, sorted by name.

        Raises:
            Unreadable: if the directory cannot be listed.
        """

    def opened(self, path: str) -> AbstractContextManager[Source]:
        """Return a context manager that opens a file and closes it at the end of the ``with`` block.

        Raises:
            Unreadable: if the path cannot be opened or is not a regular file.
        """


def filled(buffer: memoryview, read: Callable[[memoryview, int], int]) -> int:
    """Fill a buffer piece by piece, until it is full or the end of the file is reached.

    Parameters:
        buffer: the buffer to fill.
        read: a function that reads into a buffer. Its arguments are the unfilled part of `buffer` and the number of
            bytes read so far. It returns the number of bytes that it has read, or 0 at the end of the file.

    Returns:
        The number of bytes read.
    """
    got = 0
    while got < len(buffer) and (more := read(buffer[got:], got)):
        got += more
    return got


@attrs.frozen
class LocalSource:
    """A file on this machine."""

    path: str
    descriptor: int
    size: int

    def read_into(self, buffer: memoryview, at: int) -> int:
        """See `Source.read_into`."""
        try:
            return filled(buffer, lambda rest, got: os.preadv(self.descriptor, [rest], at + got))
        except OSError as error:
            raise Unreadable(f"cannot read {self.path}: {error.strerror}") from error


@attrs.frozen
class LocalFiles:
    """The file system of this machine."""

    def listed(self, path: str) -> list[Entry]:
        """See `Files.listed`."""
        entries: list[Entry] = []
        try:
            with os.scandir(path) as found:
                for entry in found:
                    if len(entries) == MOST_ENTRIES:
                        raise Unreadable(f"{path} has more than {MOST_ENTRIES:,} entries")
                    entries.append(Entry(entry.name, _kind(entry)))
        except OSError as error:
            raise Unreadable(f"cannot list {path}: {error.strerror}") from error
        return sorted(entries, key=lambda entry: entry.name)

    @contextmanager
    def opened(self, path: str) -> Iterator[LocalSource]:
        """See `Files.opened`."""
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(path, flags)
        except OSError as error:
            raise Unreadable(f"cannot open {path}: {error.strerror}") from error
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise Unreadable(f"{path} is not a regular file")
            yield LocalSource(path, descriptor, about.st_size)
        finally:
            os.close(descriptor)


def _kind(entry: os.DirEntry[str]) -> Kind:
    try:
        if entry.is_file(follow_symlinks=False):
            return "file"
        return "directory" if entry.is_dir(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def read_bytes(files: Files, path: str, most: int = MOST_TEXT) -> bytes:
    """Return the content of a small file.

    Raises:
        Unreadable: if the file cannot be read, or has more than `most` bytes.
    """
    with files.opened(path) as source:
        if source.size > most:
            raise Unreadable(f"{path} has {source.size:,} bytes, but the limit for a file of this kind is {most:,}")
        buffer = bytearray(source.size)
        got = source.read_into(memoryview(buffer), 0)
        return bytes(buffer[:got])
