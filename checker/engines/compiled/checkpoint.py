"""Saves a search to a folder, so that it can be resumed, by this engine or on Spark. Both use the same files.

``spec.json`` contains the identity of the search. Each run writes the states that it finds, with the steps by which
they were found, to its own folder in ``levels``: one part after another, in new files, each with its own packing. A
part is a level, or what was found between two points at which the search was saved. ``search.json`` contains the
position of the search, and says which parts count. It is replaced atomically after they have been written, so the
folder is always consistent, and a process that is killed loses only what it found since then.

The folder contains only numbers and names, and nothing in it is executed (Spark adds files for its workers, which a
resumed search does not read). Values of the spec are not stored: `Resumption` computes them again. A resumed search
expands and checks all saved states again, whichever engine saved them; see `CompiledSearch`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled.claims import Claim, claimed
from leadline.checker.engines.compiled.levels import Level, read_part
from leadline.checker.engines.compiled.resumption import Hashes, Resumption, SpecChanged, Unused
from leadline.checker.engines.compiled.search_identity import identity, refuse_other, refuse_other_format
from leadline.checker.engines.compiled.snapshot import Snapshot
from leadline.checker.engines.compiled.storage import Columns, Storage
from leadline.checker.engines.compiled.store import NotASearch, Store
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.tables import Numbers
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.durable import sealed_json, unsealed_json

S = TypeVar("S")

LEVELS = "levels"

_SPEC, _SEARCH = "spec.json", "search.json"

_ROWS = 2**20
"""The number of states in a block, whose columns are copied before they are written."""

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""The exceptions that are raised if the files are whole but cannot have been written by a search."""


@attrs.define(eq=False)
class Saved:
    """A saved search that can be continued.

    Attributes:
        snapshot: the search, except its states.
        packing: a packing that has room for all saved values.
        outside: for each state, whether it violates `Spec.within`. Empty if the spec has no constraint, and until
            `restore` is called.
    """

    checkpoint: Checkpoint
    snapshot: Snapshot
    packing: Packing
    outside: NDArray[np.bool_] = attrs.field(factory=lambda: np.zeros(0, np.bool_))

    def restore(self, spec: Spec[S], store: Store) -> Numbers:
        """Read the states into an empty store, and compute their values again by calling the spec's functions. Only the
        initial states then count as found.

        Raises:
            SpecChanged: if the actions of the spec do not lead to the saved states.
            Damaged: if a file is damaged.
        """
        return self.checkpoint.restored(self, spec, store)


class Checkpoint:
    """A folder in which a search is saved. Use `opened` to open it.

    Parameters:
        every: the interval at which the search is saved, in seconds.

    Attributes:
        claim: the right to use the folder, which is checked before the search is saved.
        own: the folder in which this run writes the states, relative to the storage.
    """

    def __init__(self, storage: Storage, every: float = 30.0) -> None:
        self.storage, self.every, self.claim = storage, every, Claim()
        self.own = f"{LEVELS}/{uuid.uuid4().hex}"
        self._hashes = Hashes([], [])
        self._unused: Unused = frozenset()
        self._parts: list[tuple[str, int]] = []  # the folders with parts, and the number of parts in each
        self._states = 0  # the number of states in these parts
        self._replaced: list[str] = []  # folders to remove after the next save

    @property
    def place(self) -> str:
        """The path or the URI of the folder."""
        return self.storage.place

    def begin(self, spec: Spec[S], limits: Limits) -> None:
        """Write the file that identifies a new search.

        Raises:
            LeadlineError: if the folder already contains a search, or cannot be written.
        """
        if self.storage.exists(_SPEC):
            raise LeadlineError(
                f"{self.place} already contains a search: continue it with --resume, or choose a new folder"
            )
        self.storage.write_bytes(_SPEC, sealed_json(identity(spec, limits)))

    def find(self) -> None:
        """Check that the folder contains a search. Raise LeadlineError if there is none."""
        if not self.storage.exists(_SPEC):
            raise LeadlineError(f"{self.place} does not contain a search to resume")

    def load(self, spec: Spec[S], limits: Limits) -> Saved | None:
        """Return the saved search, or None if the search ended before it was saved.

        Raises:
            LeadlineError: if the folder does not contain a search of this spec with these limits. The message names the
                difference.
            Damaged: if a file is damaged.
        """
        written = self.storage.read_bytes(_SPEC)
        refuse_other_format(written, f"{self.place} contains a search")
        found = unsealed_json(written, self.storage.path(_SPEC))
        refuse_other(found, identity(spec, limits), f"{self.place} contains a search")
        if not self.storage.exists(_SEARCH):
            return None
        data = self.storage.read_sealed(_SEARCH)
        try:
            saved = json.loads(data)
            snapshot = Snapshot.of_json(saved["search"])
            self._hashes = Hashes(saved["values"], [(path, hashed) for path, hashed in saved["members"]])
            self._parts = [(str(folder), int(parts)) for folder, parts in saved["parts"]]
            snapshot.check(spec, self._hashes)
            return Saved(self, snapshot, Packing([len(known) for known in self._hashes.values]))
        except _UNREADABLE as error:
            raise Damaged(f"{self.storage.path(_SEARCH)} is damaged: {error}") from error

    def restored(self, saved: Saved, spec: Spec[S], store: Store) -> Numbers:
        """Do what `Saved.restore` describes."""
        snapshot = saved.snapshot
        try:
            saved.outside = self._read(snapshot.count, store)
            store.load(snapshot.count, snapshot.initials, saved.packing.sizes, len(spec.instances))
            resumption = Resumption(spec, snapshot.adjustments, self._hashes, store, snapshot.initials)
        except (NotASearch, *_UNREADABLE) as error:
            raise Damaged(f"{self.place} is damaged: {error}") from error
        self._unused = resumption.unused
        return Numbers(resumption.values, resumption.members)

    def _read(self, count: int, store: Store) -> NDArray[np.bool_]:
        """Read all states into a store. Return for each state whether it violates `Spec.within`."""
        end, outside = 0, list[NDArray[np.bool_]]()
        for name in self._names():
            level = Level.loaded(self.storage, name)
            if end + level.count > count:
                break
            for base, part in zip(level.bases, level.sources(), strict=True):
                columns = read_part(self.storage, part, store.packing)
                rows = slice(end, end + len(columns["state"]))
                store.states[rows] = columns["state"]
                store.parents[rows] = columns["parent"].astype(np.int64) + base
                store.arrivals[rows] = columns["arrival"]
                outside.append(columns.get("outside", np.zeros(0)).astype(np.bool_))
                end = rows.stop
        if end != count:
            raise ValueError(f"it contains {end:,} states instead of {count:,}")
        self._states = end
        return np.concatenate(outside)

    def _names(self) -> Iterator[str]:
        return (part_file(folder, part) for folder, parts in self._parts for part in range(1, parts + 1))

    def changed(self, change: SpecChanged) -> LeadlineError:
        """Return the error to raise if the spec has changed since the search was saved."""
        why = f"because the spec or its data has changed: {change}"
        return LeadlineError(f"the search in {self.place} cannot be resumed {why}")

    def start_over(self) -> None:
        """Remove the saved position and states, so that the search can start again with different adjustments."""
        for name in (_SEARCH, LEVELS, "found"):
            self.storage.remove(name)
        self._hashes, self._unused = Hashes([], []), frozenset()
        self._parts, self._states, self._replaced = [], 0, []

    def clear(self) -> None:
        """Remove all files that the search has written."""
        self.start_over()
        for name in ("run", _SPEC):
            self.storage.remove(name)

    def write_again(self) -> None:
        """Prepare for all states to be written again by this run. The saved search counts until the next call of
        `save`.
        """
        self._replaced = [folder for folder, _ in self._parts]
        self._parts, self._states = [], 0

    def append(self, level: Level) -> None:
        """Add a part of the states, which counts after the next call of `save`.

        Raises:
            LeadlineError: if the file cannot be written.
        """
        number = self._number() + 1
        self.storage.write_bytes(part_file(self.own, number), level.dumped())
        self._parts[-1:] = [*(part for part in self._parts[-1:] if part[0] != self.own), (self.own, number)]
        self._states += level.count

    def _number(self) -> int:
        """Return the number of parts that this run has written."""
        return self._parts[-1][1] if self._parts and self._parts[-1][0] == self.own else 0

    def save(self, snapshot: Snapshot, numbers: Numbers, store: Store | None = None) -> None:
        """Save a search.

        Parameters:
            numbers: the values and members.
            store: the states, of which new ones are written; or None if all have been written.

        Raises:
            LeadlineError: if a file cannot be written, if another search has taken over the folder, or if two different
                values have the same hash. The previous checkpoint remains valid.
        """
        self.claim.check()
        self._hashes = self._hashes.extended(numbers.values, numbers.members, self._unused)
        if store is not None and self._states < snapshot.count:
            folder = part_file(self.own, self._number() + 1).removesuffix(".json")
            blocks = self.storage.write(folder, _columns(store, self._states, snapshot.count), store.packing)
            self.append(Level([0] * len(blocks), [[block] for block in blocks]))
        found = {
            "search": snapshot.as_json(),
            "values": self._hashes.values,
            "members": self._hashes.members,
            "parts": self._parts,
        }
        self.storage.write_sealed(_SEARCH, json.dumps(found, default=int).encode())
        for folder in self._replaced:
            with suppress(LeadlineError):  # leftovers are harmless
                self.storage.remove(folder)
        self._replaced = []


@contextmanager
def opened(checkpoint: Checkpoint, spec: Spec[S], limits: Limits, *, is_new: bool) -> Iterator[Saved | None]:
    """Return a context manager that claims a folder until the end of its ``with`` block, and returns the search that is
    saved in the folder. It is None if the search is new, or was not saved.

    Raises:
        LeadlineError: if another search is using the folder, or other users can write to it; or see `Checkpoint.begin`,
            `Checkpoint.find` and `Checkpoint.load`.
    """
    if not is_new:
        checkpoint.find()  # before a claim, which writes to the folder
    with claimed(checkpoint.storage) as checkpoint.claim:
        if is_new:
            checkpoint.begin(spec, limits)
        yield None if is_new else checkpoint.load(spec, limits)


def part_file(folder: str, number: int) -> str:
    """Return the name of the file that says where the states of a part are.

    Parameters:
        folder: the folder of a run; see `Checkpoint.own`.
        number: the number of the part, from 1.
    """
    return f"{folder}/{number:04}.json"


def _columns(store: Store, first: int, last: int) -> Iterator[Columns]:
    """Return the columns of some states in blocks."""
    for begin in range(first, last, _ROWS):
        rows = slice(begin, min(begin + _ROWS, last))
        columns = {
            "state": store.states[rows],
            "position": np.arange(rows.stop - begin, dtype=np.uint32),
            "parent": store.parents[rows],
            "arrival": store.arrivals[rows],
        }
        yield columns | ({"outside": store.outside[rows].view(np.uint8)} if len(store.outside) else {})
