"""Checkpoints: a search saved to disk, from which it can be resumed.

A folder holds what was searched (`spec.json`), the states and the steps they were found by as plain arrays,
which only ever grow, and `search.pickle`: how far the search was, how many entries of the arrays count, and their
checksums. It is replaced as a whole after the arrays are on the disk, so that a folder is whole at any moment. While
a search uses a folder, it is locked.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import pickle
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.bounds import describe_bounds
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.observing.digest import code_digest
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.durable import replace_file, sealed, sealed_json, sync_folder, unsealed, unsealed_json
from leadline.checker.support.locks import FolderLock

FORMAT = 5
_SPEC, _SEARCH, _PARENTS, _ARRIVALS = "spec.json", "search.pickle", "parents.bin", "arrivals.bin"

_PIECE = 2**26
"""Bytes of an array that are written or read at a time."""


@attrs.define
class Snapshot:
    """What `search.pickle` holds.

    Attributes:
        adjustments: see `Adjustments`.
        values: for each slot, its values in the order of their numbers.
        members: see `Layout`.
        slots_read: see `TransitionTables`.
        sizes: of the packing.
        packings: how many packings there were before; the states' file is named for it.
        counters: see `kernel.append`.
        outside: see `Store`; one bit for each state.
        progression: see `Position`.
        checksums: CRC-32 of each array, as far as it counts, by the name of its file.
    """

    adjustments: Adjustments
    values: list[list[Any]]
    members: list[tuple[str, Any]]
    slots_read: list[set[int]]
    sizes: list[int]
    packings: int
    counters: NDArray[np.int64]
    outside: NDArray[np.uint8]
    progression: Position
    checksums: dict[str, int] = attrs.field(factory=dict)

    def check(self, spec: Spec[Any]) -> None:
        """Check that the parts fit each other and a spec.

        Raises:
            ValueError, TypeError, AttributeError, IndexError: they do not.
        """
        at, count = self.progression, int(self.counters[kernel.STATES])
        begins = [*at.levels, at.level_end]
        steps = [step for steps in at.steps_seen for step in steps]
        places = [*itertools.chain(*at.seen), *(before for before, _, _ in steps)]
        dead = at.dead
        slots = len(self.values)
        fits = (
            len(self.counters) == kernel.COUNTERS
            and len(self.sizes) == slots
            and Packing(self.sizes).fits([len(values) for values in self.values])
            and at.counts.shape == (len(spec.instances), 2)
            and 0 <= at.next <= at.level_end <= count
            and 0 <= at.checked <= count
            and all(first < last for first, last in itertools.pairwise(begins))
            and (not at.levels or at.levels[0] == 0 <= at.levels[-1] <= at.next)
            and all(0 <= place < count for place in [*places, *dead])
            and all(0 <= tree < len(spec.instances) and len(row) <= slots for _, tree, row in steps)
            and len(self.members) <= slots
            and len(self.outside) == (0 if spec.constraint is None else -(-count // 8))
        )
        if not fits:
            raise ValueError("its parts do not fit each other")


class Checkpoint:
    """The folder of one search, locked from `begin` or `load` until `close`.

    Parameters:
        folder: where it is, or is to be.
        every: seconds between two checkpoints.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self.folder, self.every = folder, every
        self._lock: FolderLock | None = None
        self._written = 0
        self._packings = -1
        self._checksums: dict[str, int] = {}

    @property
    def note(self) -> str:
        """Why the folder could not be locked; empty if it was."""
        return self._lock.note if self._lock is not None else ""

    def begin(self, spec: Spec[Any], limits: Limits) -> None:
        """Make the folder for a new search.

        Raises:
            LeadlineError: it holds a search already, is used by another process, or cannot be written.
        """
        with _trouble(f"cannot write {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.folder)
        if (self.folder / _SPEC).exists():
            raise LeadlineError(f"{self.folder} already holds a search: continue it with --resume, or choose another")
        with _trouble(f"cannot write {self.folder / _SPEC}"):
            replace_file(self.folder / _SPEC, sealed_json(identity(spec, limits)))

    def load(self, spec: Spec[Any], limits: Limits) -> Snapshot | None:
        """How far the search was; None if it was ended before its first checkpoint.

        Raises:
            LeadlineError: the folder holds no search, or one of something else; says of what. It is used by
                another process, or it is damaged.
        """
        try:
            written = (self.folder / _SPEC).read_bytes()
        except OSError as error:
            raise LeadlineError(f"{self.folder} holds no checkpoint to resume") from error
        refuse_other_format(written, f"{self.folder} is a checkpoint")
        self._lock = FolderLock(self.folder)
        found = unsealed_json(written, self.folder / _SPEC)
        refuse_other(found, identity(spec, limits), f"{self.folder} is a checkpoint")
        path = self.folder / _SEARCH
        with _trouble(f"cannot read {path}"):
            if not path.exists():
                return None
            data = path.read_bytes()
        content = unsealed(data, path)
        try:
            saved: Snapshot = pickle.loads(content)
            saved.check(spec)
        except Exception as error:
            raise Damaged(f"{path} is damaged: {error}") from error
        return saved

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()

    def start_over(self) -> None:
        """Forget what was saved: the states are taken apart in another way from now on."""
        with _trouble(f"cannot write {self.folder}"):
            (self.folder / _SEARCH).unlink(missing_ok=True)
            self._remove_states()
        self._written, self._packings, self._checksums = 0, -1, {}

    def read(
        self, saved: Snapshot, count: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> None:
        """Read the states that were found, and the steps they were found by, into arrays.

        Raises:
            LeadlineError: a file cannot be read.
            Damaged: a file is not as it was written.
        """
        for name, array in self._files(saved.packings, states, parents, arrivals):
            path, checksum = self.folder / name, 0
            with _trouble(f"cannot read {path}"), path.open("rb") as file:
                for piece in _pieces(array[:count]):
                    if file.readinto(piece) != len(piece):
                        raise Damaged(f"{path} is damaged: it is too short")
                    checksum = zlib.crc32(piece, checksum)
            if checksum != saved.checksums.get(name):
                raise Damaged(f"{path} is damaged: its checksum does not match")
        self._written, self._packings, self._checksums = count, saved.packings, saved.checksums

    def save(
        self, saved: Snapshot, count: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> None:
        """Write down a search.

        Parameters:
            saved: how far it is; its checksums are filled in.
            count: how many entries of the arrays count.
            states, parents, arrivals: see `Store`.

        Raises:
            LeadlineError: a file cannot be written, or a value of the states cannot be pickled. What was saved before
                still counts.
        """
        for name, array in self._files(saved.packings, states, parents, arrivals):
            path, same = self.folder / name, array is not states or saved.packings == self._packings
            begin = self._written if same else 0
            checksum = self._checksums.get(name, 0) if begin else 0
            with _trouble(f"cannot write {path}"), path.open("r+b" if path.exists() else "wb", buffering=0) as file:
                file.seek(begin * array[:1].nbytes)
                file.truncate()
                for piece in _pieces(array[begin:count]):
                    _write(file, piece)
                    checksum = zlib.crc32(piece, checksum)
                os.fsync(file.fileno())
            saved.checksums[name] = checksum
        try:
            data = pickle.dumps(saved)
        except Exception as error:
            raise LeadlineError(f"a checkpoint needs states that can be pickled: {error}") from error
        with _trouble(f"cannot write {self.folder / _SEARCH}"):
            sync_folder(self.folder)
            replace_file(self.folder / _SEARCH, sealed(data))
            self._remove_states(but=_states(saved.packings))
        self._written, self._packings, self._checksums = count, saved.packings, saved.checksums

    def _remove_states(self, but: str = "") -> None:
        """Remove states that were packed in other ways."""
        for path in self.folder.glob(_states("*")):
            if path.name != but:
                path.unlink(missing_ok=True)

    @staticmethod
    def _files(
        packings: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> list[tuple[str, NDArray[Any]]]:
        return [(_states(packings), states), (_PARENTS, parents), (_ARRIVALS, arrivals)]


def _states(packings: int | str) -> str:
    return f"states-{packings}.bin"


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of an array, in pieces."""
    content = array.reshape(-1).view(np.uint8).data
    for first in range(0, len(content), _PIECE):
        yield content[first : first + _PIECE]


def _write(file: io.FileIO, piece: memoryview) -> None:
    """Write all of a piece. Raises OSError: it cannot be, as on a full disk."""
    while piece:
        piece = piece[file.write(piece) :]


def identity(
    spec: Spec[Any], limits: Limits, engine: str = "leadline.checker.engines.compiled.search"
) -> dict[str, Any]:
    """What must be the same for a search to go on. Other limits may change: a search may go on deeper.

    Parameters:
        spec, limits: of the search.
        engine: the module that searches.
    """
    return {
        "spec": spec.name,
        "bounds": {name: value for name, value, *_ in describe_bounds(spec.bounds)},
        "properties": [item.name for item in spec.checks_and_premises],
        "keep_going": limits.keep_going,
        "traces": limits.traces,
        "code": code_digest(spec, engine),
        "format": FORMAT,
    }


def refuse_other_format(written: bytes, what: str) -> None:
    """Refuse a search that another version of leadline has saved.

    Parameters:
        written: the file with its `identity`.
        what: what was saved, for the message.

    Raises:
        LeadlineError: says so.
    """
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(written)
        if isinstance(found, dict) and type(found.get("format")) is int and found["format"] != FORMAT:
            raise LeadlineError(f"{what} of {_other('format', found)}: it cannot continue as this one")


def refuse_other(found: Any, wanted: dict[str, Any], what: str) -> None:
    """Refuse to go on with a search whose `identity` is not the one wanted.

    Parameters:
        found: what was saved as its identity.
        wanted: the identity of the search that is to go on.
        what: what was saved, for the message.

    Raises:
        LeadlineError: says of what the saved search is.
    """
    for name, value in wanted.items():
        if not isinstance(found, dict) or found.get(name) != value:
            raise LeadlineError(f"{what} of {_other(name, found)}: it cannot continue as this one")


def _other(name: str, found: Any) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    match name:
        case "spec":
            return f"{value}"
        case "bounds" if isinstance(value, dict):
            return "other bounds, " + ",".join(f"{bound}={chosen}" for bound, chosen in value.items())
        case "properties" if isinstance(value, list):
            return f"other properties, {', '.join(value) or 'none'}"
        case "keep_going":
            return f"a search {'with' if value else 'without'} --keep-going"
        case "traces":
            return f"a search with --traces {value}"
        case "code":
            return "other code: the spec or leadline has changed since"
    return "another version of leadline"


@contextlib.contextmanager
def _trouble(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"{what}: {error.strerror or error}") from error
