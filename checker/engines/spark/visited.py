"""The visited set of one shard, in memory-mapped files on the local disk of a host.

Every worker on the host can map the files without reading them. If the set is larger than the memory, the operating
system keeps the pages in memory that are in use. The set is a cache: if it is missing or invalid, it is rebuilt from
the levels.
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
"""Factor by which a full table grows. Rehashing all states takes longer in a file than in memory."""

_MARK = "whole.json"
"""The file that describes the content of the set. It is removed while the set changes, so an interrupted change leaves
no such file."""


class ShardStates:
    """The states of one shard up to a level. Use it within `opened`.

    Attributes:
        count: the number of states.
        states: shape (room, words).
        table: see `Store`.
    """

    def __init__(self, folder: Path, words: int) -> None:
        self.folder, self.words, self.count = folder, words, 0
        self.states = self._mapped("states", 2**12 * words).reshape(-1, words)
        self.table = self._mapped("table", SMALLEST_TABLE)

    @property
    def bytes_used(self) -> int:
        """The size of the states and the table in bytes."""
        return self.count * 8 * self.words + self.table.nbytes

    def add(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Add states. Returns the indices, in `states`, of those that are new, in order.

        Raises:
            LeadlineError: the shard has too many states to number.
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
            raise LeadlineError(f"a shard has more than {MOST_STATES:,} states: use a larger --shards")
        if self.count + coming > len(self.states):
            room = max(self.count + coming, GROWTH * len(self.states))
            self.states = self._mapped("states", room * self.words).reshape(-1, self.words)
        wanted = int((self.count + coming) / FULLEST)
        if wanted > len(self.table):
            self.table = self._mapped("table", max(wanted, GROWTH * len(self.table)))
            kernel.rebuild(0, 1, 0, self.count, self.states, self.table)

    def _mapped(self, name: str, length: int) -> NDArray[np.uint64]:
        """Map a file as an array of at least the given length."""
        descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            size = max(os.fstat(descriptor).st_size, 8 * length)
            os.ftruncate(descriptor, size)  # a sparse file: blocks are allocated when they are written
            return np.frombuffer(mmap.mmap(descriptor, size), np.uint64)
        finally:
            os.close(descriptor)


@contextmanager
def opened(
    folder: Path, level: int, sizes: Sequence[int], words: int, fill: Callable[[ShardStates], None]
) -> Iterator[ShardStates]:
    """Open the visited set of a shard, with its states of all levels before `level`, whose states are to be added.

    Parameters:
        folder: the folder of this shard on this host.
        level: the level whose states are to be added.
        sizes, words: those of the packing.
        fill: adds the states of all previous levels to an empty set.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one attempt at a task at a time; the lock is released if the process dies
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
        mark.write_text(json.dumps({"sizes": list(sizes), "level": level, "count": visited.count}))


def _read(mark: Path) -> dict[str, Any]:
    try:
        found = json.loads(mark.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def scratch(run: str) -> Path:
    """The folder of a run on this host. If Spark has a local folder, it is within that, and Spark removes it.

    Raises:
        LeadlineError: Spark does not have a local folder, and the fallback belongs to another user.
    """
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return (Path(place) if place else own_folder("visited")) / f"leadline-{run}"
