"""The budget of a search: the time and the memory that it may use.

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
"""The signals that ask a process to terminate."""

GRACE_BYTES = RESERVE // 2
"""The number of bytes by which a search may exceed a memory limit before it is interrupted."""


class StopSearch(Exception):
    """Raised to stop a search at a point where it checks its limits.

    Attributes:
        stop: the reason why the search stops.
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
    """Return the reason to report for an interrupt."""
    if isinstance(interrupt, LimitReached):
        return interrupt.stop
    return Stop(StopKind.INTERRUPT, str(interrupt) or "interrupted")


class Budget:
    """The time and the memory that a search may use.

    Parameters:
        limits: the limits of the search. This class uses only the limits on time and memory.
        helpers: a function that returns the process ids of the helper processes that this process has forked.
        spent: the number of seconds used by earlier runs of the search.
        tuning: the times between two checks of the limits.

    Attributes:
        started: the value of `time.monotonic` at the start of the search, less `spent`.
        memory: the limits on memory.
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
        """The reason of an interrupt whose exception was caught by the spec, or None if there was no such interrupt."""
        return _stop(self._not_caught[0]) if self._not_caught else None

    def caught(self, interrupt: KeyboardInterrupt) -> Stop:
        """Record that an interrupt was caught by the search, and not by the spec. See `swallowed`.

        Returns:
            The reason why the search was interrupted.
        """
        if interrupt in self._not_caught:
            self._not_caught.remove(interrupt)
        return _stop(interrupt)

    @property
    def seconds(self) -> float:
        """The number of seconds since the search started, including earlier runs."""
        return time.monotonic() - self.started

    def out_of_time(self, grace: float = 0.0) -> Stop | None:
        """Return the reason to stop if the time limit is exceeded, or None if it is not.

        Parameters:
            grace: the number of seconds by which the limit may be exceeded.
        """
        if self._seconds is None or self.seconds <= self._seconds + grace:
            return None
        return Stop(StopKind.TIME, f"reached {self._seconds:g} seconds")

    def out_of_memory(self, more: int = 0) -> Stop | None:
        """Return the reason to stop if a memory limit is exceeded, or None if none is.

        Parameters:
            more: the number of bytes about to be allocated, which count as used.
        """
        reason = self.memory.exceeded(more)
        return None if reason is None else Stop(StopKind.MEMORY, reason)

    def memory_failed(self) -> Stop:
        """Return the reason to stop after an allocation has failed."""
        return Stop(StopKind.MEMORY, self.memory.scarcest.reached)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Return a context manager that interrupts the ``with`` block if it exceeds the limit on time or on memory.

        The block is interrupted only if it runs in the main thread, the program has no SIGALRM handler of its own, and
        `relax` has not been called.

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
        """Record every KeyboardInterrupt that a signal handler raises in the ``with`` block."""
        found = {int(number): signal.getsignal(number) for number in ENDING}
        before = {number: handler for number, handler in found.items() if callable(handler)}

        def handler(number: int, frame: FrameType | None) -> None:
            try:
                before[number](number, frame)
            except KeyboardInterrupt as interrupt:
                if interrupt not in self._not_caught:  # recorded if a second signal arrived in this handler
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
        """Check the limits in another thread during the ``with`` block."""
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
            watch.join()  # afterwards, the thread sends no signals
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            os.close(came)
            os.close(note)

    def relax(self) -> None:
        """Stop enforcing the limits. Called at the end of a search, because an interrupt could discard its result."""
        self._over.set()

    def _exceeded(self) -> Stop | None:
        return self.out_of_time(self._tuning.grace_seconds) or self.out_of_memory(-GRACE_BYTES)

    def _watch(self, came: int) -> None:
        """Interrupt the main thread when a limit is exceeded, and wake it up when a signal arrives.

        The operating system may deliver a signal to any thread. Python runs the handler in the main thread, but does
        not wake up the main thread from a blocking call.

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
