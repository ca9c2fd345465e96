"""Buffers for the next states of a block, and for the steps of calls that were not learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leadline.checker.engines.learning.arrays import AnswerArrays, SuccessorArrays
from leadline.checker.engines.learning.packing import Packing

STEPS_A_STATE = 4
"""The initial room for next states, per state of a block."""

Steps = Sequence[dict[int, int]]
"""For each step of an action instance, the new number of each slot that it writes."""


class Buffers:
    """The next states of a block, with a row for each part of the block. See `kernel.expand`.

    Parameters:
        parts: the number of parts of the block.
        states: the maximum number of states of a part.
        words: the number of words of a packed state.
        step_checks: the number of step predicates.
        regions: the number of regions of the table.
    """

    def __init__(self, parts: int, states: int, words: int, step_checks: int, regions: int) -> None:
        room = STEPS_A_STATE * states + 64
        self.begins = np.empty((parts, states), np.uint32)
        self.found = np.empty((parts, room, words), np.uint64)
        self.hashes = np.empty((parts, room), np.uint64)
        self.parents = np.empty((parts, room), np.uint32)
        self.trees = np.empty((parts, room), np.uint32)
        self.routes = np.empty((parts, room), np.uint32)
        self.regions = np.zeros((parts, regions + 1), np.int64)
        self.places = np.empty((parts, room), np.int64)
        self.shown = np.zeros((parts, room, step_checks), np.uint8)

    @property
    def arrays(self) -> SuccessorArrays:
        """Return the arrays of all parts."""
        return SuccessorArrays(**vars(self))

    def of(self, part: int) -> SuccessorArrays:
        """Return the arrays of one part."""
        return SuccessorArrays(**{name: array[part] for name, array in vars(self).items()})

    @property
    def nbytes(self) -> int:
        """The memory of all arrays, in bytes."""
        return sum(array.nbytes for array in vars(self).values())

    def grow(self) -> None:
        """Double the room for each part, and keep the contents."""
        for name in ("found", "hashes", "parents", "trees", "routes", "places", "shown"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros_like(getattr(self, name))], axis=1))


class UnlearnedSteps:
    """The steps of action instances that were called for some states, but not learned.

    Parameters:
        answers: for each state, the action instances in order, each with its steps.
        packing: the packing of the next states.

    Attributes:
        arrays: the arrays for the compiled loop: the position at which the instances of each state begin, followed by
            the end of the last; the instances; the first outcome and the number of outcomes of each instance; and for
            each outcome and word, the bits to keep and the bits to set.
    """

    def __init__(self, answers: Sequence[Sequence[tuple[int, Steps]]], packing: Packing) -> None:
        begins, trees, starts, counts = [0], [], [], []
        outcomes: list[tuple[list[int], list[int]]] = []
        for of_state in answers:
            for tree, steps in of_state:
                trees.append(tree)
                starts.append(len(outcomes))
                counts.append(len(steps))
                outcomes += (packing.change(step) for step in steps)
            begins.append(len(trees))
        bits = np.array(outcomes, np.uint64).reshape(len(outcomes), 2, packing.words)
        columns = [np.array(column, np.int64) for column in (begins, trees, starts, counts)]
        self.arrays = AnswerArrays._make([*columns, *(np.ascontiguousarray(bits[:, side]) for side in range(2))])
