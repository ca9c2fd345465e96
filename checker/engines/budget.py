"""The budget of a search: the time and memory that it may use.

An engine checks the budget between its steps. However, a single call to a spec's code may run forever or use all
memory. Therefore `Budget.enforced` also checks the budget in a second thread. When a limit is exceeded, this thread
sends a signal that, like Ctrl-C, raises an exception in the main thread. This interrupts Python code, but not a C
function that does not return.

A function of the spec may catch this exception, for example with a bare ``except``, and return normally. Its return
value may then be wrong, so the search is reported as incomplete; see `Budget.swallowed`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from leadline.checker.engines.memory import IN_BROWSER, RESERVE, Memory
from leadline.checker.result import Limits, Stop, StopKind

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a process to terminate."""

WATCH_SECONDS = 0.1
"""The number of seconds between two checks of the limits by the thread that interrupts a search."""

GRACE_SECONDS = 0.5
"""A search that has not stopped is interrupted this number of seconds after its time limit."""

AGAIN_SECONDS = 2.0
"""The number of seconds after which a search is interrupted again if the spec caught the first interrupt."""

GRACE_BYTES = RESERVE // 2
"""The number of bytes by which a search may exceed a memory limit before the search is interrupted."""


class StopSearch(Exception):
    """Raised to stop a search, for example because it has exceeded a limit.

    Attributes:
        stop: the reason why the search stops.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


class LimitReached(KeyboardInterrupt):
    """Raised in the main thread when a limit is exceeded in a ``with`` block of `Budget.enforced`. The message names
    the limit.

    Attributes:
        stop: the reason why the search stops. It names the limit.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


def _stop(interrupt: KeyboardInterrupt) -> Stop:
    if isinstance(interrupt, LimitReached):
        return interrupt.stop
    return Stop(StopKind.INTERRUPT, str(interrupt) or "interrupted")


class Budget:
    """The time and memory that a search may use.

    Parameters:
        limits: the limits of the search. This class uses only the limits on time and memory.
        helpers: a function that returns the ids of the helper processes that this process has forked.
        spent: the number of seconds used by earlier runs of the search.

    Attributes:
        started: the value of `time.monotonic` at the start of the search, minus `spent`.
        interrupted: whether a signal or a limit has interrupted the search, at any place.
    """

    def __init__(
        self,
        limits: Limits,
        helpers: Callable[[], Sequence[int]] = tuple,
        spent: float = 0.0,
    ) -> None:
        self.started = time.monotonic() - spent
        self.memory = Memory(limits.max_memory, helpers)
        self._seconds = limits.max_seconds
        self._cpu_seconds = limits.max_cpu_seconds
        self._cpu_started = time.process_time()
        self._paused_at: float | None = None
        self._over = threading.Event()
        self._not_caught: list[KeyboardInterrupt] = []
        self.interrupted = False

    @property
    def swallowed(self) -> Stop | None:
        """The reason for the first interrupt that did not reach the search because the spec caught it, or None if there
        was no such interrupt.
        """
        return _stop(self._not_caught[0]) if self._not_caught else None

    def caught(self, interrupt: KeyboardInterrupt) -> Stop:
        """Record that the search has caught the exception that an interrupt raised. The interrupt is then not counted
        as `swallowed`.

        Returns:
            The reason why the search was interrupted.
        """
        if interrupt in self._not_caught:
            self._not_caught.remove(interrupt)
        return _stop(interrupt)

    @property
    def seconds(self) -> float:
        """The number of seconds that the search has taken so far, including earlier runs."""
        return (time.monotonic() if self._paused_at is None else self._paused_at) - self.started

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Return a context manager for a ``with`` block whose time does not count, such as that of compiling loops."""
        began, cpu_began = time.monotonic(), time.process_time()
        self._paused_at = began
        try:
            yield
        finally:
            self.started += time.monotonic() - began
            self._cpu_started += time.process_time() - cpu_began
            self._paused_at = None

    def out_of_time(self, grace: float = 0.0) -> Stop | None:
        """Return the reason to stop if the search exceeds the time limit, otherwise None.

        Parameters:
            grace: the number of seconds by which the limit may be exceeded.
        """
        if self._seconds is not None and self.seconds > self._seconds + grace:
            return Stop(StopKind.TIME, f"reached {self._seconds:g} seconds")
        if self._cpu_seconds is None or self._paused_at is not None:
            return None
        if time.process_time() - self._cpu_started <= self._cpu_seconds + grace:
            return None
        return Stop(StopKind.TIME, f"reached {self._cpu_seconds:g} seconds of processor time")

    def out_of_memory(self, more: int = 0) -> Stop | None:
        """Return the reason to stop if the search exceeds a memory limit, otherwise None.

        Parameters:
            more: the number of bytes that the search is about to allocate. These bytes are counted as memory in use.
        """
        reason = self.memory.exceeded(more)
        return None if reason is None else Stop(StopKind.MEMORY, reason)

    def memory_failed(self) -> Stop:
        """Return the stop reason to report after a memory allocation has failed."""
        return Stop(StopKind.MEMORY, self.memory.scarcest.reached)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Return a context manager that interrupts the ``with`` block if it exceeds the time limit or the memory limit.

        The block is interrupted only if it runs in the main thread, and not in a browser, the program has no SIGALRM
        handler of its own, and `relax` has not been called.

        Raises:
            LimitReached: if a limit was exceeded.
        """
        if IN_BROWSER or threading.current_thread() is not threading.main_thread():
            yield
            return
        with self._noted(), self._watched():
            yield

    @contextmanager
    def _noted(self) -> Iterator[None]:
        found = {int(number): signal.getsignal(number) for number in ENDING}
        before = {number: handler for number, handler in found.items() if callable(handler)}

        def handler(number: int, frame: FrameType | None) -> None:
            try:
                before[number](number, frame)
            except KeyboardInterrupt as interrupt:
                self.interrupted = True
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
        """Stop enforcing the limits. Call this at the end of a search, so that its result cannot be lost."""
        self._over.set()

    def _exceeded(self) -> Stop | None:
        return self.out_of_time(GRACE_SECONDS) or self.out_of_memory(-GRACE_BYTES)

    def _watch(self, came: int) -> None:
        """Interrupt the main thread when a limit is exceeded, and wake it up when a signal arrives.

        The operating system may deliver a signal to any thread. Python runs the handler in the main thread, but does
        not interrupt a blocking call there. To interrupt the call, this method sends a second signal to the main
        thread.

        Parameters:
            came: the read end of the pipe whose write end was passed to `signal.set_wakeup_fd`.
        """
        main = threading.main_thread().ident
        assert main is not None
        while not self._over.wait(WATCH_SECONDS):
            if self._exceeded():
                signal.pthread_kill(main, signal.SIGALRM)
                self._over.wait(AGAIN_SECONDS)
            with suppress(BlockingIOError):
                if set(os.read(came, 64)) - {signal.SIGALRM}:
                    signal.pthread_kill(main, signal.SIGALRM)

    def _interrupt(self, *_: object) -> None:
        stop = None if self._over.is_set() else self._exceeded()
        if stop:
            interrupt, self.interrupted = LimitReached(stop), True
            self._not_caught.append(interrupt)
            raise interrupt
