"""Answers: what action instances do in single states, for states whose paths are not worth learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leadline.checker.engines.learning.arrays import AnswerArrays
from leadline.checker.engines.learning.packing import Packing

Steps = Sequence[dict[int, int]]
"""What each step of an action instance changes: the new number of each slot that it writes."""


class Answers:
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
