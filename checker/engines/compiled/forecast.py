"""Forecasts from the first seconds of a search whether learning will be faster than direct calls.

The levels of a breadth-first search usually grow more and more slowly, and then shrink faster and faster: the ratio of
each level to the previous one falls. The first levels therefore show the approximate number of states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import attrs

from leadline.checker.result import Statistics
from leadline.checker.settings import DEFAULT, Tuning

LAST_LOOK = 4.0
"""The seconds after which a search is no longer given up, because more would be lost than gained."""

HOPELESS = 0.5
"""If learning makes at least this fraction of the oracle's calls, it cannot be much faster than direct calls."""

SHARE, FEWEST = 0.4, 3
"""The fraction of the known levels that a forecast uses (the last ones), and the minimum number of ratios it needs."""

SHRINKING = -1.0
"""If the natural logarithm of the ratio of the last level to the first is below this, one ratio is enough."""

LEAST_FALL = 0.06
"""The minimum fall of the natural logarithm of the ratio from one level to the next that is assumed."""

MOST_LEVELS, MOST_GROWTH = 200, 50.0
"""The number of levels that a forecast looks ahead, and their maximum growth as a natural logarithm."""


def forecast(levels: Sequence[int]) -> float:
    """Return the approximate number of states beyond the known levels of a search.

    Parameters:
        levels: the number of states of each level.

    Returns:
        The number of states, which can be wrong by a factor of two or more; infinite if too few levels are known.
    """
    growth = [math.log(after / before) for before, after in itertools.pairwise(levels)]
    if len(growth) < FEWEST and sum(growth) > SHRINKING:
        return math.inf
    growth = growth[-max(FEWEST, int(SHARE * len(levels))) :]
    places = [place - (len(growth) - 1) / 2 for place in range(len(growth))]
    rise = sum(place * ratio for place, ratio in zip(places, growth, strict=True))  # of the best-fitting line
    fall = max(-rise / (sum(place**2 for place in places) or 1), LEAST_FALL)
    ratio = sum(growth) / len(growth) - fall * places[-1]
    sizes = itertools.accumulate(ratio - step * fall for step in range(1, MOST_LEVELS))
    return levels[-1] * sum(math.exp(min(size, MOST_GROWTH)) for size in sizes)


def expected_states(now: Statistics) -> float:
    """Return the approximate number of states of a space; infinite if it is too early to estimate.

    Parameters:
        now: the counts of a search that has expanded some of its states.
    """
    known, found = now.levels[: now.depth], sum(now.levels[now.depth :])
    expanded = now.expanded - sum(known[:-1])
    if len(known) <= FEWEST and expanded:  # many initial states: only the beginning of the next level is known
        following = max(round(found * known[-1] / expanded), 1)
        return sum(known) + following + forecast((*known, following))
    beyond = forecast(known)
    if found and beyond < math.inf:  # the next level has at least the states found
        beyond = max(beyond, found + forecast((*known, found)))
    return sum(known) + beyond


def is_narrow(now: Statistics, rate: float, tuning: Tuning) -> bool:
    """Whether direct calls are faster than compiled loops, because there are many levels and all are small.

    Parameters:
        now: the counts of a search so far.
        rate: states that direct calls expand per second.
        tuning: the minimum number of levels, and the time that the compiled loops take for a level.
    """
    return now.depth >= tuning.narrow_levels and now.expanded < tuning.level_seconds * rate * now.depth


class SlowerThanCalling(Exception):
    """Raised when learning is slower than direct calls.

    Attributes:
        statistics: the counts so far.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        super().__init__(statistics)


@attrs.frozen
class Forecast:
    """Decides whether to give up a search.

    Attributes:
        rate: states that direct calls expand per second.
        tuning: the times and speeds at which a search may be given up.
    """

    rate: float
    tuning: Tuning = DEFAULT

    def check(self, seconds: float, statistics: Callable[[], Statistics]) -> None:
        """Check a search between two blocks.

        Parameters:
            seconds: seconds since the current attempt at the search began.
            statistics: returns the counts so far.

        Raises:
            SlowerThanCalling: the search should be given up.
        """
        if not self.tuning.first_look <= seconds <= LAST_LOOK:
            return
        now = statistics()
        if not 0 < now.expanded < self.tuning.behind * self.rate * seconds:
            return
        share = now.learning.share if now.learning is not None else 0.0
        if is_narrow(now, self.rate, self.tuning) or (now.expanded >= self.tuning.known_states and share > HOPELESS):
            raise SlowerThanCalling(now)
