"""Checkpoints: a search on disk, from which it goes on after whatever ended it.

A folder holds what was searched (`spec.json`), the states and the steps they were found by as plain arrays,
which only ever grow, and `search.pickle`: how far the search was, and how many entries of the arrays count.
It is replaced as a whole after the arrays are on the disk, so that a folder is whole at any moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from checker.bounds import describe_bounds
from checker.errors import LeadlineError
from checker.fingerprint import code_digest
from checker.result import Limits
from checker.spec import Spec

FORMAT = 2
_SPEC, _SEARCH, _PARENTS, _ARRIVALS = "spec.json", "search.pickle", "parents.bin", "arrivals.bin"


@attrs.define
class Saved:
    """What `search.pickle` holds.

    Attributes:
        adjustments: see `Adjustments`.
        values: for each slot, its values in the order of their numbers.
        slots_read: see `Tables`.
        sizes: of the packing.
        packings: how many packings there were before; the states' file is named for it.
        counters: see `kernel.append`.
        progression: see `Progression`.
    """

    adjustments: Any
    values: list[list[Any]]
    slots_read: list[set[int]]
    sizes: list[int]
    packings: int
    counters: NDArray[np.int64]
    progression: Any


class Checkpoint:
    """The folder of one search.

    Parameters:
        folder: where it is, or is to be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = 0
        self._packings = -1

    def begin(self, spec: Spec[Any], limits: Limits) -> None:
        """Make the folder for a new search.

        Raises:
            LeadlineError: it holds a search already, or cannot be written.
        """
        if (self.folder / _SPEC).exists():
            raise LeadlineError(f"{self.folder} holds a search already: go on with --resume, or name another folder")
        with _trouble(f"cannot write {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            written = self.folder / f"{_SPEC}.new"
            written.write_text(json.dumps(identity(spec, limits), indent=2) + "\n", encoding="utf-8")
            written.replace(self.folder / _SPEC)

    def load(self, spec: Spec[Any], limits: Limits) -> Saved | None:
        """How far the search was; None if it was ended before its first checkpoint.

        Raises:
            LeadlineError: the folder holds no search, or one of something else; says of what.
        """
        try:
            found = json.loads((self.folder / _SPEC).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LeadlineError(f"{self.folder} holds no checkpoint to resume") from error
        refuse_other(found, identity(spec, limits), f"{self.folder} is a checkpoint")
        with _trouble(f"cannot read {self.folder}"):
            if not (self.folder / _SEARCH).exists():
                return None
            try:
                saved: Saved = pickle.loads((self.folder / _SEARCH).read_bytes())
            except Exception as error:
                raise LeadlineError(f"{self.folder / _SEARCH} is damaged: {error}") from error
            return saved

    def start_over(self) -> None:
        """Forget what was saved: the states are taken apart in another way from now on."""
        with _trouble(f"cannot write {self.folder}"):
            (self.folder / _SEARCH).unlink(missing_ok=True)
        self._written, self._packings = 0, -1

    def read(
        self, saved: Saved, count: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> None:
        """Fill arrays with the states that were found, and how.

        Raises:
            LeadlineError: a file is shorter than it must be.
        """
        for name, array in self._files(saved.packings, states, parents, arrivals):
            entry = array[:1].nbytes
            with _trouble(f"cannot read {self.folder / name}"), (self.folder / name).open("rb") as file:
                for first in range(0, count, 2**20):
                    last = min(first + 2**20, count)
                    data = file.read((last - first) * entry)
                    if len(data) != (last - first) * entry:
                        raise LeadlineError(f"{self.folder / name} is damaged: it is too short")
                    array[first:last] = np.frombuffer(data, array.dtype).reshape(last - first, *array.shape[1:])
        self._written, self._packings = count, saved.packings

    def save(
        self, saved: Saved, count: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> None:
        """Write down a search.

        Parameters:
            saved: how far it is.
            count: how many entries of the arrays count.
            states, parents, arrivals: see `Store`.

        Raises:
            LeadlineError: a file cannot be written, or a value of the states cannot be pickled.
        """
        with _trouble(f"cannot write {self.folder}"):
            for name, array in self._files(saved.packings, states, parents, arrivals):
                path, same = self.folder / name, array is not states or saved.packings == self._packings
                begin = self._written if same else 0
                with path.open("r+b" if path.exists() else "wb") as file:
                    file.seek(begin * array[:1].nbytes)
                    file.truncate()
                    array[begin:count].tofile(file)
                    file.flush()
                    os.fsync(file.fileno())
            try:
                data = pickle.dumps(saved)
            except Exception as error:
                raise LeadlineError(f"a checkpoint needs states that can be pickled: {error}") from error
            written = self.folder / f"{_SEARCH}.new"
            with written.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            written.replace(self.folder / _SEARCH)
            if saved.packings != self._packings and self._packings >= 0:
                (self.folder / _states(self._packings)).unlink(missing_ok=True)
        self._written, self._packings = count, saved.packings

    @staticmethod
    def _files(
        packings: int, states: NDArray[Any], parents: NDArray[Any], arrivals: NDArray[Any]
    ) -> list[tuple[str, NDArray[Any]]]:
        return [(_states(packings), states), (_PARENTS, parents), (_ARRIVALS, arrivals)]


def _states(packings: int) -> str:
    return f"states-{packings}.bin"


def identity(spec: Spec[Any], limits: Limits, engine: str = "checker.compiled.search") -> dict[str, Any]:
    """What must be the same for a search to go on. Other limits may change: a search may go on deeper.

    Parameters:
        spec, limits: of the search.
        engine: the module that searches.
    """
    return {
        "spec": spec.name,
        "bounds": {name: value for name, value, *_ in describe_bounds(spec.bounds)},
        "properties": [item.name for item in spec.checks],
        "keep_going": limits.keep_going,
        "traces": limits.traces,
        "code": code_digest(spec, engine),
        "format": FORMAT,
    }


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
            raise LeadlineError(f"{what} of {_other(name, found)}: it cannot go on as this")


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
