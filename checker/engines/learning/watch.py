"""Stops a search when it exceeds its time or memory limit.

A search calls `Watch.pause` at regular intervals, and `Watch.need` before it allocates a large amount of memory.
"""

from __future__ import annotations

from collections.abc import Callable

from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.learning.workers import Workers


class Watch:
    """Checks the time and memory limits of a search, and reports its progress.

    Parameters:
        budget: the time and memory that the search may use.
        workers: the threads and processes of the search. If there is not enough memory, the processes are ended.
        report: a function that `pause` calls to report progress.
    """

    def __init__(self, budget: Budget, workers: Workers, report: Callable[[], None] | None = None) -> None:
        self.budget, self.workers, self._report = budget, workers, report

    def pause(self) -> None:
        """Check the time limit and report progress. Call this method only at points where the search can stop.

        Raises:
            StopSearch: if the time limit is exceeded, or the spec's code suppressed an interrupt.
        """
        if stop := self.budget.swallowed or self.budget.out_of_time():
            raise StopSearch(stop)
        if self._report is not None:
            self._report()

    def need(self, more: int) -> None:
        """Check that an allocation would not exceed a memory limit. If it would, end the helper processes to free
        memory.

        Parameters:
            more: the number of bytes to be allocated.

        Raises:
            StopSearch: if the allocation would exceed a limit even without the helper processes.
        """
        stop = self.budget.out_of_memory(more)
        if stop and self.workers.processes:
            self.workers.end_helpers(for_good=True)  # the search can continue without them, only more slowly
            stop = self.budget.out_of_memory(more)
        if stop:
            raise StopSearch(stop)
