"""Stores the visited states of one shard in memory-mapped files on a local disk.

All workers on the machine map the same files into memory. If the set is larger than the memory, the operating system
keeps only recently used pages in memory. The set is a cache: if the files are missing or invalid, the set is rebuilt
from the files of the levels.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.store import FULLEST, MOST_STATES, SMALLEST_TABLE
from leadline.checker.errors import LeadlineError
from leadline.checker.support.temporary import own_folder

GROWTH = 2
"""The factor by which a full hash table grows. It is larger than for a table in memory, because rehashing a file is
slow."""

_MARK = "whole.json"
"""The name of the file that describes the content of the set.

The file is removed before the set is changed, and written again afterwards. If a change is interrupted, the file does
not exist.
"""


class ShardStates:
    """The states of one shard that have been visited up to some level. Use `opened` to open this set.

    Parameters:
        words: the number of words of a packed state.

    Attributes:
        count: the number of states.
        states: the packed states, followed by unused rows; shape (rows, words).
        table: the hash table of the states; see `Store`.
    """

    def __init__(self, folder: Path, words: int) -> None:
        self.folder, self.words, self.count = folder, words, 0
        self.states = self._mapped("states", 2**12 * words).reshape(-1, words)
        self.table = self._mapped("table", SMALLEST_TABLE)

    @property
    def bytes_used(self) -> int:
        """The size of the states and the hash table in bytes."""
        return self.count * 8 * self.words + self.table.nbytes

    def add(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Add states to the set.

        Returns:
            The indices of the states that were not yet in the set, in ascending order.

        Raises:
            LeadlineError: if the number of states exceeds `MOST_STATES`, or a file cannot be written.
        """
        if not len(states):
            return np.zeros(0, np.int64)
        self._grow(len(states))
        places = np.empty((1, len(states)), np.int64)
        hashes = np.empty((1, len(states)), np.uint64)
        kernel.hash_all(states, hashes[0])
        regions, routes = np.array([[0, len(states)]]), np.arange(len(states), dtype=np.uint32).reshape(1, -1)
        entered = np.zeros((1, 1), np.int64)
        kernel.insert(0, self.count, regions, routes, states, hashes, places, entered, self.states, self.table)
        new: NDArray[np.int64] = np.flatnonzero(places[0] >= 0)
        kernel.keep(self.count, new, states, places[0], self.states, self.table)
        self.count += len(new)
        return new

    def _grow(self, coming: int) -> None:
        if self.count + coming > MOST_STATES:
            raise LeadlineError(f"a shard has more than {MOST_STATES:,} states: increase --shards")
        if self.count + coming > len(self.states):
            room = max(self.count + coming, GROWTH * len(self.states))
            self.states = self._mapped("states", room * self.words).reshape(-1, self.words)
        wanted = int((self.count + coming) / FULLEST)
        if wanted > len(self.table):
            self.table = self._mapped("table", max(wanted, GROWTH * len(self.table)))
            kernel.rebuild(0, 1, 0, self.count, self.states, self.table)

    def _mapped(self, name: str, length: int) -> NDArray[np.uint64]:
        """Map a file into memory as an array of at least the given length."""
        with _writing(self.folder):
            descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                size = max(os.fstat(descriptor).st_size, 8 * length)
                os.ftruncate(descriptor, size)
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    # if the disk were full when a block is first written, the system would kill the process
                    os.posix_fallocate(descriptor, 0, size)
                return np.frombuffer(mmap.mmap(descriptor, size), np.uint64)
            finally:
                os.close(descriptor)


@contextmanager
def opened(
    folder: Path, level: int, sizes: Sequence[int], words: int, fill: Callable[[ShardStates], None]
) -> Iterator[ShardStates]:
    """Open the set of a shard's visited states for a ``with`` block, which must add the states of one level.

    Parameters:
        level: the level whose states the ``with`` block adds. The set already contains the states of all previous
            levels.
        sizes, words: see `Packing`.
        fill: a function that adds the states of all previous levels to an empty set.

    Raises:
        LeadlineError: if a file cannot be written, for example because the disk is full.
    """
    with _writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two attempts at a task must not change the set together
        mark = folder / _MARK
        found = _read(mark)
        mark.unlink(missing_ok=True)
        if found.get("sizes") == list(sizes) and found.get("level") == level - 1:
            visited = ShardStates(folder, words)
            visited.count = found["count"]
        else:
            for name in ("states", "table"):
                (folder / name).unlink(missing_ok=True)
            visited = ShardStates(folder, words)
            fill(visited)
        yield visited
        with _writing(folder):
            mark.write_text(json.dumps({"sizes": list(sizes), "level": level, "count": visited.count}))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Return a context manager that converts each OSError to a LeadlineError, whose message names the folder."""
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"cannot write {folder}: {error.strerror or error}") from error


def _read(mark: Path) -> dict[str, Any]:
    try:
        found = json.loads(mark.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def scratch(run: str) -> Path:
    """Return the folder for the files of a run on this machine.

    The folder is inside Spark's local folder, which Spark removes. If Spark has no local folder, it is inside a
    temporary folder.

    Raises:
        LeadlineError: if Spark has no local folder, and the temporary folder belongs to another user.
    """
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return (Path(place) if place else own_folder("visited")) / f"leadline-{run}"
