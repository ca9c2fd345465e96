"""Predicts whether transition tables will be faster than direct calls to the spec's functions.

In a breadth-first search, each level is larger than the previous level by a factor that usually decreases from level to
level. Therefore the total number of states can be estimated from the sizes of the first levels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import attrs

from leadline.checker.result import Statistics
from leadline.checker.settings import DEFAULT, Tuning

LAST_LOOK = 4.0
"""The number of CPU seconds after which a search with transition tables is no longer stopped to use direct calls."""

HOPELESS = 0.5
"""If a search with transition tables makes more than this fraction of the calls that the oracle makes, it is not faster
than the oracle, because one of its calls takes at least twice as long."""

FALLING = 0.8
"""A fraction of calls is falling if it is less than this part of the fraction before."""

LOOKS = 7
"""The number of times that a search counts its calls. Each time, the number of expanded states has doubled."""

SHARE, FEWEST = 0.4, 3
"""The fraction of the known levels that a forecast uses, counted from the last level, and the minimum number of ratios
between levels."""

SHRINKING = -1.0
"""The limit for forecasts from fewer than `FEWEST` ratios. They are made if the natural logarithm of the ratio of the
last level's size to the first level's size is at most this number."""

LEAST_FALL = 0.06
"""The minimum decrease, from level to level, of the logarithm of the ratio. A smaller decrease is replaced by this
value."""

MOST_LEVELS, MOST_GROWTH = 200, 50.0
"""The number of further levels that a forecast covers, and the maximum natural logarithm of their growth."""


def forecast(levels: Sequence[int]) -> float:
    """Estimate the number of states in the levels that a search has not reached yet.

    Parameters:
        levels: the number of states in each known level.

    Returns:
        The estimate, which can be wrong by a factor of two or more. It is infinite if too few levels are known.
    """
    growth = [math.log(after / before) for before, after in itertools.pairwise(levels)]
    if len(growth) < FEWEST and sum(growth) > SHRINKING:
        return math.inf
    growth = growth[-max(FEWEST, int(SHARE * len(levels))) :]
    places = [place - (len(growth) - 1) / 2 for place in range(len(growth))]
    # the slope of the least-squares line through the ratios is `rise` divided by the sum of the squared places
    rise = sum(place * ratio for place, ratio in zip(places, growth, strict=True))
    fall = max(-rise / (sum(place**2 for place in places) or 1), LEAST_FALL)
    ratio = sum(growth) / len(growth) - fall * places[-1]
    sizes = itertools.accumulate(ratio - step * fall for step in range(1, MOST_LEVELS))
    return levels[-1] * sum(math.exp(min(size, MOST_GROWTH)) for size in sizes)


def expected_states(now: Statistics) -> float:
    """Estimate the number of states in a state space. The estimate is infinite if too few levels are known.

    Parameters:
        now: the current statistics of a search that has expanded some of its states.
    """
    known, found = now.levels[: now.depth], sum(now.levels[now.depth :])
    expanded = now.expanded - sum(known[:-1])
    if len(known) <= FEWEST and expanded:  # many initial states: only the beginning of the next level is known
        following = max(round(found * known[-1] / expanded), 1)
        return sum(known) + following + forecast((*known, following))
    beyond = forecast(known)
    if found and beyond < math.inf:  # the next level contains at least the states found
        beyond = max(beyond, found + forecast((*known, found)))
    return sum(known) + beyond


def is_narrow(now: Statistics, rate: float, tuning: Tuning) -> bool:
    """Return whether direct calls are faster than compiled loops because each level has few states.

    Parameters:
        now: the current statistics of a search.
        rate: the number of states per CPU second that a search with direct calls expands.
        tuning: internal settings, including the minimum number of levels, and the minimum time that the compiled loops
            take for a level.
    """
    return now.depth >= tuning.narrow_levels and now.expanded < tuning.level_seconds * rate * now.depth


class SlowerThanCalling(Exception):
    """Raised when a search with transition tables is slower than a search with direct calls.

    Attributes:
        statistics: the statistics of the search when it was stopped.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        super().__init__(statistics)


@attrs.frozen
class Forecast:
    """Decides whether a search with transition tables should be stopped because direct calls are faster.

    Attributes:
        rate: the number of states per CPU second that a search with direct calls expands.
        tuning: internal settings, including the times and the speeds at which a search may be stopped.
    """

    rate: float
    tuning: Tuning = DEFAULT

    def check(self, seconds: float, statistics: Callable[[], Statistics]) -> None:
        """Check whether a search should be stopped. Call this between two blocks of states.

        Parameters:
            seconds: the number of CPU seconds since the search started or was last restarted.
            statistics: a function that returns the current statistics.

        Raises:
            SlowerThanCalling: if the search is slower than direct calls.
        """
        if not self.tuning.first_look <= seconds <= LAST_LOOK:
            return
        now = statistics()
        if not 0 < now.expanded < self.tuning.behind * self.rate * seconds:
            return
        if is_narrow(now, self.rate, self.tuning):
            raise SlowerThanCalling(now)


class Payoff:
    """Decides whether learning saves time. The decision depends on the number of calls, not on the load of the machine.

    The first calls of every search are new. Therefore each check considers the states that were expanded since the
    previous check. For these states, it divides the number of calls by the number of calls that the oracle would have
    made. The search is stopped if this fraction is large and has not fallen much.

    Parameters:
        tuning: internal settings, including the number of expanded states before the first check.
    """

    def __init__(self, tuning: Tuning = DEFAULT) -> None:
        self._next, self._left = tuning.known_states, LOOKS
        self._made = self._by_oracle = 0
        self._share = math.inf

    def check(self, expanded: int, statistics: Callable[[], Statistics]) -> None:
        """Check whether a search should be stopped. Call this between two blocks of states.

        Parameters:
            expanded: the number of expanded states.
            statistics: a function that returns the current statistics.

        Raises:
            SlowerThanCalling: if the search makes too many calls compared with the oracle.
        """
        if expanded < self._next or not self._left:
            return
        now = statistics()
        if now.learning is None:
            return
        made, by_oracle = now.learning.made, now.learning.by_oracle
        share = (made - self._made) / max(by_oracle - self._by_oracle, 1)
        is_first = self._share == math.inf
        if not is_first and share > HOPELESS and share > FALLING * self._share:
            raise SlowerThanCalling(now)
        self._made, self._by_oracle, self._share = made, by_oracle, share
        self._next, self._left = 2 * expanded, self._left - 1
