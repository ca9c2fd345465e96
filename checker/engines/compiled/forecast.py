"""Forecast: whether learning will be faster than calling, as far as the first seconds of a search show.

The levels of a breadth-first search grow and then shrink, as a rule ever more slowly and then ever faster: the ratio of
each level to the one before falls. So the first levels show roughly how many states there are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import attrs

from leadline.checker.result import Statistics
from leadline.checker.settings import DEFAULT, Tuning

LAST_LOOK = 4.0
"""Seconds of a search after which it is no longer given up: more would be lost than won."""

HOPELESS = 0.5
"""Calls, as a share of those of the oracle, from which on learning cannot be much faster than calling."""

SHARE, FEWEST = 0.4, 3
"""The share of the known levels, the last ones, from which a forecast is made, and the fewest ratios that it needs."""

SHRINKING = -1.0
"""Natural logarithm of the ratio of the last level to the first. If it is below this, one ratio is enough."""

LEAST_FALL = 0.06
"""The least by which the natural logarithm of that ratio is taken to fall from one level to the next."""

MOST_LEVELS, MOST_GROWTH = 200, 50.0
"""Levels that a forecast looks ahead, and the most that they grow, as a natural logarithm."""


def forecast(levels: Sequence[int]) -> float:
    """About how many states lie beyond the levels of a search that are known.

    Parameters:
        levels: how many states each has.

    Returns:
        The number of states, which may be wrong by a factor of two or more; infinite if too few levels are known.
    """
    growth = [math.log(after / before) for before, after in itertools.pairwise(levels)]
    if len(growth) < FEWEST and sum(growth) > SHRINKING:
        return math.inf
    growth = growth[-max(FEWEST, int(SHARE * len(levels))) :]
    places = [place - (len(growth) - 1) / 2 for place in range(len(growth))]
    rise = sum(place * ratio for place, ratio in zip(places, growth, strict=True))  # of the line that fits best
    fall = max(-rise / (sum(place**2 for place in places) or 1), LEAST_FALL)
    ratio = sum(growth) / len(growth) - fall * places[-1]
    sizes = itertools.accumulate(ratio - step * fall for step in range(1, MOST_LEVELS))
    return levels[-1] * sum(math.exp(min(size, MOST_GROWTH)) for size in sizes)


def expected_states(now: Statistics) -> float:
    """About how many states a space has; infinite if that cannot be said yet.

    Parameters:
        now: the counts of a search that has expanded some of its states.
    """
    known, found = now.levels[: now.depth], sum(now.levels[now.depth :])
    expanded = now.expanded - sum(known[:-1])
    if len(known) <= FEWEST and expanded:  # many initial states: the next level, as far as it is found, is all there is
        following = max(round(found * known[-1] / expanded), 1)
        return sum(known) + following + forecast((*known, following))
    beyond = forecast(known)
    if found and beyond < math.inf:  # the next level is at least as large as what is found of it
        beyond = max(beyond, found + forecast((*known, found)))
    return sum(known) + beyond


def is_narrow(now: Statistics, rate: float, tuning: Tuning) -> bool:
    """Whether calling is faster than compiled loops, since there are many levels and all are small.

    Parameters:
        now: the counts of a search so far.
        rate: states that calling expands in a second.
        tuning: how many levels show this, and how long a round takes.
    """
    return now.depth >= tuning.narrow_levels and now.expanded < tuning.level_seconds * rate * now.depth


class SlowerThanCalling(Exception):
    """Learning is slower than calling.

    Attributes:
        statistics: the counts so far.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        super().__init__(statistics)


@attrs.frozen
class Forecast:
    """Whether a search should be given up.

    Attributes:
        rate: states that calling expands in a second.
        tuning: when a search may be given up.
    """

    rate: float
    tuning: Tuning = DEFAULT

    def check(self, seconds: float, statistics: Callable[[], Statistics]) -> None:
        """Look at a search between two of its blocks.

        Parameters:
            seconds: how long it has taken since it last began anew.
            statistics: gives its counts so far.

        Raises:
            SlowerThanCalling: it should be.
        """
        if not self.tuning.first_look <= seconds <= LAST_LOOK:
            return
        now = statistics()
        if not 0 < now.expanded < self.tuning.behind * self.rate * seconds:
            return
        share = now.learning.share if now.learning is not None else 0.0
        if is_narrow(now, self.rate, self.tuning) or (now.expanded >= self.tuning.known_states and share > HOPELESS):
            raise SlowerThanCalling(now)
