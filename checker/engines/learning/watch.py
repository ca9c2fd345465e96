"""The watch, which ends a compiled search when its time or memory is used up.

The expander calls it regularly, and before it allocates more memory.
"""

from __future__ import annotations

from collections.abc import Callable

from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.learning.workers import Workers


class Watch:
    """Checks a budget on behalf of a search.

    Parameters:
        budget: the time and memory that the search may take.
        workers: the threads and processes of the search. The processes are ended before the search runs out of memory.
        report: called at every pause, to report progress.
    """

    def __init__(self, budget: Budget, workers: Workers, report: Callable[[], None] | None = None) -> None:
        self.budget, self.workers, self._report = budget, workers, report

    def pause(self) -> None:
        """Check the time. Call this between two parts of the work.

        Raises:
            StopSearch: the time is up, or the spec has caught an interrupt.
        """
        if stop := self.budget.swallowed or self.budget.out_of_time():
            raise StopSearch(stop)
        if self._report is not None:
            self._report()

    def need(self, more: int) -> None:
        """Check that there is enough memory.

        Parameters:
            more: the number of bytes to be allocated.

        Raises:
            StopSearch: a memory limit would be exceeded.
        """
        stop = self.budget.out_of_memory(more)
        if stop and self.workers.processes:
            self.workers.end_helpers(for_good=True)  # the search can do without them
            stop = self.budget.out_of_memory(more)
        if stop:
            raise StopSearch(stop)
