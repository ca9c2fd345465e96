"""Samples the distinct states of a search, to estimate how many there are.

The sample contains the states with the smallest hashes (K. Beyer et al., On Synopses for Distinct-Value Estimation
Under Multiset Operations, SIGMOD 2007). The sample does not depend on the order in which states are found. If all
states fit into the sample, the estimate is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLED = 2**14
"""The size of the sample. The standard error of the estimate is 1 / sqrt(SAMPLED - 2), which is 0.8 %."""


class StateSample:
    """A sample of the distinct states of a search. It contains the states with the smallest hashes.

    Attributes:
        most: the maximum number of states in the sample. If the search has found more distinct states, the arrays
            contain one additional state.
        hashes: the hashes of the states, in ascending order.
        depths: for each state, the number of steps in the shortest path on which it was reached.
        by: for each state, the index of the action instance at the end of this path, or -1 for an initial state.
        degrees: for each state, the number of steps that begin in it. These arrays do not contain the states that were
            added since the last call of `settle`.
        limit: the largest hash that a state of the sample can have.
    """

    def __init__(self) -> None:
        self.most = SAMPLED
        self.hashes = np.zeros(0, np.uint64)
        self.depths = self.by = self.degrees = np.zeros(0, np.int64)
        self.limit = 2**64 - 1
        self._added: list[tuple[NDArray[np.uint64] | NDArray[np.int64], ...]] = []
        self._waiting = 0

    def add(self, hashes: NDArray[np.uint64], *columns: NDArray[np.int64]) -> None:
        """Add visited states to the sample. A state may be added several times.

        Parameters:
            columns: the arrays `depths`, `by` and `degrees` of these states.
        """
        is_wanted = hashes <= np.uint64(self.limit)
        if len(self.hashes):  # leave out states that are in the sample already
            own = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
            depths, by, _ = columns
            is_shorter = (depths < self.depths[own]) | ((depths == self.depths[own]) & (by < self.by[own]))
            is_wanted &= (self.hashes[own] != hashes) | is_shorter
        places = np.flatnonzero(is_wanted)
        self._added.append((hashes[places], *(column[places] for column in columns)))
        self._waiting += len(places)
        if self._waiting > self.most:  # sorting a few states at a time would take long
            self.settle()

    def settle(self) -> None:
        """Update the attributes after calls to `add`."""
        own = (self.hashes, self.depths, self.by, self.degrees)
        hashes, depths, by, degrees = map(np.concatenate, zip(own, *self._added, strict=True))
        self._added, self._waiting = [], 0
        order = np.lexsort((by, depths, hashes))
        hashes = hashes[order]
        is_first = np.ones(len(hashes), np.bool_)
        is_first[1:] = hashes[1:] != hashes[:-1]
        first = np.flatnonzero(is_first)[: self.most + 1]
        order = order[first]
        self.hashes, self.depths, self.by, self.degrees = hashes[first], depths[order], by[order], degrees[order]
        if len(first) > self.most:
            self.limit = int(self.hashes[-1])

    def led_to(self, instances: int) -> NDArray[np.int64]:
        """Return, for each action instance, the number of sampled states to which it led; see `by`.

        Parameters:
            instances: the number of action instances of the spec.
        """
        return np.bincount(self.by[self.by >= 0], minlength=instances)

    @property
    def is_exact(self) -> bool:
        """Whether all distinct states are in the sample, so that the number of distinct states is exact."""
        return len(self.hashes) <= self.most

    @property
    def scale(self) -> float:
        """The estimated number of distinct states divided by the number of states in the sample. It is 1 if the sample
        contains all distinct states.
        """
        return 1.0 if self.is_exact else 2**64 / self.limit

    @property
    def distinct(self) -> int:
        """The number of distinct states that were added. If they do not all fit into the sample, the number is an
        estimate.
        """
        return self.scaled(len(self.hashes) - (not self.is_exact))

    def scaled(self, count: int) -> int:
        """Estimate a number of distinct states from the corresponding number of states in the sample.

        Parameters:
            count: a number of states in the sample, for example the number of sampled states to which one action leads.
        """
        return round(count * self.scale)
