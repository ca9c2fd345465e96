"""The manifest: how far a search is, in its work directory. With the files of its levels, all that it takes to go on.

``spec.json`` says what is searched. ``search.pickle`` is replaced as a whole when all files of a level are
written, so that it names the last complete level at any moment.
"""

from __future__ import annotations

import pickle
from typing import Any

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

_SPEC, _SEARCH = "spec.json", "search.pickle"

Place = tuple[int, int]
"""A state: its level, from 1, and its number there."""


@attrs.define
class SearchPosition:
    """How far a search is, after a complete level.

    Attributes:
        adjustments: what the search has found out about its spec; see `Adjustments`.
        numbering: the numbers of slot values.
        shards: how many there are.
        level: the last complete level.
        distinct: states found so far, those outside of `Spec.within` included.
        outside: for each level, how many of its states are outside.
        counts: shape (action instances, 2): steps generated, and new states among them.
        counters: see `kernel.append`; the states found are not among them.
        seen: for each state predicate, the states that were seen to show it.
        steps_seen: for each step predicate, the steps: the state before, the action instance, the slots'
            numbers of the state after.
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
    """What a work directory says of its search.

    Parameters:
        storage: the work directory.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(self, spec: Spec[Any], limits: Limits) -> None:
        """Make a new search of the directory.

        Raises:
            LeadlineError: it holds a search already, or cannot be written.
        """
        if self._storage.exists(_SPEC):
            place = self._storage.place
            raise LeadlineError(f"{place} already holds a search: continue it with --resume, or choose another")
        self._storage.write_bytes(_SPEC, sealed_json(_identity(spec, limits)))

    def find(self) -> None:
        """Look for a search. Raises LeadlineError: the directory holds none."""
        if not self._storage.exists(_SPEC):
            raise LeadlineError(f"{self._storage.place} holds no search to resume")

    def load(self, spec: Spec[Any], limits: Limits) -> SearchPosition | None:
        """How far the search is; None if it was ended before Spark took over.

        Raises:
            LeadlineError: the directory holds no search, or one of something else; says of what.
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
        """Say that a level is complete.

        Raises:
            LeadlineError: it cannot be written, or a value of the states cannot be pickled.
        """
        try:
            data = pickle.dumps(reached)
        except Exception as error:
            raise LeadlineError(f"the spark engine needs states that can be pickled: {error}") from error
        self._storage.write_sealed(_SEARCH, data)

    def start_over(self) -> None:
        """Forget how far the search was: states are taken apart in another way from now on."""
        for name in (_SEARCH, LEVELS, FOUND):
            self._storage.remove(name)

    def clear(self) -> None:
        """Remove all that a search has written."""
        self.start_over()
        for name in ("run", _SPEC):
            self._storage.remove(name)


def _identity(spec: Spec[Any], limits: Limits) -> dict[str, Any]:
    return identity(spec, limits, "spark")
