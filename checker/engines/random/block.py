"""The states that a round of a random search expands, and their next states, in the form that `Expander` reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers


class Block(Store):
    """The states of one round. Unlike the states of an exhaustive search, they are replaced in the next round, and may
    be equal, so there is no hash table. All states that are expanded satisfy `Spec.within`.

    Parameters:
        instances: the number of action instances.
        repacked: a function that is called with the old and the new packing when the states were repacked.
    """

    def __init__(
        self, packing: Packing, instances: int, workers: Workers, repacked: Callable[[Packing, Packing], None]
    ) -> None:
        super().__init__(packing, instances, 0, workers, 0)
        self._repacked = repacked

    def put(self, first: int, states: NDArray[np.uint64], parents: NDArray[np.int64]) -> None:
        """Replace all states from index `first` on.

        Parameters:
            first: the index of the first state to be replaced.
            parents: for each state, the index of its predecessor.
        """
        last = first + len(states)
        if last > self.room:
            self.room = 2 * last
            self.states = np.resize(self.states, (self.room, self.states.shape[1]))
            self.parents = np.resize(self.parents, self.room)
        self.states[first:last], self.parents[first:last] = states, parents
        self.counters[kernel.STATES] = last

    def drop(self, first: int) -> None:
        """Remove all states from index `first` on."""
        self.counters[kernel.STATES] = first

    def repack(self, packing: Packing) -> None:
        """Repack all states with a different packing."""
        before = self.packing
        super().repack(packing)
        self._repacked(before, packing)

    def rebuild(self, coming: int = 0) -> None:
        """Do nothing, because there is no hash table."""
