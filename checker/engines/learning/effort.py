"""Decides which unknown paths are worth learning.

A recorded call takes about ten times as long as a plain call, and pays off if its path is taken often. If few states
need a path, the action, the property or the distance is called on these states instead, as the oracle does. So learning
takes a limited fraction of the time of a search, even if little of the spec can be learned.
"""

from __future__ import annotations

from leadline.checker.settings import Tuning

SELDOM = 60
"""The number of states found for each further recorded call of an action instance, a property or the distance."""

RETURN = 10
"""The number of states that needed no call for each further recorded call. The saved calls pay for it."""


class Effort:
    """Counts the calls of each action instance, each property and the distance, both recorded and plain calls.

    Parameters:
        trees: the number of trees.
        tuning: sizes and limits.

    Attributes:
        learned: for each tree, the number of calls that were recorded.
        called: for each tree, the number of calls that were not recorded.
    """

    def __init__(self, trees: int, tuning: Tuning) -> None:
        self._tuning = tuning
        self.learned = [0] * trees
        self.called = [0] * trees

    def is_worthwhile(self, tree: int, wanted: int, states: int) -> bool:
        """Whether a path is worth learning.

        Parameters:
            tree: the tree to which the path belongs.
            wanted: the number of waiting states that need it.
            states: the number of states found so far.
        """
        learned = self.learned[tree]
        spared = max(states - learned - self.called[tree], 0)
        return wanted >= self._tuning.pays or learned < self._tuning.always + states // SELDOM + spared // RETURN
