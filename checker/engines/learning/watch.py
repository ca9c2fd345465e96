"""The watch, which stops a search when it exceeds its time or memory limit.

A search calls the watch at regular intervals, and before it allocates large amounts of memory.
"""

from __future__ import annotations

from collections.abc import Callable

from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.learning.workers import Workers


class Watch:
    """The component of a search that checks its time and memory limits.

    Parameters:
        budget: the time and memory that the search may use.
        workers: the threads and processes of the search. If memory runs short, the processes are ended first.
        report: called by `pause` to report progress.
    """

    def __init__(self, budget: Budget, workers: Workers, report: Callable[[], None] | None = None) -> None:
        self.budget, self.workers, self._report = budget, workers, report

    def pause(self) -> None:
        """Check the time limit and report progress. Call this at points where the search can stop.

        Raises:
            StopSearch: the time limit is exceeded, or the spec caught the exception of an interrupt.
        """
        if stop := self.budget.swallowed or self.budget.out_of_time():
            raise StopSearch(stop)
        if self._report is not None:
            self._report()

    def need(self, more: int) -> None:
        """Check that more memory can be allocated.

        Parameters:
            more: the number of bytes to be allocated.

        Raises:
            StopSearch: the allocation would exceed a memory limit.
        """
        stop = self.budget.out_of_memory(more)
        if stop and self.workers.processes:
            self.workers.end_helpers(for_good=True)  # the search can continue without them, only more slowly
            stop = self.budget.out_of_memory(more)
        if stop:
            raise StopSearch(stop)
