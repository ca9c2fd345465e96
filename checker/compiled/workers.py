"""Workers: threads that run compiled loops side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from checker.compiled.interrupts import interrupts_wait


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A number of threads, started when they are first needed.

    Parameters:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads: ThreadPoolExecutor | None = None

    def run(self, kernel: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], alone: bool = False) -> list[Any]:
        """Call a compiled loop once with each tuple of arguments.

        Parameters:
            kernel: a function that lets go of the interpreter's lock.
            arguments: of each call.
            alone: whether it is so little work that one thread is faster.

        Returns:
            What each call returned, in order, once all have: also after an interrupt, nothing runs on.
        """
        if alone or len(arguments) == 1:
            with interrupts_wait():
                return [kernel(*given) for given in arguments]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count)
        futures = [self._threads.submit(kernel, *given) for given in arguments]
        try:
            return [future.result() for future in futures]
        finally:
            wait(futures)

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
