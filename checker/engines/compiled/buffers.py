"""Buffers for the next states of a block of states, and for the results of direct calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leadline.checker.engines.learning.arrays import AnswerArrays, SuccessorArrays
from leadline.checker.engines.learning.calls import Outcome
from leadline.checker.engines.learning.packing import Packing

STEPS_A_STATE = 4
"""The initial size of a buffer: the number of next states for each state of a block."""


class Buffers:
    """Buffers for the next states of a block. Each array has a row for each part of the block.

    Parameters:
        parts: the number of parts in the block.
        states: the maximum number of states in a part.
        words: the number of words per packed state.
        step_checks: the number of predicates on steps.
        regions: the number of regions in the hash table of states; see `kernel.insert`.
        draws: whether an action draws values from the state.

    Attributes:
        begins, found, hashes, parents, trees, labels, routes, regions, places, shown: see `SuccessorArrays`.
    """

    def __init__(self, parts: int, states: int, words: int, step_checks: int, regions: int, *, draws: bool) -> None:
        room = STEPS_A_STATE * states + 64
        self.begins = np.empty((parts, states), np.uint32)
        self.found = np.empty((parts, room, words), np.uint64)
        self.hashes = np.empty((parts, room), np.uint64)
        self.parents = np.empty((parts, room), np.uint32)
        self.trees = np.empty((parts, room), np.uint32)
        self.labels = np.empty((parts, room if draws else 0), np.uint32)
        self.routes = np.empty((parts, room), np.uint32)
        self.regions = np.zeros((parts, regions + 1), np.int64)
        self.places = np.empty((parts, room), np.int64)
        self.shown = np.zeros((parts, room, step_checks), np.uint8)

    @property
    def arrays(self) -> SuccessorArrays:
        """The arrays of all parts, as a named tuple."""
        return SuccessorArrays(**vars(self))

    def of(self, part: int) -> SuccessorArrays:
        """Return the arrays of one part, as a named tuple."""
        return SuccessorArrays(**{name: array[part] for name, array in vars(self).items()})

    @property
    def nbytes(self) -> int:
        """The total size of all arrays, in bytes."""
        return sum(array.nbytes for array in vars(self).values())

    def grow(self) -> None:
        """Double the number of next states that each part can hold. The existing entries are kept."""
        for name in ("found", "hashes", "parents", "trees", "labels", "routes", "places", "shown"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros_like(getattr(self, name))], axis=1))


class UnlearnedSteps:
    """The results of direct calls, as arrays. Each result is used for one state and is not added to the transition
    tables.

    Parameters:
        answers: for each state, the action instances that were called on it, each with its steps.

    Attributes:
        arrays: the arrays for `kernel.expand`:

            - `trees`, `start`, `count`: for each call, the action instance, the position of its first step in `keep`
              and `put`, and the number of its steps.
            - `begins`: for each state, the position of its first call; followed by the total number of calls.
            - `keep`, `put`: for each step and each word of a packed state, the mask of the bits to keep, and the bits
              to set.
            - `labels`: see `TransitionTables`.
    """

    def __init__(self, answers: Sequence[Sequence[tuple[int, Sequence[Outcome]]]], packing: Packing) -> None:
        begins, trees, starts, counts = [0], [], [], []
        outcomes: list[tuple[list[int], list[int]]] = []
        labels: list[int] = []
        for of_state in answers:
            for tree, steps in of_state:
                trees.append(tree)
                starts.append(len(outcomes))
                counts.append(len(steps))
                outcomes += (packing.change(changes) for _, changes in steps)
                labels += (label for label, _ in steps)
            begins.append(len(trees))
        bits = np.array(outcomes, np.uint64).reshape(len(outcomes), 2, packing.words)
        columns = [np.array(column, np.int64) for column in (begins, trees, starts, counts)]
        keep, put = (np.ascontiguousarray(bits[:, side]) for side in range(2))
        self.arrays = AnswerArrays._make([*columns, keep, put, np.array(labels, np.uint32)])
