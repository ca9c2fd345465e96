"""Effort: which unknown paths are worth learning.

A recorded call costs some ten times what a plain one does, and pays off if its path is taken often. Where few states
want a path, the action, the property or the distance is called on these states instead, as the oracle does. So learning
takes a limited share of a search, however little of its spec can be learned.
"""

from __future__ import annotations

from leadline.checker.settings import Tuning

SELDOM = 60
"""States for each further recorded call of an action instance, of a property or of the distance."""

RETURN = 10
"""States that needed no calls, for each further call that is recorded: it is paid for by the calls they saved."""


class Effort:
    """The number of calls of each action instance, each property and the distance, recorded or not.

    Parameters:
        trees: the number of trees.
        tuning: sizes.

    Attributes:
        learned: for each, calls that were recorded.
        called: for each, calls that were not.
    """

    def __init__(self, trees: int, tuning: Tuning) -> None:
        self._tuning = tuning
        self.learned = [0] * trees
        self.called = [0] * trees

    def is_worthwhile(self, tree: int, wanted: int, states: int) -> bool:
        """Whether to learn a path.

        Parameters:
            tree: of what.
            wanted: the number of waiting states that need it.
            states: the number of states found so far.
        """
        learned = self.learned[tree]
        spared = max(states - learned - self.called[tree], 0)
        return wanted >= self._tuning.pays or learned < self._tuning.always + states // SELDOM + spared // RETURN
