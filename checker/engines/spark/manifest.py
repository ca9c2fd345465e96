"""The manifest of a work directory: the saved position of a search.

The manifest and the files of the levels contain everything that is needed to resume the search. ``spec.json``
identifies the search. ``search.json`` contains the position, including the last complete level. It is replaced
atomically after all files of a level have been written.

A resumed search reads only numbers and names from these files, and executes no code from them. Values are not saved:
`Resumption` derives them from the spec.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import ExitStack
from operator import index
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.compiled.resumption import Hashes, Resumption, SavedStates, SpecChanged, Unused
from leadline.checker.engines.compiled.search_identity import identity, refuse_other, refuse_other_format
from leadline.checker.engines.compiled.snapshot import Snapshot
from leadline.checker.engines.compiled.store import arrival_type
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.tables import Numbers
from leadline.checker.engines.spark.levels import Level, read_part
from leadline.checker.engines.spark.storage import Storage
from leadline.checker.engines.spark.tasks import FOUND, LEVELS, level_file
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.durable import sealed_json, unsealed_json
from leadline.checker.support.temporary import private_folder

S = TypeVar("S")

_SPEC, _SEARCH = "spec.json", "search.json"

Place = tuple[int, int]
"""The identifier of a state: its level, which is 1 for initial states, and its index in the level."""


@attrs.define
class SearchPosition:
    """The position of a search after a complete level.

    Attributes:
        adjustments: facts about the spec that were found in earlier attempts at the search.
        sizes: for each slot, the number of values that the packing has room for.
        shards: the number of shards.
        level: the last complete level.
        distinct: the number of states found so far, including states that do not satisfy `Spec.within`.
        outside: for each level, the number of states that do not satisfy `Spec.within`.
        counts: for each action instance, the number of generated steps, and the number of steps that led to a new
            state. The shape is (action instances, 2).
        counters: the counters of `kernel.append` except the number of states.
        seen: for each predicate on states, the first states that violate its property or satisfy its witness.
        steps_seen: for each predicate on steps, the first steps that violate its property or satisfy its witness. A
            step is given as the identifier of the state before it, the action instance, and the index of the value in
            each slot of the state after it.
        dead: the first deadlocked states (states without a next state).
        calls, compared, bytes, skew, spilled, seconds: see `Statistics`.
    """

    adjustments: Adjustments
    sizes: list[int]
    shards: int
    level: int
    distinct: int
    outside: list[int]
    counts: NDArray[np.int64]
    counters: NDArray[np.int64]
    seen: list[list[Place]]
    steps_seen: list[list[tuple[Place, int, list[int]]]]
    dead: list[Place]
    calls: int
    compared: int
    bytes: int
    skew: float
    spilled: int
    seconds: float

    def as_json(self) -> dict[str, object]:
        """Return the position as an object that `json.dumps` accepts."""
        return {
            **attrs.asdict(self),
            "adjustments": {name: sorted(found) for name, found in attrs.asdict(self.adjustments).items()},
            "counts": self.counts.tolist(),
            "counters": self.counters.tolist(),
        }

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> SearchPosition:
        """Convert a JSON object from `as_json` back to a position.

        Raises:
            ValueError, TypeError, KeyError: if the JSON object does not have the expected structure.
        """
        plain = {name: index(found[name]) for name in ("shards", "level", "distinct", "calls", "compared", "bytes")}
        return cls(
            adjustments=Adjustments(**{name: frozenset(items) for name, items in found["adjustments"].items()}),
            sizes=[*map(index, found["sizes"])],
            outside=[*map(index, found["outside"])],
            counts=np.array(found["counts"], np.int64).reshape(-1, 2),
            counters=np.array(found["counters"], np.int64),
            seen=[[*map(_place, places)] for places in found["seen"]],
            steps_seen=[
                [(_place(before), index(tree), [*map(index, row)]) for before, tree, row in steps]
                for steps in found["steps_seen"]
            ],
            dead=[*map(_place, found["dead"])],
            skew=float(found["skew"]),
            spilled=index(found["spilled"]),
            seconds=float(found["seconds"]),
            **plain,
        )


@attrs.frozen
class Saved:
    """A saved search that can be resumed with the current spec.

    Attributes:
        reached: the position that the search had reached.
        snapshot: the saved search in the form in which the driver expands and checks its states again.
    """

    reached: SearchPosition
    snapshot: Snapshot


class Manifest:
    """The files of a work directory that identify a search and contain its position.

    Parameters:
        storage: the work directory.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._hashes = Hashes([], [])
        self._unused: Unused = frozenset()

    def begin(self, spec: Spec[S], limits: Limits) -> None:
        """Write the file that identifies a new search.

        Raises:
            LeadlineError: if the directory already contains a search, or cannot be written.
        """
        if self._storage.exists(_SPEC):
            place = self._storage.place
            raise LeadlineError(
                f"{place} already contains a search: continue it with --resume, or choose a new directory"
            )
        self._storage.write_bytes(_SPEC, sealed_json(_identity(spec, limits)))

    def find(self) -> None:
        """Check that the directory contains a search. Raise LeadlineError if there is none."""
        if not self._storage.exists(_SPEC):
            raise LeadlineError(f"{self._storage.place} does not contain a search to resume")

    def load(self, spec: Spec[S], limits: Limits) -> Saved | None:
        """Return the saved search, or None if the search ended before it used Spark.

        Raises:
            LeadlineError: if the directory does not contain a search of this spec with these limits, or the spec or its
                data has changed. The message names the difference.
            Damaged: if a file is damaged.
        """
        place = self._storage.place
        written = self._storage.read_bytes(_SPEC)
        refuse_other_format(written, f"{place} contains a search")
        found = unsealed_json(written, self._storage.path(_SPEC))
        refuse_other(found, _identity(spec, limits), f"{place} contains a search")
        if not self._storage.exists(_SEARCH):
            return None
        path, data = self._storage.path(_SEARCH), self._storage.read_sealed(_SEARCH)
        try:
            return self._resumed(spec, json.loads(data))
        except SpecChanged as change:
            raise self.changed(change) from change
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise Damaged(f"{path} is damaged: {error}") from error

    def _resumed(self, spec: Spec[S], found: dict[str, Any]) -> Saved:
        reached = SearchPosition.of_json(found["search"])
        self._hashes = Hashes(found["values"], [(path, hashed) for path, hashed in found["members"]])
        with private_folder() as folder:  # the mapped files remain readable after the folder has been removed
            snapshot = _snapshot(self._storage, reached, folder, spec)
            assert snapshot.found is not None
            resumption = Resumption(spec, reached.adjustments, self._hashes, snapshot.found)
        self._unused = resumption.unused
        snapshot.values, snapshot.members = resumption.values, resumption.members
        snapshot.check(spec, self._hashes)
        return Saved(reached, snapshot)

    def changed(self, change: SpecChanged) -> LeadlineError:
        """Return the error to raise if the spec has changed since the search was saved."""
        why = f"the spec or its data has changed since it was saved: {change}"
        return LeadlineError(f"the search in {self._storage.place} cannot be resumed: {why}")

    def save(self, reached: SearchPosition, numbers: Numbers) -> None:
        """Save the position after a complete level.

        Parameters:
            reached: the position.
            numbers: the values of each slot, in the order of their indices.

        Raises:
            LeadlineError: if the file cannot be written, or if two different values have the same content.
        """
        self._hashes = self._hashes.extended(numbers.values, numbers.members, self._unused)
        found = {"search": reached.as_json(), "values": self._hashes.values, "members": self._hashes.members}
        self._storage.write_sealed(_SEARCH, json.dumps(found, default=int).encode())

    def start_over(self) -> None:
        """Remove the saved position and levels. They have become invalid, because the adjustments have changed."""
        self._hashes, self._unused = Hashes([], []), frozenset()
        for name in (_SEARCH, LEVELS, FOUND):
            self._storage.remove(name)

    def clear(self) -> None:
        """Remove all files that the search has written."""
        self.start_over()
        for name in ("run", _SPEC):
            self._storage.remove(name)


def _place(found: Sequence[int]) -> Place:
    level, number = found
    return index(level), index(number)


def _identity(spec: Spec[S], limits: Limits) -> dict[str, object]:
    return identity(spec, limits, "spark")


def _snapshot(storage: Storage, reached: SearchPosition, folder: Path, spec: Spec[S]) -> Snapshot:
    """Return the saved search with the states of all levels, in the order of discovery, as memory-mapped files.

    Parameters:
        storage: the work directory.
        reached: the position of the saved search.
        folder: the folder for the files.
        spec: the spec.

    Raises:
        LeadlineError: if the files cannot be written.
        Damaged: if a file of a level is missing or damaged.
    """
    packing, instances = Packing(reached.sizes), len(spec.instances)
    kinds = {"state": np.dtype(np.uint64), "parent": np.dtype(np.int64), "arrival": arrival_type(instances)}
    if spec.constraint is not None:
        kinds["outside"] = np.dtype(np.bool_)
    ends = [0]
    try:
        with ExitStack() as stack:
            files = {name: stack.enter_context((folder / name).open("wb")) for name in kinds}
            for number in range(1, reached.level + 1):
                level = Level.loaded(storage, level_file(number))
                before = ends[-2] if number > 1 else 0
                for base, part in zip(level.bases, level.sources(), strict=True):
                    columns = read_part(storage, part, packing)
                    columns["parent"] = columns["parent"].astype(np.int64) + (before + base)
                    for name, file in files.items():
                        file.write(columns[name].astype(kinds[name]).tobytes())
                ends.append(ends[-1] + level.count)
    except OSError as error:
        raise LeadlineError(f"cannot write {folder}: {error.strerror or error}") from error
    shapes = {"state": (ends[-1], packing.words)}
    arrays: dict[str, NDArray[Any]] = {
        name: np.memmap(folder / name, kind, "r", shape=shapes.get(name, (ends[-1],))) for name, kind in kinds.items()
    }

    def index(place: Place) -> int:
        return ends[place[0] - 1] + place[1]

    counters = reached.counters.copy()
    counters[kernel.STATES] = ends[-1]
    return Snapshot(
        adjustments=reached.adjustments,
        values=[],
        members=[],
        packing=packing,
        packings=0,
        initials=ends[1],
        counters=counters,
        outside=np.packbits(arrays["outside"]) if spec.constraint is not None else np.zeros(0, np.uint8),
        progression=Position(
            counts=reached.counts,
            seen=[[*map(index, places)] for places in reached.seen],
            steps_seen=[[(index(before), tree, row) for before, tree, row in steps] for steps in reached.steps_seen],
            dead=[*map(index, reached.dead)],
            next=ends[-2],
            checked=ends[-1],
            level_end=ends[-1],
            levels=[first for first, last in itertools.pairwise(ends[:-1]) if first < last],
            seconds=reached.seconds,
        ),
        found=SavedStates(packing, arrays["state"], arrays["parent"], arrays["arrival"], ends[1]),
        place=storage.place,
    )
