"""A store that keeps states in files, and in memory only a table of them.

A search writes states, predecessors and action instances in order, and reads them in order. The files are mapped, so
nothing else in the engine knows of them. They are temporary and have no name, so nothing is left of them when the
process ends, however it ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled.buffers import Buffers
from leadline.checker.engines.compiled.quotient import Candidates, Outgrown, QuotientTable
from leadline.checker.engines.compiled.store import GROWTH, MOST_STATES, NotASearch, Store
from leadline.checker.engines.learning.arrays import Kept
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.observing.layout import Layout
from leadline.checker.result import Stop, StopKind

STEP = 2**20
"""The least number of bytes by which a file grows. It grows by at least an eighth of its size."""

AT_ONCE = 2**17
"""The number of states that are entered into the table at the same time when it is made again."""

RELEASED = 2**22
"""The number of states after which the pages of the files are given back. The operating system keeps them in its cache
as long as it has memory for them."""


class Column:
    """An array in a temporary file.

    Parameters:
        folder: the folder of the file.
        rows: the maximum number of entries. A file takes no more space than was asked for with `allocate`.

    Attributes:
        array: the array.

    Raises:
        StopSearch: if the file cannot be made.
    """

    def __init__(self, folder: Path, rows: int, kind: Any, *shape: int) -> None:
        self._row = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
        self._folder, self._allocated = folder, 0
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
            os.ftruncate(self._file.fileno(), rows * self._row)
            self._map = mmap.mmap(self._file.fileno(), rows * self._row)
        except OSError as error:
            raise _no_room(folder, error) from error
        self.array: NDArray[Any] = np.frombuffer(self._map, kind).reshape(rows, *shape)

    def allocate(self, rows: int) -> None:
        """Take space for some entries. To write to an entry without space would end the process.

        Raises:
            StopSearch: if the disk is full.
        """
        missing = rows * self._row - self._allocated
        if missing > 0:
            more = max(STEP, missing, self._allocated // 8)
            try:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(self._file.fileno(), self._allocated, more)
            except OSError as error:
                raise _no_room(self._folder, error) from error
            self._allocated += more

    def settle(self) -> None:
        """Wait until all entries are written. What cannot be written is lost when its memory is given back.

        Raises:
            StopSearch: if some cannot be written, for example because a disk has less space than its file system.
        """
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _no_room(self._folder, error) from error

    def release(self) -> None:
        """Give back the memory of all pages. What they contain is read from the file again when it is needed."""
        self._map.madvise(mmap.MADV_DONTNEED)


def _no_room(folder: Path, error: OSError) -> StopSearch:
    return StopSearch(Stop(StopKind.MEMORY, f"cannot keep more states in {folder}: {error.strerror}"))


class DiskStore(Store):
    """Stores states in files. See `Store`.

    Parameters:
        folder: the folder of the files.
    """

    def __init__(self, folder: Path, packing: Packing, instances: int, workers: Workers, constrained: bool) -> None:
        self._folder, self._columns, self._released = folder, dict[str, Column](), 0
        self._known = QuotientTable(packing, workers)
        super().__init__(packing, instances, 0, workers, MOST_STATES, constrained)
        self.table = np.zeros(0, np.uint64)
        self._indexed: Packing | None = None

    @staticmethod
    def packing_of(layout: Layout, spare: int = 0) -> Packing:
        return Packing(layout.sizes(), spare, layout.elements())

    def _reserve(self, name: str, room: int, kind: Any, *shape: int) -> tuple[NDArray[Any], int]:
        column = Column(self._folder, room, kind, *shape)
        column.allocate(self.stored)
        self._columns[name] = column
        return column.array, room

    @property
    def indexed(self) -> Kept:
        if self._indexed is not self.packing:  # the hashes are those of packed states
            super().rebuild()
            self._indexed = self.packing
        return self.kept

    @property
    def bytes_used(self) -> int:
        return self._known.nbytes + self.table.nbytes

    @property
    def bytes_in_files(self) -> int:
        return self.stored * self.bytes_per_state

    def bytes_for(self, count: int) -> int:
        return self.bytes_to_grow(count)

    def bytes_to_repack(self, packing: Packing) -> int:
        return 0

    def bytes_to_grow(self, coming: int) -> int:
        return max(0, self._known.nbytes_for(self._wanted(coming)) - self._known.table.nbytes)

    def _wanted(self, coming: int) -> int:
        """Return for how many states the table should have room before `coming` more states are added."""
        states, room = self.stored + coming, self._known.room
        return room if states <= room else max(states, int(GROWTH * room))

    def allocate(self, count: int) -> None:
        for column in self._columns.values():
            column.allocate(count)

    def add(self, packed: NDArray[np.uint64]) -> None:
        self.allocate(self.count + len(packed))
        super().add(packed)

    def grow(self, coming: int) -> None:
        self.allocate(self.stored + coming)
        if self.stored - self._released > RELEASED:
            self.settle()
        if self.stored + coming > self._known.room:
            self.rebuild(coming)

    def settle(self) -> None:
        for column in self._columns.values():
            column.settle()
        self._release()

    def _release(self) -> None:
        for column in self._columns.values():
            column.release()
        self._released = self.stored

    def insert(self, buffers: Buffers, filled: NDArray[np.int64], alone: bool) -> NDArray[np.int64]:
        some = Candidates(buffers.found, filled, buffers.hashes, buffers.places, buffers.routes, buffers.regions, alone)
        while True:
            try:
                return self._known.enter(some)
            except Outgrown as found:
                self.rebuild(self._known.room - self.stored + 1 if found.is_full else 0)

    def rebuild(self, coming: int = 0) -> None:
        wanted = self._wanted(coming)
        while True:
            try:
                self._known.begin(wanted)
                return self._enter_all()
            except Outgrown as found:
                wanted = int(GROWTH * wanted) if found.is_full else wanted

    def _enter_all(self) -> None:
        """Enter all states into the empty table.

        Raises:
            NotASearch: if two states are equal.
            Outgrown: if the table must be made again.
        """
        parts = self.workers.count
        for first in range(0, self.stored, AT_ONCE * parts):
            last = min(first + AT_ONCE * parts, self.stored)
            each = -(-(last - first) // parts)
            shape = parts, each
            some = Candidates(
                self.states[first : first + each * parts].reshape(*shape, -1),
                np.clip(last - first - each * np.arange(parts), 0, each), np.empty(shape, np.uint64),
                np.empty(shape, np.int64), np.tile(np.arange(each, dtype=np.uint32), (parts, 1)),
                np.zeros((parts, parts + 1), np.int64), last - first < AT_ONCE,
            )  # fmt: skip
            entered = self._known.enter(some)
            if entered.sum() != last - first:
                part, row = np.argwhere(some.places < 0)[0].tolist()
                raise NotASearch(f"state {first + each * part + row} is equal to an earlier state")
            if first % RELEASED == 0:
                self._release()
        self._release()

    def repack(self, packing: Packing) -> None:
        self._known.forget(packing)
        super().repack(packing)
