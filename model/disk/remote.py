"""A file system for files in object storage, or in any other remote file system that pyarrow supports."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import attrs

from leadline.model.disk.files import Entry, Kind, LocalFiles, Source, Unreadable, filled


def is_remote(path: str) -> bool:
    """Return whether a path is a URI such as ``s3://bucket/path``."""
    return "://" in path


def canonical(path: str) -> str:
    """Change a path so that ``/name`` can be appended to it.

    A trailing slash is removed. The options of a URI are moved in front of the path, as in
    ``s3://bucket?region=x/path``.
    """
    if not is_remote(path):
        return path.rstrip("/") or "/"
    scheme, _, rest = path.partition("://")
    rest, mark, options = rest.partition("?")
    host, _, inside = rest.partition("/")
    return f"{scheme}://{host}{mark}{options}/{inside}".rstrip("/")


def without_secrets(text: str) -> str:
    """Return the text with the user names, passwords and options of URIs removed."""
    return re.sub(r"(://)[^/@\s]+@", r"\1...@", re.sub(r"(://[^/?\s]*)\?[^/\s]*", r"\1", text))


@attrs.frozen
class AnyFiles:
    """A file system for any path: the file systems of pyarrow for URIs, and the local file system for other paths."""

    def listed(self, path: str) -> list[Entry]:
        """See `Files.listed`."""
        return _listed(path) if is_remote(path) else LocalFiles().listed(path)

    def opened(self, path: str) -> AbstractContextManager[Source]:
        """See `Files.opened`."""
        return _opened(path) if is_remote(path) else LocalFiles().opened(path)


class _Stream(Protocol):
    """A file that pyarrow has opened for reading."""

    def seek(self, position: int, /) -> int: ...
    def readinto(self, buffer: memoryview, /) -> int: ...


@attrs.frozen
class _RemoteSource:
    path: str
    stream: _Stream
    size: int

    def read_into(self, buffer: memoryview, at: int) -> int:
        """See `Source.read_into`."""
        try:
            self.stream.seek(at)
            return filled(buffer, lambda rest, _: self.stream.readinto(rest))
        except OSError as error:
            raise Unreadable(f"cannot read {self.path}: {_line(error)}") from error


def _listed(path: str) -> list[Entry]:
    system, inside = _system(path)
    from pyarrow import fs

    kinds: dict[object, Kind] = {fs.FileType.File: "file", fs.FileType.Directory: "directory"}
    try:
        found = system.get_file_info(fs.FileSelector(inside))
    except OSError as error:
        raise Unreadable(f"cannot list {path}: {_line(error)}") from error
    entries = [Entry(each.base_name, kinds.get(each.type, "other")) for each in found]
    return sorted(entries, key=lambda entry: entry.name)


@contextmanager
def _opened(path: str) -> Iterator[_RemoteSource]:
    system, inside = _system(path)
    try:
        stream = system.open_input_file(inside)
    except OSError as error:
        raise Unreadable(f"cannot open {path}: {_line(error)}") from error
    with stream:
        yield _RemoteSource(path, stream, stream.size())


def _system(path: str) -> tuple[Any, str]:
    """Return the pyarrow file system of a URI, and the path in that file system."""
    if importlib.util.find_spec("pyarrow") is None:
        raise Unreadable(f"reading {path} requires pyarrow: run pip install 'leadline[spark]'")
    scheme, _, rest = path.partition("://")
    host, slash, inside = rest.partition("/")
    host, mark, options = host.partition("?")
    system, root = _system_of(f"{scheme}://{host}/{mark}{options}")
    return system, f"{root.rstrip('/')}/{inside}" if root.strip("/") else f"{slash if root else ''}{inside}"


@functools.cache
def _system_of(root: str) -> tuple[Any, str]:
    import pyarrow
    from pyarrow import fs

    try:
        system, inside = fs.FileSystem.from_uri(root)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise Unreadable(f"cannot access the file system {root}: {_line(error)}") from error
    return system, str(inside)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
