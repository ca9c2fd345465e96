"""The pool of starts: states in the middle of earlier walks, at which walks may begin.

While a walker moves, it notes the state of its walk that has the least visited next state besides the one taken. When
the walk ends, the walker keeps that state. When all walkers meet, the best of these and of the earlier ones stay.

What this and the choice of steps in `walk_kernel` gain, in median steps to a flaw over five seeds, measured when all
walkers moved from the start (seconds are of a busy machine; steps can be repeated):

==============================  ==========================  ===========================
guidance                        kip-320-first-try, 13       rpc/kip-279, 19 states
                                states, three brokers       (found within 30 s)
==============================  ==========================  ===========================
none                            3,832,427                   20 million in 60 s: none
least visited next states       646,737                     4.9 million: none
starts at rare states           1,420,453                   1,871,732 (4 of 5)
both                            574,826                     1,847,508 (4 of 5)
both, half as much roaming      453,753                     2,490,349 (3 of 5)
both, twice as much roaming     423,780                     2,235,940 (1 of 5)
==============================  ==========================  ===========================

Other guidance was tried and not kept. Median steps, with the flaws and bounds of `tests/bench/bench_walks.py`; the
second row is over 100 seeds, the others are over 10 to 60, so that differences of less than a third mean little:

================================================  ========  ========  ========  ==========  ========
guidance                                          atomic/   rpc/hw-   rpc/      KAFKA-1211  KIP-101
                                                  kip-101   trunca-   kip-101
                                                            tion
================================================  ========  ========  ========  ==========  ========
all walkers move from the start                   59,270    57,542              20,628      120,914
few walkers first, as now                         18,518    17,947    4,882     6,761       98,500
each walk avoids 0, 1/4, 1/2 or 3/4 of the        11,280    18,165    6,247     6,069       94,331
action instances where it can (swarms)
each walk avoids 5/8 of them                      5,502     24,825    5,411     5,184       81,792
least frequent changes first, then states         >150,000  3,586               805         >150,000
least frequent pairs of action instances first,   15,126    118,736             55,819      >150,000
then states
walks of random length, down to 1/8               16,524    11,880              7,782
first 1,000 states exhaustively, then walks from  9,311     5,460     3,459
the last of their levels too
================================================  ========  ========  ========  ==========  ========

Swarms help where brokers and actions are many, as in `atomic/kip-101`, but KAFKA-15221 took 8,683 steps instead of
6,944. An exhaustive prefix helped with all three flaws that were measured, but is not built: it needs what the
exhaustive engine does for properties, constraints, limits and counts. Specs do not give a measure of distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checker.engines.compiled.walk_arrays import Walkers

MOST = 2048
"""States in the pool."""


class Starts(NamedTuple):
    """The pool.

    Attributes:
        rows: the numbers of the slots' values of each.
        step, trees, path: the steps to it, and which these were; see `Walkers`.
        next: the hash of its next state that was visited least.
    """

    rows: NDArray[np.int64]
    step: NDArray[np.int64]
    trees: NDArray[np.int32]
    path: NDArray[np.uint64]
    next: NDArray[np.uint64]

    @classmethod
    def none(cls, slots: int, longest: int) -> Starts:
        """An empty pool.

        Parameters:
            slots: of a state.
            longest: the most steps of a walk.
        """
        return cls(
            np.zeros((0, slots), np.int64),
            np.zeros(0, np.int64),
            np.zeros((0, longest + 1), np.int32),
            np.zeros((0, longest + 1), np.uint64),
            np.zeros(0, np.uint64),
        )

    def with_kept(self, walkers: Walkers, visits: NDArray[np.uint32], places: int) -> Starts:
        """The best of these states and of those that walkers have kept: of each, a next state was visited seldom.

        Parameters:
            visits: how often states with a hash were visited.
            places: steps that all states of the pool together may have before them.
        """
        new = np.arange(walkers.kept.shape[1]) < walkers.found[:, None]
        kept = walkers.kept, walkers.kept_step, walkers.kept_trees, walkers.kept_path, walkers.kept_next
        together = [np.concatenate([own, other[new]]) for own, other in zip(self, kept, strict=True)]
        _, first = np.unique(together[4], return_index=True)  # one for each next state, and in an order that lasts
        times = visits[together[4][first] & np.uint64(len(visits) - 1)]
        best = first[np.argsort(times, kind="stable")[: min(MOST, places // self.path.shape[1])]]
        return Starts(*(array[best] for array in together))

    def widened(self, more: int) -> Starts:
        """The pool with slots that are new, in which all have 0."""
        return self._replace(rows=np.pad(self.rows, ((0, 0), (0, more))))
