"""The visited set of one shard, in files of its host's own that are mapped into memory.

Every worker on a host can take it up without reading it; and when it outgrows memory, the operating system
keeps in memory what is in use. It is a cache: whatever is wrong with it, it is made anew from the levels.
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
"""The table grows by so much when it is full: to enter all states anew takes longer in a file than in memory."""

_MARK = "whole.json"
"""Says what the set holds. It is away while the set changes, and so after whatever cut a change off."""


class ShardStates:
    """The states of one shard up to some level. To be used within `opened`.

    Attributes:
        count: how many states there are.
        states: shape (room, words).
        table: see `Store`.
    """

    def __init__(self, folder: Path, words: int) -> None:
        self.folder, self.words, self.count = folder, words, 0
        self.states = self._mapped("states", 2**12 * words).reshape(-1, words)
        self.table = self._mapped("table", SMALLEST_TABLE)

    @property
    def bytes_used(self) -> int:
        """Bytes that the states and the table take."""
        return self.count * 8 * self.words + self.table.nbytes

    def add(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Add states; which of them are new, by their places among those given, in order.

        Raises:
            LeadlineError: there are more than can be numbered.
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
            raise LeadlineError(f"a shard has more than {MOST_STATES:,} states: search with more --shards")
        if self.count + coming > len(self.states):
            room = max(self.count + coming, GROWTH * len(self.states))
            self.states = self._mapped("states", room * self.words).reshape(-1, self.words)
        wanted = int((self.count + coming) / FULLEST)
        if wanted > len(self.table):
            self.table = self._mapped("table", max(wanted, GROWTH * len(self.table)))
            kernel.rebuild(0, 1, 0, self.count, self.states, self.table)

    def _mapped(self, name: str, length: int) -> NDArray[np.uint64]:
        """A file as an array, at least as long as is asked for."""
        descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            size = max(os.fstat(descriptor).st_size, 8 * length)
            os.ftruncate(descriptor, size)  # a hole, which takes room as it is written
            return np.frombuffer(mmap.mmap(descriptor, size), np.uint64)
        finally:
            os.close(descriptor)


@contextmanager
def opened(
    folder: Path, level: int, sizes: Sequence[int], words: int, fill: Callable[[ShardStates], None]
) -> Iterator[ShardStates]:
    """A shard's visited set, with all its states up to the level before one, to which the level's are added.

    Parameters:
        folder: of this shard on this host.
        level: the one that is to be added.
        sizes, words: of the packing.
        fill: adds the states of all levels before to an empty set.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several attempts at a task, one at a time; death lets go of it
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
    """The folder of a run on this host, which Spark removes with its own when the run ends.

    Raises:
        LeadlineError: Spark has none, and somebody else has taken its place.
    """
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return (Path(place) if place else own_folder("visited")) / f"leadline-{run}"
