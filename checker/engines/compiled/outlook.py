"""Outlook: whether learning will be faster than calling, as far as the first seconds of a search show."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from checker.result import Statistics

FIRST_LOOK, LAST_LOOK = 0.5, 4.0
"""Seconds of a search between which it may be given up. Later, more would be lost than won."""

BEHIND = 0.8
"""A search that expands fewer states than this share of those that calling would have is behind."""

NARROW, LEVELS = 20, 200
"""States a level, on average, that are not worth a round of compiled loops, and how many levels show it: the first
levels of any space are narrow."""

HOPELESS, STATES = 0.5, 2_000
"""Calls, as a share of those of the oracle, from which on learning cannot be much faster than calling, and how many
states show it: the first calls of any search are new."""


class GivenUp(Exception):
    """Learning is slower than calling.

    Attributes:
        statistics: the counts so far.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        super().__init__(statistics)


@attrs.frozen
class Outlook:
    """Whether a search should be given up.

    Attributes:
        rate: states that calling expands in a second.
    """

    rate: float

    def check(self, seconds: float, statistics: Callable[[], Statistics]) -> None:
        """Look at a search between two of its blocks.

        Parameters:
            seconds: how long it has taken since it last began anew.
            statistics: gives its counts so far.

        Raises:
            GivenUp: it should be.
        """
        if not FIRST_LOOK <= seconds <= LAST_LOOK:
            return
        now = statistics()
        if not 0 < now.expanded < BEHIND * self.rate * seconds:
            return
        share = now.learning.share if now.learning is not None else 0.0
        is_narrow = now.depth >= LEVELS and now.expanded < NARROW * now.depth
        if is_narrow or (now.expanded >= STATES and share > HOPELESS):
            raise GivenUp(now)
