"""Saves a search to a folder on disk, so that it can be resumed. A saved search is called a checkpoint.

The folder contains three kinds of files. ``spec.json`` contains the identity of the search. Array files contain the
states and the steps by which the states were found; new entries are appended to them.
``search.json`` contains the position of the search, the number of valid entries of each array, and the checksums. It is
replaced only after the arrays have been written to disk, so the folder is always consistent. The folder is locked while
a search uses it.

The folder contains only numbers and names, and nothing in it is executed. Values of the spec are not stored:
`Resumption` computes them again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled.resumption import Hashes, Resumption, SavedStates, SpecChanged, Unused
from leadline.checker.engines.compiled.search_identity import identity, refuse_other, refuse_other_format
from leadline.checker.engines.compiled.snapshot import Snapshot
from leadline.checker.engines.compiled.store import arrival_type
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.durable import replace_file, sealed, sealed_json, sync_folder, unsealed, unsealed_json
from leadline.checker.support.locks import FolderLock
from leadline.checker.support.ownership import make_private, refuse_others

S = TypeVar("S")

_ENGINE = "compiled"
_SPEC, _SEARCH = "spec.json", "search.json"
_PARENTS, _ARRIVALS = "parents.bin", "arrivals.bin"

_PIECE = 2**26
"""The number of bytes of an array that are written or read at a time."""

Array = NDArray[np.generic]


@attrs.define
class _Written:
    """The contents of the checkpoint files when they were last written or read.

    Attributes:
        states: the number of states.
        packings: the number of times that the states were repacked, or -1 if no states are stored.
        checksums: maps the name of each array file to the CRC-32 of its valid entries.
        hashes: the hashes of the values and of the collection members.
        unused: the value indices whose values were not restored; see `Resumption.unused`. Empty if the search was not
            resumed.
    """

    states: int = 0
    packings: int = -1
    checksums: dict[str, int] = attrs.field(factory=dict)
    hashes: Hashes = attrs.field(factory=lambda: Hashes([], []))
    unused: Unused = frozenset()


class Checkpoint:
    """A folder in which a search is saved. It is locked from the call to `begin` or `load` until the call to `close`.

    Parameters:
        folder: the folder. `begin` creates it.
        every: the interval at which the search is saved, in seconds.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self.folder, self.every = folder, every
        self._lock: FolderLock | None = None
        self._written = _Written()

    @property
    def note(self) -> str:
        """The reason why the folder could not be locked, or an empty string if it is locked."""
        return self._lock.note if self._lock is not None else ""

    def begin(self, spec: Spec[S], limits: Limits) -> None:
        """Create the folder for a new search.

        Raises:
            LeadlineError: if the folder already contains a search, is in use by another process, is not writable, or is
                writable by other users.
        """
        with _trouble(f"cannot write {self.folder}"):
            make_private(self.folder)
            refuse_others(self.folder)
        self._lock = FolderLock(self.folder)
        if (self.folder / _SPEC).exists():
            raise LeadlineError(
                f"{self.folder} already contains a search: continue it with --resume, or choose a new folder"
            )
        with _trouble(f"cannot write {self.folder / _SPEC}"):
            replace_file(self.folder / _SPEC, sealed_json(identity(spec, limits, _ENGINE)))

    def load(self, spec: Spec[S], limits: Limits) -> Snapshot | None:
        """Return the position of the saved search, or None if the search ended before its first checkpoint.

        Raises:
            LeadlineError: if the folder does not contain a search of this spec with these limits, is in use by another
                process, or is writable by other users; or if the spec has changed since the search was saved.
            Damaged: if a file is damaged.
        """
        try:
            written = (self.folder / _SPEC).read_bytes()
        except OSError as error:
            raise LeadlineError(f"{self.folder} does not contain a checkpoint to resume") from error
        with _trouble(f"cannot read {self.folder}"):
            refuse_others(self.folder)
        refuse_other_format(written, f"{self.folder} is a checkpoint")
        self._lock = FolderLock(self.folder)
        found = unsealed_json(written, self.folder / _SPEC)
        refuse_other(found, identity(spec, limits, _ENGINE), f"{self.folder} is a checkpoint")
        path = self.folder / _SEARCH
        with _trouble(f"cannot read {path}"):
            if not path.exists():
                return None
            data = path.read_bytes()
        try:
            return self._resumed(spec, json.loads(unsealed(data, path)))
        except SpecChanged as change:
            raise self.changed(change) from change
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise Damaged(f"{path} is damaged: {error}") from error

    def changed(self, change: SpecChanged) -> LeadlineError:
        """Return the error to raise if the spec has changed since the search was saved."""
        why = f"because the spec or its data has changed: {change}"
        return LeadlineError(f"the search in {self.folder} cannot be resumed {why}")

    def _resumed(self, spec: Spec[S], found: dict[str, Any]) -> Snapshot:
        """Recompute the saved search's values by calling the spec, and return the position of the search."""
        saved = Snapshot.of_json(found["search"])
        hashes = Hashes(found["values"], [(path, hashed) for path, hashed in found["members"]])
        saved.check(spec, hashes)
        self._written = _Written(saved.count, saved.packings, found["checksums"], hashes)
        count, kind = saved.count, arrival_type(len(spec.instances))
        states = self._mapped(_states(saved.packings), np.dtype(np.uint64), (count, saved.packing.words))
        parents, arrivals = (
            self._mapped(_PARENTS, np.dtype(np.uint32), (count,)),
            self._mapped(_ARRIVALS, kind, (count,)),
        )
        saved.found = SavedStates(saved.packing, states, parents, arrivals, saved.initials)
        saved.place = str(self.folder)
        resumption = Resumption(spec, saved.adjustments, hashes, saved.found)
        self._written.unused = resumption.unused
        saved.values, saved.members = resumption.values, resumption.members
        return saved

    def _mapped(self, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Map an array from a file into memory, and verify its checksum.

        Raises:
            LeadlineError: if the file cannot be read.
            Damaged: if the file is too short, or its checksum does not match.
        """
        path, size = self.folder / name, kind.itemsize * int(np.prod(shape))
        if not size:
            return np.zeros(shape, kind)
        with _trouble(f"cannot read {path}"):
            if path.stat().st_size < size:
                raise Damaged(f"{path} is damaged: the file is too short")
            mapped: NDArray[Any] = np.memmap(path, kind, "r", shape=shape)
        checksum = 0
        for piece in _pieces(mapped):
            checksum = zlib.crc32(piece, checksum)
        self._check_checksum(name, checksum)
        return mapped

    def _check_checksum(self, name: str, checksum: int) -> None:
        if checksum != self._written.checksums.get(name):
            raise Damaged(f"{self.folder / name} is damaged: its checksum does not match")

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()

    def start_over(self) -> None:
        """Delete the saved position and states, so that the search can start again with different adjustments."""
        with _trouble(f"cannot write {self.folder}"):
            (self.folder / _SEARCH).unlink(missing_ok=True)
            self._remove_states()
        self._written = _Written()

    def save(self, saved: Snapshot, states: Array, parents: Array, arrivals: Array) -> None:
        """Save a search.

        Parameters:
            saved: the position of the search.
            states, parents, arrivals: see `Store`.

        Raises:
            LeadlineError: if a file cannot be written, or if two different values have the same hash. The previous
                checkpoint remains valid.
        """
        hashes = self._written.hashes.extended(saved.values, saved.members, self._written.unused)
        written = _Written(saved.count, saved.packings, {}, hashes, self._written.unused)
        for name, array in _files(saved.packings, states, parents, arrivals):
            is_grown = array is not states or saved.packings == self._written.packings
            begin = self._written.states if is_grown else 0
            written.checksums[name] = self._append(name, begin, array[begin : saved.count])
        found = {
            "search": saved.as_json(),
            "values": hashes.values,
            "members": hashes.members,
            "checksums": written.checksums,
        }
        with _trouble(f"cannot write {self.folder / _SEARCH}"):
            sync_folder(self.folder)
            replace_file(self.folder / _SEARCH, sealed(json.dumps(found).encode()))
            self._remove_states(but=_states(saved.packings))
        self._written = written

    def _append(self, name: str, begin: int, array: Array) -> int:
        """Append an array to a file, and return the checksum of all entries in the file.

        Parameters:
            name: the name of the file.
            begin: the number of existing entries to keep. Later entries are overwritten.
            array: the entries to append.
        """
        path, checksum = self.folder / name, self._written.checksums.get(name, 0) if begin else 0
        size = array.itemsize * int(np.prod(array.shape[1:]))
        with _trouble(f"cannot write {path}"), path.open("r+b" if path.exists() else "wb", buffering=0) as file:
            file.seek(begin * size)
            file.truncate()
            for piece in _pieces(array):
                _write(file, piece)
                checksum = zlib.crc32(piece, checksum)
            os.fsync(file.fileno())
        return checksum

    def _remove_states(self, but: str = "") -> None:
        for path in self.folder.glob(_states("*")):
            if path.name != but:
                path.unlink(missing_ok=True)


def _files(packings: int, states: Array, parents: Array, arrivals: Array) -> list[tuple[str, Array]]:
    return [(_states(packings), states), (_PARENTS, parents), (_ARRIVALS, arrivals)]


def _states(packings: int | str) -> str:
    return f"states-{packings}.bin"


def _pieces(array: Array) -> Iterator[memoryview]:
    content = array.reshape(-1).view(np.uint8).data
    for first in range(0, len(content), _PIECE):
        yield content[first : first + _PIECE]


def _write(file: io.FileIO, piece: memoryview) -> None:
    """Write an entire buffer to a file. Raise OSError if it cannot be written, for example because the disk is full."""
    while piece:
        piece = piece[file.write(piece) :]


@contextlib.contextmanager
def _trouble(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"{what}: {error.strerror or error}") from error
