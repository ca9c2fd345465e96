"""Buffers of a block: its next states, before the new ones are known; and steps that were called and not learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leadline.checker.engines.learning.arrays import AnswerArrays, SuccessorArrays
from leadline.checker.engines.learning.packing import Packing

STEPS_A_STATE = 4
"""Next states per state of a block for which there is room at first."""

Steps = Sequence[dict[int, int]]
"""What each step of an action instance changes: the new number of each slot that it writes."""


class Buffers:
    """The next states of a block, those of each part of it in a row of their own. See `kernel.expand`.

    Parameters:
        parts: how many parts the block has.
        states: how many states a part has, at most.
        words: of a packed state.
        step_checks: how many step predicates there are.
        regions: of the table.
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
        """The arrays of all parts."""
        return SuccessorArrays(**vars(self))

    def of(self, part: int) -> SuccessorArrays:
        """The arrays of one part."""
        return SuccessorArrays(**{name: array[part] for name, array in vars(self).items()})

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return sum(array.nbytes for array in vars(self).values())

    def grow(self) -> None:
        """Twice the room for each part; what was found stays."""
        for name in ("found", "hashes", "parents", "trees", "routes", "places", "shown"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros_like(getattr(self, name))], axis=1))


class UnlearnedSteps:
    """For some states, in order, the steps of each action instance that was asked about.

    Parameters:
        answers: for each state, the action instances in order, each with its steps.
        packing: how the next states are packed.

    Attributes:
        arrays: for the compiled loop: where the instances of each state begin, and where the last end; the instances;
            their first outcome, and how many they have; and the bits that each outcome keeps and sets, by word.
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
