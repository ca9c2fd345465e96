"""The manifest of a work directory: the saved position of a search.

The manifest and the files of the levels contain everything that is needed to resume the search. ``spec.json``
identifies the search. ``search.pickle`` contains the position, including the last complete level. It is replaced
atomically after all files of a level have been written.
"""

from __future__ import annotations

import pickle
from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled.search_identity import identity, refuse_other, refuse_other_format
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.spark.numbering import Numbering
from leadline.checker.engines.spark.storage import Storage
from leadline.checker.engines.spark.tasks import FOUND, LEVELS
from leadline.checker.errors import Damaged, LeadlineError
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.durable import sealed_json, unsealed_json

S = TypeVar("S")

_SPEC, _SEARCH = "spec.json", "search.pickle"

Place = tuple[int, int]
"""The identifier of a state: its level, which is 1 for initial states, and its number in the level."""


@attrs.define
class SearchPosition:
    """The position of a search after a complete level.

    Attributes:
        adjustments: facts about the spec that were found in earlier attempts at the search.
        numbering: the numbers of the values of each slot.
        shards: the number of shards.
        level: the last complete level.
        distinct: the number of states found so far, including states that do not satisfy `Spec.within`.
        outside: for each level, the number of its states that do not satisfy `Spec.within`.
        counts: for each action instance, the number of generated steps, and the number of these that led to a new
            state. The shape is (action instances, 2).
        counters: the counters of `kernel.append`, except for the number of states.
        seen: for each predicate on states, the first states that violate the property or satisfy the witness.
        steps_seen: for each predicate on steps, the first steps that violate the property or satisfy the witness. Each
            step is given as the state before, the action instance, and the slot numbers of the state after.
        dead: the first states without a next state.
        calls, compared, bytes, skew, spilled, seconds: see `Statistics`.
    """

    adjustments: Adjustments
    numbering: Numbering
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


class Manifest:
    """The files of a work directory that identify a search and contain its position.

    Parameters:
        storage: the work directory.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(self, spec: Spec[S], limits: Limits) -> None:
        """Write the identity of a new search.

        Raises:
            LeadlineError: the directory already holds a search, or cannot be written.
        """
        if self._storage.exists(_SPEC):
            place = self._storage.place
            raise LeadlineError(f"{place} already holds a search: continue it with --resume, or choose a new directory")
        self._storage.write_bytes(_SPEC, sealed_json(_identity(spec, limits)))

    def find(self) -> None:
        """Check that the directory contains a search. Raise LeadlineError if it does not."""
        if not self._storage.exists(_SPEC):
            raise LeadlineError(f"{self._storage.place} does not hold a search to resume")

    def load(self, spec: Spec[S], limits: Limits) -> SearchPosition | None:
        """Return the position of the saved search, or None if the search ended before it used Spark.

        Raises:
            LeadlineError: the directory does not contain a search of this spec with these limits. The message names
                the difference.
            Damaged: a file is damaged.
        """
        place = self._storage.place
        written = self._storage.read_bytes(_SPEC)
        refuse_other_format(written, f"{place} holds a search")
        found = unsealed_json(written, self._storage.path(_SPEC))
        refuse_other(found, _identity(spec, limits), f"{place} holds a search")
        if not self._storage.exists(_SEARCH):
            return None
        data = self._storage.read_sealed(_SEARCH)
        try:
            reached: SearchPosition = pickle.loads(data)
        except Exception as error:
            raise Damaged(f"{self._storage.path(_SEARCH)} is damaged: {error}") from error
        return reached

    def save(self, reached: SearchPosition) -> None:
        """Save the position after a complete level.

        Raises:
            LeadlineError: the file cannot be written, or a value of the states cannot be pickled.
        """
        try:
            data = pickle.dumps(reached)
        except Exception as error:
            raise LeadlineError(f"the spark engine needs states that can be pickled: {error}") from error
        self._storage.write_sealed(_SEARCH, data)

    def start_over(self) -> None:
        """Remove the saved position and levels, which are not valid for an attempt with different adjustments."""
        for name in (_SEARCH, LEVELS, FOUND):
            self._storage.remove(name)

    def clear(self) -> None:
        """Remove all files that the search has written."""
        self.start_over()
        for name in ("run", _SPEC):
            self._storage.remove(name)


def _identity(spec: Spec[S], limits: Limits) -> dict[str, object]:
    return identity(spec, limits, "spark")
