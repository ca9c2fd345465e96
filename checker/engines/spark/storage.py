"""Stores blocks of columns in Arrow files, on any file system that pyarrow supports.

A file contains several blocks, one for each shard or for each part of a level. The number of rows and the checksum of
each block are stored separately, and are checked when the block is read. Therefore a missing, truncated or replaced
file causes an error, and is never read as an empty file.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.support.durable import sealed, sync_folder, unsealed

TROUBLE = (OSError, pa.ArrowException)
"""The exceptions that pyarrow raises when a file cannot be read or written."""

Columns = Mapping[str, NDArray[Any]]


@attrs.frozen
class Block:
    """The location of a block, and its expected size and checksum.

    Attributes:
        file: the path of the file relative to the work directory.
        index: the index of the block in the file.
        rows: the number of rows.
        checksum: the CRC-32 of the columns, their names and types, and the sizes of the packing.
    """

    file: str
    index: int
    rows: int
    checksum: int


class Storage:
    """The files of a work directory, which the driver and all workers can access.

    Parameters:
        place: a local path, or a URI that pyarrow supports, such as ``hdfs://host/path`` or ``s3://bucket/path``.

    Attributes:
        place: the absolute path or the URI.
        files, root: the pyarrow file system, and the path of the directory in this file system.
        is_local: whether the directory is on a local file system.

    Raises:
        LeadlineError: if the file system does not exist, or the path is not a folder.
    """

    def __init__(self, place: str) -> None:
        self.place = place if "://" in place else str(Path(place).absolute())
        try:
            self.files, self.root = fs.FileSystem.from_uri(self.place)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise LeadlineError(f"{place} cannot be used as a work directory: {_line(error)}") from error
        if not self.root.strip("/"):
            raise LeadlineError(f"{place} cannot be used as a work directory: use a directory below the root")
        self.is_local = isinstance(self.files, fs.LocalFileSystem)

    def path(self, name: str) -> str:
        """Return the full path of a file in the work directory."""
        return f"{self.root}/{name}"

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a small file atomically. An existing file is replaced.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        try:
            with Publication(self, name) as stream:
                stream.write(data)
        except TROUBLE as error:
            raise LeadlineError(f"cannot write {self.path(name)}: {_line(error)}") from error

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a small file. Raise Damaged if the file does not exist or cannot be read."""
        try:
            with self.files.open_input_stream(self.path(name)) as stream:
                return bytes(stream.read())
        except TROUBLE as error:
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
            found: bool = self.files.get_file_info(self.path(name)).type == fs.FileType.File
        except TROUBLE as error:
            raise LeadlineError(f"cannot read {self.path(name)}: {_line(error)}") from error
        return found

    def remove(self, name: str) -> None:
        """Remove a file or a folder with its content. Do nothing if it does not exist.

        Raises:
            LeadlineError: if the file or folder cannot be removed.
        """
        try:
            info = self.files.get_file_info(self.path(name))
            if info.type == fs.FileType.File:
                self.files.delete_file(self.path(name))
            elif info.type == fs.FileType.Directory:
                self.files.delete_dir(self.path(name))
        except TROUBLE as error:
            raise LeadlineError(f"cannot remove {self.path(name)}: {_line(error)}") from error

    def write(self, folder: str, blocks: Iterable[Columns], sizes: Sequence[int]) -> list[Block]:
        """Write blocks to a new file. The file has a random name, so that several attempts at the same task do not
        overwrite each other's files.

        Parameters:
            folder: the path of the folder for the file, relative to the work directory.
            blocks: the columns of each block. There must be at least one block, and all blocks must have the same
                columns. The column of packed states has the shape (rows, words).
            sizes: for each slot, the number of values that the packing has room for; see `Packing.sizes`.

        Returns:
            The location of each block.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        name = f"{folder}/{uuid.uuid4().hex}.arrow"
        written: list[Block] = []
        try:
            with Publication(self, name) as stream:
                writer = None
                for index, columns in enumerate(blocks):
                    batch = pa.RecordBatch.from_arrays([_column(array) for array in columns.values()], list(columns))
                    if writer is None:
                        described = batch.schema.with_metadata({"sizes": " ".join(map(str, sizes))})
                        writer = pa.ipc.new_file(stream, described)
                    writer.write_batch(batch.replace_schema_metadata(described.metadata))
                    written.append(Block(name, index, batch.num_rows, _checksum(columns, sizes)))
                assert writer is not None
                writer.close()
        except TROUBLE as error:
            raise LeadlineError(f"cannot write {self.path(name)}: {_line(error)}") from error
        return written

    def read(self, block: Block) -> tuple[dict[str, NDArray[Any]], list[int]]:
        """Read a block.

        Returns:
            The columns, and the sizes of the packing with which the states were written.

        Raises:
            Damaged: if the file is missing, or the block has changed since it was written.
        """
        path = self.path(block.file)
        try:
            with self.files.open_input_file(path) as stream, pa.ipc.open_file(stream) as reader:
                batch = reader.get_batch(block.index)
                sizes = [int(size) for size in reader.schema.metadata[b"sizes"].split()]
                columns = {name: _array(batch.column(name)) for name in batch.schema.names}
        except Exception as error:  # Arrow raises many kinds of errors for a damaged file
            raise Damaged(f"{path} is missing or damaged: {_line(error)}") from error
        if batch.num_rows != block.rows or _checksum(columns, sizes) != block.checksum:
            raise Damaged(f"{path} is damaged: the content of block {block.index} has changed since it was written")
        return columns, sizes


class Publication:
    """A context manager that writes a file under a temporary name, and renames it once it is complete."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage, self._path = storage, storage.path(name)
        self._written = f"{self._path}.{uuid.uuid4().hex}.new"

    def __enter__(self) -> Any:
        self._storage.files.create_dir(self._path.rpartition("/")[0], recursive=True)
        self._stream = self._storage.files.open_output_stream(self._written)
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.close()
        if kind is not None:
            self._storage.files.delete_file(self._written)
            return
        if self._storage.is_local:
            with open(self._written, "rb") as file:
                os.fsync(file.fileno())
        self._storage.files.move(self._written, self._path)
        if self._storage.is_local:
            sync_folder(self._path.rpartition("/")[0])


def _column(array: NDArray[Any]) -> Any:
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), array.shape[1])


def _array(column: Any) -> NDArray[Any]:
    """Return a writable copy of a column. Arrow's memory is read-only, and Numba would have to compile each loop again
    for read-only arrays.
    """
    if isinstance(column, pa.FixedSizeListArray):
        return np.array(column.flatten().to_numpy()).reshape(len(column), column.type.list_size)
    return np.array(column.to_numpy())


def _checksum(columns: Columns, sizes: Sequence[int]) -> int:
    """Return the CRC-32 of the columns, their names and types, and the sizes of the packing."""
    checksum = zlib.crc32(repr([*sizes]).encode())
    for name, array in columns.items():
        checksum = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(array).data.cast("B") if array.size else b"", checksum)
    return checksum


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
