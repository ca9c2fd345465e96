"""The workers of a search: threads that run compiled loops in parallel, and processes that call a spec's functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from leadline.checker.engines.learning.calls import Caller
from leadline.checker.engines.learning.helpers import Helpers
from leadline.checker.engines.learning.interrupts import interrupts_wait

T = TypeVar("T")


def usable_cores() -> int:
    """Return the number of CPU cores that this process may use.

    As in Python 3.13, the environment variable ``PYTHON_CPU_COUNT`` overrides this number.
    """
    count = os.environ.get("PYTHON_CPU_COUNT", "")
    if count.isdecimal() and int(count):
        return int(count)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """The threads and processes of a search. They are started when they are first needed.

    Parameters:
        count: the maximum number of threads, including the current thread. It is also the maximum number of processes,
            including this process.

    Attributes:
        count: the maximum number of threads.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads: ThreadPoolExecutor | None = None
        self._helpers: Helpers | None = None
        self._most_helpers = count - 1

    def run(self, kernel: Callable[..., T], arguments: Sequence[tuple[object, ...]], alone: bool = False) -> list[T]:
        """Call a compiled loop once with each tuple of arguments. Interrupts are deferred until all calls have
        returned.

        Parameters:
            kernel: a function that releases the global interpreter lock.
            alone: whether to make all calls in the current thread. This is faster if there is little work.

        Returns:
            The results of the calls, in the order of `arguments`.
        """
        with interrupts_wait():
            if alone or len(arguments) == 1 or self.count == 1:
                return [kernel(*given) for given in arguments]
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.count - 1)
            returned = dict[int, T]()
            waiting = iter(range(len(arguments)))

            def work() -> None:
                for place in waiting:  # each thread that is free takes the next call
                    returned[place] = kernel(*arguments[place])

            futures = [self._threads.submit(work) for _ in range(min(self.count, len(arguments)) - 1)]
            try:
                work()
            finally:
                wait(futures)
            for future in futures:
                future.result()
            return [returned[place] for place in range(len(arguments))]

    @property
    def processes(self) -> list[int]:
        """The process ids of the running helper processes."""
        return [] if self._helpers is None else self._helpers.processes

    def helpers(self, caller: Caller[Any]) -> Helpers:
        """Return the helper processes for the given caller. End the helper processes of any other caller first.

        Parameters:
            caller: the object that calls the spec's functions in this process. Each helper process uses a copy of it.
        """
        if self._helpers is None or self._helpers.caller is not caller:
            self.end_helpers()
            self._helpers = Helpers(caller, self._most_helpers)
        return self._helpers

    def end_helpers(self, for_good: bool = False) -> None:
        """End the helper processes, for example because they still use values that have been removed.

        Parameters:
            for_good: whether to prevent new helper processes from being started. Set this before creating resources
                that must not be copied by a fork.
        """
        if self._helpers is not None:
            self._helpers.end()
        if for_good:
            self._helpers, self._most_helpers = None, 0

    def close(self) -> None:
        """Stop all threads and processes."""
        self.end_helpers()
        if self._threads is not None:
            self._threads.shutdown()
