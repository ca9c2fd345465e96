"""Stores blocks of columns in files, on the local disk or on any file system that pyarrow supports.

A file contains several blocks: one for each part of some states, or for each shard. A block is an archive of NumPy
arrays, which also says how its states are packed. The place of each block, its number of rows and its checksum are
stored separately, and are checked when the block is read. Therefore a missing, truncated or replaced file causes an
error, and is never read as an empty file.
"""

from __future__ import annotations

import io
import os
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.packing import Packing
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.support.durable import sealed, sync_folder, unsealed

_SIZES, _PLACES = "packing sizes", "packing places"
"""The names of the arrays in a block that say how its states are packed; see `Packing.of_places`."""

Columns = Mapping[str, NDArray[Any]]


@attrs.frozen
class Block:
    """The location of a block, and its expected size and checksum.

    Attributes:
        file: the path of the file relative to the folder of the `Storage`.
        first, bytes: the position of the block in the file, and its size in bytes.
        rows: the number of rows.
    """

    file: str
    first: int
    bytes: int
    rows: int
    checksum: int


class Files(Protocol):
    """A file system."""

    def read(self, path: str, first: int = 0, size: int | None = None) -> bytes:
        """Return the content of a file, or a part of it."""

    def writing(self, path: str) -> Any:
        """Return a context manager that opens a new file. Folders that do not exist are created."""

    def end(self, written: str, path: str) -> None:
        """Give a file that is complete its name, and wait until it is stored."""

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its content. Do nothing if it does not exist."""


class LocalFiles:
    """The file system of this machine; see `Files`."""

    def read(self, path: str, first: int = 0, size: int | None = None) -> bytes:
        with open(path, "rb") as file:
            file.seek(first)
            return file.read(-1 if size is None else size)

    @contextmanager
    def writing(self, path: str) -> Iterator[Any]:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def end(self, written: str, path: str) -> None:
        os.replace(written, path)
        sync_folder(Path(path).parent)

    def exists(self, path: str) -> bool:
        return Path(path).is_file()

    def remove(self, path: str) -> None:
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)


class RemoteFiles:
    """A file system that pyarrow supports; see `Files`."""

    def __init__(self, system: Any) -> None:
        from pyarrow import fs

        self._system, self._kinds = system, fs.FileType

    def read(self, path: str, first: int = 0, size: int | None = None) -> bytes:
        with self._system.open_input_file(path) as file:
            file.seek(first)
            return bytes(file.read(size))

    def writing(self, path: str) -> Any:
        self._system.create_dir(path.rpartition("/")[0], recursive=True)
        return self._system.open_output_stream(path)

    def end(self, written: str, path: str) -> None:
        self._system.move(written, path)

    def exists(self, path: str) -> bool:
        return bool(self._system.get_file_info(path).type == self._kinds.File)

    def remove(self, path: str) -> None:
        kind = self._system.get_file_info(path).type
        if kind == self._kinds.File:
            self._system.delete_file(path)
        elif kind == self._kinds.Directory:
            self._system.delete_dir(path)


class Storage:
    """The files of a folder, which may be one that several machines can access.

    Parameters:
        place: a local path, or a URI that pyarrow supports, such as ``hdfs://host/path`` or ``s3://bucket/path``.

    Attributes:
        place: the absolute path or the URI.
        root: the path of the folder in its file system.
        is_local: whether the folder is on a local file system.

    Raises:
        LeadlineError: if the file system does not exist, or the path is not a folder.
    """

    def __init__(self, place: str | Path) -> None:
        self.is_local = "://" not in str(place) or str(place).startswith("file://")
        self.place = str(place) if "://" in str(place) else str(Path(place).absolute())
        self._files: Files = LocalFiles()
        self._trouble: tuple[type[Exception], ...] = (OSError,)
        self.root = self.place.removeprefix("file://")
        if not self.is_local:
            try:
                import pyarrow
                from pyarrow import fs

                system, self.root = fs.FileSystem.from_uri(self.place)
            except (ImportError, OSError, ValueError, RuntimeError) as error:
                raise LeadlineError(f"{place} cannot be used as a work directory: {_line(error)}") from error
            self._files, self._trouble = RemoteFiles(system), (OSError, pyarrow.ArrowException)
        if not self.root.strip("/"):
            raise LeadlineError(f"{place} cannot be used as a work directory: use a directory below the root")

    def path(self, name: str) -> str:
        """Return the full path of a file in the folder."""
        return f"{self.root}/{name}"

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a small file atomically. An existing file is replaced.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        with self._published(name) as stream:
            stream.write(data)

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a small file. Raise Damaged if the file does not exist or cannot be read."""
        return self._read(name)

    def _read(self, name: str, first: int = 0, size: int | None = None) -> bytes:
        try:
            return self._files.read(self.path(name), first, size)
        except self._trouble as error:
            raise Damaged(f"cannot read {self.path(name)}: {_line(error)}") from error

    def write_sealed(self, name: str, data: bytes) -> None:
        """Write a small file with a checksum of its content. See `write_bytes`."""
        self.write_bytes(name, sealed(data))

    def read_sealed(self, name: str) -> bytes:
        """Return what `write_sealed` wrote to a file. Raise Damaged if the file is missing or was changed."""
        return unsealed(self.read_bytes(name), self.path(name))

    def exists(self, name: str) -> bool:
        """Return whether a file exists. Raise LeadlineError if the file system cannot be read."""
        try:
            return self._files.exists(self.path(name))
        except self._trouble as error:
            raise LeadlineError(f"cannot read {self.path(name)}: {_line(error)}") from error

    def remove(self, name: str) -> None:
        """Remove a file or a folder with its content. Do nothing if it does not exist.

        Raises:
            LeadlineError: if the file or folder cannot be removed.
        """
        try:
            self._files.remove(self.path(name))
        except self._trouble as error:
            raise LeadlineError(f"cannot remove {self.path(name)}: {_line(error)}") from error

    def write(self, folder: str, blocks: Iterable[Columns], packing: Packing) -> list[Block]:
        """Write blocks to a new file. The file has a random name, so that several attempts at the same task do not
        overwrite each other's files.

        Parameters:
            folder: the path of the folder for the file, relative to the folder of this object.
            blocks: the columns of each block. All blocks must have the same columns. The column of packed states,
                ``state``, has the shape (rows, words).

        Returns:
            The location of each block.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        name = f"{folder}/{uuid.uuid4().hex}.states"
        described = {_SIZES: np.array(packing.sizes, np.int64), _PLACES: np.array(packing.places, np.int64)}
        written, end = list[Block](), 0
        with self._published(name) as stream:
            for columns in blocks:
                archive = io.BytesIO()
                arrays: dict[str, Any] = {**columns, **described}
                np.savez(archive, **arrays)
                data = archive.getbuffer()
                stream.write(data)
                rows = len(next(iter(columns.values())))
                written.append(Block(name, end, len(data), rows, zlib.crc32(data)))
                end += len(data)
        return written

    def read(self, block: Block) -> tuple[dict[str, NDArray[Any]], Packing]:
        """Read a block.

        Returns:
            The columns, and the packing of the states.

        Raises:
            Damaged: if the file is missing, or the block has changed since it was written.
        """
        path, data = self.path(block.file), self._read(block.file, block.first, block.bytes)
        if len(data) != block.bytes or zlib.crc32(data) != block.checksum:
            raise Damaged(f"{path} is damaged: it has changed since it was written")
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                columns = dict(archive)
            sizes, places = columns.pop(_SIZES), columns.pop(_PLACES)
            words = columns["state"].shape[1] if "state" in columns else 0
            packing = Packing.of_places(sizes.tolist(), words, places.tolist())
            if {len(column) for column in columns.values()} != {block.rows}:
                raise ValueError("a column does not have the expected number of rows")
        except Exception as error:  # NumPy raises many kinds of errors for a damaged archive
            raise Damaged(f"{path} is damaged: {_line(error)}") from error
        return columns, packing

    @contextmanager
    def _published(self, name: str) -> Iterator[Any]:
        """Return a context manager that writes a file under a temporary name, and renames it once it is complete.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        path = self.path(name)
        written = f"{path}.{uuid.uuid4().hex}.new"
        try:
            with self._files.writing(written) as stream:
                yield stream
            self._files.end(written, path)
        except self._trouble as error:
            self._forget(written)
            raise LeadlineError(f"cannot write {path}: {_line(error)}") from error
        except BaseException:
            self._forget(written)
            raise

    def _forget(self, written: str) -> None:
        with suppress(*self._trouble):  # it may not exist
            self._files.remove(written)


def _line(error: BaseException) -> str:
    shown = error.strerror if isinstance(error, OSError) and type(error).__module__ == "builtins" else None
    return " ".join((shown or str(error)).split())
