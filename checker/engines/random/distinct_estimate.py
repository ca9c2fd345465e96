"""A sample of the distinct states, which estimates their number. The number is exact if there are few.

The sample holds the states with the smallest hashes (K. Beyer et al., On Synopses for Distinct-Value Estimation Under
Multiset Operations, SIGMOD 2007). It does not depend on the order in which states are met.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leadline.checker.settings import DEFAULT, Tuning


class StateSample:
    """A sample of the distinct states.

    Parameters:
        tuning: the size of the sample.

    Attributes:
        most: the maximum number of states in the sample.
        hashes: the hashes of the states, sorted.
        depths: for each state, the smallest number of steps that led to it.
        by: for each state, the action instance of the last of these steps; -1 for an initial state.
        degrees: for each state, the number of steps from it.
        limit: the largest hash that can be in the sample.
    """

    def __init__(self, tuning: Tuning = DEFAULT) -> None:
        self.most = tuning.sampled
        self.hashes = np.zeros(0, np.uint64)
        self.depths = self.by = self.degrees = np.zeros(0, np.int64)
        self.limit = 2**64 - 1

    def add(self, hashes: NDArray[np.uint64], *columns: NDArray[np.int64]) -> None:
        """Add states that were met: their hashes, depths, action instances and degrees."""
        if not len(hashes):
            return
        hashes = np.concatenate([self.hashes, hashes])
        own = (self.depths, self.by, self.degrees)
        depths, by, degrees = (np.concatenate(pair) for pair in zip(own, columns, strict=True))
        order = np.lexsort((by, depths, hashes))
        hashes = hashes[order]
        first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))[: self.most + 1]
        order = order[first]
        self.hashes, self.depths, self.by, self.degrees = hashes[first], depths[order], by[order], degrees[order]
        if len(first) > self.most:
            self.limit = int(self.hashes[-1])

    def led_to(self, instances: int) -> NDArray[np.int64]:
        """Return, for each action instance, the number of states of the sample that it led to first.

        Parameters:
            instances: the number of action instances.
        """
        return np.bincount(self.by[self.by >= 0], minlength=instances)

    @property
    def is_exact(self) -> bool:
        """Whether all states are in the sample."""
        return len(self.hashes) <= self.most

    @property
    def scale(self) -> float:
        """The number of states that each state of the sample stands for."""
        return 1.0 if self.is_exact else 2**64 / self.limit

    @property
    def distinct(self) -> int:
        """The number of distinct states met; an estimate if they do not fit into the sample."""
        return self.scaled(len(self.hashes) - (not self.is_exact))

    def scaled(self, count: int) -> int:
        """The estimated number of states for a number of states in the sample."""
        return round(count * self.scale)
