"""Decides which calls are recorded and stored as paths in decision trees.

A recorded call takes about ten times as long as a call that is not recorded. Recording saves time only if many states
use the path of the call. If few states need a path, the function is called on each of these states without recording,
as the oracle engine does. Therefore recording takes a limited fraction of the search time, even if the results can
rarely be reused.
"""

from __future__ import annotations

from leadline.checker.settings import Tuning

SELDOM = 60
"""The number of further states that must be found before another call to the same function is recorded."""

RETURN = 10
"""The number of calls that a function's decision tree must save before another call to this function is recorded."""


class Effort:
    """Counts the recorded and the unrecorded calls to each action instance, each property and the distance.

    Parameters:
        trees: the number of decision trees. There is one for each action instance, each property and the distance.
        tuning: internal sizes and limits.

    Attributes:
        learned: for each tree, the number of calls that were recorded.
        called: for each tree, the number of calls that were not recorded.
    """

    def __init__(self, trees: int, tuning: Tuning) -> None:
        self._tuning = tuning
        self.learned = [0] * trees
        self.called = [0] * trees

    def is_worthwhile(self, tree: int, wanted: int, states: int) -> bool:
        """Return whether recording a call and storing its result in a decision tree is likely to save time.

        Parameters:
            tree: the index of the called function's decision tree.
            wanted: the number of states that currently need the result.
            states: the number of states found so far.
        """
        learned = self.learned[tree]
        spared = max(states - learned - self.called[tree], 0)
        return wanted >= self._tuning.pays or learned < self._tuning.always + states // SELDOM + spared // RETURN
