"""The budget: the time and the memory that a search may use.

An engine checks the budget between its steps. A single call of a spec's code may run forever or use all memory, so
`Budget.enforced` also checks the budget from another thread, and interrupts the main thread as Ctrl-C does. This can
interrupt Python code in the main thread, but not a call that never returns to the interpreter.

A spec may catch an interrupt, for example with a bare ``except``, and return normally. The return value of such a call
is not reliable, so the search is incomplete from then on: see `Budget.swallowed`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from leadline.checker.engines.memory import RESERVE, Memory
from leadline.checker.result import Limits, Stop, StopKind
from leadline.checker.settings import DEFAULT, Tuning

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that request a process to exit."""

GRACE_BYTES = RESERVE // 2
"""Bytes beyond the memory limit at which a search that has not stopped by itself is interrupted."""


class StopSearch(Exception):
    """Raised to stop a search at a point where it checks its limits.

    Attributes:
        stop: why the search stops.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


class LimitReached(KeyboardInterrupt):
    """Raised when a limit was reached during a call. The message names the limit.

    Attributes:
        stop: the limit that was reached.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


def _stop(interrupt: KeyboardInterrupt) -> Stop:
    """Return the reason why a search was interrupted."""
    if isinstance(interrupt, LimitReached):
        return interrupt.stop
    return Stop(StopKind.INTERRUPT, str(interrupt) or "interrupted")


class Budget:
    """The time and the memory that a search may use.

    Parameters:
        limits: the limits. Only those on time and memory are used here; the engine enforces the others.
        helpers: returns the process ids of the helper processes that this process has forked.
        spent: seconds used by earlier runs of the search.
        tuning: determines how often the limits are checked.

    Attributes:
        started: the start of the search on the monotonic clock, in seconds.
        memory: see `Memory`.
    """

    def __init__(
        self,
        limits: Limits,
        helpers: Callable[[], Sequence[int]] = tuple,
        spent: float = 0.0,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self._tuning = tuning
        self.started = time.monotonic() - spent
        self.memory = Memory(limits.max_memory, helpers)
        self._seconds = limits.max_seconds
        self._over = threading.Event()
        self._not_caught: list[KeyboardInterrupt] = []

    @property
    def swallowed(self) -> Stop | None:
        """The reason why the search was interrupted, if the spec caught the exception; None otherwise."""
        return _stop(self._not_caught[0]) if self._not_caught else None

    def caught(self, interrupt: KeyboardInterrupt) -> Stop:
        """Record that an interrupt has reached the search.

        Returns:
            Why the search was interrupted.
        """
        if interrupt in self._not_caught:
            self._not_caught.remove(interrupt)
        return _stop(interrupt)

    @property
    def seconds(self) -> float:
        """Seconds since the start of the search."""
        return time.monotonic() - self.started

    def out_of_time(self, grace: float = 0.0) -> Stop | None:
        """Return the reason to stop if the time limit is exceeded; None otherwise.

        Parameters:
            grace: seconds allowed beyond the limit.
        """
        if self._seconds is None or self.seconds <= self._seconds + grace:
            return None
        return Stop(StopKind.TIME, f"reached {self._seconds:g} seconds")

    def out_of_memory(self, more: int = 0) -> Stop | None:
        """Return the reason to stop if a memory limit is exceeded; None otherwise.

        Parameters:
            more: bytes that are about to be allocated.
        """
        reason = self.memory.exceeded(more)
        return None if reason is None else Stop(StopKind.MEMORY, reason)

    def memory_failed(self) -> Stop:
        """Return the reason to stop after an allocation has failed."""
        return Stop(StopKind.MEMORY, self.memory.scarcest.reached)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Interrupt the main thread if it exceeds a limit in the ``with`` block before `relax` is called.

        This has no effect in other threads. If the program already uses SIGALRM, nothing is interrupted.

        Raises:
            LimitReached: a limit was exceeded.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with self._noted(), self._watched():
            yield

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Record the interrupts that signals raise."""
        found = {int(number): signal.getsignal(number) for number in ENDING}
        before = {number: handler for number, handler in found.items() if callable(handler)}

        def handler(number: int, frame: FrameType | None) -> None:
            try:
                before[number](number, frame)
            except KeyboardInterrupt as interrupt:
                if interrupt not in self._not_caught:  # it is, if a second signal arrived in the handler of the first
                    self._not_caught.append(interrupt)
                raise

        for number in before:
            signal.signal(number, handler)
        try:
            yield
        finally:
            for number, own in before.items():
                signal.signal(number, own)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Check the limits from another thread."""
        if signal.getsignal(signal.SIGALRM) != signal.SIG_DFL:
            yield
            return
        self._over.clear()
        came, note = os.pipe()
        for end in (came, note):
            os.set_blocking(end, False)
        before = signal.set_wakeup_fd(note, warn_on_full_buffer=False)
        signal.signal(signal.SIGALRM, self._interrupt)
        watch = threading.Thread(target=self._watch, args=(came,), daemon=True)
        watch.start()
        try:
            yield
        finally:
            self.relax()
            watch.join()  # it sends no signals after this
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            os.close(came)
            os.close(note)

    def relax(self) -> None:
        """Stop interrupting the search: it is ending, and an interrupt could lose its result."""
        self._over.set()

    def _exceeded(self) -> Stop | None:
        return self.out_of_time(self._tuning.grace_seconds) or self.out_of_memory(-GRACE_BYTES)

    def _watch(self, came: int) -> None:
        """Interrupt the main thread when a limit is exceeded, and wake it up when a signal arrives.

        The system may deliver a signal to any thread. Python then runs the handler in the main thread, but does not
        wake it up from a blocking call.

        Parameters:
            came: the read end of the pipe to which Python writes the numbers of signals.
        """
        main = threading.main_thread().ident
        assert main is not None
        while not self._over.wait(self._tuning.watch_seconds):
            if self._exceeded():
                signal.pthread_kill(main, signal.SIGALRM)
                self._over.wait(self._tuning.again_seconds)
            with suppress(BlockingIOError):
                if set(os.read(came, 64)) - {signal.SIGALRM}:
                    signal.pthread_kill(main, signal.SIGALRM)

    def _interrupt(self, *_: object) -> None:
        stop = None if self._over.is_set() else self._exceeded()
        if stop:
            interrupt = LimitReached(stop)
            self._not_caught.append(interrupt)
            raise interrupt
