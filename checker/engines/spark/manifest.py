"""The manifest: the position of a search, saved in its work directory.

Together with the files of the levels, it is all that is needed to resume the search. ``spec.json`` identifies the
search. ``search.pickle`` is replaced atomically after all files of a level are written, so it always names the last
complete level.
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
"""Identifies a state: its level, counted from 1, and its number in the level."""


@attrs.define
class SearchPosition:
    """The position of a search after a complete level.

    Attributes:
        adjustments: what the search has learned about its spec; see `Adjustments`.
        numbering: the numbers of slot values.
        shards: the number of shards.
        level: the last complete level.
        distinct: the number of states found so far, including those outside of `Spec.within`.
        outside: for each level, the number of its states that are outside of `Spec.within`.
        counts: shape (action instances, 2): steps generated, and new states among them.
        counters: see `kernel.append`; the number of states is not among them.
        seen: for each state predicate, states that satisfy it.
        steps_seen: for each step predicate, steps that satisfy it: the state before, the action instance, and the
            slot numbers of the state after.
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
    """The record of a search in its work directory.

    Parameters:
        storage: the work directory.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(self, spec: Spec[S], limits: Limits) -> None:
        """Record a new search.

        Raises:
            LeadlineError: the directory already holds a search, or cannot be written.
        """
        if self._storage.exists(_SPEC):
            place = self._storage.place
            raise LeadlineError(f"{place} already holds a search: continue it with --resume, or choose another")
        self._storage.write_bytes(_SPEC, sealed_json(_identity(spec, limits)))

    def find(self) -> None:
        """Raise LeadlineError if the directory does not hold a search."""
        if not self._storage.exists(_SPEC):
            raise LeadlineError(f"{self._storage.place} does not hold a search to resume")

    def load(self, spec: Spec[S], limits: Limits) -> SearchPosition | None:
        """The position of the saved search; None if the search ended before Spark took over.

        Raises:
            LeadlineError: the directory does not hold a search, or holds one with another identity; the message names
                the difference.
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
        """Discard the saved position and levels: from now on, states are divided into slots in another way."""
        for name in (_SEARCH, LEVELS, FOUND):
            self._storage.remove(name)

    def clear(self) -> None:
        """Remove everything that the search has written."""
        self.start_over()
        for name in ("run", _SPEC):
            self._storage.remove(name)


def _identity(spec: Spec[S], limits: Limits) -> dict[str, object]:
    return identity(spec, limits, "spark")
