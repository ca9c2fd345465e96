"""The progress reports of a running search."""

from __future__ import annotations

from collections.abc import Callable

from leadline.checker.result import Result, Statistics

Progress = Callable[[Statistics], None]
"""A function that is called regularly during a search, with the current statistics."""

SECONDS = 0.1
"""The number of seconds between two calls to the progress function of a search."""

MOST_SAMPLES = 60
"""The maximum number of samples stored for a search. This is enough for a plot."""


def is_due(waited: float) -> bool:
    """Return whether a search should call its progress function.

    Parameters:
        waited: the number of seconds since it last called the function.
    """
    return waited > SECONDS


class Pace:
    """A progress function that records how fast a search finds states.

    Parameters:
        progress: a second progress function, which is called with the same statistics.

    Attributes:
        samples: at most `MOST_SAMPLES` pairs (time in seconds, number of distinct states found by then). The first pair
            is from the first call, and the last pair is from the last call.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.samples: list[tuple[float, int]] = []
        self._progress = progress
        self._apart = 0.0

    def __call__(self, statistics: Statistics) -> None:
        if not statistics.activity:
            self._note(statistics)
        if self._progress is not None:
            self._progress(statistics)

    def end(self, statistics: Statistics) -> None:
        """Add the statistics of the result, unless the search has already reported them."""
        if not self.samples or self.samples[-1] != (round(statistics.seconds, 3), statistics.distinct):
            self._note(statistics)

    def _note(self, statistics: Statistics) -> None:
        sample = round(statistics.seconds, 3), statistics.distinct
        if len(self.samples) > 1 and sample[0] - self.samples[-2][0] < self._apart:
            self.samples[-1] = sample  # the last sample is always kept
        else:
            self.samples.append(sample)
        if len(self.samples) > MOST_SAMPLES:
            self.samples = [*self.samples[:-1:2], self.samples[-1]]
            self._apart = 2 * sample[0] / MOST_SAMPLES


def paced(search: Callable[[Progress], Result], progress: Progress | None = None) -> Result:
    """Run a search, and add samples of its progress to the result's statistics; see `Statistics.samples`.

    Parameters:
        search: a function that takes a progress function, runs a search with it, and returns the result.
        progress: a second progress function, which is called with the same statistics.
    """
    pace = Pace(progress)
    result = search(pace)
    pace.end(result.statistics)
    result.statistics.samples = tuple(pace.samples)
    return result
